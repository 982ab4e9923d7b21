"""What a custom operator gives: its own function says (specification 2.15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..spec.custom import compute

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .around import Context


def custom(call: Call, context: Context, input_list: list[Array]) -> list[Array]:
    return compute(call, input_list)


ORACLES = {"CUSTOM": custom}
