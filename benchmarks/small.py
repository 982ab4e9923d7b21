"""Small networks beside LiteRT in one process, in turns: python benchmarks/small.py FOLDER [NAME ...]

FOLDER holds a folder for each network, with `model.tosa` and the `model.tflite` that it was made from. Both runtimes
have one thread, and a run is from the arrays of the inputs to those of the outputs. Printed are the best times of all
turns and their ratio, then the geometric mean. The first line is what a run costs besides its steps: `Session.run` of
one RESCALE of 16 elements, less its one step. The pip package ai-edge-litert has to be installed for the rest.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import Session, types
from tosa_engine.builder import Builder

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS = 20
SECONDS = 0.05  # of a runtime in a turn


def best(run: Callable[[], object], times: int) -> float:
    found = math.inf
    for _ in range(times):
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def values(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(0)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def ours(path: Path) -> Callable[[], object]:
    session = Session(path, 1)
    feeds = {port.name: values(port.shape, port.dtype) for port in session.inputs}
    return lambda: session.run(None, feeds)


def theirs(path: Path) -> Callable[[], object]:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    feeds = [(port["index"], values(port["shape"], port["dtype"])) for port in interpreter.get_input_details()]
    outputs = [port["index"] for port in interpreter.get_output_details()]

    def run() -> list[Any]:
        for index, array in feeds:
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return run


def fixed_cost() -> tuple[float, float]:
    """Seconds of a run of one RESCALE, and of its step."""
    b = Builder()
    scale = b.const([1 << 30], types.i32), b.const([30], types.i8), b.const([0], types.i8), b.const([0], types.i8)
    x = b.input(types.i8, (1, 16), "x")
    b.output(
        b.op(
            "RESCALE", x, *scale, dtype=types.i8, scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False,
            input_unsigned=False, output_unsigned=False,
        )
    )  # fmt: skip
    session, feeds = Session(b.graph(), 1), {"x": np.zeros((1, 16), np.int8)}
    session.run(None, feeds)
    program = session._prepared(frozenset()).borrow(1).main.program
    assert program.walk is not None
    walk, address = program.walk, program.address
    step = best(lambda: walk(address, 0, 1, 1, 0, 0), 20000) - best(lambda: walk(address, 0, 0, 1, 0, 0), 20000)
    return best(lambda: session.run(None, feeds), 20000) - best(lambda: None, 20000), step


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all networks")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    whole, step = fixed_cost()
    print(f"one RESCALE: {whole * 1e6:.2f} us, {(whole - step) * 1e6:.2f} us besides its step")
    ratios = []
    for file in sorted(options.folder.glob("*/model.tosa")):
        if options.names and file.parent.name not in options.names:
            continue
        sides = [ours(file), theirs(file.with_suffix(".tflite"))]
        times = [max(1, min(2000, int(SECONDS / min(best(side, 3), SECONDS)))) for side in sides]
        turns = [[best(side, n) for side, n in zip(sides, times, strict=True)] for _ in range(options.turns)]
        mine, other = (min(column) for column in zip(*turns, strict=True))
        ratios.append(mine / other)
        print(f"| {file.parent.name} | {mine * 1e6:.1f} | {other * 1e6:.1f} | {mine / other:.2f} |", flush=True)
    if ratios:
        print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
