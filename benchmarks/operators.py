"""How fast single steps are: shapes of MobileNetV2, ResNet-18 and a transformer's encoder block, one thread.

    python benchmarks/operators.py [WORD ...] [--rounds N] [--json FILE]

WORD selects lines that contain it. A line is a small graph; its steps run without a session around them, in rounds over
all lines. Beside the time: multiply-accumulates per second, bytes read and written per second, and the part of the time
that a bound explains, which is the longer of two: all multiply-accumulates at the tile's measured peak, or copying as
many bytes with numpy. Above 100 % means that a trick (fewer multiplications, a faster instruction) beats that bound.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cases import timed, write
from networks import LINES
from tile import best_product, product

from tosa_engine import Session
from tosa_engine.commands.inspect import summary
from tosa_engine.kernels._jit import variants
from tosa_engine.kernels.work import DONE
from tosa_engine.plan.describe import facts
from tosa_engine.runtime.blocks import Blocks

if TYPE_CHECKING:
    from collections.abc import Callable

SLOT = 0.06  # seconds of a turn


@dataclass
class Line:
    """Something to time, what it computes and moves, and the best time so far."""

    name: str
    run: Callable[[], object]
    steps: str = ""
    macs: int = 0
    moved: int = 0
    best: float = field(default=float("inf"))

    def turn(self) -> None:
        """As many runs as fit the slot, after one that warms the caches."""
        self.run()
        once = timed(self.run)
        for _ in range(max(3, min(1000, round(SLOT / max(once, 1e-7))))):
            self.best = min(self.best, timed(self.run))


def line_of(name: str, make: Callable[[], Any]) -> Line:
    """A line of the table: the graph's plan, bound to memory with random inputs."""
    session = Session(make(), 1, compiled=True)
    plan = session.plan()
    workspace = Blocks(plan, 1).main
    rng = np.random.default_rng(0)
    for tensor in session.graph.inputs:
        values = workspace.view(tensor.name)
        values[...] = rng.integers(-100, 101, values.shape).astype(values.dtype)
    bound = [(b.run, b.units, b.scratch[0]) for b in workspace.steps if b.run is not None]

    def run() -> None:
        for step, units, scratch in bound:
            step(0, units, scratch)

    assert all(step(0, units, scratch) == DONE for step, units, scratch in bound), f"{name}: a REQUIRE doesn't hold"
    steps = [step for step in facts(plan)["steps"] if step["kernel"] is not None]
    moved = sum(step["bytes"][kind] for step in steps for kind in ("read", "constant", "written"))
    shown = ", ".join("+".join(step["operators"]) for step in steps)
    return Line(name, run, shown, summary(session.graph)["macs"], moved)


def copying(moved: int) -> Line:
    """numpy copies half of the bytes, so that it reads and writes as many."""
    source, target = np.ones(max(1, moved // 2), np.uint8), np.zeros(max(1, moved // 2), np.uint8)
    return Line(f"copy {moved}", lambda: np.copyto(target, source))


def peaks() -> dict[str, tuple[Callable[[], object], int]]:
    """The tile's products by the format of activations: int16 ones are always multiplied in pairs."""
    return {"int8": best_product(), "int16": product("pairs", variants.variant())}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    chosen = {n: make for n, make in LINES.items() if not arguments.words or any(w in n for w in arguments.words)}
    if not chosen:
        parser.error(f"no line has one of these words: {' '.join(arguments.words)}")
    tiles = [Line(name, run, macs=macs) for name, (run, macs) in peaks().items()]
    lines = [line_of(name, make) for name, make in chosen.items()]
    copies = {line.moved: copying(line.moved) for line in lines}
    for _ in range(arguments.rounds):
        for line in (*tiles, *lines, *copies.values()):
            line.turn()
    for tile in tiles:
        print(f"the tile, {tile.name} activations: {tile.macs / tile.best / 1e9:.0f} GMAC/s")
    print(f"\n{'':44} {'us':>9} {'GMAC/s':>8} {'GB/s':>7} {'of bound':>9}  steps")
    record = [result(line, tiles[line.name.startswith(tiles[1].name)], copies[line.moved]) for line in lines]
    for found in record:
        speed = f"{found['macs_per_second'] / 1e9:8.1f}" if found["macs"] else f"{'':8}"
        print(
            f"{found['name']:44} {1e6 * found['seconds']:9.1f} {speed} {found['bytes_per_second'] / 1e9:7.1f} "
            f"{found['of_bound']:9.0%}  {found['steps']}"
        )
    if arguments.json:
        write(arguments.json, json.dumps(record, indent=1) + "\n")


def result(line: Line, tile: Line, copy: Line) -> dict[str, Any]:
    bound = max(line.macs * tile.best / tile.macs, copy.best)
    return {
        "name": line.name,
        "steps": line.steps,
        "seconds": line.best,
        "macs": line.macs,
        "macs_per_second": round(line.macs / line.best),
        "bytes_per_second": round(line.moved / line.best),
        "of_bound": bound / line.best,
    }


if __name__ == "__main__":
    main()
