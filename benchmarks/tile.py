"""How fast the tile is: GMAC/s of one int8, one int16 and one float32 matrix product, all operands in cache.

    python benchmarks/tile.py

Compares the host's tile, the generic tile, plain numba loops and numpy. Integer results are asserted to be equal.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.kernels import _jit, work
from tosa_engine.kernels._jit import variants
from tosa_engine.kernels.floats import tile as float_tile
from tosa_engine.kernels.scale.places import NR
from tosa_engine.kernels.tile import micro_kernel as tile

if TYPE_CHECKING:
    from collections.abc import Callable

M, N, K = 360, 192, 1152
GROUP = {"quads": 4, "pairs": 2, "float": 1}


scaled_quads = tile.tiles_quads[0]  # by the high words of products


@_jit.jit
def tiled_quads(simd, a, rows, b, c, offsets, steps, e32, e64, limits, out, flat):
    """The tile of int8 with its epilogue."""
    across = _jit.panels_of(simd)
    size = steps * 4 * NR
    for panel in range(0, out.shape[1] // NR, across):
        scaled_quads(
            simd, a, rows, out.shape[0], b, panel * size, size, across, c, offsets, steps, e32, e64, out.shape[1],
            panel * NR, limits, flat, panel * NR, out.shape[1], across * NR,
        )  # fmt: skip


@_jit.jit
def tiled_pairs(simd, a, rows, b, c, offsets, steps, out):
    for panel in range(out.shape[1] // NR):
        for t in range(0, out.shape[0], _jit.rows_of(simd)):
            tile.sums_pairs(simd, a, rows, t, _jit.rows_of(simd), b, panel * steps * 2 * NR, 0, 1, c, offsets, steps)
            for i in range(_jit.rows_of(simd)):
                for j in range(NR):
                    out[t + i, panel * NR + j] = c[i * NR + j]


@_jit.jit
def tiled_float(simd, a, rows, b, offsets, bias, limits, out, flat):
    across = _jit.panels_of(simd)
    size = b.size // (out.shape[1] // NR)
    for panel in range(0, out.shape[1] // NR, across):
        float_tile.tiles(
            simd, a, rows, out.shape[0], b, panel * size, size, NR, across, offsets, size // NR, bias, panel * NR,
            limits, flat, panel * NR, out.shape[1], out.shape[1] - panel * NR,
        )  # fmt: skip


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


def pack(b: np.ndarray, group: int) -> np.ndarray:
    packed = work.aligned(b.size, b.dtype)
    packed[:] = b.reshape(K // group, group, N // NR, NR).transpose(2, 0, 3, 1).reshape(-1)
    return packed


def product(kind: str, simd: variants.Variant) -> tuple[Callable[[], object], int]:
    """A matrix product by the tile as a function, and its multiply-accumulates. Its result has been compared."""
    rng, group = np.random.default_rng(0), GROUP[kind]
    rows, offsets = np.arange(M + simd.rows, dtype=np.int64) % M * K, np.arange(0, K, group)
    c = np.zeros(variants.TILE, np.int32)
    if kind == "float":
        a, b = (rng.integers(-128, 128, shape).astype(np.float32) for shape in ((M, K), (K, N)))
    else:
        kinds = np.int8 if kind == "quads" else np.int16
        a, b = (rng.integers(-128, 128, shape).astype(kinds) for shape in ((M, K), (K, N)))
    wanted = a.astype(np.int64) @ b.astype(np.int64)
    packed, steps = pack(b, group), K // group
    if kind == "quads":
        out = np.zeros((M, N), np.int8)
        e32, e64 = work.aligned(5 * N, np.int32), work.aligned(2 * N, np.int64)
        e32.reshape(5, N)[:] = np.array([0, 1 << 30, 16, 0, 1 << 15])[:, None]  # times 2^30, divided by 2^48
        e32[:N] = -128 * b.astype(np.int64).sum(axis=0)
        limits = np.array([0, -128, 127, 1, 1, 0], np.int64)
        wanted = np.clip((wanted + (1 << 17)) >> 18, -128, 127)

        def run() -> None:
            tiled_quads(simd, a.reshape(-1), rows, packed, c, offsets, steps, e32, e64, limits, out, out.reshape(-1))
    elif kind == "float":
        out, bias, limits = np.zeros((M, N), np.float32), np.zeros(N, np.float32), np.float32([-np.inf, np.inf])

        def run() -> None:
            tiled_float(simd, a.reshape(-1), rows, packed, np.zeros(1, np.int64), bias, limits, out, out.reshape(-1))
    else:
        out = np.zeros((M, N), np.int32)

        def run() -> None:
            tiled_pairs(simd, a.reshape(-1), rows, packed, c, offsets, steps, out)

    run()
    assert np.array_equal(out, wanted)
    return run, M * N * K


def best_product() -> tuple[Callable[[], object], int]:
    """The product whose speed is the peak of this machine: by int8 quads where it has them, else by int16 pairs."""
    simd = variants.variant()
    return product("quads" if simd.quads else "pairs", simd)


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
    simd = variants.variant()
    print(f"[{M}, {K}] x [{K}, {N}], one thread, variant {simd.name}")
    if simd.quads:
        report("int8 quads -> int32 -> int8, scaled", seconds(product("quads", simd)[0]))
    report("int16 pairs -> int32", seconds(product("pairs", simd)[0]))
    report("int16 pairs, generic", seconds(product("pairs", variants.GENERIC)[0]))
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, shape).astype(np.int16) for shape in ((M, K), (K, N)))
    out = np.zeros((M, N), np.int32)
    report("int16, plain numba loops", seconds(plain_loops, a, b, out))
    assert np.array_equal(out, a.astype(np.int64) @ b.astype(np.int64))
    report("int32, numpy", seconds(np.matmul, a.astype(np.int32), b.astype(np.int32)))
    report("float32", seconds(product("float", simd)[0]))
    report("float32, numpy (its BLAS, all threads)", seconds(np.matmul, a.astype(np.float32), b.astype(np.float32)))


if __name__ == "__main__":
    main()
