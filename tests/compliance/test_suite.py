"""The official suite's script: which tests, generated once, counted honestly."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tosa_engine.errors import DataError, UsageError
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KNOWN = ["add", "conv2d", "table"]
GOOD = "2 expected_pass, 1 expected_failure, 0 unexpected_pass, 0 unexpected_failure, 0 internal_error, 0 skipped"
BAD = "2 expected_pass, 0 expected_failure, 1 unexpected_pass, 0 unexpected_failure, 0 internal_error, 0 skipped"
ENDS = {"add_1": "expected_pass", "add_2": "expected_pass", "add_ERRORIF": "expected_failure"}
ENDS_BADLY = {**ENDS, "add_ERRORIF": "unexpected_pass"}
MODULES = ("tosa_engine_sut_run", "runner.tosa_refmodel_compliance_sut_run")


@pytest.fixture
def modules(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports a script of conformance/, which is no package, by its name."""
    monkeypatch.syspath_prepend(root / "conformance")
    names = ("run", "suite_cache", "official_runner", "other_seeds", "record", "round_trip", "timed_runner")
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)


def test_parts(modules: Callable[[str], Any]) -> None:
    cache = modules("suite_cache")
    found = cache.parts_of(["ADD", "conv2d_3x3", "add", "table"], KNOWN)
    assert [(p.operator, p.folder, p.name) for p in found] == [
        ("add", "", "add"),
        ("conv2d", "conv2d_3x3", "conv2d_3x3"),
        ("table", "", "table"),
    ]


@pytest.mark.parametrize("request_", ["sigmoid", "add_3", "pool_3x3", ""])
def test_unknown_operators(modules: Callable[[str], Any], request_: str) -> None:
    with pytest.raises(UsageError) as caught:
        modules("suite_cache").parts_of(["add", request_], KNOWN)
    assert caught.value.message == f"no official tests for '{request_}'; there are some for: add, conv2d, table"


def test_selections_have_folders_of_their_own(modules: Callable[[str], Any]) -> None:
    selection = modules("suite_cache").Selection
    assert selection().key == selection().key
    assert selection().key != selection(extensions=()).key
    assert selection().key.startswith("1.0.2-")
    extensions = ["INT16", "INT4", "DOUBLEROUND", "INEXACTROUND", "CONTROLFLOW", "VARIABLE", "DYNAMIC"]
    assert selection().target.split(",") == ["PRO-INT", *(f"EXT-{name}" for name in extensions)]


def test_named_selections(modules: Callable[[str], Any]) -> None:
    """Keys name folders of generated tests, which take hours: a change here is one on purpose."""
    cache = modules("suite_cache")
    assert {name: selection.key for name, selection in cache.SELECTIONS.items()} == {
        "int": "1.0.2-8ec73d423b", "fp": "1.0.2-f0ec3ac5ea", "both": "1.0.2-f6fdc29bc9",
    }  # fmt: skip
    assert [selection.name for selection in cache.SELECTIONS.values()] == ["int", "fp", "both"]


