"""The only door to numba and llvmlite: compiling, the cache on disk, the host's features.

Nothing else imports numba; files that emit LLVM IR (with the words of `emitting.py`) take what they need from here.
Importing this module imports numba unless `TOSA_ENGINE_JIT=0`, so the registry imports it only when a step is prepared.

`TOSA_ENGINE_JIT=0` runs the same kernels as plain Python. `TOSA_ENGINE_CACHE_DIR` names the folder of compiled code;
without it the user's cache folder is used. Compiled code is filed under a hash of all kernel sources and of the
versions and the processor it was made with, because numba's own cache looks at one source file only. Any number of
processes may use it at once; one that can't write it (a read-only home, an image that was warmed up) reads it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import logging
import os
import platform
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from .variants import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

R = TypeVar("R")
logger = logging.getLogger("tosa_engine")
OWN: Final = "__of_"  # begins what tells functions apart that differ in what they enclose
unkept: Final[list[str]] = []  # why compiled code wasn't written to the disk

JIT: Final = os.environ.get("TOSA_ENGINE_JIT", "1") != "0"

if JIT:
    import llvmlite
    import llvmlite.binding
    import numba
    from llvmlite import ir
    from numba import types as numba_types
    from numba.core import caching, dispatcher, event
    from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

    __all__ = [
        "JIT", "LLVM", "VariantType", "entry", "few_of", "has", "inline", "intrinsic", "ir", "jit", "lanes_of",
        "masks", "native", "numba_types", "panels_of", "rows_of", "words",
    ]  # fmt: skip
    LLVM: Final[int] = llvmlite.binding.llvm_version_info[0]

    class VariantType(numba_types.Opaque):
        """The type of a `Variant`: one for each, which is what makes compiled code differ."""

        def __init__(self, variant: Variant) -> None:
            self.variant = variant
            super().__init__(f"Variant({variant.name})")

    register_model(VariantType)(models.OpaqueModel)

    @typeof_impl.register(Variant)
    def _type_of_variant(value: Variant, context: Any) -> Any:
        kind = VariantType(replace(value))  # a copy, so that the type doesn't lead back to itself when it is stored
        object.__setattr__(value, "_numba_type_", kind)  # where numba looks first: asking here takes 2 us of each call
        return kind

    def _unbox_variant(kind: Any, value: Any, unboxing: Any) -> Any:
        make: Any = NativeValue
        return make(unboxing.context.get_dummy_value())

    _register: Any = unbox
    _register(VariantType)(_unbox_variant)

    def of_variant(name: str, kind: Any) -> Any:
        """A compiled function that gives an attribute of a variant, which is a constant of the compiled code."""

        @intrinsic
        def attribute(typingctx: Any, simd: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                return context.get_constant(kind, getattr(simd.variant, name))

            return kind(simd), codegen

        return attribute

    native, masks = of_variant("native", numba_types.boolean), of_variant("masks", numba_types.boolean)
    lanes_of, rows_of = of_variant("lanes", numba_types.int64), of_variant("rows", numba_types.int64)
    few_of, panels_of = of_variant("few", numba_types.int64), of_variant("panels", numba_types.int64)

else:
    __all__ = [
        "JIT", "entry", "few_of", "has", "inline", "jit", "lanes_of", "masks", "native", "panels_of", "rows_of",
        "words",
    ]  # fmt: skip

    native, masks = attrgetter("native"), attrgetter("masks")
    lanes_of, rows_of = attrgetter("lanes"), attrgetter("rows")
    few_of, panels_of = attrgetter("few"), attrgetter("panels")


def jit(function: Callable[..., R]) -> Callable[..., R]:
    """Compile on first call, without the GIL, and keep the code on disk. When the JIT is off, the function itself, in
    which numbers overflow as silently as in compiled code.
    """
    if not JIT:
        return np.errstate(all="ignore")(function)
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(_named(function))
    if cache_folder() is not None:
        compiled._cache = _kept(function)
    return compiled  # type: ignore[no-any-return]


def inline(function: Callable[..., R]) -> Callable[..., R]:
    """Like `jit`, for small functions that only compiled code calls: LLVM puts them into their callers."""
    if not JIT:
        return function
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(_named(function))


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


@lru_cache(maxsize=1)
def features() -> frozenset[str]:
    """Features of the processor that compiled code may use, by LLVM's names; none when the JIT is off."""
    if not JIT:
        return frozenset()
    return frozenset(name for name, present in llvmlite.binding.get_host_cpu_features().items() if present)


