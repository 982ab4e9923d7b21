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

import pytest

from tosa_engine.kernels import _jit
from tosa_engine.kernels._jit.variants import GENERIC

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

# Two dispatchers of one function stand for two processes. The second one compiles another signature while the first is
# about to save its own: both have seen an empty cache. WRITE ends with both saved; READ is a third process.
WRITE = """
import numba.core.caching as caching
from tosa_engine.kernels import _jit
from doubled import double

first, second = _jit.jit(double), _jit.jit(double)
save, load = caching.IndexDataCacheFile._save_index, caching.IndexDataCacheFile._load_index
pending = [True]

def save_late(self, entries):
    save(self, entries)
    if pending:
        pending.clear()
        caching.IndexDataCacheFile._load_index = lambda self: {}
        assert second(1.5) == 3.0
        caching.IndexDataCacheFile._load_index = load

caching.IndexDataCacheFile._save_index = save_late
assert first(1) == 2
assert not pending
"""
READ = """
from tosa_engine.kernels import _jit
from doubled import double

began = []
third = _jit.jit(double)
with _jit.watch(began.append):
    print(third(1.5), third(1), began)
    third(1j)
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
    """numba's own files would give the code for integers to a caller with floats here: 1.5 + 1.5 was 2."""
    (tmp_path / "doubled.py").write_text("def double(x):\n    return x + x\n")
    python(WRITE, tmp_path)
    assert python(READ, tmp_path).splitlines() == ["3.0 2 []", "['double']"]


@pytest.mark.parametrize("length", [0, 40])
def test_code_of_which_a_part_is_missing_is_compiled_anew(length: int, tmp_path: Path) -> None:
    (tmp_path / "doubled.py").write_text("def double(x):\n    return x + x\n")
    python(WRITE, tmp_path)
    for path in (tmp_path / "cache").rglob("*.nb*"):
        os.truncate(path, length)
    assert python(READ, tmp_path).splitlines() == ["3.0 2 ['double', 'double']", "['double', 'double', 'double']"]
    assert python(READ, tmp_path).splitlines() == ["3.0 2 []", "[]"]


def test_code_of_another_source_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "doubled.py").write_text("def double(x):\n    return x + x\n")
    python(WRITE, tmp_path)
    (tmp_path / "doubled.py").write_text("def double(x):\n    return x + x + 1\n")
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
    """numba tells what is enclosed by its pickle, which differs in each process: nothing would be found again."""
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
as_c = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
print(results, [as_c(entry(function, [5]))(5) for function in functions])
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
def test_functions_that_differ_in_what_they_enclose_have_names_of_their_own() -> None:
    """Compiled code from the disk and code that is compiled now must never share the name of a symbol."""

    def adding(step: int, make: Callable[..., Any]) -> str:
        def add(x: int) -> int:
            return x + step

        name: str = make(add).py_func.__qualname__
        assert make(add).py_func.__qualname__ == name  # once is enough
        return name

    for make in (_jit.jit, _jit.inline):
        names = [adding(step, make) for step in (1, 2, 1)]
        assert names[0] == names[2] != names[1]


@pytest.mark.skipif(not _jit.JIT, reason="nothing is compiled without the JIT")
def test_python_is_refused_a_function_that_only_compiled_code_calls() -> None:
    """There is no machine code to call: without the refusal the process would end."""

    @_jit.inline
    def add(x: int) -> int:
        return x + 1

    @_jit.jit
    def outer(x: int) -> int:
        return add(x) * 2

    with pytest.raises(TypeError, match="bad argument"):
        add(1)
    assert outer(1) == 4
