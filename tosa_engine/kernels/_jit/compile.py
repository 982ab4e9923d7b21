"""Compiling functions, keeping their code, and calling it by its address."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from .disk import cache_folder, described, unkept
from .host import JIT, features, has
from .variant_type import few_of, lanes_of, masks, native, panels_of, rows_of
from .variants import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

R = TypeVar("R")
OWN: Final = "__of_"  # begins what tells functions apart that differ in what they enclose
NO_WRAPPERS: Final = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # no calls from Python or C

__all__ = [
    "JIT", "cache_folder", "callable_with", "described", "entry", "features", "few_of", "has", "inline", "is_compiled",
    "jit", "lanes_of", "masks", "native", "panels_of", "rows_of", "unkept", "watch", "words",
]  # fmt: skip

if JIT:
    import llvmlite.binding
    import numba
    from llvmlite import ir
    from numba import types as numba_types
    from numba.core import dispatcher, event
    from numba.extending import intrinsic

    from .disk import kept
    from .inlined import InlinedCompiler

    LLVM: Final[int] = llvmlite.binding.llvm_version_info[0]
    __all__ += ["LLVM", "intrinsic", "ir", "numba_types"]


def jit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile on first call, without the GIL, and keep the code on disk. When the JIT is off, the function itself, in
    which numbers overflow as silently as in compiled code.
    """
    if not JIT:
        return np.errstate(all="ignore")(function)
    compiled: Any = _njit(function)
    if cache_folder() is not None:
        compiled._cache = kept(function)
    return compiled  # type: ignore[no-any-return]


def inline(function: Callable[..., R]) -> Callable[..., R]:
    """Like `jit`, for small functions that only compiled code calls: LLVM puts them into their callers. Python can't
    call them when the JIT is on.
    """
    if not JIT:
        return function
    compiled: Any = _njit(function, forceinline=True, pipeline_class=InlinedCompiler, **NO_WRAPPERS)
    return compiled  # type: ignore[no-any-return]


def _njit(function: Callable[..., Any], **options: Any) -> Any:
    make: Any = numba.njit
    return make(nogil=True, error_model="numpy", **options)(_named(function))


def _named(function: Callable[..., R]) -> Callable[..., R]:
    """A function that encloses something, with a name of its own.

    numba names compiled code after the function, its types and a number that counts up in each process. Code from the
    disk keeps the number of the process that made it: of two functions that differ in what they enclose alone, one
    made here and one read could have one name, and the first of them would run in the place of the other.
    """
    if function.__closure__:
        function.__qualname__ = function.__qualname__.partition(OWN)[0]  # it may be compiled more than once
        function.__qualname__ += f"{OWN}{hashlib.sha256(described(function).encode()).hexdigest()[:12]}"
    return function


@contextmanager
def watch(begin: Callable[[str], None]) -> Iterator[None]:
    """Calls `begin` with the name of each function whose compilation begins; those inside it are part of it."""
    if not JIT:
        yield
        return
    depth = 0

    class Compilations(event.Listener):
        def on_start(self, event: Any) -> None:
            nonlocal depth
            depth += 1
            if depth == 1:
                begin(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            nonlocal depth
            depth -= 1

    with event.install_listener("numba:compile", Compilations()):
        yield


def entry(function: Callable[..., int], arguments: Sequence[Any]) -> int | None:
    """The address of compiled code for these arguments, which is compiled or read from the disk now; None for a
    function that isn't compiled.

    Called as C, it takes the arguments' words one after the other: a `Variant` is one (unused), an integer one, an
    array in one dimension seven (see `words`).
    """
    if not is_compiled(function):
        return None
    typeof: Any = numba.typeof
    kinds = tuple(typeof(argument) for argument in arguments)
    kernel: Any = function
    kernel.compile(kinds)
    compiled = kernel.overloads[kinds]
    without_literals: Any = numba_types.unliteral
    returned = without_literals(compiled.signature.return_type)
    assert returned == numba_types.int64, f"{function} returns {returned}"
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


def callable_with(function: Callable[..., R], *arguments: Any) -> Callable[..., R]:
    """A compiled function for arguments of these types alone: Python calls it without looking for the types."""
    if not is_compiled(function):
        return function
    typeof: Any = numba.typeof
    kernel: Any = function
    kinds = tuple(typeof(argument) for argument in arguments)
    kernel.compile(kinds)
    found: Callable[..., R] = kernel.overloads[kinds].entry_point
    return found


def is_compiled(function: object) -> bool:
    """Whether there is an `entry` to a function."""
    return JIT and isinstance(function, dispatcher.Dispatcher)


def words(argument: Any) -> list[int]:
    """An argument as `entry` takes it. Of arrays: the owner of the memory and its Python object (none), the number of
    elements, the size of one, the address, the shape and the stride.
    """
    if isinstance(argument, Variant):
        return [0]
    if isinstance(argument, np.ndarray):
        assert argument.ndim == 1
        assert argument.flags.c_contiguous
        return [0, 0, argument.size, argument.itemsize, argument.ctypes.data, argument.size, argument.itemsize]
    assert isinstance(argument, (int, np.integer)), f"an argument of type {type(argument).__name__} is no word"
    return [int(argument)]
