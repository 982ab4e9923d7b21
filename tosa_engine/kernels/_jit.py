"""The only door to numba and llvmlite: compiling, the cache on disk, the host's features.

Nothing else imports numba; files that emit LLVM IR (with the words of `emitting.py`) take what they need from here.
Importing this module imports numba unless `TOSA_ENGINE_JIT=0`, so the registry imports it only when a step is prepared.

`TOSA_ENGINE_JIT=0` runs the same kernels as plain Python. `TOSA_ENGINE_CACHE_DIR` names the folder of compiled code;
without it the user's cache folder is used. Compiled code is filed under a hash of all kernel sources and of the
versions and the processor it was made with, because numba's own cache looks at one source file only.
"""

from __future__ import annotations

import hashlib
import logging
import os
import platform
import sys
import tempfile
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from .variants import Variant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

R = TypeVar("R")
logger = logging.getLogger("tosa_engine")

JIT: Final = os.environ.get("TOSA_ENGINE_JIT", "1") != "0"

if JIT:
    import llvmlite
    import llvmlite.binding
    import numba
    from llvmlite import ir
    from numba import types as numba_types
    from numba.core.dispatcher import Dispatcher
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
        return VariantType(value)

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
    """Compile on first call, without the GIL, and keep the code on disk. The function itself when the JIT is off."""
    if not JIT:
        return function
    folder = cache_folder()
    if folder is None:
        return numba.njit(nogil=True, error_model="numpy")(function)
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder)  # read when the function is wrapped, so no other user of numba sees it
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    finally:
        settings.CACHE_DIR = before


def inline(function: Callable[..., R]) -> Callable[..., R]:
    """Like `jit`, for small functions that only compiled code calls: LLVM puts them into their callers."""
    if not JIT:
        return function
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)


def entry(function: Callable[..., int], arguments: Sequence[Any]) -> int | None:
    """The address of compiled code for these arguments, which is compiled or read from the disk now; None for a
    function that isn't compiled.

    Called as C, it takes the arguments' words one after the other: a `Variant` is one (unused), an integer one, an
    array in one dimension seven (see `words`).
    """
    if not JIT or not isinstance(function, Dispatcher):
        return None
    typeof: Any = numba.typeof
    kinds = tuple(typeof(argument) for argument in arguments)
    function.compile(kinds)
    compiled: Any = function.overloads[kinds]
    without_literals: Any = numba_types.unliteral
    returned = without_literals(compiled.signature.return_type)
    assert returned == numba_types.int64, f"{function} returns {returned}"
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name))


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
    """The folder for this version of the kernels, made if need be; None (with a warning) when it can't be written."""
    folder = _user_cache() / _key()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        logger.warning("compiled kernels can't be kept: %s; set TOSA_ENGINE_CACHE_DIR to a writable folder", error)
        return None
    return folder


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
