"""How fast the tile is: GMAC/s of one int8 (and one float32) matrix product, all operands in cache.

    python benchmarks/tile.py

Compares the host's tile, the generic tile, plain numba loops and numpy. int32 results are asserted to be equal.
"""

from __future__ import annotations

import time

import numpy as np

from tosa_engine.kernels import _jit, tile, variants, work
from tosa_engine.kernels.tile import MR, NR

M, N, K = 360, 192, 1152


@_jit.jit
def tiled_int16(simd, a, rows, b, c, out, offsets, depth):
    for panel in range(out.shape[1] // NR):
        for t in range(0, out.shape[0], MR):
            tile.tile_int16(simd, a, rows, t, b, panel * depth * NR, c, offsets, 1, depth // 2)
            for i in range(MR):
                for j in range(NR):
                    out[t + i, panel * NR + j] = c[i * NR + j]


@_jit.jit
def tiled_float(simd, a, rows, b, c, out, offsets, depth):
    for panel in range(out.shape[1] // NR):
        for t in range(0, out.shape[0], MR):
            tile.tile_float(simd, a, rows, t, b, panel * depth * NR, c, offsets, 1, depth)
            for i in range(MR):
                for j in range(NR):
                    out[t + i, panel * NR + j] = c[i * NR + j]


@_jit.jit
def plain_loops(a, b, out):
    """The outer-product order, which compilers vectorise best."""
    for i in range(a.shape[0]):
        row = out[i]
        for j in range(row.shape[0]):
            row[j] = 0
        for k in range(a.shape[1]):
            left, right = np.int32(a[i, k]), b[k]
            for j in range(row.shape[0]):
                row[j] += left * np.int32(right[j])


def seconds(function, *arguments, least: float = 0.5) -> float:
    """The best of as many runs as fit `least` seconds, after one that compiles."""
    function(*arguments)
    best, end = float("inf"), time.perf_counter() + least
    while time.perf_counter() < end:
        start = time.perf_counter()
        function(*arguments)
        best = min(best, time.perf_counter() - start)
    return best


def report(name: str, taken: float) -> None:
    print(f"{name:<40} {M * N * K / taken / 1e9:8.1f} GMAC/s")


def main() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(-255, 256, (M, K)).astype(np.int16)
    b = rng.integers(-128, 128, (K, N)).astype(np.int16)
    wanted = a.astype(np.int64) @ b.astype(np.int64)
    rows, offsets = np.arange(M, dtype=np.int64) * K, np.zeros(1, np.int64)
    packed = work.aligned(K * N, np.int16)
    packed[:] = b.reshape(K // 2, 2, N // NR, NR).transpose(2, 0, 3, 1).reshape(-1)
    out, c = np.zeros((M, N), np.int32), np.zeros(MR * NR, np.int32)
    print(f"int16 pairs [{M}, {K}] x [{K}, {N}] -> int32, one thread, variant {variants.variant().name}")
    for name, simd in (("tile", variants.variant()), ("generic tile", variants.GENERIC)):
        report(name, seconds(tiled_int16, simd, a.reshape(-1), rows, packed, c, out, offsets, K))
        assert np.array_equal(out, wanted)
    report("plain numba loops", seconds(plain_loops, a, b, out))
    assert np.array_equal(out, wanted)
    report("numpy, int32", seconds(np.matmul, a.astype(np.int32), b.astype(np.int32)))

    x, y = rng.standard_normal((M, K)).astype(np.float32), rng.standard_normal((K, N)).astype(np.float32)
    packed = work.aligned(K * N, np.float32)
    packed[:] = y.reshape(K, N // NR, NR).transpose(1, 0, 2).reshape(-1)
    result, c = np.zeros((M, N), np.float32), np.zeros(MR * NR, np.float32)
    print(f"float32 [{M}, {K}] x [{K}, {N}]")
    report("tile", seconds(tiled_float, variants.variant(), x.reshape(-1), rows, packed, c, result, offsets, K))
    assert np.allclose(result, x @ y, atol=1e-3)
    report("numpy (its BLAS, all threads)", seconds(np.matmul, x, y))


if __name__ == "__main__":
    main()
