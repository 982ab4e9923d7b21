"""Differential fuzzing: `make fuzz MINUTES=n`. Not one of the tests: it runs for as long as it is asked to.

Random single operators and random small graphs go through our kernels and the reference model, and both are judged as
`tosa-engine comply` judges any implementation (`FUZZ_ROWS=int` or `float` for one of the two): our kernels must report
every violated REQUIRE, too, and give the same bytes with all tensors stored and without. A difference that nothing
documented explains is shrunk by Hypothesis and kept in `tests/cases/`; the run goes on without graphs of the same kind
of difference, and fails at its end.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from differential import compare, program, same, save
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tosa_engine.compliance import ENGINES
from tosa_engine.compliance.campaign import Settings
from tosa_engine.compliance.campaign.work import tried
from tosa_engine.compliance.cases import damaged, graphs, single
from tosa_engine.compliance.doors import Answer, Ending, open_door
from tosa_engine.compliance.judge import Status
from tosa_engine.errors import TosaEngineError, verdict_of
from tosa_engine.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tosa_engine.compliance.judge import Judgement
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

pytestmark = pytest.mark.reference

MINUTES = float(os.environ.get("FUZZ_MINUTES", "1"))
ROWS = os.environ.get("FUZZ_ROWS", "all")  # all, int or float
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


class Kernels:
    """A door to our kernels, in this process."""

    def run(self, graph: Graph, feeds: Mapping[str, Array]) -> Answer:
        try:
            return Answer(Ending.VALID, outputs=ENGINES["kernels"](graph, feeds, Target()))
        except TosaEngineError as problem:
            verdict = verdict_of(problem)
            return Answer(Ending.CRASH if verdict is None else Ending(verdict.value), str(problem))

    def close(self) -> None:
        """Nothing is open."""


def fused_otherwise(graph: Graph, feeds: dict[str, Array]) -> str:
    """The output whose bytes depend on whether all tensors are stored."""
    opened = graph.copy()
    opened.main.outputs = [name for op in opened.main.operators if op.inputs for name in op.outputs]
    whole, alone = Kernels().run(opened, feeds), Kernels().run(graph, feeds)
    differs = (n for n, array in alone.outputs.items() if n in whole.outputs and not same(array, whole.outputs[n]))
    return next(differs, "")


@dataclass
class Fuzzer:
    """Counts of one run, and what it found."""

    folder: Path
    until: float
    verdicts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    graphs: int = 0
    operators: int = 0
    floats: int = 0
    found: dict[str, str] = field(default_factory=dict)
    last: tuple[Graph, dict[str, Array]] | None = None

    def __post_init__(self) -> None:
        reference = Settings(f"{program()} --test_desc={{desc}}", known="tosa_reference_model")
        self.ours = tried(Settings("kernels", strict=True), Kernels())
        self.theirs = tried(reference, open_door(reference.engine, self.folder))

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
            what, text = finding.args
            name = hashlib.sha256(what.encode()).hexdigest()[:10]
            graph, feeds = self.last
            save(graph, feeds, compare(graph, feeds, self.folder, with_oracle=True), KEPT / name)
            self.found[what] = f"{name}: {text}"

    def one(self, graph: Graph, feeds: dict[str, Array]) -> None:
        self.graphs += 1
        self.operators += sum(1 for op in graph.main.operators if op.inputs)
        self.floats += any(t.dtype.is_float for t in graph.main.tensors.values())
        ours, theirs = self.ours(graph, feeds), self.theirs(graph, feeds)
        self.verdicts[ours.status.value, theirs.status.value, theirs.text if theirs.status is Status.KNOWN else ""] += 1
        otherwise = fused_otherwise(graph, feeds) if ours.status.good else ""
        for who, judged in (("ours", ours), ("reference model", theirs)):
            if not judged.status.good:
                self._report(graph, feeds, kind(graph, who, judged), f"{who}: {judged.text}")
        if otherwise:
            self._report(graph, feeds, f"fused-{graph.main.operators[-1].op}", f"fused and one by one: '{otherwise}'")

    def _report(self, graph: Graph, feeds: dict[str, Array], what: str, text: str) -> None:
        if what not in self.found:
            self.last = graph, feeds
            raise Finding(what, text)

    def summary(self) -> dict[str, Any]:
        """What is recorded of a run. Graphs tried while a finding shrank count, too."""
        rows = [
            {"ours": ours, "reference": theirs, "explained": explained, "graphs": count}
            for (ours, theirs, explained), count in sorted(self.verdicts.items(), key=lambda item: -item[1])
        ]
        return {
            "minutes": MINUTES, "graphs": self.graphs, "operators": self.operators, "oracle": self.graphs,
            "floats": self.floats, "verdicts": rows, "unexplained": len(self.found),
        }  # fmt: skip


def kind(graph: Graph, who: str, judged: Judgement) -> str:
    """What tells findings apart: who, how it ended, and the label or the operator."""
    producers = graph.main.producers()
    last = producers[judged.tensor] if judged.tensor in producers else graph.main.operators[-1]
    return f"{who}-{judged.status.value}-{judged.label or last.op}"


def test_fuzz(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]) -> None:
    fuzzer = Fuzzer(tmp_path, time.monotonic() + 60 * MINUTES)
    first = int(os.environ.get("FUZZ_SEED", "0")) or time.time_ns() % (1 << 32)
    number = first
    while time.monotonic() < fuzzer.until:
        fuzzer.batch(number)
        number += 1
    summary = fuzzer.summary()
    counts = f"{fuzzer.graphs} graphs with {fuzzer.operators} operators, {fuzzer.floats} of them with floats"
    report(f"{counts}; FUZZ_SEED={first}")
    for row in summary["verdicts"]:
        report(f"{row['graphs']:7d}  ours {row['ours']}, reference model {row['reference']}  {row['explained']}")
    if os.environ.get("FUZZ_RECORD"):
        monkeypatch.syspath_prepend(root / "conformance")
        importlib.import_module("record").fuzz(summary)
    for kept, difference in fuzzer.found.items():
        report(f"unexplained: {kept}: {difference}")
    assert not fuzzer.found, "differences that nothing documented explains; see tests/cases/"
