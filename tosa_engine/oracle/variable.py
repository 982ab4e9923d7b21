"""What variable operators do, and which REQUIREs they have (specification 2.17)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import RequireViolation
from ..state import Variable

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array
    from .around import Context


def _require(call: Call, rule: str, holds: bool, message: str) -> None:
    if not holds:
        message = f"variable '{call['name']}': {message}"
        raise RequireViolation(message, label=f"{call.spec.name}.{rule}", node=call.operator.name)


def variable(call: Call, context: Context) -> list[Array]:
    """A variable of an earlier run stays as it is, whatever is declared now."""
    variables, name, initial = context.variables, call["name"], call.initial_value
    if name in variables.held:
        _require(call, "R3", name not in variables.seen, "is declared twice in this run")
    elif initial is not None:
        dtype = call.var_t
        _require(call, "R1", initial.dtype == dtype.storage, f"is of {dtype}, its initial value of {initial.dtype}")
        shapes = f"has shape {list(call.var_shape)}, its initial value {list(initial.shape)}"
        _require(call, "R2", initial.shape == call.var_shape, shapes)
    value = None if initial is None else initial.copy()
    variables.declare(name, Variable(call.var_t, call.var_shape, value))
    return []


def variable_write(call: Call, context: Context, input1: Array) -> list[Array]:
    variables, name = context.variables, call["name"]
    _require(call, "R1", name in variables.held, "was never declared")
    _require(call, "R2", name in variables.declared, "isn't declared before it is written in this run")
    held = variables.held[name]
    _require(call, "R3", held.shape == call.shape, f"has shape {list(held.shape)}, the input {list(call.shape)}")
    _require(call, "R4", held.dtype is call.in_t, f"is of {held.dtype}, the input of {call.in_t}")
    variables.write(name, input1.copy())
    return []


def variable_read(call: Call, context: Context) -> list[Array]:
    name = call["name"]
    held = context.variables.held.get(name)
    _require(call, "R1", held is not None, "was never declared")
    assert held is not None
    _require(call, "R2", held.data is not None, "is read before it was written")
    assert held.data is not None
    _require(call, "R3", held.shape == call.shape, f"has shape {list(held.shape)}, the output {list(call.shape)}")
    _require(call, "R4", held.dtype is call.out_t, f"is of {held.dtype}, the output of {call.out_t}")
    return [held.data.copy()]


ORACLES = {"VARIABLE": variable, "VARIABLE_WRITE": variable_write, "VARIABLE_READ": variable_read}
