"""Versions of TOSA: what a later one brought is refused by targets of an earlier one, wherever targets go."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import Session, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.check import check
from tosa_engine.compliance import ENGINES
from tosa_engine.errors import UsageError, Verdict, VersionError, verdict_of
from tosa_engine.spec import TABLE
from tosa_engine.spec.table import row
from tosa_engine.target import Target
from tosa_engine.versions import NEWEST, V1_0, V1_1, VERSIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.spec import OpSpec

OLD, NEW = (Target(version=version) for version in (V1_0, V1_1))
A = np.arange(6, dtype=np.int32).reshape(2, 3)
REFUSED = "ADD.version: ADD with types i32 needs TOSA 1.1-draft, the target has 1.0 (node 'add')"


def sums(target: Target | None = None) -> Graph:
    b = Builder()
    b.output(b.op("ADD", b.input(types.i32, (2, 3), "a"), b.input(types.i32, (2, 3), "b")))
    return b.graph(target)


def entered(monkeypatch: pytest.MonkeyPatch, entry: OpSpec) -> None:
    monkeypatch.setitem(TABLE, entry.name, entry)  # type: ignore[arg-type]  # which is a dict


@pytest.fixture
def newer_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row of ADD for i32 as if 1.1 had brought it."""
    add = TABLE["ADD"]
    rows = tuple(replace(r, since=V1_1) if r.key == "i32" else r for r in add.rows)
    assert rows != add.rows
    entered(monkeypatch, replace(add, rows=rows))


def texts(graph: Graph, target: Target) -> list[str]:
    found = check(graph, target)
    assert all(isinstance(problem, VersionError) for problem in found)
    assert all(problem.exit_code == 3 and verdict_of(problem) is Verdict.ERROR for problem in found)
    return [str(problem) for problem in found]


@pytest.mark.usefixtures("newer_row")
def test_a_row_of_a_later_version() -> None:
    graph = sums()
    assert texts(graph, OLD) == [REFUSED]
    assert texts(graph, NEW) == texts(graph, Target()) == []


