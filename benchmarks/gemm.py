"""MATMUL of float32 beside numpy's BLAS, one thread each: GFLOP/s by shape.

    OPENBLAS_NUM_THREADS=1 python benchmarks/gemm.py

Both run in turns in one process; the best of many runs counts. Ours is the kernel alone, with a call from Python, as
numpy's is. Results are compared with sums in float64.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from cases import timed

from tosa_engine import Session, types
from tosa_engine.builder import Builder
from tosa_engine.kernels import work

SHAPES = (
    (1, 360, 1152, 192), (1, 512, 512, 512), (1, 1024, 1024, 1024), (1, 1000, 999, 997), (1, 2048, 256, 64),
    (1, 128, 768, 3072), (1, 128, 4096, 128), (64, 64, 64, 64), (64, 128, 32, 128), (1, 8, 768, 768),
    (1, 1, 1280, 1000),
)  # fmt: skip
ROUNDS, TIMES = 12, 6


def ours(a: np.ndarray, b: np.ndarray, out: np.ndarray):
    """The kernel of MATMUL on arrays, as a function."""
    builder = Builder()
    x, y = builder.input(types.fp32, a.shape, "x"), builder.input(types.fp32, b.shape, "y")
    builder.output(builder.op("MATMUL", x, y, 0, 0))
    (step,) = Session(builder.graph(), 1).plan().steps
    run, prepared = step.work.bind([a, b], [out]), step.work
    scratch = prepared.carve(work.aligned(prepared.scratch_bytes, np.uint8))
    return lambda: run(0, prepared.units, scratch)


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'GFLOP/s':<32} {'ours':>8} {'numpy':>8}")
    for n, h, c, w in SHAPES:
        a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((n, h, c), (n, c, w)))
        out, theirs = np.zeros((n, h, w), np.float32), np.zeros((n, h, w), np.float32)
        run = ours(a, b, out)
        run()
        bound = (c + 1) * 2.0**-23 * (abs(a).astype(np.float64) @ abs(b))
        assert (abs(out - a.astype(np.float64) @ b) <= bound).all()
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            for i, function in enumerate((run, partial(np.matmul, a, b, theirs))):
                best[i] = min(best[i], *(timed(function) for _ in range(TIMES)))
        speeds = [2e-9 * n * h * c * w / seconds for seconds in best]
        print(f"{f'{n} x [{h}, {c}] x [{c}, {w}]':<32} {speeds[0]:8.1f} {speeds[1]:8.1f}", flush=True)


if __name__ == "__main__":
    main()
