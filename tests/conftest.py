"""What all tests share: deterministic Hypothesis in CI, the command line in-process, the digits example."""

from __future__ import annotations

import gc
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
os.environ["TOSA_ENGINE_FIRST_RUN"] = "compiled"  # what is tested are the kernels
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells give it to what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)  # processes of tests inherit that, and are interrupted

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "local")


# Files that compile most, or start processes that do, come first, so that no worker is left with one at the end.
HEAVY = (
    "test_kernels.py", "test_epilogues.py", "test_fuse_rescaled.py", "test_int48.py", "test_depthwise.py",
    "test_winograd.py", "test_walk.py", "test_warmup.py", "test_coverage.py", "test_elementary.py", "test_tables.py",
    "test_session.py", "test_graph.py", "test_tabulate.py", "test_benchmarks.py", "test_proofs.py", "test_replay.py",
    "test_fit.py", "test_loops.py", "test_soundness.py", "test_fuse_narrow.py", "test_elementwise.py",
)  # fmt: skip
REPORT = pytest.StashKey[list[str]]()


@pytest.fixture
def report(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Adds a line to the end of the test run: what is worth knowing but doesn't fail."""
    return pytestconfig.stash.setdefault(REPORT, []).append


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: HEAVY.index(item.path.name) if item.path.name in HEAVY else len(HEAVY))


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # what stays for the whole run: thousands of tests and their modules aren't looked at again


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = config.stash.get(REPORT, [])
    if lines:
        terminalreporter.section("report")
        for line in lines:
            terminalreporter.write_line(line)


@dataclass(frozen=True)
class Outcome:
    """How a command line ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs `tosa-engine ARGS` in this process."""
    from tosa_engine.cli import main

    def run(*args: object) -> Outcome:
        capsys.readouterr()
        code = main([str(a) for a in args])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def digits() -> Path:
    """The folder of the digits example: digits.nnef and digits_data.npz."""
    return ROOT / "examples" / "digits"