def has(*names: str) -> bool:
    return features().issuperset(names)


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """The folder for this version of the kernels, made if need be; None (with a warning) when there can't be one."""
    folder = _user_cache() / _key()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _warn(error)
        return None
    return folder


def _warn(error: OSError) -> None:
    if not unkept:
        logger.warning("compiled kernels can't be kept: %s; set TOSA_ENGINE_CACHE_DIR to a writable folder", error)
    unkept.append(str(error))


@lru_cache
def _content(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]


def _user_cache() -> Path:
    named = os.environ.get("TOSA_ENGINE_CACHE_DIR")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "tosa_engine"


def _key() -> str:
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parent.parent
    for source in sorted([*(package / "kernels").glob("*.py"), *(package / "numerics").glob("*.py")]):
        digest.update(source.name.encode())
        digest.update(source.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, sys.version, platform.machine())
    digest.update(repr((versions, llvmlite.binding.get_host_cpu_name(), sorted(features()))).encode())
    return digest.hexdigest()[:20]


def described(value: Any) -> str:
    """A function by its name, its line and what it encloses, and so on; all else as it prints."""
    value = getattr(value, "py_func", getattr(value, "_defn", value))  # of compiled functions and intrinsics
    if inspect.isfunction(value):
        enclosed = [described(cell.cell_contents) for cell in value.__closure__ or ()]
        return f"{value.__module__}.{value.__qualname__}:{value.__code__.co_firstlineno}({', '.join(enclosed)})"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(described, value))}]"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [described(getattr(value, part.name)) for part in dataclasses.fields(value)]
        return f"{type(value).__name__}({', '.join(parts)})"
    text = repr(value)
    assert " at 0x" not in text, f"{text} is enclosed by a compiled function, and prints as another one in each process"
    return text


if JIT:

    class _Locator(caching._CacheLocator):
        """Where numba keeps the code of a function: in the one folder, under a name of the file's content and line."""

        def __init__(self, function: Any, file: str) -> None:
            self._line = function.__code__.co_firstlineno
            self._content = _content(file)

        @classmethod
        def from_function(cls, function: Any, file: str) -> _Locator:
            return cls(function, file)

        def get_cache_path(self) -> str:
            return str(cache_folder())

        def get_source_stamp(self) -> str:
            return self._content

        def get_disambiguator(self) -> str:
            return f"{self._line}.{self._content}"

        def ensure_cache_path(self) -> None:
            """It is there, or was removed: saving tells."""

    class _Description(caching.CompileResultCacheImpl):
        _locator_classes: list[type[object]] = [_Locator]  # noqa: RUF012

    class _Cache(caching.FunctionCache):
        _impl_class = _Description

        def _index_key(self, sig: Any, codegen: Any) -> Any:
            """The sources are in the name of the folder, so what is enclosed makes the only other difference. numba
            takes the bytes of its pickle, which differ between processes wherever a compiled function is enclosed.
            """
            return sig, codegen.magic_tuple(), described(self._py_func)

    class _Signatures:
        """numba's files, one pair for each signature instead of one list for all signatures of a function.

        Such a list is read, changed and written again, and its entries are numbered: of two processes that compile
        different signatures at once, one would lose its entry, or the entry of one would name the code of the other.
        """

        def __init__(self, cache: Any) -> None:
            self._cache = cache

        def _file(self, key: Any) -> Any:
            make: Any = caching.IndexDataCacheFile
            description = self._cache._impl
            name = f"{description.filename_base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:12]}"
            return make(self._cache.cache_path, name, description.locator.get_source_stamp())

        def load(self, key: Any) -> Any:
            """Code, or None where there is none, or only a part: the machine may have stopped while it was saved."""
            file, reader = self._file(key), vars(caching)["pickle"]
            try:
                return file.load(key)
            except (EOFError, reader.UnpicklingError) as error:
                logger.warning("compiled code can't be read (%s) and is compiled anew", error)
                Path(file._index_path).unlink(missing_ok=True)
                return None

        def save(self, key: Any, data: Any) -> None:
            try:
                self._file(key).save(key, data)
            except OSError as error:
                _warn(error)

    def _kept(function: Any) -> Any:
        """What numba keeps of a function."""
        cache: Any = _Cache
        kept = cache(function)
        kept._cache_file = _Signatures(kept)
        return kept
