"""A constant mask that is added before softmax becomes a choice: SELECT(kept, x, -infinity).

Where a mask adds -10,000 or less to some places of a row and not to others, the former are 0 after softmax, exactly.
As a choice it has an integer form that doesn't need the range of the mask. What else a mask adds stays an ADD. A choice
of -10,000 or less becomes one of -infinity.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..graph import Operator, Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph
    from ..types import Array

LEFT_OUT: Final = -1e4


def run(graph: Graph) -> Graph:
    """The graph with such masks as choices, where softmax is all that reads the sum and no hint is given for it."""
    changed = graph.copy()
    change(changed)
    return changed


def change(graph: Graph) -> None:
    for _, block in graph.blocks():
        readers = block.consumers()
        block.operators = [op for old in block.operators for op in _as_choice(block, old, readers)]
        block.operators = [op for old in block.operators for op in _of_infinity(block, old, readers)]


def _as_choice(block: Block, add: Operator, readers: Mapping[str, list[Operator]]) -> list[Operator]:
    if add.op != "ADD":
        return [add]
    output = block.tensors[add.outputs[0]]
    after = readers.get(output.name, [])
    sides = [block.tensors[name] for name in add.inputs]
    masks = [t for t in sides if t.data is not None and t.dtype is types.fp32]
    if len(masks) != 1 or len(after) != 1 or after[0].op != "softmax" or output.name in block.outputs or output.quant:
        return [add]
    (mask,), axis = masks, after[0].attributes["axis"]
    assert mask.data is not None
    kept = mask.data > LEFT_OUT
    if kept.all() or not kept.any(axis=axis).all() or kept.shape[axis] == 1:
        return [add]
    (x,) = (t for t in sides if t is not mask)
    added: list[Operator] = []
    finite = np.where(kept, mask.data, np.float32(0))
    if finite.any():
        constant, wrote = _const(block, f"{output.name}/added", finite, mask, add)
        total = block.add(Tensor(block.fresh(f"{output.name}/sum"), output.dtype, output.shape, source=x.source))
        added += [wrote, Operator("ADD", [x.name, constant], [total.name], location=add.location)]
        x = total
    condition, wrote_kept = _const(block, f"{output.name}/kept", kept, mask, add)
    endless = np.full((1,) * kept.ndim, -np.inf, np.float32)
    least, wrote_least = _const(block, f"{output.name}/least", endless, mask, add)
    inputs = [condition, x.name, least]
    return [*added, wrote_kept, wrote_least, Operator("SELECT", inputs, [output.name], location=add.location)]


def _of_infinity(block: Block, select: Operator, readers: Mapping[str, list[Operator]]) -> list[Operator]:
    """A SELECT of a constant mask that takes something of each row, and elsewhere a low number."""
    if select.op != "SELECT":
        return [select]
    output = block.tensors[select.outputs[0]]
    after = readers.get(output.name, [])
    alone = len(after) == 1 and after[0].op == "softmax" and output.name not in block.outputs and not output.quant
    if not alone:
        return [select]
    test, *sides = (block.tensors[name] for name in select.inputs)
    low = [t.data is not None and t.data.size == 1 and -np.inf < float(t.data.max()) <= LEFT_OUT for t in sides]
    if test.data is None or sum(low) != 1 or output.dtype is not types.fp32:
        return [select]
    axis, kept = after[0].attributes["axis"], test.data if low[1] else ~test.data
    if kept.shape[axis] == 1 or not kept.any(axis=axis).all():
        return [select]
    place = low.index(True)
    endless = np.full(sides[place].shape or (), -np.inf, np.float32)
    name, wrote = _const(block, f"{output.name}/least", endless, sides[place], select)
    select.inputs[1 + place] = name
    return [wrote, select]


def _const(block: Block, stem: str, data: Array, mask: Tensor, add: Operator) -> tuple[str, Operator]:
    dtype = types.bool_ if data.dtype.kind == "b" else mask.dtype
    tensor = block.add(Tensor(block.fresh(stem), dtype, data.shape, data, source=mask.source))
    return tensor.name, Operator("CONST", [], [tensor.name], location=add.location)
