"""What tests exercise is measured by looking at them; our own suite has all of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import check, cli, oracle, serialize
from tosa_engine.compliance import survey
from tosa_engine.compliance.coverage import KINDS, Coverage, Item, items
from tosa_engine.compliance.coverage.corners import IMPOSSIBLE
from tosa_engine.compliance.coverage.dimensions import classes_of, universe
from tosa_engine.compliance.coverage.impossible import rules, why_not
from tosa_engine.compliance.coverage.tables import percent
from tosa_engine.compliance.suite import Selection, finite, make
from tosa_engine.compliance.suite.corners import at_corners, count
from tosa_engine.compliance.suite.pairs import covering, pair
from tosa_engine.spec import TABLE
from tosa_engine.target import Target
from tosa_engine.versions import V1_0

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.spec.table import Call

TARGET = Target(version=V1_0)
SOME = ("CONV2D", "TRANSPOSE_CONV2D", "MAX_POOL2D", "RESCALE", "SELECT", "RESIZE", "WHILE_LOOP", "VARIABLE_READ")


@pytest.mark.parametrize("operator", TABLE)
def test_covering_arrays_have_all_pairs(operator: str) -> None:
    """Every pair of classes that no rule forbids, in choices that no rule forbids."""
    array = covering(operator, TARGET)
    assert not [one for one in array if any(rule.forbids(one) for rule in rules(operator))]
    there = {frozenset((a, b)) for one in array for a in one.items() for b in one.items()}
    wanted = universe(operator) if len(universe(operator)) > 1 else {}
    rows = {row.key for row in TABLE[operator].rows if row.since <= V1_0}
    for a, some in wanted.items():
        for b, others in wanted.items():
            for x in some if a != "row" else rows:
                for y in others if b != "row" else rows:
                    if a != b and not why_not(operator, {a: x, b: y}):
                        assert frozenset(((a, x), (b, y))) in there


@pytest.mark.parametrize("operator", SOME)
def test_uses_have_the_classes_that_were_chosen(operator: str) -> None:
    """Found in the graph that comes out, which is legal."""
    for number, chosen in enumerate(covering(operator, TARGET)[:12]):
        graph, feeds = pair(operator, number, 5, TARGET)
        assert check.check(graph, TARGET) == []
        seen: list[dict[str, str]] = []

        def observe(call: Call, inputs: object, outputs: object, seen: list[dict[str, str]] = seen) -> None:
            seen.append(classes_of(call) if call.spec.name == operator else {})

        oracle.run(graph, feeds, observe=observe)
        assert chosen in seen


@pytest.mark.parametrize("operator", ["SUB", "CONCAT", "TABLE", "ARGMAX", "VARIABLE_WRITE", "COND_IF", "CLAMP"])
def test_our_suite_has_all_of_an_operator(operator: str) -> None:
    found = survey.of_suite(Selection((operator,), graphs=False))
    for kind in KINDS:
        assert found.holes(kind, operator) == []


def test_what_a_target_lacks_is_no_hole() -> None:
    narrow = Target.parse(["PRO-INT"], version="1.0")
    found = survey.of_suite(Selection(("MUL", "ERF"), target=narrow, graphs=False))
    assert found.share("rows", "MUL") == (3, 3)
    assert found.share("rows", "ERF") == (0, 0)
    assert found.holes("corners", "MUL") == []
    assert found.holes("pairs", "MUL") == []


@pytest.mark.parametrize("operator", TABLE)
def test_tests_at_corners_are_legal(operator: str) -> None:
    """No rule is broken, no REQUIRE violated: else nothing of them would count."""
    for row in [row.key for row in TABLE[operator].rows if row.since <= V1_0][:2]:
        for number in range(count(operator, row)):
            graph, feeds = at_corners(operator, row, number)
            assert check.check(graph, TARGET) == []
            if sum(tensor.size for tensor in graph.inputs) < 2000:
                oracle.run(graph, feeds)


def test_impossible_corners_are_of_rows_that_are_there() -> None:
    """And no test meets one: the table would be wrong."""
    for (operator, row, _), why in IMPOSSIBLE.items():
        assert why
        assert row == "*" or row in {one.key for one in TABLE[operator].rows}


@pytest.mark.slow("some 8,000 tests are made and looked at")
def test_our_suite_has_everything() -> None:
    found = survey.of_suite(Selection())
    holes = [item for kind in KINDS for item in found.holes(kind)]
    assert [(item.operator, item.name.split(": ")[1]) for item in holes] == [("AVG_POOL2D", "accumulator")] * 2


def test_what_a_test_has_is_seen_in_its_graph_and_data() -> None:
    """ADD of int32 to its ends; a sum beyond them is a label and nothing else."""
    test = make("ADD/-/ADD.R1/at", 0)
    coverage = Coverage(TARGET)
    seen = {items(V1_0)[n] for n in coverage.add(test.graph, test.feeds)}
    assert Item("rows", "ADD", "i32") in seen
    assert Item("corners", "ADD", "i32: result: greatest") in seen
    assert Item("pairs", "ADD", "row=i32, rank=1") in seen
    assert not {one for one in seen if one.kind == "labels"}
    test = make("ADD/-/ADD.R1/beyond", 0)
    seen = {items(V1_0)[n] for n in coverage.add(test.graph, test.feeds)}
    assert seen == {Item("labels", "ADD", "ADD.R1")}
    ranked = make("ADD/-/ADD.rank.input2/beyond", 0)
    named = {items(V1_0)[n].name for n in coverage.add(ranked.graph, ranked.feeds)}
    assert {"ADD.rank.input1 beyond", "ADD.rank.input2 beyond"} <= named


def test_every_stage_of_the_suite_has_all_operators_early() -> None:
    names = list(finite(Selection()))
    assert len(set(names)) == len(names)
    assert {name.split("/")[0] for name in names[: len(TABLE)]} == set(TABLE)
    rows = {tuple(name.split("/")[:2]) for name in names[:389]}
    assert rows == {(spec.name, row.key) for spec in TABLE.values() for row in spec.rows if row.since <= V1_0}
    first = next(i for i, name in enumerate(names) if name.endswith("/error"))
    assert first < 1100
    some = [name for name in names[:first] if name.split("/")[0] in ("CONV2D", "CAST")]
    early = survey.of_suite(Selection(), names=some)
    for operator in ("CONV2D", "CAST"):
        assert early.holes("classes", operator) == []


def test_folders_and_graphs_of_the_users_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written, own = tmp_path / "written", tmp_path / "own"
    assert cli.main(["comply", "--write", str(written), "--budget", "6", "--operators", "CLZ", "CONCAT"]) == 0
    found = survey.of_folder(written, TARGET)
    assert found.share("rows", "CLZ") == (1, 1)
    assert found.share("pairs", "CLZ")[0] >= 3
    own.mkdir()
    test = make("TABLE/i8_i8_i8/aimed/0", 0)
    serialize.write(test.graph, own / "one.tosa")
    assert survey.of_folder(own, TARGET).share("segments", "TABLE") == (0, 768)  # without data
    np.savez(own / "one.npz", **test.feeds)
    found = survey.of_folder(own, TARGET)
    assert found.share("segments", "TABLE") == (256, 768)
    assert cli.main(["comply", "--coverage-of", str(own), "-o", str(tmp_path / "out")]) == 0
    assert "1 tests: rows 2 of 389" in capsys.readouterr().out
    data = json.loads((tmp_path / "out" / "coverage.json").read_text(encoding="utf-8"))
    assert data["kinds"]["segments"] == {"seen": 256, "there": 768}
    assert "i16_i16_i32" in data["holes"]["rows"]["TABLE"]
    assert cli.main(["comply", "--coverage-of", str(tmp_path / "out")]) == 6


def test_shares_are_never_rounded_up_to_all() -> None:
    assert percent(9999, 10000) == "9999 of 10000 (99.99 %)"
    assert percent(99999, 100000) == "99999 of 100000 (99.99 %)"
    assert percent(7, 7) == "7 of 7 (100 %)"


def test_the_page_counts_what_there_is(root: Path) -> None:
    """docs/coverage.md is made anew where the op table, dimensions or corners change."""
    page = (root / "docs" / "coverage.md").read_text(encoding="utf-8")
    lines = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("|")}
    coverage = Coverage(TARGET)
    for kind in KINDS:
        there = coverage.share(kind)[1]
        assert f" of {there} (" in lines[kind].split("|")[2]
    assert "AVG_POOL2D: i8_acci32: accumulator: least" in page
