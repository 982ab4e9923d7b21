"""Whether a TABLE should run piece by piece behind the step that computes its input: ADD between scales, then TABLE.

    python benchmarks/pieces.py [--sizes N ...] [--rounds N]

Both loops are compiled into one function each time. Microseconds: the ADD alone, both steps one after the other, and
both for so many units of 1024 elements at a time. int8 is looked up where it lies, int16 with the RESCALE behind it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
from cases import timed
from networks import residual_looked_up

from tosa_engine import types
from tosa_engine.kernels._jit import jit
from tosa_engine.kernels.work import BLOCK, Chain
from tosa_engine.plan import expand, make_plan
from tosa_engine.runtime.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

PIECES = (1, 2, 4, 8, 16)
SLOT = 0.05  # seconds of a turn
TIMES = 20  # in a call from Python, which takes a tenth of a millisecond


def in_pieces(first: Any, second: Any) -> Any:
    """A compiled function that calls both loops for `piece` units at a time, `times` times; 0: the first one alone."""

    @jit
    def run(a: Any, b: Any, piece: int, units: int, count: int, block: int, times: int) -> int:
        for _ in range(times):
            if piece == 0:
                first(*a, 0, units)
                continue
            for low in range(0, units, piece):
                high = min(units, low + piece)
                first(*a, low, high)
                second(*b, low * block, min(high * block, count))
        return -1

    return run


def runs(size: int, dtype: types.DType) -> dict[str, Callable[[], object]]:
    """What is timed, for size x size x 64 elements."""
    workspace = Blocks(make_plan(expand(residual_looked_up(size, 64, dtype))), 1).main
    rng = np.random.default_rng(0)
    for name in workspace.plan.block.inputs:
        values = workspace.view(name)
        values[...] = rng.integers(dtype.minimum, dtype.maximum, values.shape)
    (chain,) = (step.run for step in workspace.steps)
    assert isinstance(chain, Chain)
    (first, units), (second, _) = chain.loops
    run = in_pieces(first.function, second.function)
    count, block = (units, 1) if second.count is None else (second.count, BLOCK)

    def call(piece: int) -> Callable[[], object]:
        return lambda: run(first.arguments, second.arguments, piece, units, count, block, TIMES)

    return {"ADD": call(0), "apart": call(units)} | {str(piece): call(piece) for piece in PIECES if piece < units}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[8, 28, 56, 137])
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{'':>12} {'elements':>9}" + "".join(f"{head:>9}" for head in ("ADD", "apart", *map(str, PIECES))))
    for dtype in (types.i8, types.i16):
        for size in arguments.sizes:
            found = runs(size, dtype)
            best = dict.fromkeys(found, float("inf"))
            for _ in range(arguments.rounds):
                for name, run in found.items():
                    run()
                    turns = max(3, min(2000, round(SLOT / max(timed(run), 1e-7))))
                    best[name] = min(best[name], *(timed(run) for _ in range(turns)))
            row = [
                f"{1e6 / TIMES * best[name]:9.2f}" if name in best else f"{'':9}"
                for name in ("ADD", "apart", *map(str, PIECES))
            ]
            print(f"{dtype.name:>12} {64 * size * size:9}" + "".join(row))


if __name__ == "__main__":
    main()