def test_a_selection_of_some_names(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    both = cache.SELECTIONS["both"]
    kinds = {operator: both.wants(operator) for operator in ("add", "reduce_all", "transpose", "transpose_conv2d")}
    assert kinds == {"add": "", "reduce_all": "positive", "transpose": "", "transpose_conv2d": "negative"}
    assert cache.Selection().wants("add") == "both"
    tools.made = [f"operators/reduction/reduce_all/{name}_b_axis0" for name in ("reduce_all_9x5x7x3x3", "reduce_all_2")]
    folder = cache.generate(both, "reduce_all", tmp_path)
    found = [t.name for t in cache.tests_in(both, folder, cache.Part("reduce_all"))]
    assert found == ["reduce_all_9x5x7x3x3_b_axis0"]
    assert cache.test_names(both, tmp_path) == set(found)
    assert cache.tests_in(both, cache.generate(both, "add", tmp_path), cache.Part("add")) == []
    assert len(tools.calls) == 1


class Tools:
    """Stands for Arm's tools: the generator writes the tests of `made`; the runner notes how they end."""

    def __init__(self) -> None:
        self.made = ["operators/ew/add/add_1", "operators/ew/add/add_2", "operators/ew/add/add_ERRORIF"]
        self.ends, self.reference_ends, self.code = ENDS, ENDS, 0
        self.calls: list[str] = []
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        self.commands.append(command)
        if "--output-directory" in command:
            self.calls.append(command[2])
            for test in self.made:
                folder = options["cwd"] / "tests" / test
                folder.mkdir(parents=True)
                (folder / "desc.json").write_text("{}")
                (folder / "data.json").write_text("[1]")
            return subprocess.CompletedProcess(command, self.code, "", "it broke")
        self.calls.append(Path(command[1]).name)
        listed = Path(command[command.index("--test-list") + 1]).read_text().split()
        both = (self.ends, self.reference_ends)
        ends = [{t: its[Path(t).name] for t in listed if Path(t).name in its} for its in both]
        pairs = zip(MODULES, ends, strict=True)
        noted = {module: {t: [end, 0.1, ""] for t, end in its.items()} for module, its in pairs}
        Path(command[2]).write_text(json.dumps(noted))
        Path(command[command.index("--xunit-file") + 1]).write_text(self.xunit(ends[0]))
        output = "".join(
            f"Totals ({module}): {GOOD if its == ENDS else BAD}\n" for module, its in zip(MODULES, both, strict=True)
        )
        return subprocess.CompletedProcess(command, self.code, output, "it broke")

    @staticmethod
    def xunit(ends: dict[str, str]) -> str:
        failure = '<failure type="Test failed">UNEXPECTED_PASS: why</failure>'
        cases = "".join(
            f'<testcase name="{test}" classname="tosa_engine_sut_run" time="0.1">'
            f"{failure if end.startswith('unexpected') else ''}</testcase>"
            for test, end in ends.items()
        )
        return f'<testsuites><testsuite name="tosa_engine_sut_run">{cases}</testsuite></testsuites>'


@pytest.fixture
def tools(modules: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Tools:
    tools = Tools()
    monkeypatch.setattr(modules("suite_cache").subprocess, "run", tools)
    monkeypatch.setattr(modules("official_runner").subprocess, "run", tools)
    monkeypatch.setattr(modules("run"), "known_operators", lambda _: KNOWN)
    monkeypatch.setattr(modules("run"), "tools_version", lambda: "1")
    return tools


def test_what_is_finished_is_not_generated_again(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    folder = cache.generate(cache.Selection(), "add", tmp_path)
    assert cache.generate(cache.Selection(), "add", tmp_path) == folder
    assert len(tools.calls) == 1
    assert [t.name for t in cache.tests_in(cache.Selection(), folder, cache.Part("add"))] == [
        "add_1",
        "add_2",
        "add_ERRORIF",
    ]


def test_what_is_not_finished_is_generated_afresh(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    tools.code = 1
    with pytest.raises(DataError, match="the test generator failed on add: it broke"):
        cache.generate(cache.Selection(), "add", tmp_path)
    tools.code, tools.made = 0, ["operators/ew/add/add_9"]
    folder = cache.generate(cache.Selection(), "add", tmp_path)
    assert [t.name for t in cache.tests_in(cache.Selection(), folder, cache.Part("add"))] == ["add_9"]


def test_a_folder_that_the_selection_lacks(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    folder = cache.generate(cache.Selection(), "conv2d", tmp_path)
    with pytest.raises(UsageError, match="no official tests for 'conv2d_7x7'; there are some for: add"):
        cache.tests_in(cache.Selection(), folder, cache.Part("conv2d", "conv2d_7x7"))


def run_script(modules: Callable[[str], Any], tmp_path: Path, *arguments: str) -> int:
    return modules("run").main([*arguments, "--cache", str(tmp_path)])


def test_good_totals(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script(modules, tmp_path, "ADD") == 0
    assert tools.calls == ["conformance.tosa_verif_conformance_generator", "timed_runner.py"]
    assert f"add: {GOOD}" in capsys.readouterr().out
    assert 'name="add_2"' in (tmp_path / "result.xml").read_text()


def test_data_are_deleted_beyond_the_limit_and_made_again(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script(modules, tmp_path, "add", "--disk", "0") == 0
    assert "disk: 0.00 GB of tests" in capsys.readouterr().out
    cache = modules("suite_cache")
    folder = tmp_path / "tosa-tools-1" / cache.Selection().key
    (test,) = folder.rglob("add_1")
    assert [file.name for file in test.iterdir()] == ["desc.json"]
    tools.calls.clear()
    assert run_script(modules, tmp_path, "add", "--resume", "--disk", "0") == 0
    assert tools.calls == []  # its results are kept
    assert run_script(modules, tmp_path, "add") == 0
    assert tools.calls == ["conformance.tosa_verif_conformance_generator", "timed_runner.py"]
    assert (test / "data.json").is_file()


@pytest.mark.reference
def test_what_the_reference_model_gave_is_kept(modules: Callable[[str], Any], tmp_path: Path) -> None:
    """Its files are put back where it wrote them, only where all are there, and not with `anew`."""
    pytest.importorskip("tosa_reference_model", reason="needs tosa-tools, the extra `conformance`")
    runner, its = modules("official_runner"), modules("timed_runner")
    description = {"ofm_file": ["result-0.npy"], "test_requirements": {"bounds_file_required": True}}
    moved = [tmp_path / f"{name}.{runner.REFERENCE}.npy" for name in ("result-0", "bounds_result-0")]
    note = tmp_path / runner.REFERENCE_FILE
    note.write_text('{"seconds": 2.5}')
    moved[0].write_text("outputs")
    assert its.taken_again(tmp_path, description) is None
    moved[1].write_text("bounds")
    assert its.taken_again(tmp_path, description) == 2.5
    assert {path.name for path in tmp_path.iterdir()} == {note.name, "result-0.npy", "bounds_result-0.npy"}
    assert (tmp_path / "bounds_result-0.npy").read_text() == "bounds"
    assert its.taken_again(tmp_path, description) is None


def test_seeds_of_floats_have_the_data_sets(
    modules: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each kind asks for its own operators; large shapes for those whose rule is about dot products, all of them."""
    seeds, cache = modules("other_seeds"), modules("suite_cache")
    asked: dict[str, list[str]] = {}

    def generator(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        asked[options["cwd"].name] = command
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(seeds.subprocess, "run", generator)
    assert list(seeds.kinds_of(cache.Selection())) == ["positive", "negative"]
    floats = cache.SELECTIONS["fp"]
    for kind in seeds.kinds_of(floats):
        assert seeds.generate_seed(floats, 4, kind, tmp_path).is_dir()
    filters = {name: command[command.index("--filter") + 1] for name, command in asked.items()}
    assert filters["seed-4-transforms"].startswith("^(?:fft2d|rfft2d)(?:")
    assert "|cast|" in filters["seed-4-negative"]
    rule_of = importlib.import_module("tosa_engine.compliance.accuracy").rule_of
    with_products = {name.lower() for name in TABLE if rule_of(name).name == "dot product"}
    assert {name for operators, _ in seeds.DATA_SETS.values() for name in operators} == with_products


def test_anew_lets_the_reference_model_run_again(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    assert run_script(modules, tmp_path, "add") == 0
    (test,) = tmp_path.rglob("add_1")
    note = test / modules("official_runner").REFERENCE_FILE
    note.write_text("{}")
    assert run_script(modules, tmp_path, "add") == 0
    assert note.is_file()
    assert run_script(modules, tmp_path, "add", "--anew") == 0
    assert not note.is_file()


def test_coverage(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tosa-tools-1").mkdir()
    (tmp_path / "tosa-tools-1" / "names-1.0.2.txt").write_text("add_1\nadd_2\nadd_7\n")
    assert run_script(modules, tmp_path, "add") == 0
    capsys.readouterr()
    assert run_script(modules, tmp_path, "--coverage") == 1
    assert capsys.readouterr().out.splitlines() == [
        "int: 3 tests, 2 of the 3 names of the complete list", "fp: 0 tests, 0 of the 3 names of the complete list",
        "both: 0 tests, 0 of the 3 names of the complete list", "in no selection: 1", "add_7",
    ]  # fmt: skip


def test_the_recorded_page(modules: Callable[[str], Any]) -> None:
    """Sections of all selections, with the command that makes them."""
    counts = {"profile": "fp", "when": "now", "seconds": 7, "parts": {"matmul": [6, 0, 0, 0, 0, 0]}, "generator": "-x"}
    coverage = {"when": "now", "complete": 5, "selections": {"int": 2, "fp": 2}, "missing": ["add_1"]}
    page = modules("record").page(
        {"seeds fp": {**counts, "seeds": [4], "data_sets": {"s0": 1, "s5": 2}}, "coverage": coverage}
    )
    assert '## Other seeds: fp\n\n    make conformance PROFILE=fp OPS="--seeds 4 --tests 6 --record"\n' in page
    assert "- passed of the data sets of dot products: 1 of S0, 2 of S5\n" in page
    assert "- in no selection: 1\n\n| selection | names |\n|---|---:|\n| int | 2 |\n| fp | 2 |\n" in page


def test_bad_totals(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.ends = ENDS_BADLY
    assert run_script(modules, tmp_path, "add") == 1
    assert "add_ERRORIF (tosa_engine_sut_run): UNEXPECTED_PASS: why" in capsys.readouterr().out


def test_bad_totals_of_the_reference_model(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    tools.reference_ends = ENDS_BADLY
    assert run_script(modules, tmp_path, "add") == 1


def test_tests_that_were_not_counted(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.made.append("operators/ew/add/add_4")
    assert run_script(modules, tmp_path, "add") == 6
    counts = "2 expected_pass, 1 expected_failure, 0 unexpected_pass, 0 unexpected_failure, 0 internal_error"
    wanted = f"error: suite-1-of-1: the test runner counted {counts}, 0 skipped of 4 tests, not {counts}, 1 skipped\n"
    assert capsys.readouterr().err == wanted


def test_no_tests_at_all_is_no_success(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    tools.made = []
    assert run_script(modules, tmp_path, "add") == 1


@pytest.mark.parametrize(("version", "release"), [("1.0", "1.0.2"), ("1.1-draft", "1.1.0-draft")])
def test_the_tests_of_a_version_are_checked_against_it(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, version: str, release: str
) -> None:
    assert run_script(modules, tmp_path, "add", "--tosa-version", version) == 0
    generator, runner = tools.commands
    assert generator[generator.index("--tosa-version") + 1] == release
    assert f"tosa_engine_sut_run:version={version}" in runner
    assert [path.name.startswith(f"{release}-") for path in (tmp_path / "tosa-tools-1").iterdir()] == [True]


def test_a_list_of_names_is_one_of_a_version(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script(modules, tmp_path, "add", "--tosa-version", "1.1-draft", "--profile", "both") == 2
    assert capsys.readouterr().err == "error: no selection 'both' of version 1.1-draft: int, fp\n"
    assert tools.calls == []
    assert run_script(modules, tmp_path, "add", "--tosa-version", "1.1-draft", "--profile", "all") == 0
    assert len(tools.calls) == 4


@pytest.mark.parametrize(
    "arguments",
    [
        ["--ci", "add"],
        ["--record", "add"],
        ["--jobs", "0"],
        ["--nonsense"],
        ["--record", "--tosa-version", "1.1-draft"],
        ["add", "--tosa-version", "1.2"],
    ],
)
def test_usage(
    modules: Callable[[str], Any], tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run_script(modules, tmp_path, *arguments)
    assert caught.value.code == 2
    assert "usage" in capsys.readouterr().err


BROKEN = """
import numpy as np
from tosa_engine_sut_run import TosaSUTRunner as Ours

class TosaSUTRunner(Ours):
    def runTestGraph(self):
        verdict, message = super().runTestGraph()
        for file in self.testDesc["ofm_file"] if "add_27_i32" == self.testName else []:
            path = self.testDirPath / file
            np.save(path, np.load(path) + 1)
        return verdict, message
"""


@pytest.mark.reference
def test_the_official_runner_sees_a_wrong_element(modules: Callable[[str], Any], root: Path, tmp_path: Path) -> None:
    """The plug-in under the real tools, once as it is and once with an off-by-one in one test of ADD."""
    pytest.importorskip("tosa_reference_model", reason="needs tosa-tools, the extra `conformance`")
    cache, report = modules("suite_cache"), importlib.import_module("tosa_engine.compliance")
    kept = root / "conformance" / "cache" / f"tosa-tools-{cache.tools_version()}" / cache.Selection().key
    tests = cache.tests_in(cache.Selection(), cache.generate(cache.Selection(), "add", kept), cache.Part("add"))
    some = [str(t) for t in tests if t.name in ("add_27_i32", "add_27_i32_is") or "RankMismatch" in t.name]
    (tmp_path / "broken_sut_run.py").write_text(BROKEN)
    (tmp_path / "list.txt").write_text("\n".join(some))
    command = [
        sys.executable, "-m", "runner.tosa_verif_run_tests", "--test-list", "list.txt", "--extension", "all",
        "--sut-module", "tosa_engine_sut_run", "broken_sut_run",
    ]  # fmt: skip
    environment = cache.environment(tmp_path, root / "conformance", root)
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert report.Totals.parse(ran.stdout, "tosa_engine_sut_run") == report.Totals(2, 1), ran.stdout + ran.stderr
    assert report.Totals.parse(ran.stdout, "broken_sut_run") == report.Totals(1, 1, unexpected_failure=1)
