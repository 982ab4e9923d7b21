"""The attributes of a `Variant` in compiled code, where they are constants."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from .functions import intrinsic
from .host import JIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .typed import Builder, Compiled, Context, Kind, Signature, Typing, Value


def of_variant(name: str, kind: str) -> Compiled:
    """A function that gives an attribute."""
    if not JIT:
        return attrgetter(name)

    def attribute(typingctx: Context, simd: Kind) -> Typing:
        from numba import types as numba_types

        found = getattr(numba_types, kind)

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            return context.get_constant(found, getattr(simd.variant, name))

        return found(simd), codegen

    return intrinsic(attribute)


native, masks = of_variant("native", "boolean"), of_variant("masks", "boolean")
lanes_of, rows_of = of_variant("lanes", "int64"), of_variant("rows", "int64")
few_of, panels_of = of_variant("few", "int64"), of_variant("panels", "int64")
