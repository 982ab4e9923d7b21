"""The official suite's script: which tests, generated once, counted honestly."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

KNOWN = ["add", "conv2d", "table"]
GOOD = "2 expected_pass, 1 expected_failure, 0 unexpected_pass, 0 unexpected_failure, 0 internal_error, 0 skipped"
BAD = "2 expected_pass, 0 expected_failure, 1 unexpected_pass, 0 unexpected_failure, 0 internal_error, 0 skipped"
XUNIT = """<testsuites><testsuite name="tosa_engine_sut_run" errors="0" tests="2" failures="1" skip="0">
    <testcase name="/somewhere/add_1" classname="tosa_engine_sut_run" time="0.1"/>
    <testcase name="/somewhere/add_2" classname="tosa_engine_sut_run" time="0.1">
        <failure type="Test failed">UNEXPECTED_PASS: why</failure>
    </testcase>
</testsuite></testsuites>"""


@pytest.fixture
def modules(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Imports a script of conformance/, which is no package, by its name."""
    monkeypatch.syspath_prepend(root / "conformance")
    names = ("run", "suite_cache")
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
    assert selection().target == "PRO-INT,EXT-INT16,EXT-INT4,EXT-DOUBLEROUND"


class Tools:
    """Stands for Arm's tools: the generator writes the tests of `made`, the runner prints `totals`."""

    def __init__(self) -> None:
        self.made = ["operators/ew/add/add_1", "operators/ew/add/add_2", "operators/ew/add/add_ERRORIF"]
        self.totals, self.reference, self.code = GOOD, GOOD, 0
        self.calls: list[str] = []

    def __call__(self, command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        self.calls.append(command[2])
        if "--output-directory" in command:
            for test in self.made:
                folder = options["cwd"] / "tests" / test
                folder.mkdir(parents=True)
                (folder / "desc.json").write_text("{}")
            return subprocess.CompletedProcess(command, self.code, "", "it broke")
        (options["cwd"] / "add.xml").write_text(XUNIT)
        lines = {"tosa_engine_sut_run": self.totals, "runner.tosa_refmodel_compliance_sut_run": self.reference}
        output = "".join(f"Totals ({name}): {counts}\n" for name, counts in lines.items())
        return subprocess.CompletedProcess(command, self.code, output, "it broke")


@pytest.fixture
def tools(modules: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch) -> Tools:
    tools = Tools()
    monkeypatch.setattr(modules("suite_cache").subprocess, "run", tools)
    monkeypatch.setattr(modules("run"), "known_operators", lambda _: KNOWN)
    monkeypatch.setattr(modules("run"), "tools_version", lambda: "1")
    return tools


def test_what_is_finished_is_not_generated_again(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    folder = cache.generate(cache.Selection(), "add", tmp_path)
    assert cache.generate(cache.Selection(), "add", tmp_path) == folder
    assert len(tools.calls) == 1
    assert [t.name for t in cache.tests_in(folder, cache.Part("add"))] == ["add_1", "add_2", "add_ERRORIF"]


def test_what_is_not_finished_is_generated_afresh(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    tools.code = 1
    with pytest.raises(DataError, match="the test generator failed on add:\nit broke"):
        cache.generate(cache.Selection(), "add", tmp_path)
    tools.code, tools.made = 0, ["operators/ew/add/add_9"]
    folder = cache.generate(cache.Selection(), "add", tmp_path)
    assert [t.name for t in cache.tests_in(folder, cache.Part("add"))] == ["add_9"]


def test_a_folder_that_the_selection_lacks(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    cache = modules("suite_cache")
    folder = cache.generate(cache.Selection(), "conv2d", tmp_path)
    with pytest.raises(UsageError, match="no official tests for 'conv2d_7x7'; there are some for: add"):
        cache.tests_in(folder, cache.Part("conv2d", "conv2d_7x7"))


def run_script(modules: Callable[[str], Any], tmp_path: Path, *arguments: str) -> int:
    return modules("run").main([*arguments, "--cache", str(tmp_path)])


def test_good_totals(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_script(modules, tmp_path, "ADD") == 0
    assert tools.calls == ["conformance.tosa_verif_conformance_generator", "runner.tosa_verif_run_tests"]
    assert f"add: {GOOD}" in capsys.readouterr().out
    assert 'name="add_2"' in (tmp_path / "result.xml").read_text()


def test_bad_totals(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.totals = BAD
    assert run_script(modules, tmp_path, "add") == 1
    assert "add_2 (tosa_engine_sut_run): UNEXPECTED_PASS: why" in capsys.readouterr().out


def test_bad_totals_of_the_reference_model(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    tools.reference = BAD
    assert run_script(modules, tmp_path, "add") == 1


def test_tests_that_were_not_counted(
    modules: Callable[[str], Any], tools: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools.made.append("operators/ew/add/add_4")
    assert run_script(modules, tmp_path, "add") == 6
    assert capsys.readouterr().err == "error: add has 4 tests, the test runner counted 3\n"


def test_no_tests_at_all_is_no_success(modules: Callable[[str], Any], tools: Tools, tmp_path: Path) -> None:
    tools.made = []
    assert run_script(modules, tmp_path, "add") == 1


@pytest.mark.parametrize("arguments", [["--ci", "add"], ["--record", "add"], ["--jobs", "0"], ["--nonsense"]])
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
    tests = cache.tests_in(cache.generate(cache.Selection(), "add", kept), cache.Part("add"))
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
