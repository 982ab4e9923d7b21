"""The only door to numba and llvmlite: what compiles kernels, and what emitted code is written with.

Nothing outside this folder imports either; files that emit LLVM IR take what they need from here, and write it in the
words of `llvm`. numba is imported when something has to be compiled (`compile`), llvmlite when code is linked
(`machine`) or words for LLVM IR are needed.

`functions` has the decorators, and finds the code of functions: in the cache (`disk`), under a name that tells it from
all others (`described`). `host` says what code is compiled for, `variants` names the vector units, `variant_type` makes
compiled code differ by them, and `of_variant` reads them there, `stack` has small
arrays. `inlined` compiles what becomes a part of other code,
and `typed` says to the type checker what compiled and emitted code is made of.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .described import described
from .disk import cache_folder, unkept
from .functions import NotKept, direct, entry, inline, intrinsic, is_compiled, jit, only_kept, watch, words
from .host import JIT, features, has
from .of_variant import few_of, lanes_of, masks, native, panels_of, rows_of
from .stack import floats_on_stack

if TYPE_CHECKING:
    from llvmlite import ir
    from numba import types as numba_types

__all__ = [
    "JIT", "NotKept", "cache_folder", "described", "direct", "entry", "features", "few_of", "floats_on_stack",
    "has", "inline", "intrinsic", "ir", "is_compiled", "jit", "lanes_of", "masks", "native", "numba_types",
    "only_kept", "panels_of", "rows_of", "unkept", "watch", "words",
]  # fmt: skip


class _Types:
    """numba's types, imported when the first of them is needed."""

    def __getattr__(self, name: str) -> object:
        from numba import types

        return getattr(types, name)


if not TYPE_CHECKING:
    numba_types = _Types()


def __getattr__(name: str) -> object:
    if name == "ir":
        return import_module("llvmlite.ir")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
