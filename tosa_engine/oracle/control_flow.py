"""What control flow operators do (specification 2.16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .around import Context


def cond_if(call: Call, context: Context, condition: Array, input_list: list[Array]) -> list[Array]:
    """One of two regions."""
    return context.run(call.region("then_graph" if condition.reshape(-1)[0] else "else_graph"), input_list)


def while_loop(call: Call, context: Context, input_list: list[Array]) -> list[Array]:
    """The body, for as long as the condition holds for what it gave last."""
    found = list(input_list)
    while context.run(call.region("cond_graph"), found)[0].reshape(-1)[0]:
        found = context.run(call.region("body_graph"), found)
    return found


ORACLES = {"COND_IF": cond_if, "WHILE_LOOP": while_loop}
