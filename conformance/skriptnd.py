"""The graphs of NNEF-Tools' unittest.sknd (branch v2.0), from a checkout, on our engine: composed, run, refused.

    python conformance/skriptnd.py CHECKOUT            all graphs, and a line for each that doesn't run
    python conformance/skriptnd.py CHECKOUT --record   and SKRIPTND.md with the totals

A graph is composed where all shapes are those that it declares. It is run, on random numbers between 0.1
and 1 (integers: 1); its values are not compared, as the branch records none (tests/frontends/skriptnd compare those of
each operator). What is refused is named; an error of any other kind is a failure, and the exit code 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import Session
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.skriptnd.mapping import Mapper
from tosa_engine.frontends.skriptnd.source import SkriptndSource
from tosa_engine.passes import run_pipeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.frontends.skriptnd.tensors import TensorRef

PAGE = Path(__file__).parent / "SKRIPTND.md"
FILE = Path("skriptnd-pyproject/skriptnd/test/unittest.sknd")
STATES = ("run", "refused", "not composed", "failed")
RUN, REFUSED, UNCOMPOSED, FAILED = STATES


def sample(ref: TensorRef) -> np.ndarray:
    generator = np.random.default_rng(len(ref.name) + sum(ref.shape))
    if ref.dtype == "real":
        return generator.uniform(0.1, 1.0, ref.shape).astype(np.float32)
    return generator.integers(0, 2, ref.shape).astype(np.bool_) if ref.dtype == "bool" else np.ones(ref.shape, np.int32)


def computed(source: SkriptndSource) -> tuple[str, str]:
    """How one composed graph fares, and why it doesn't run."""
    composed = source.composed
    try:
        graph = run_pipeline(Mapper(composed, source.composer, {}, sample).graph())
        arrays = [sample(ref) for ref in composed.inputs]
        results = Session(graph).run(None, dict(zip(graph.main.inputs, arrays, strict=True)))
    except TosaEngineError as refusal:
        return REFUSED, str(refusal).splitlines()[0]
    for ref, array in zip(composed.outputs, results, strict=True):
        if array.shape != ref.shape:
            return FAILED, f"'{ref.name}' has shape {list(array.shape)}, not {list(ref.shape)}"
    return RUN, ""


def fared(path: Path, name: str) -> tuple[str, str]:
    source = SkriptndSource(path, graph=name)
    try:
        _ = source.composed
    except TosaEngineError as problem:
        return UNCOMPOSED, str(problem).splitlines()[0]
    try:
        return computed(source)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted and told
        return FAILED, f"{type(error).__name__}: {error}".splitlines()[0]


def page(counts: Counter[str], others: Sequence[str]) -> str:
    total = sum(counts.values())
    rows = "".join(f"| {state} | {counts[state]} |\n" for state in STATES)
    return (
        "# Graphs of unittest.sknd\n\n"
        "Written by `python conformance/skriptnd.py CHECKOUT --record`; not to be edited.\n\n"
        f"- {time.strftime('%Y-%m-%d')}, branch v2.0 of NNEF-Tools, on a session\n"
        f"- {total - counts[UNCOMPOSED]} of {total} composed, {counts[RUN]} run\n\n"
        f"| graphs | number |\n|---|---:|\n{rows}\nThose that don't run: {', '.join(others) or 'none'}.\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--record", action="store_true", help="write SKRIPTND.md")
    arguments = parser.parse_args()
    path = arguments.checkout / FILE
    counts, others = Counter[str](), list[str]()
    for name in SkriptndSource(path).library.main.graphs:
        state, reason = fared(path, name)
        counts[state] += 1
        if reason:
            others.append(f"`{name}`")
            print(f"{state}: {name}: {reason}", flush=True)
    print(", ".join(f"{counts[state]} {state}" for state in STATES))
    if arguments.record:
        PAGE.write_text(page(counts, others), encoding="utf-8")
    return 1 if counts[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
