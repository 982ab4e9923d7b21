"""Variables in files: tensors of their own kind, which the variable operators have among their inputs and outputs.

| in memory (the specification's attributes) | in a file |
|---|---|
| VARIABLE name, var_shape, type, initial_value | its output: a tensor with `variable` and all these |
| VARIABLE_WRITE name, input1 | input1; its output is the tensor of the variable |
| VARIABLE_READ name, output1 | its input is the tensor of the variable; output1 |

Other writers leave VARIABLE out, the tensor alone declares the variable; and they give VARIABLE_READ and VARIABLE_WRITE
the number of IDENTITY with the right attributes. Both are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..graph import Operator, Tensor, copy_block
from ..spec import TABLE

if TYPE_CHECKING:
    from ..graph import Block
    from .schema import Record

ACCESS: Final = ("VARIABLE_READ", "VARIABLE_WRITE")
_CODES: Final = frozenset(TABLE[name].code for name in ACCESS)


def true_code(record: Record) -> int:
    """The number of an operator: an IDENTITY with the attributes of VARIABLE_READ or VARIABLE_WRITE is one of these."""
    code: int = record.get("op", 0)
    attributes: int = record.get("attribute_type", 0)
    return attributes if code == TABLE["IDENTITY"].code and attributes in _CODES else code


def take_up(block: Block) -> None:
    """Turn a file's tensors of variables, where operators refer to them, into the operators' attributes."""
    used: dict[str, Tensor] = {}
    for op in block.operators:
        if op.op not in (*ACCESS, "VARIABLE"):
            continue
        found = next(filter(_is_variable, (block.tensors.get(n) for n in (*op.inputs, *op.outputs))), None)
        if found is None:
            continue  # `check` says what is missing
        used[found.name] = found
        op.inputs = [n for n in op.inputs if n != found.name]
        op.outputs = [n for n in op.outputs if n != found.name]
        op.attributes["name"] = found.variable_name or found.name
        if op.op == "VARIABLE":
            op.attributes |= _declaration(found)
    declared = {op.attributes.get("name") for op in block.operators if op.op == "VARIABLE"}
    missing = [t for t in used.values() if (t.variable_name or t.name) not in declared]
    new = [Operator("VARIABLE", [], [], {"name": t.variable_name or t.name, **_declaration(t)}) for t in missing]
    block.operators[:0] = new
    elsewhere = {n for op in block.operators for n in (*op.inputs, *op.outputs)} | {*block.inputs, *block.outputs}
    block.tensors = {n: t for n, t in block.tensors.items() if n not in used or n in elsewhere}


def _is_variable(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.variable


def _declaration(tensor: Tensor) -> dict[str, Any]:
    found: dict[str, Any] = {"var_shape": tensor.shape, "type": tensor.dtype}
    return found if tensor.data is None else {**found, "initial_value": tensor.data}


def put_down(block: Block) -> Block:
    """The block as a file holds it. Variables that the block doesn't declare look like what is read or written."""
    if not any(op.op in (*ACCESS, "VARIABLE") for op in block.operators):
        return block
    block = copy_block(block)
    tensors: dict[str, Tensor] = {}
    for op in sorted(block.operators, key=lambda op: op.op != "VARIABLE"):  # declarations first
        if op.op in (*ACCESS, "VARIABLE"):
            name = op.attributes.pop("name", "")
            form = _tensor(op, block)
            if name not in tensors:
                tensors[name] = block.add(replace(form, name=block.fresh(name), variable=True, variable_name=name))
            side = op.inputs if op.op == "VARIABLE_READ" else op.outputs
            side.append(tensors[name].name)
    return block


def _tensor(op: Operator, block: Block) -> Tensor:
    if op.op == "VARIABLE":
        attributes = [op.attributes.pop(name, None) for name in ("type", "var_shape", "initial_value")]
        return Tensor("", attributes[0], attributes[1], attributes[2])
    read = block.tensors[(op.outputs if op.op == "VARIABLE_READ" else op.inputs)[0]]
    return Tensor("", read.dtype, read.shape)
