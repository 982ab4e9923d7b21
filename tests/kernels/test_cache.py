"""The cache of compiled code: several processes write it at once; each gets its own code back, and compiles nothing
that is there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine.kernels import _jit
from tosa_engine.kernels._jit.variants import GENERIC

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

DOUBLED = """
def double(x, out):
    out[0] = x[0] + x[0]
"""
# one function twice, as two processes have it; the second begins to save other code while the first saves its own
WRITE = """
import pathlib
import numpy as np
from tosa_engine.kernels import _jit
from doubled import double

first, second = _jit.jit(double), _jit.jit(double)
replace, pending = pathlib.Path.replace, [True]

def replace_late(self, target):
    if pending:
        pending.clear()
        out = np.zeros(1)
        second(np.array([1.5]), out)
        assert out[0] == 3.0
    return replace(self, target)

pathlib.Path.replace = replace_late
out = np.zeros(1, np.int64)
first(np.array([1]), out)
assert out[0] == 2
assert not pending
"""
READ = """
import numpy as np
from tosa_engine.kernels import _jit
from doubled import double

began, found = [], []
third = _jit.jit(double)
with _jit.watch(began.append):
    for value in (1.5, 1):
        out = np.zeros(1, type(value))
        third(np.array([value]), out)
        found.append(out[0].item())
    print(*found, began)
    third(np.array([1j]), np.zeros(1, complex))
print(began)
"""


def python(code: str, folder: Path, *arguments: str) -> str:
    paths = os.pathsep.join([str(ROOT), str(folder)])
    environment = {**os.environ, "PYTHONPATH": paths, "TOSA_ENGINE_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"TOSA_ENGINE_JIT": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_signatures_that_are_saved_at_once_keep_their_own_code(tmp_path: Path) -> None:
    """Files of one list for all kinds would give the code for integers to a caller with floats: 1.5 + 1.5 was 2."""
    (tmp_path / "doubled.py").write_text(DOUBLED)
    python(WRITE, tmp_path)
    assert python(READ, tmp_path).splitlines() == ["3.0 2 []", "['double']"]


@pytest.mark.parametrize("length", [0, 40])
def test_code_of_which_a_part_is_missing_is_compiled_anew(length: int, tmp_path: Path) -> None:
    (tmp_path / "doubled.py").write_text(DOUBLED)
    python(WRITE, tmp_path)
    for path in (tmp_path / "cache").rglob("tosa_*"):
        os.truncate(path, length)
    assert python(READ, tmp_path).splitlines() == ["3.0 2 ['double', 'double']", "['double', 'double', 'double']"]
    assert python(READ, tmp_path).splitlines() == ["3.0 2 []", "[]"]


def test_code_of_another_source_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "doubled.py").write_text(DOUBLED)
    python(WRITE, tmp_path)
    (tmp_path / "doubled.py").write_text(DOUBLED.replace("x[0] + x[0]", "x[0] + x[0] + 1"))
    assert python(READ, tmp_path).splitlines()[0] == "4.0 3 ['double', 'double']"


ENCLOSING = """
from tosa_engine.kernels import _jit

def scaled(by):
    @_jit.inline
    def inner(x):
        return x * by

    @_jit.jit
    def outer(x):
        return inner(x) + 1

    return outer
"""
SCALED = """
from tosa_engine.kernels import _jit
from enclosing import scaled

began = []
with _jit.watch(began.append):
    print([scaled(by)(5) for by in (2, 3)], began)
"""


def test_functions_that_enclose_others_are_found_again_and_kept_apart(tmp_path: Path) -> None:
    (tmp_path / "enclosing.py").write_text(ENCLOSING)
    assert python(SCALED, tmp_path) == "[11, 16] ['outer', 'outer']\n"
    assert python(SCALED, tmp_path) == "[11, 16] []\n"


ENTRIES = """
import ctypes
import sys
from enclosing import scaled
from tosa_engine.kernels._jit import entry

functions = [scaled(int(by)) for by in sys.argv[1:]]
results = [function(5) for function in functions]
as_c = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))
print(results, [as_c(entry(function, [5]))(ctypes.c_int64(5)) for function in functions])
"""


def test_code_from_the_disk_never_runs_in_the_place_of_code_that_was_compiled_now(tmp_path: Path) -> None:
    """numba numbers functions in each process anew, and their symbols with them: the first function of the second
    process has the number of the one that it reads then, and its entry would be that of the other.
    """
    (tmp_path / "enclosing.py").write_text(ENCLOSING)
    assert python(ENTRIES, tmp_path, "3") == "[16] [16]\n"
    assert python(ENTRIES, tmp_path, "2", "3") == "[11, 16] [11, 16]\n"
    assert python(ENTRIES, tmp_path, "3", "2") == "[16, 11] [16, 11]\n"


def test_what_is_enclosed_has_to_print_alike_in_each_process() -> None:
    def enclosing(value: object) -> Callable[[], object]:
        return lambda: value

    assert _jit.described(enclosing((1, True))) != _jit.described(enclosing((1, False)))
    assert _jit.described(enclosing(GENERIC)) == _jit.described(enclosing(replace(GENERIC)))
    assert _jit.described(enclosing(enclosing(1))) != _jit.described(enclosing(enclosing(2)))
    with pytest.raises(AssertionError, match="prints as another one in each process"):
        _jit.described(enclosing(object()))


@pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")
def test_functions_that_differ_in_what_they_enclose_have_code_of_their_own() -> None:
    def adding(step: int) -> Callable[[int], int]:
        @_jit.jit
        def add(x: int) -> int:
            return x + step

        return add

    assert [adding(step)(10) for step in (1, 2, 1)] == [11, 12, 11]


@pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")
@pytest.mark.parametrize("value", [1.5, [1], None])
def test_python_calls_with_what_has_words_alone(value: object) -> None:
    @_jit.jit
    def first(x: Any, y: int) -> int:
        return y

    with pytest.raises(TypeError, match="compiled functions take variants, arrays, integers and tuples; got a"):
        first(value, 1)


@pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")
def test_code_that_needs_the_runtime_of_numba_is_refused() -> None:
    """A process that reads it from the disk has none."""

    @_jit.jit
    def allocates(count: int) -> int:
        return int(np.ones(count).sum())

    with pytest.raises(TypeError, match=r"allocates calls NRT_.*, which a process without numba doesn't have"):
        allocates(3)


@pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")
def test_arrays_of_several_axes_and_tuples_keep_their_places() -> None:
    @_jit.jit
    def corner(x: Any, pair: Any, last: int) -> int:
        return int(x[1, 2] + 10 * pair[1][0] + 100 * pair[0] + 1000 * last + 10000 * len(pair[1]))

    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    assert corner(x, (3, np.array([2, 0])), 7) == 27325


@pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")
def test_python_is_refused_a_function_that_only_compiled_code_calls() -> None:
    """There is no machine code to call: without the refusal the process would end."""

    @_jit.inline
    def add(x: int) -> int:
        return x + 1

    @_jit.jit
    def outer(x: int) -> int:
        return add(x) * 2

    with pytest.raises(TypeError, match="add is a part of compiled code"):
        add(1)
    assert outer(1) == 4
