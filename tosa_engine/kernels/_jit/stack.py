"""Small arrays of compiled functions, on the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .functions import intrinsic
from .host import JIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .typed import Builder, Compiled, Context, Signature, Typing, Value


def floats_on_stack(count: int) -> Compiled:
    """A function without arguments that gives `count` numbers of float32, whatever they are, as long as its caller
    runs.
    """
    if not JIT:
        return lambda: np.empty(count, np.float32)

    def floats(typingctx: Context) -> Typing:
        from llvmlite import ir
        from numba import types as numba_types
        from numba.core import cgutils as untyped

        cgutils: Any = untyped
        kind = numba_types.Array(numba_types.float32, 1, "C")

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            array: Any = context.make_array(kind)(context, builder)
            array.data = cgutils.alloca_once(builder, ir.FloatType(), size=count)
            size = ir.IntType(64)(4)
            array.nitems, array.itemsize = ir.IntType(64)(count), size
            array.shape, array.strides = (cgutils.pack_array(builder, [n]) for n in (array.nitems, size))
            made: Value = array._getvalue()
            return made

        return kind(), codegen

    return intrinsic(floats)
