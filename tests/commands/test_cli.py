"""The command: its verbs, exit codes, and one line per error."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points, version
from typing import TYPE_CHECKING

import pytest

from tosa_engine import cli, errors

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from pathlib import Path

VERBS = (
    "calibrate", "check", "compare", "comply", "convert", "evaluate", "inspect", "lut", "profile", "quantize", "report",
    "run", "search", "sensitivity", "stimuli", "version", "warmup",
)  # fmt: skip


class Failing:
    """A verb that raises."""

    name = "fail"
    help = "fail"
    example = "fail --number 3"
    error: BaseException | None = None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--number", type=int, default=0)

    def run(self, args: argparse.Namespace) -> int:
        if self.error is not None:
            raise self.error
        return args.number


failing = Failing()


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the installed entry points; a value may be an object instead of a name."""

    class Given(EntryPoint):
        def load(self) -> object:
            return failing if self.value == "failing" else super().load()

    def install(**values: str) -> None:
        entries = [Given(name, value, "tosa_engine.commands") for name, value in values.items()]
        monkeypatch.setattr(cli, "added", lambda group: entries)

    return install


def test_all_verbs_are_installed() -> None:
    assert sorted(e.name for e in entry_points(group="tosa_engine.commands")) == list(VERBS)


def test_help_lists_the_verbs_and_the_exit_codes(command) -> None:
    outcome = command("--help")
    assert outcome.code == 0
    assert outcome.err == ""
    assert all(re.search(rf"^    {verb}(  .*)?$", outcome.out, re.MULTILINE) for verb in VERBS)
    assert "unavailable" not in outcome.out
    assert "exit codes: 0 done" in outcome.out


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_help(command, verb: str) -> None:
    outcome = command(verb, "--help")
    assert outcome.code == 0
    assert outcome.out.startswith(f"usage: tosa-engine {verb} ")


def test_without_a_verb_the_help_goes_to_stderr(command) -> None:
    outcome = command()
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("usage: tosa-engine ")


def test_version(command) -> None:
    found = json.loads(command("version", "--format", "json").out)
    assert found["tosa-engine"] == version("tosa-engine")
    assert found["numpy"] == version("numpy")
    assert found["numba"] == version("numba")
    text = command("version").out.splitlines()
    assert text[0].split() == ["tosa-engine", version("tosa-engine")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["verison"], "argument COMMAND: invalid choice: 'verison'"),
        (["version", "--formt", "json"], "unrecognized arguments: --formt json"),
        (["version", "--form", "json"], "unrecognized arguments: --form json"),
        (["version", "--format", "yaml"], "argument --format: invalid choice: 'yaml'"),
        (["inspect"], "the following arguments are required: MODEL"),
        (["run", "m.tosa", "--threads", "0"], "argument --threads: '0' is not a whole number of at least 1"),
        (["run", "m.tosa", "--atol", "-1"], "argument --atol: "),
        (["check", "m.tosa", "--level", "9K"], "argument --level: invalid choice: '9K'"),
        (
            ["check", "m.tosa", "--profile", "PRO-X"],
            "unknown profile or extension: PRO-X; choose from: PRO-INT, PRO-FP",
        ),
    ],
)
def test_a_wrong_call_is_one_line_and_2(command, arguments: list[str], message: str) -> None:
    outcome = command(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message}")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (errors.UsageError("no such thing"), 2, "error: no such thing\n"),
        (
            errors.ErrorIf("got 7", label="RESCALE.E3", node="conv1/rescale", tensor="acc"),
            3,
            "error: RESCALE.E3: got 7 (node 'conv1/rescale', tensor 'acc')\n",
        ),
        (errors.RequireViolation("overflow", label="ADD.R1"), 4, "error: ADD.R1: overflow\n"),
        (errors.Unsupported("operator FFT2D"), 5, "error: operator FFT2D\n"),
        (errors.DataError("damaged"), 6, "error: damaged\n"),
        (
            errors.ParseError("expected ';'", file="graph.nnef", line=3, column=5, source_line="ab c"),
            6,
            "error: graph.nnef:3:5: expected ';'\n    ab c\n        ^\n",
        ),
        (
            errors.Problems([errors.LevelError("a", label="X.L1"), errors.Unsupported("b")], "2 problems"),
            3,
            "error: 2 problems\nerror: X.L1: a\nerror: b\n",
        ),
        (FileNotFoundError(2, "No such file or directory", "m.tosa"), 6, "error: m.tosa: No such file or directory\n"),
        (OSError("disk on fire"), 6, "error: disk on fire\n"),
        (MemoryError("8 PiB"), 6, "error: not enough memory: 8 PiB\n"),
        (
            TypeError("oops"),
            70,
            "error: a bug of tosa-engine: TypeError: oops; run again with --debug and report it\n",
        ),
        (KeyboardInterrupt(), 130, "interrupted\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_errors_become_exit_codes(
    command, only, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, message: str
) -> None:
    only(fail="failing")
    monkeypatch.setattr(failing, "error", error)
    outcome = command("fail")
    assert (outcome.code, outcome.out, outcome.err) == (code, "", message)


def test_the_result_of_a_verb_is_the_exit_code(command, only) -> None:
    only(fail="failing")
    assert command("fail", "--number", "1").code == 1


@pytest.mark.parametrize("arguments", [["-v", "fail"], ["fail", "--debug"]])
def test_debug_shows_the_traceback(command, only, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    only(fail="failing")
    monkeypatch.setattr(failing, "error", errors.DataError("damaged"))
    outcome = command(*arguments)
    assert outcome.err.startswith("Traceback (most recent call last):\n")
    assert outcome.err.endswith("\nerror: damaged\n")


def test_a_broken_plug_in_leaves_the_others_alone(command, only) -> None:
    only(broken="no_such_package.commands:verb", version="tosa_engine.commands.version:command")
    outcome = command("--help")
    assert outcome.code == 0
    assert "unavailable: No module named 'no_such_package'" in outcome.out
    assert command("version").code == 0
    called = command("broken", "model", "--flag")
    assert called.code == 2
    assert called.err == (
        "error: the command 'broken' (no_such_package.commands:verb) can't be imported: "
        "No module named 'no_such_package'\n"
    )


def test_without_installed_verbs_it_says_so(command, only) -> None:
    only()
    outcome = command("--help")
    assert outcome.code == 2
    assert outcome.err == "error: no commands are installed; install the package first: pip install .\n"


def test_a_reader_that_goes_away_is_no_traceback(root: Path) -> None:
    code = "import sys; from tosa_engine.cli import main; sys.exit(main(['version']))"
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root)
    assert started.stdout is not None
    assert started.stderr is not None
    started.stdout.close()
    error = started.stderr.read()
    started.stderr.close()
    assert (started.wait(), error) == (6, b"")
