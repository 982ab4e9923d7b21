"""`Variant` as a type of compiled code: one for each, and its attributes as constants."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from .host import JIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .typed import Builder, Compiled, Context, Kind, Signature, Typing, Value

if TYPE_CHECKING or JIT:
    from .variants import Variant

if JIT:
    from numba import types as numba_types
    from numba.extending import NativeValue, intrinsic, models, register_model, typeof_impl, unbox

    class VariantType(numba_types.Opaque):
        """The type of a `Variant`: one for each, which is what makes compiled code differ."""

        def __init__(self, variant: Variant) -> None:
            self.variant = variant
            super().__init__(f"Variant({variant.name})")

    register_model(VariantType)(models.OpaqueModel)

    @typeof_impl.register(Variant)
    def _type_of_variant(value: Variant, context: Context) -> Kind:
        kind = VariantType(replace(value))  # a copy, so that the type doesn't lead back to itself when it is stored
        object.__setattr__(value, "_numba_type_", kind)  # where numba looks first: asking here takes 2 us of each call
        return kind

    def _unbox_variant(kind: Kind, value: Kind, unboxing: Kind) -> Kind:
        make: Any = NativeValue
        return make(unboxing.context.get_dummy_value())

    _register: Any = unbox
    _register(VariantType)(_unbox_variant)

    def of_variant(name: str, kind: Kind) -> Compiled:
        """A compiled function that gives an attribute of a variant, which is a constant of the compiled code."""

        @intrinsic
        def attribute(typingctx: Context, simd: Kind) -> Typing:
            def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
                return context.get_constant(kind, getattr(simd.variant, name))

            return kind(simd), codegen

        return attribute

    native, masks = of_variant("native", numba_types.boolean), of_variant("masks", numba_types.boolean)
    lanes_of, rows_of = of_variant("lanes", numba_types.int64), of_variant("rows", numba_types.int64)
    few_of, panels_of = of_variant("few", numba_types.int64), of_variant("panels", numba_types.int64)

else:
    native, masks = attrgetter("native"), attrgetter("masks")
    lanes_of, rows_of = attrgetter("lanes"), attrgetter("rows")
    few_of, panels_of = attrgetter("few"), attrgetter("panels")
