"""Custom operators (specification 2.15).

CUSTOM is the operator of the specification: it names another one by domain and name. That one is declared like all
others of the table, and is looked up when a graph is bound. `tosa_engine.custom` is the public face.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import TosaEngineError, Unsupported
from ..types import i8
from .case import Case
from .control_flow import LIMITS
from .table import Attribute, OpSpec, row, tensor_list
from .traits import OPAQUE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..graph import Operator
    from ..types import Array, Shape
    from .table import Call

    Compute = Callable[..., Array | Sequence[Array]]

EXAMPLE = ("tosa_engine.example", "same")
ATTRIBUTES = (
    Attribute("operator_name", "string", 0),
    Attribute("domain_name", "string", 1),
    Attribute("implementation_attrs", "bytes", 2, optional=True, default=b""),
)


@dataclass(frozen=True)
class CustomOperator:
    """A registered operator: `spec` says what is legal, `compute(call, **arrays by argument name)` what it gives."""

    spec: OpSpec
    compute: Compute


REGISTRY: dict[tuple[str, str], CustomOperator] = {}


def find(operator: Operator) -> CustomOperator:
    """The registered operator that a CUSTOM names. Raises Unsupported where there is none."""
    key = (operator.attributes.get("domain_name", ""), operator.attributes.get("operator_name", ""))
    if key not in REGISTRY:
        message = f"no custom operator '{key[1]}' of domain '{key[0]}' is registered (tosa_engine.custom)"
        raise Unsupported(message, label="CUSTOM.operator", node=operator.name)
    return REGISTRY[key]


def compute(call: Call, inputs: list[Array]) -> list[Array]:
    """What a custom operator's function gives for the tensors in the list of a CUSTOM.

    Raises:
        TosaEngineError: the function gave other arrays than the outputs need.
    """
    inner = call.inner
    assert inner is not None
    waiting = list(inputs)
    arrays: dict[str, Array | list[Array]] = {}
    for argument in inner.spec.inputs:
        arrays[argument.name] = waiting if argument.is_list else waiting.pop(0)
    found = find(call.operator).compute(inner, **arrays)
    outputs = [found] if isinstance(found, np.ndarray) else list(found)
    wanted = [f"{t.dtype.storage}{list(t.shape or ())}" for t in call.tensors["output_list"]]
    got = [f"{a.dtype}{list(a.shape)}" for a in outputs]
    if wanted != got:
        message = f"the function of {inner.spec.name} must give {', '.join(wanted)}; it gave {', '.join(got)}"
        raise TosaEngineError(message, label="CUSTOM.result", node=call.operator.name)
    for tensor, array in zip(call.tensors["output_list"], outputs, strict=True):
        low, high = tensor.dtype.stored_minimum, tensor.dtype.maximum
        if tensor.dtype.is_narrow and array.size and (array.min() < low or array.max() > high):
            message = f"the function of {inner.spec.name} must give values {low} .. {high} for {tensor.dtype}"
            message += f"; it gave {array.min()} .. {array.max()}"
            raise TosaEngineError(message, label="CUSTOM.result", node=call.operator.name, tensor=tensor.name)
    return outputs


def _shapes(c: Call) -> Sequence[Shape]:
    return find(c.operator).spec.shapes(c.inner) if c.inner is not None else []


CUSTOM = OpSpec(
    name="CUSTOM",
    code=69,
    schema="Custom",
    section="2.15.1",
    inputs=(tensor_list("input_list", "input_shapes"),),
    attributes=ATTRIBUTES,
    outputs=(tensor_list("output_list", "output_shapes"),),
    rows=(row("all", "PRO-INT | PRO-FP"),),
    traits=OPAQUE,
    shapes=_shapes,
    limits=LIMITS,
    example=lambda r: (
        Case("CUSTOM")
        .list_input("input_list", i8, (2, 3))
        .set(domain_name=EXAMPLE[0], operator_name=EXAMPLE[1], implementation_attrs=b"")
        .output("output_list", i8, (2, 3))
    ),
    pure=False,
    within=lambda operator: find(operator).spec,
)

# The operator that the table's own example uses: its inputs, unchanged.
REGISTRY[EXAMPLE] = CustomOperator(
    OpSpec(
        name=f"{EXAMPLE[0]}:{EXAMPLE[1]}",
        code=CUSTOM.code,
        schema="",
        section="",
        inputs=CUSTOM.inputs,
        attributes=ATTRIBUTES,
        outputs=CUSTOM.outputs,
        rows=CUSTOM.rows,
        traits=OPAQUE,
        shapes=lambda c: c["input_shapes"],
        example=CUSTOM.example,
    ),
    lambda call, input_list: input_list,
)

OPERATORS = (CUSTOM,)