def test_an_operator_of_a_later_version(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, add = sums(), TABLE["ADD"]
    assert add.since == V1_0
    entered(monkeypatch, replace(add, rows=tuple(replace(r, since=V1_1) for r in add.rows)))
    assert TABLE["ADD"].since == V1_1
    assert texts(graph, OLD) == ["ADD.version: ADD needs TOSA 1.1-draft, the target has 1.0 (node 'add')"]
    assert texts(graph, NEW) == []


def test_an_attribute_of_a_later_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where it says something else than operators did before it came."""
    clamp = TABLE["CLAMP"]
    attributes = [replace(a, default="PROPAGATE", since=V1_1) if a.name == "nan_mode" else a for a in clamp.attributes]
    entered(monkeypatch, replace(clamp, attributes=tuple(attributes)))
    case = clamp.example(clamp.row("fp32")).set(nan_mode="IGNORE")
    refused = "CLAMP.version.nan_mode: nan_mode IGNORE needs TOSA 1.1-draft, the target has 1.0 (node 'output')"
    assert texts(case.graph(), OLD) == [refused]
    assert texts(case.graph(), NEW) == []
    assert texts(case.set(nan_mode="PROPAGATE").graph(), OLD) == []


def test_a_number_format_of_a_later_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: of the operator that has no older row, or of the tensor that no such operator has."""
    graph = sums()
    graph.main.tensors["a"].dtype = types.i64
    graph.main.operators[0].inputs[0] = "b"
    assert texts(graph, OLD) == ["GRAPH.version: tensors of i64 need TOSA 1.1-draft, the target has 1.0 (tensor 'a')"]
    assert texts(graph, NEW) == []
    add = TABLE["ADD"]
    entered(monkeypatch, replace(add, rows=(*add.rows, row("signed 64", "PRO-INT", in_out_t=types.i64))))
    graph = sums()
    for tensor in graph.main.tensors.values():
        tensor.dtype = types.i64
    assert texts(graph, OLD) == [REFUSED.replace("i32", "i64")]
    assert texts(graph, NEW) == []


def test_no_row_is_older_than_its_formats() -> None:
    assert row("", "PRO-INT", in_t=types.i64, out_t=types.i32).since == V1_1
    assert row("", "PRO-INT", in_t=types.i32, since=V1_1).since == V1_1
    for spec in TABLE.values():
        assert all(r.since >= dtype.since for r in spec.rows for dtype in r.types.values())
        assert all(a.since == V1_0 or a.optional or a.default is not None for a in spec.attributes)


@pytest.mark.usefixtures("newer_row")
def test_the_version_goes_to_sessions_and_to_the_engines_of_compliance() -> None:
    graph, feeds = sums(), {"a": A, "b": A}
    for attempt in (
        lambda target: Session(graph, target=target).run(None, feeds)[0],
        lambda target: ENGINES["kernels"](graph, feeds, target)["add"],
        lambda target: ENGINES["oracle"](graph, feeds, target)["add"],
        lambda target: Session(sums(target)).run(None, feeds)[0],
    ):
        np.testing.assert_array_equal(attempt(NEW), A + A)
        with pytest.raises(VersionError) as caught:
            attempt(OLD)
        assert str(caught.value) == REFUSED


@pytest.mark.usefixtures("newer_row")
@pytest.mark.parametrize("verb", ["check", "run"])
def test_the_version_on_the_command_line(command: Any, tmp_path: Path, verb: str) -> None:
    model = tmp_path / "sums.tosa"
    serialize.write(sums(), model)
    np.savez(tmp_path / "io.npz", a=A, b=A, add=A + A)
    more = ["-i", tmp_path / "io.npz", "--expect", tmp_path / "io.npz"] if verb == "run" else []
    outcome = command(verb, model, *more, "--tosa-version", "1.0")
    assert (outcome.code, outcome.out, outcome.err) == (3, "", f"error: {REFUSED}\n")
    assert command(verb, model, *more).code == 0
    assert command(verb, model, *more, "--tosa-version", "1.1-draft", "--profile", "PRO-INT").code == 0
    outcome = command(verb, model, *more, "--tosa-version", "1.1")
    assert outcome.code == 2
    assert outcome.err.startswith("error: argument --tosa-version: invalid choice: '1.1'")


def test_check_names_a_version_that_is_not_the_newest(command: Any, tmp_path: Path) -> None:
    model = tmp_path / "sums.tosa"
    serialize.write(sums(), model)
    done = f"{model}: no problem; operators: 1; target: "
    assert command("check", model).out == f"{done}all profiles and extensions, level 8K\n"
    assert (
        command("check", model, "--tosa-version", "1.0").out
        == f"{done}TOSA 1.0, all profiles and extensions, level 8K\n"
    )


@pytest.mark.parametrize("verb", ["check", "run"])
def test_a_file_that_names_a_later_version_uses_what_it_uses(command: Any, tmp_path: Path, verb: str) -> None:
    """Libraries may write their own version: what the graph uses is compared with the target's; there is a warning."""
    model = tmp_path / "sums.tosa"
    graph = replace(sums(), version=(1, 1, 0), draft=True)
    serialize.write(graph, model)
    np.savez(tmp_path / "io.npz", a=A, b=A)
    more = ["-i", tmp_path / "io.npz"] if verb == "run" else []
    outcome = command(verb, model, *more, "--tosa-version", "1.0")
    assert outcome.code == 0
    found = "the file says TOSA 1.1.0-draft, the target has 1.0"
    assert outcome.err == f"warning: {found}: readers of 1.0 may refuse the file, whatever it uses\n"
    assert command(verb, model, *more).err == ""


def test_targets_by_the_name_of_a_version() -> None:
    assert list(VERSIONS) == ["1.0", "1.1-draft"]
    assert Target() == Target.parse() == Target.parse(version="1.1-draft")
    assert Target().version == NEWEST == V1_1
    assert Target.parse(["PRO-INT"], version="1.0").version == V1_0
    with pytest.raises(UsageError, match=r"^unknown version '2.0' of TOSA; choose from: 1.0, 1.1-draft$"):
        Target.parse(version="2.0")
