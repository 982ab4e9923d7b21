"""Running conformance tests: descriptions, verdicts, comparison, totals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import serialize
from tosa_engine.compliance import ENGINES, Description, Outcome, Totals, compare_with, run_test
from tosa_engine.compliance.report import table
from tosa_engine.errors import DataError, Verdict
from tosa_engine.spec.case import Case
from tosa_engine.target import Target
from tosa_engine.types import i32

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.types import Shape

MODULE = "tosa_engine_sut_run"
HIGH = (1 << 31) - 1


def write_test(folder: Path, a: Any, b: Any, shape: Shape = (2,), op: str = "ADD") -> Description:
    """A test folder with one elementwise operator, as the official generator lays them out; read back."""
    case = Case(op).input("a", i32, (2,)).input("b", i32, (2,)).output("output", i32, shape)
    folder.mkdir(exist_ok=True)
    serialize.write(case.graph(), folder / "test.json")
    np.save(folder / "a.npy", np.asarray(a, np.int32))
    np.save(folder / "b.npy", np.asarray(b, np.int32))
    content = {
        "tosa_file": "test.json", "ifm_name": ["a", "b"], "ifm_file": ["a.npy", "b.npy"], "ofm_name": ["output"],
        "ofm_file": ["output.npy"], "expected_failure": False,
    }  # fmt: skip
    (folder / "desc.json").write_text(json.dumps(content), encoding="utf-8")
    return Description.read(folder / "desc.json")


@pytest.fixture(params=list(ENGINES))
def engine(request: pytest.FixtureRequest) -> Any:
    return ENGINES[request.param]


def test_valid(tmp_path: Path, engine: Any) -> None:
    outcome = run_test(write_test(tmp_path, [1, 2], [3, 4]), engine, Target())
    assert (outcome.verdict, outcome.message) == (Verdict.VALID, "")
    assert outcome.outputs["output"].dtype == np.int32
    assert outcome.outputs["output"].tolist() == [4, 6]


def test_error(tmp_path: Path, engine: Any) -> None:
    outcome = run_test(write_test(tmp_path, [1, 2], [3, 4], shape=(3,)), engine, Target())
    assert outcome.verdict is Verdict.ERROR
    assert outcome.message.startswith("ADD.")
    assert not outcome.outputs


def test_error_of_the_profile(tmp_path: Path, engine: Any) -> None:
    outcome = run_test(write_test(tmp_path, [1, 2], [3, 4]), engine, Target(frozenset(), frozenset()))
    assert outcome.verdict is Verdict.ERROR
    assert outcome.message.startswith("ADD.profile: ")


def test_unpredictable(tmp_path: Path, engine: Any) -> None:
    outcome = run_test(write_test(tmp_path, [1, HIGH], [3, 1]), engine, Target())
    assert outcome.verdict is Verdict.UNPREDICTABLE
    assert outcome.message.startswith("ADD.R1: ")


def test_no_verdict(tmp_path: Path, engine: Any) -> None:
    description = write_test(tmp_path, [1, 2], [3, 4])
    (tmp_path / "b.npy").unlink()
    outcome = run_test(description, engine, Target())
    assert outcome == Outcome(None, f"{tmp_path / 'b.npy'}: No such file or directory")


def test_comparison(tmp_path: Path) -> None:
    outcome = Outcome(Verdict.VALID, outputs={"x": np.array([1, 2, 3], np.int8)})
    assert compare_with(outcome, {"x": np.array([1, 2, 3], np.int8)}) == []
    shown = [str(d) for d in compare_with(outcome, {"x": np.array([1, 2, 9], np.int8), "y": np.zeros(2, bool)})]
    assert shown == [
        "'x' first differs at [2]: got 3, expected 9; 1 of 3 elements differ, by at most 6 LSB",
        "'y' is missing, expected bool[2]",
    ]
    assert [str(d) for d in compare_with(outcome, {"x": np.array([1, 2, 3], np.int16)})] == [
        "'x' is int8[3], expected int16[3]"
    ]


def test_recorded_outputs(tmp_path: Path) -> None:
    description = write_test(tmp_path, [1, 2], [3, 4])
    with pytest.raises(DataError, match=r"output\.npy: No such file"):
        description.recorded()
    np.save(tmp_path / "output.npy", np.array([4, 6], np.int32))
    assert compare_with(run_test(description, ENGINES["oracle"], Target()), description.recorded()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "a test description is an object"),
        ("{}", "'tosa_file' must be a str, got None"),
        ('{"tosa_file": "t.json", "ifm_name": ["a"], "ifm_file": []}', "'ifm_name' and 'ifm_file' must be lists"),
        ('{"tosa_file": "t.json", "ifm_name": [1], "ifm_file": [2]}', "'ifm_name' and 'ifm_file' must be lists"),
        ('{"tosa_file": "t.json", "ifm_name": [], "ifm_file": [], "ofm_name": {}}', "'ofm_name' must be a list"),
        (
            '{"tosa_file": "t", "ifm_name": [], "ifm_file": [], "ofm_name": [], "ofm_file": [], "expected_failure": 0}',
            "'expected_failure' must be a bool, got 0",
        ),
    ],
)
def test_bad_descriptions(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "desc.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        Description.read(tmp_path / "desc.json")
    assert str(caught.value).startswith(f"{tmp_path / 'desc.json'}: {message}")


def test_missing_description(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"desc\.json: No such file or directory"):
        Description.read(tmp_path / "desc.json")


LINE = "5 expected_pass, 4 expected_failure, 0 unexpected_pass, 0 unexpected_failure, 0 internal_error, 0 skipped"


def test_totals_are_read() -> None:
    output = f"PASS x\nTotals (other): 1 expected_pass\nTotals ({MODULE}): {LINE}\n"
    totals = Totals.parse(output, MODULE)
    assert totals == Totals(5, 4)
    assert totals.good
    assert totals.count == 9
    assert str(totals) == LINE


@pytest.mark.parametrize("output", ["", f"Totals (other): {LINE}", f"Totals ({MODULE}): {LINE}\n" * 2])
def test_totals_must_be_there_once(output: str) -> None:
    with pytest.raises(DataError, match="lines of totals for tosa_engine_sut_run, not one"):
        Totals.parse(output, MODULE)


@pytest.mark.parametrize("line", ["5 expected_pass", LINE + ", 1 maybe", LINE.replace("skipped", "ignored")])
def test_totals_of_another_form_are_refused(line: str) -> None:
    with pytest.raises(DataError, match="unknown form"):
        Totals.parse(f"Totals ({MODULE}): {line}", MODULE)


@pytest.mark.parametrize("place", [2, 3, 4, 5])
def test_any_other_end_is_not_good(place: int) -> None:
    counts = [7, 3, 0, 0, 0, 0]
    counts[place] = 1
    assert not Totals(*counts).good


HEADS = ["expected pass", "expected failure", "unexpected pass", "unexpected failure", "internal error", "skipped"]


def test_table_of_totals() -> None:
    assert table({"add": Totals(11, 5), "table": Totals(22, 2, skipped=1)}).splitlines() == [
        f"| operator | tests | {' | '.join(HEADS)} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        "| add | 16 | 11 | 5 | 0 | 0 | 0 | 0 |",
        "| table | 25 | 22 | 2 | 0 | 0 | 0 | 1 |",
        "| **all** | 41 | 33 | 7 | 0 | 0 | 0 | 1 |",
    ]
