"""What DOUBLE_ROUND costs: whole models as they are, and with DOUBLE_ROUND in every RESCALE that may have it.

    python benchmarks/rounding.py FOLDER [NAME ...] [--threads N] [--rounds N]

FOLDER holds one folder per model with `model.tosa`. Both run in turns on the same random inputs: best milliseconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from cases import timed

from tosa_engine import Session
from tosa_engine.load import load

if TYPE_CHECKING:
    from tosa_engine.graph import Graph


def rounded_twice(path: Path) -> Graph:
    graph = load(path)
    for _, block in graph.blocks():
        for operator in block.operators:
            if operator.op == "RESCALE" and operator.attributes["scale32"]:
                operator.attributes["rounding_mode"] = "DOUBLE_ROUND"
    return graph


def measure(path: Path, threads: int, rounds: int) -> list[float]:
    sessions = [Session(graph, threads, compiled=True) for graph in (load(path), rounded_twice(path))]
    rng = np.random.default_rng(0)
    feeds = {port.name: rng.integers(-100, 101, port.shape).astype(port.dtype) for port in sessions[0].inputs}
    best = [float("inf")] * len(sessions)
    for _ in range(rounds):
        for i, session in enumerate(sessions):
            best[i] = min(best[i], *(timed(lambda s=session: s.run(None, feeds)) for _ in range(20)))
    return [1e3 * seconds for seconds in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    print(f"{'':<28}{'as it is':>10}{'DOUBLE':>10}")
    for path in sorted(arguments.folder.glob("*.int*/model.tosa")):
        if not arguments.names or path.parent.name in arguments.names:
            single, double = measure(path, arguments.threads, arguments.rounds)
            print(f"{path.parent.name:<28}{single:10.3f}{double:10.3f}", flush=True)


if __name__ == "__main__":
    main()
