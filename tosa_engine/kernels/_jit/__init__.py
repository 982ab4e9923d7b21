"""The only door to numba and llvmlite: what compiles kernels, and what emitted code is written with.

Nothing outside this folder imports either; files that emit LLVM IR take what they need from here, and write it in the
words of `llvm`. The names below are those of `compile`, which imports numba unless `TOSA_ENGINE_JIT=0`. It is imported
when the first of them is needed, so that preparing kernels needs no compiler.

`host` says what code is compiled for, `variants` names the vector units and `variant_type` makes compiled code differ
by them. `inlined` compiles what becomes a part of other code, `disk` keeps compiled code, and `typed` says to the type
checker what compiled and emitted code is made of.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compile import (
        JIT,
        LLVM,
        cache_folder,
        callable_with,
        described,
        entry,
        features,
        few_of,
        has,
        inline,
        intrinsic,
        ir,
        is_compiled,
        jit,
        lanes_of,
        masks,
        native,
        numba_types,
        panels_of,
        rows_of,
        unkept,
        watch,
        words,
    )  # fmt: skip

__all__ = [
    "JIT", "LLVM", "cache_folder", "callable_with", "described", "entry", "features", "few_of", "has", "inline",
    "intrinsic", "ir", "is_compiled", "jit", "lanes_of", "masks", "native", "numba_types", "panels_of", "rows_of",
    "unkept", "watch", "words",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(".compile", __name__), name)
