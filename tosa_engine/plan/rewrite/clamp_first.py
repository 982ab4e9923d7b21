"""CLAMP in front of the RESHAPEs that it stands behind, where only it reads them: it is then a part of the step that
computes what they reshape, as that of a fully connected layer, and costs nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ...spec import bind_operator
from ..single import is_known

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...graph import Block, Operator
    from ...spec.table import Call


def clamp_first(calls: list[Call], block: Block, fixed: Collection[str]) -> list[Call]:
    """The operators with each CLAMP and the RESHAPE in front of it exchanged; tensors in `fixed` stay as they are."""
    readers: dict[str, int] = {}
    for call in calls:
        for name in call.operator.inputs:
            readers[name] = readers.get(name, 0) + 1
    writers = {name: i for i, call in enumerate(calls) for name in call.operator.outputs}
    found = list(calls)
    for i, call in enumerate(calls):
        at, name = i, call.operator.inputs[0] if call.operator.inputs else ""
        while call.spec.name == "CLAMP" and name in writers and readers[name] == 1 and name not in fixed:
            before = writers[name]
            reshape = found[before]
            if reshape.spec.name != "RESHAPE" or not is_known(reshape):
                break
            source, result = reshape.operator.inputs[0], found[at].operator.outputs[0]
            tensor = block.tensors[source]
            clamped = block.add(replace(tensor, name=block.fresh(f"{result}_clamped"), data=None)).name
            clamp = replace(call.operator, inputs=[source], outputs=[clamped])
            moved: Operator = replace(
                reshape.operator, inputs=[clamped, *reshape.operator.inputs[1:]], outputs=[result]
            )
            found[before] = bind_operator(clamp, block, call.graph)
            found[at] = bind_operator(moved, block, call.graph)
            writers[clamped], writers[result], readers[clamped] = before, at, 1
            at, name = before, source
    return found
