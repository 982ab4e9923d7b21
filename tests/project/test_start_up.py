"""What a command imports before it works: neither numba nor numpy where they aren't used."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def run_python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("verb", ["check", "inspect"])
@pytest.mark.parametrize("model", ["digits.nnef"])
def test_reading_and_checking_never_import_numba(verb: str, model: str, digits: Path) -> None:
    loaded = run_python(f"""
        import contextlib, io, sys
        from tosa_engine.cli import main
        with contextlib.redirect_stdout(io.StringIO()):
            code = main([{verb!r}, {str(digits / model)!r}])
        print(code, "numpy" in sys.modules, "numba" in sys.modules, "llvmlite" in sys.modules)
    """)
    assert loaded.split() == ["0", "True", "False", "False"]


def test_help_imports_neither_numba_nor_numpy() -> None:
    loaded = run_python("""
        import contextlib, io, sys
        from tosa_engine.cli import main
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(["--help"])
        print(code, "numpy" in sys.modules, "numba" in sys.modules)
    """)
    assert loaded.split() == ["0", "False", "False"]


def test_help_is_fast(report: Callable[[str], None]) -> None:
    best = min(_timed("from tosa_engine.cli import main; main(['--help'])") for _ in range(3))
    report(f"tosa-engine --help takes {best:.2f} s of processor time; the aim is less than 0.3 s")
    assert best < 1.0


def _timed(code: str) -> float:
    """Seconds of processor time, which hardly depends on what else the machine does."""
    start = _children()
    run_python(code)
    return _children() - start


def _children() -> float:
    used = os.times()
    return used.children_user + used.children_system
