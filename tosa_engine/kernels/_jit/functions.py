"""Functions that are compiled: what the decorators make of them, and how their code is found, called and named.

Code is found by what describes a function and by the kinds of its arguments. It comes from the disk, or numba makes it
(`compile`), which is imported for that alone.
"""

from __future__ import annotations

import hashlib
import threading
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from . import disk
from .described import content, described
from .host import JIT
from .variants import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .machine import Code

R = TypeVar("R")
LOCK: Final = threading.RLock()  # numba and the linker of code work for one thread at a time
_watchers: Final[list[Callable[[str], None]]] = []
_here = threading.local()  # `only_kept` of this thread


class NotKept(Exception):
    """Code would have to be compiled."""


def jit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile when it is first called, and keep the code on disk. It runs without the GIL. When the JIT is off, the
    function itself, in which numbers overflow as silently as in compiled code.

    Compiled code may call it with anything; others with variants, contiguous arrays, integers, and tuples of these.
    """
    if not JIT:
        return np.errstate(all="ignore")(function)
    return Jitted(function)


def inline(function: Callable[..., R]) -> Callable[..., R]:
    """Like `jit`, for small functions that only compiled code calls: LLVM puts them into their callers. Python can't
    call them when the JIT is on.
    """
    return Inside(function, "inlined") if JIT else function


def intrinsic(define: Callable[..., R]) -> Callable[..., R]:
    """numba's decorator of what emits code, which it sees when compiled code first calls it."""
    return Inside(define, "intrinsic")


class Inside:
    """What compiled code calls, and numba makes something of when it first does: by the function of `compile` with the
    name `make`.
    """

    def __init__(self, function: Callable[..., Any], make: str) -> None:
        self.py_func, self._make = function, make

    @cached_property
    def made(self) -> Any:
        from . import compile as compiler

        return getattr(compiler, self._make)(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        """What numba asks for."""
        from . import compile as compiler

        return compiler.type_of(self.made)

    def __call__(self, *arguments: object) -> Any:
        raise TypeError(f"{self.py_func.__name__} is a part of compiled code, and nothing else calls it")


class Jitted(Inside):
    """A compiled function, with its code for each kind of arguments."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "outlined")
        self._codes: dict[tuple[str, ...], Code] = {}
        self._of_integers: Callable[..., Any] | None = None

    @cached_property
    def text(self) -> str:
        """What tells it from all others."""
        return f"{described(self.py_func)} {content(self.py_func.__code__.co_filename)}"

    def code(self, arguments: Sequence[Any]) -> Code:
        """The code for these arguments, which is read from the disk or compiled now."""
        kinds = tuple([_kind(argument) for argument in arguments])
        found = self._codes.get(kinds)
        if found is None:
            with LOCK:
                found = self._codes.get(kinds) or self._new_code(kinds, arguments)
                self._codes[kinds] = found
        return found

    def _new_code(self, kinds: tuple[str, ...], arguments: Sequence[Any]) -> Code:
        from . import machine

        key = hashlib.sha256(repr((self.text, kinds)).encode()).hexdigest()[:24]
        name = f"tosa_{key}"
        kept = disk.read(name)
        if kept is None and getattr(_here, "only_kept", False):
            raise NotKept(self.py_func.__name__)
        if kept is None:
            from . import compile as compiler

            for begin in _watchers:
                begin(self.py_func.__name__)
            kept = compiler.compiled(self.made, arguments, name)
            disk.write(name, kept)
        return machine.load(kept, name)

    @property
    def signatures(self) -> list[tuple[str, ...]]:
        """The kinds of arguments that there is code for in this process."""
        return list(self._codes)

    @property
    def of_integers(self) -> Callable[..., Any]:
        """The function for integers alone, as the quickest call there is from Python."""
        if self._of_integers is None:
            self._of_integers = self.code([0] * self.py_func.__code__.co_argcount).of_integers
        return self._of_integers

    def __call__(self, *arguments: Any) -> Any:
        if self._of_integers is not None:
            return self._of_integers(*arguments)
        if all(isinstance(argument, int) for argument in arguments):
            return self.of_integers(*arguments)
        return self.code(arguments)(*(word for argument in arguments for word in words(argument)))


def _kind(argument: Any) -> str:
    """What compiled code depends on of an argument."""
    if isinstance(argument, (int, np.integer)):
        return "i"
    if isinstance(argument, np.ndarray):
        return f"{argument.dtype.str}[{argument.ndim}]"
    if isinstance(argument, Variant):
        return argument.name
    if isinstance(argument, tuple):
        return f"({', '.join(map(_kind, argument))})"
    raise TypeError(f"compiled functions take variants, arrays, integers and tuples; got a {type(argument).__name__}")


@contextmanager
def only_kept() -> Iterator[None]:
    """Nothing is compiled in this thread: where code isn't on the disk, NotKept is raised."""
    _here.only_kept = True
    try:
        yield
    finally:
        _here.only_kept = False


@contextmanager
def watch(begin: Callable[[str], None]) -> Iterator[None]:
    """Calls `begin` with the name of each function whose compilation begins; those inside it are part of it."""
    _watchers.append(begin)
    try:
        yield
    finally:
        _watchers.remove(begin)


def entry(function: Callable[..., int], arguments: Sequence[Any]) -> int | None:
    """The address of compiled code for these arguments, which is compiled or read from the disk now; None for a
    function that isn't compiled.

    Called as C, it takes the address of the arguments' words, one after the other: a `Variant` is one (unused), an
    integer one, an array in one dimension seven (see `words`). It returns an integer.
    """
    return function.code(arguments).address if isinstance(function, Jitted) else None


def direct(function: Callable[..., R]) -> Callable[..., R]:
    """A function of integers alone, compiled or read from the disk now, without what is around a call of it."""
    return function.of_integers if isinstance(function, Jitted) else function


def is_compiled(function: object) -> bool:
    """Whether there is an `entry` to a function."""
    return isinstance(function, Jitted)


def words(argument: Any) -> list[int]:
    """An argument as `entry` takes it. Of arrays: the owner of the memory and its Python object (none), the number of
    elements, the size of one, the address, the shape and the strides.
    """
    if isinstance(argument, Variant):
        return [0]
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return [
            0, 0, argument.size, argument.itemsize, argument.ctypes.data, *argument.shape, *argument.strides,
        ]  # fmt: skip
    if isinstance(argument, tuple):
        return [word for part in argument for word in words(part)]
    assert isinstance(argument, (int, np.integer)), f"an argument of type {type(argument).__name__} is no word"
    return [int(argument)]
