"""`Variant` as a type of compiled code: one for each, and its attributes as constants. Only imported to compile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from numba import types as numba_types
from numba.extending import models, register_model

if TYPE_CHECKING:
    from .typed import Kind
    from .variants import Variant


class VariantType(numba_types.Opaque):
    """The type of a `Variant`: one for each, which is what makes compiled code differ."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        super().__init__(f"Variant({variant.name})")


register_model(VariantType)(models.OpaqueModel)


def type_of(variant: Variant) -> Kind:
    make: Any = VariantType
    return make(replace(variant))
