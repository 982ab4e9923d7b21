"""Differential fuzzing: `make fuzz MINUTES=n`. Not one of the tests: it runs for as long as it is asked to.

Random single operators and random small graphs go through our kernels and the reference model. Those of integers must
give the same bytes, now and then in the oracle, too; those with floats are judged by the specification's bounds
(`FUZZ_ROWS=int` or `float` for one of the two). A difference that nothing documented explains is shrunk by Hypothesis
and kept in `tests/cases/`; the run goes on without graphs of the same kind of difference, and fails at its end.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from differential import Comparison, compare, save
from float_differential import compare_floats, has_floats
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tosa_engine.compliance.cases import damaged, graphs, single

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

pytestmark = pytest.mark.reference

MINUTES = float(os.environ.get("FUZZ_MINUTES", "1"))
ROWS = os.environ.get("FUZZ_ROWS", "all")  # all, int or float
ORACLE_SHARE = 8  # one graph of so many goes through the oracle
BATCH = 200
KEPT = Path(__file__).parents[1] / "cases"


@st.composite
def inputs(draw: Any) -> tuple[Graph, dict[str, Array]]:
    """Graphs, single operators, and single operators with something wrong."""
    floats = draw(st.booleans()) if ROWS == "all" else ROWS == "float"
    strategy = draw(st.sampled_from([*[graphs] * 4, damaged, *[single] * 3]))
    case: tuple[Graph, dict[str, Array]] = draw(strategy(floats=floats))
    return case


class Finding(AssertionError):
    """A difference that nothing documented explains."""


@dataclass
class Fuzzer:
    """Counts of one run, and what it found."""

    folder: Path
    until: float
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    graphs: int = 0
    operators: int = 0
    oracle: int = 0
    floats: int = 0
    found: dict[str, str] = field(default_factory=dict)
    last: tuple[Graph, dict[str, Array], Comparison] | None = None

    def batch(self, number: int) -> None:
        """Some graphs; a finding ends the batch, shrunk and kept."""

        @seed(number)
        @settings(
            max_examples=BATCH, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        )  # fmt: skip
        @given(inputs())
        def look(case: tuple[Graph, dict[str, Array]]) -> None:
            if time.monotonic() < self.until or self.last is not None:
                self.one(*case)

        self.last = None
        try:
            look()
        except Finding as finding:
            assert self.last is not None
            kept = keep(*self.last)
            self.found[kind(*self.last[::2])] = f"{kept}: {finding}"

    def one(self, graph: Graph, feeds: dict[str, Array]) -> None:
        self.graphs += 1
        self.operators += sum(1 for op in graph.main.operators if op.inputs)
        floats = has_floats(graph)
        with_oracle = not floats and (self.graphs % ORACLE_SHARE == 0 or self.last is not None)
        self.floats += floats
        self.oracle += with_oracle
        judge = compare_floats if floats else partial(compare, with_oracle=with_oracle)
        result = judge(graph, feeds, self.folder)
        label = result.explained or ("" if not result.difference else "nothing")
        self.verdicts[result.ours.verdict, result.reference.verdict, label] += 1
        if result.is_finding and kind(graph, result) not in self.found:
            self.last = graph, feeds, result
            raise Finding(result.difference)

    def summary(self) -> dict[str, Any]:
        """What is recorded of a run. Graphs tried while a finding shrank count, too."""
        rows = [
            {"ours": ours, "reference": theirs, "explained": explained, "graphs": count}
            for (ours, theirs, explained), count in sorted(self.verdicts.items(), key=lambda item: -item[1])
        ]
        return {
            "minutes": MINUTES, "graphs": self.graphs, "operators": self.operators, "oracle": self.oracle,
            "floats": self.floats, "verdicts": rows, "unexplained": len(self.found),
        }  # fmt: skip


def kind(graph: Graph, result: Comparison) -> str:
    """What tells findings apart: how the verdicts differ, and the label or the last operator."""
    differs = "" if result.ours.verdict != result.reference.verdict else result.difference.split(":")[0].split("'")[0]
    where = result.ours.label or graph.main.operators[-1].op
    return f"{result.ours.verdict}-{result.reference.verdict}-{where}-{differs}"


def keep(graph: Graph, feeds: dict[str, Array], result: Comparison) -> str:
    name = hashlib.sha256(kind(graph, result).encode()).hexdigest()[:10]
    save(graph, feeds, result, KEPT / name)
    return name


def test_fuzz(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]) -> None:
    fuzzer = Fuzzer(tmp_path, time.monotonic() + 60 * MINUTES)
    first = int(os.environ.get("FUZZ_SEED", "0")) or time.time_ns() % (1 << 32)
    number = first
    while time.monotonic() < fuzzer.until:
        fuzzer.batch(number)
        number += 1
    summary = fuzzer.summary()
    counts = f"{fuzzer.graphs} graphs with {fuzzer.operators} operators, {fuzzer.floats} of them with floats"
    report(f"{counts}, {fuzzer.oracle} on the oracle; FUZZ_SEED={first}")
    for row in summary["verdicts"]:
        report(f"{row['graphs']:7d}  ours {row['ours']}, reference model {row['reference']}  {row['explained']}")
    if os.environ.get("FUZZ_RECORD"):
        monkeypatch.syspath_prepend(root / "conformance")
        importlib.import_module("record").fuzz(summary)
    for kept, difference in fuzzer.found.items():
        report(f"unexplained: {kept}: {difference}")
    assert not fuzzer.found, "differences that nothing documented explains; see tests/cases/"
