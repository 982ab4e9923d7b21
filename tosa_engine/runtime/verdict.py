"""What the oracle says of a step that ran: which REQUIRE failed, or that kernel and oracle differ.

Raises what it finds: RequireViolation, or TosaEngineError `RUN.disagree`, which is an internal error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from ..errors import RequireViolation, TosaEngineError
from ..numerics.float_formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..plan import Step
    from ..spec import Call
    from ..types import Array
    from .workspace import Workspace


def _arguments(workspace: Workspace, call: Call, known: Mapping[str, Array]) -> dict[str, Any]:
    """The inputs of an operator: those that are `known`, and those in memory."""

    def value(name: str) -> Array:
        return known[name] if name in known else workspace.view(name)

    found: dict[str, Any] = {}
    for argument in call.spec.inputs:
        tensors = call.tensors[argument.name]
        found[argument.name] = [value(t.name) for t in tensors] if isinstance(tensors, list) else value(tensors.name)
    return found


def violation(workspace: Workspace, step: Step) -> None:
    """A kernel saw a REQUIRE fail: the oracle says which one, where and with which values."""
    from ..oracle import context, run_operator

    known: dict[str, Array] = {}
    for call in step.calls:
        around = context(call.graph, workspace.around.variables)
        outputs = run_operator(call, _arguments(workspace, call, known), around)
        known.update(zip(call.operator.outputs, outputs, strict=True))
    message = f"the kernel of {step.operators} saw a REQUIRE fail, the oracle none"
    raise TosaEngineError(message, label="RUN.disagree", node=step.name, tensor=step.output)


def compare(workspace: Workspace, step: Step) -> None:
    """Compute the operator with the oracle too; the kernel saw no REQUIRE fail. Effects aren't done twice."""
    from ..oracle import run_operator

    if not all(call.spec.pure for call in step.calls):
        return
    try:
        (wanted,) = run_operator(step.calls[0], _arguments(workspace, step.calls[0], {}))
    except RequireViolation as found:
        message = f"the oracle of {step.operators} saw a REQUIRE fail, the kernel none: {found}"
        raise TosaEngineError(message, label="RUN.disagree", node=step.name, tensor=step.output) from found
    got = workspace.view(step.output)
    if _same(got, wanted):
        return
    where = tuple(int(i) for i in np.argwhere((got != wanted) & ((got == got) | (wanted == wanted)))[0])
    message = f"kernel and oracle of {step.operators} differ at {list(where)}: {got[where]} and {wanted[where]}"
    raise TosaEngineError(message, label="RUN.disagree", node=step.name, tensor=step.output)


def _same(got: Array, wanted: Array) -> bool:
    """Equal, or for floats close: the oracle adds up in float64, the kernels in float32."""
    dtype = types.from_numpy(got.dtype)
    if dtype is None or not dtype.is_float:
        return bool(np.array_equal(got, wanted))
    room = max(1e-4, 2.0 ** (1 - FORMATS[dtype].fraction_bits))
    with np.errstate(invalid="ignore"):
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    largest = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0))
    return bool(np.allclose(got, wanted, rtol=room, atol=room * largest, equal_nan=True))
