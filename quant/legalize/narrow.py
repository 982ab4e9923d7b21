"""Activations of any number of bits, 1 to 16, in tensors of 8 or 16: a CLAMP keeps them in their range.

Up to 8 bits the codes are those of the QParams. Of 9 to 15 bits they are counted from the zero point, because int16 has
none in TOSA. Of 16 bits with a zero point they are counted from there, too, in steps that are larger: as large as makes
32,767 of them the farther end of the range. More than 16 bits have no integer form: TOSA's activations are int8 and
int16.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tosa_engine import types
from tosa_engine.graph import Graph, Operator, QParams

from ..ranges import is_moved_16
from .sharing import is_move

if TYPE_CHECKING:
    from tosa_engine.graph import Block, Tensor

MOST: Final = 32767


def run(graph: Graph) -> Graph:
    """The graph with QParams that int8 and int16 have, and a CLAMP behind each tensor whose own hold less."""
    block = graph.main
    narrow = {name: t.quant for name, t in block.tensors.items() if t.quant is not None and _is_narrow(t)}
    if not narrow:
        return graph
    graph = graph.copy()
    block = graph.main
    for name, quant in narrow.items():
        block.tensors[name].quant = _stored(quant)
    clamped: list[Operator] = []
    entering: dict[str, str] = {}
    for name in block.inputs:
        if name in narrow:
            fresh = block.fresh(f"{name}_clamped")
            block.add(replace(block.tensors[name], name=fresh))
            clamped.append(_clamp(block, narrow[name], name, fresh))
            entering[name] = fresh
    for operator in block.operators:
        operator.inputs = [entering.get(name, name) for name in operator.inputs]
        clamped.append(operator)
        for name in operator.outputs:
            if name in narrow and not _moves(block, operator, narrow, name):
                fresh = block.fresh(f"{name}_unclamped")
                block.add(replace(block.tensors[name], name=fresh))
                operator.outputs = [fresh if n == name else n for n in operator.outputs]
                clamped.append(_clamp(block, narrow[name], fresh, name))
    block.operators = clamped
    return graph


def _is_narrow(tensor: Tensor) -> bool:
    quant = tensor.quant
    return (
        quant is not None and tensor.data is None and tensor.dtype is types.fp32
        and (quant.bits < 16 or is_moved_16(quant)) and quant.bits != 8
        and len(quant.scale) == 1 and quant.axis is None
    )  # fmt: skip


def _stored(quant: QParams) -> QParams:
    if quant.bits < 8:
        return QParams(quant.scale, quant.zero_point, 8, quant.signed)
    farther = max(quant.high - quant.zero_point[0], quant.zero_point[0] - quant.low)
    larger = farther / MOST if quant.bits == 16 else 1.0
    return QParams((quant.scale[0] * larger,), (0,), 16, symmetric=True)


def _moves(block: Block, operator: Operator, narrow: dict[str, QParams], name: str) -> bool:
    """Whether an operator only moves values that are in the range already."""
    known = {n: q for n, q in narrow.items() if n != name}
    source = operator.inputs[0] if operator.inputs else ""
    before = block.tensors[source].quant if source else None
    return bool(source) and is_move(block, operator, known) and before == block.tensors[name].quant and source in narrow


def _clamp(block: Block, quant: QParams, x: str, out: str) -> Operator:
    low, high = (quant.scale[0] * (code - quant.zero_point[0]) for code in (quant.low, quant.high))
    attributes = {"min_val": low, "max_val": high, "nan_mode": "PROPAGATE"}
    return Operator("CLAMP", [x], [out], attributes, block.tensors[out].source)
