"""Variables in files: tensors of their own kind, which the variable operators have among their inputs and outputs.

| in memory (the specification's attributes) | in a file |
|---|---|
| VARIABLE name, var_shape, type, initial_value | a tensor with `variable` and all these; the operator is left out |
| VARIABLE_WRITE name, input1 | input1; its output is the tensor of the variable |
| VARIABLE_READ name, output1 | its input is the tensor of the variable; output1 |

Such a tensor declares its variable at the start of its block; in the block of a region not if the main block has it,
too. VARIABLE_READ and VARIABLE_WRITE have the number of IDENTITY with their own attributes: the one form that Arm's
tools read. Declarations that it can't say (of what nobody reads or writes, behind other operators, twice) make a file
with the schema's own numbers, and VARIABLE in it with the tensor as its output; there a tensor declares nothing. Both
are read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ..errors import GraphError
from ..graph import Operator, Tensor, copy_block
from ..spec import TABLE

if TYPE_CHECKING:
    from ..graph import Block, Graph
    from .schema import Record

ACCESS: Final = ("VARIABLE_READ", "VARIABLE_WRITE")
VARIABLES: Final = (*ACCESS, "VARIABLE")
_CODES: Final = frozenset(TABLE[name].code for name in ACCESS)


def true_code(record: Record) -> int:
    """The number of an operator: an IDENTITY with the attributes of VARIABLE_READ or VARIABLE_WRITE is one of these."""
    code: int = record.get("op", 0)
    attributes: int = record.get("attribute_type", 0)
    return attributes if code == TABLE["IDENTITY"].code and attributes in _CODES else code


def take_up(graph: Graph) -> None:
    """Turn a file's tensors of variables, where operators refer to them, into the operators' attributes."""
    blocks = [block for _, block in graph.blocks()]
    explicit = any(op.op == "VARIABLE" for block in blocks for op in block.operators)
    main = {_name(t) for t in graph.main.tensors.values() if t.variable}
    for block in blocks:
        _name_variables(block)
    names = {op.attributes.get("name") for block in blocks for op in block.operators if op.op in VARIABLES}
    for block in blocks:
        found = _taken_out(block, names)
        if not explicit:
            new = [t for t in found if block is graph.main or _name(t) not in main]
            block.operators[:0] = [Operator("VARIABLE", [], [], {"name": _name(t), **_declaration(t)}) for t in new]


def _name_variables(block: Block) -> None:
    """Give the operators of a block their variables by name instead of by tensor."""
    for op in block.operators:
        if op.op not in VARIABLES:
            continue
        found = next(filter(_is_variable, (block.tensors.get(n) for n in (*op.inputs, *op.outputs))), None)
        if found is None:
            continue  # `check` says what is missing
        op.inputs = [n for n in op.inputs if n != found.name]
        op.outputs = [n for n in op.outputs if n != found.name]
        op.attributes["name"] = _name(found)
        if op.op == "VARIABLE":
            op.attributes |= _declaration(found)


def _taken_out(block: Block, names: set[Any]) -> list[Tensor]:
    """The tensors of these variables, taken out of a block unless other operators read them, too."""
    found = [t for t in block.tensors.values() if t.variable and _name(t) in names]
    elsewhere = {n for op in block.operators for n in (*op.inputs, *op.outputs)} | {*block.inputs, *block.outputs}
    for tensor in found:
        if tensor.name not in elsewhere:
            del block.tensors[tensor.name]
    return found


def _name(tensor: Tensor) -> str:
    return tensor.variable_name or tensor.name


def _is_variable(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.variable


def _declaration(tensor: Tensor) -> dict[str, Any]:
    found: dict[str, Any] = {"var_shape": tensor.shape, "type": tensor.dtype}
    return found if tensor.data is None else {**found, "initial_value": tensor.data}


def is_explicit(graph: Graph) -> bool:
    """Whether tensors alone can't say where a graph declares its variables."""
    main = set(_declared(graph.main))
    everywhere = {name for _, block in graph.blocks() for name in _used(block)}
    for _, block in graph.blocks():
        names = _declared(block)
        effects = [op.op == "VARIABLE" for op in block.operators if op.op in TABLE and not TABLE[op.op].pure]
        late, twice = effects != sorted(effects, reverse=True), len(set(names)) < len(names)
        again = block is not graph.main and main.intersection(names)
        if late or twice or again or set(names) - everywhere or _used(block) - main - set(names):
            return True
    return False


def _used(block: Block) -> set[str]:
    return {op.attributes.get("name", "") for op in block.operators if op.op in ACCESS}


def _declared(block: Block) -> list[str]:
    return [op.attributes.get("name", "") for op in block.operators if op.op == "VARIABLE"]


def put_down(block: Block, *, explicit: bool) -> Block:
    """The block as a file holds it. Variables that the block doesn't declare look like what is read or written."""
    if not any(op.op in VARIABLES for op in block.operators):
        return block
    block = copy_block(block)
    tensors: dict[str, Tensor] = {}
    for op in sorted(block.operators, key=lambda op: op.op != "VARIABLE"):  # declarations first
        if op.op in VARIABLES:
            name = op.attributes.pop("name", "")
            form = _tensor(op, block)
            if name not in tensors:
                tensors[name] = block.add(replace(form, name=block.fresh(name), variable=True, variable_name=name))
            side = op.inputs if op.op == "VARIABLE_READ" else op.outputs
            side.append(tensors[name].name)
    if not explicit:
        block.operators = [op for op in block.operators if op.op != "VARIABLE"]
    return block


def code_in_file(op: Operator, *, explicit: bool) -> int:
    """The number of an operator; see `true_code`."""
    return TABLE["IDENTITY" if op.op in ACCESS and not explicit else op.op].code


def _tensor(op: Operator, block: Block) -> Tensor:
    if op.op == "VARIABLE":
        attributes = [op.attributes.pop(name, None) for name in ("type", "var_shape", "initial_value")]
        return Tensor("", attributes[0], attributes[1], attributes[2])
    names = op.outputs if op.op == "VARIABLE_READ" else op.inputs
    read = block.tensors.get(names[0]) if names else None
    if read is None:
        raise GraphError(f"{op.op} has no tensor of the block to read or write", label=f"{op.op}.tensor", node=op.name)
    return Tensor("", read.dtype, read.shape)
