"""Graphs kept in `tests/cases/`: what differential fuzzing found, and one for each documented difference.

Each is a graph with its inputs and a note of what came out. Kernels and oracle agree on it to the letter; with the
reference model at hand, the difference is still the noted one, or gone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from differential import DIES, FATAL, LEVEL, MISSED, UNTESTED, compare, load, on_kernels, on_oracle, unlike

ROOT = Path(__file__).parents[2]
CASES = sorted(path.with_suffix("") for path in (ROOT / "tests" / "cases").glob("*.json"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernels_and_oracle_agree(case: Path) -> None:
    graph, feeds = load(case)
    ours = on_kernels(graph, feeds)
    assert unlike(ours, on_oracle(graph, feeds)) == ""
    assert str(ours) == json.loads(case.with_suffix(".txt").read_text(encoding="utf-8"))["ours"]


@pytest.mark.reference
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_differences_are_explained(case: Path, tmp_path: Path) -> None:
    pytest.importorskip("tosa_reference_model", reason="needs tosa-tools, the extra `conformance`")
    graph, feeds = load(case)
    result = compare(graph, feeds, tmp_path, with_oracle=True)
    assert not result.is_finding, result.difference
    assert result.explained == json.loads(case.with_suffix(".txt").read_text(encoding="utf-8"))["explained"]


def test_every_explanation_has_a_case() -> None:
    explained = {json.loads(case.with_suffix(".txt").read_text(encoding="utf-8"))["explained"] for case in CASES}
    assert {*UNTESTED, *FATAL, *MISSED, DIES, LEVEL, "INEXACT_ROUND"} - explained == set()


def test_every_explanation_is_documented() -> None:
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    assert [label for label in sorted({*UNTESTED, *FATAL, *MISSED}) if f"`{label}`" not in text] == []
