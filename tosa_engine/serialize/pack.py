"""Graph -> records. Refuses what a file can't hold; whether the graph is legal TOSA is for `check` to say."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from .. import types
from ..errors import GraphError, TosaEngineError, Unsupported, raise_all
from ..spec import TABLE
from . import data, schema, variables
from .unpack import value_dtype

if TYPE_CHECKING:
    from ..graph import Block, Graph, Operator, Tensor
    from ..spec.table import Attribute, OpSpec
    from .schema import Record


def record_of(graph: Graph) -> Record:
    """The TosaGraph record of a graph without composites.

    An operator's location is written as its `name`, or as file and line where it has no name. Quantization hints and
    source places of tensors stay behind.

    Raises:
        Unsupported: operators that the op table lacks, or the schema (several as `Problems`).
        GraphError: attributes or values that the file can't hold.
    """
    known = TABLE.keys() & schema.OP.values.keys()
    unknown = {op.op: op for _, block in graph.blocks() for op in block.operators if op.op not in known}
    problems: list[TosaEngineError] = [
        Unsupported(f"no operator {op.op}: it can't be written", node=op.name) for op in unknown.values()
    ]
    raise_all(problems, "operators that can't be written:")
    major, minor, patch = graph.version
    version = {"_major": major, "_minor": minor, "_patch": patch, "_draft": graph.draft}
    explicit = variables.is_explicit(graph)
    regions = [{"name": r.name, "blocks": [_block(b, explicit) for b in r.blocks]} for r in graph.regions]
    return {"version": version, "regions": regions}


def _block(block: Block, explicit: bool) -> Record:
    block = variables.put_down(block, explicit=explicit)
    for name, tensor in block.tensors.items():
        if name != tensor.name:
            raise GraphError(f"block '{block.name}' calls the tensor '{tensor.name}' '{name}'")
        _text(name)
    return {
        "name": _text(block.name),
        "operators": [_operator(op, block, explicit) for op in block.operators],
        "tensors": [_tensor(t) for t in block.tensors.values() if t.dtype is not types.shape],
        "inputs": list(block.inputs),
        "outputs": list(block.outputs),
        "shapes": [_shape(t) for t in block.tensors.values() if t.dtype is types.shape],
    }


def _text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise GraphError(f"{text!r} can't be written as UTF-8") from None
    return text


def _int32(value: Any, what: str, *, node: str = "", tensor: str = "") -> int:
    low, high = schema.RANGES["i32"]
    number = operator.index(value)
    if not low <= number <= high:
        raise GraphError(f"{what} {number} doesn't fit the 32 bits of the file", node=node, tensor=tensor)
    return number


def _tensor(tensor: Tensor) -> Record:
    record: Record = {"name": tensor.name}
    shape = () if tensor.shape is None else tensor.shape
    record["shape"] = [_int32(d, "dimension", tensor=tensor.name) for d in shape]
    record["type"] = tensor.dtype.code
    if tensor.data is not None:
        record["data"] = _data(tensor)
    if tensor.variable:
        record["variable"] = True
    if tensor.shape is None:
        record["is_unranked"] = True
    if tensor.variable_name:
        record["variable_name"] = _text(tensor.variable_name)
    return record


def _data(tensor: Tensor) -> bytes:
    assert tensor.data is not None
    if tensor.data.shape != tensor.shape:
        shown = None if tensor.shape is None else list(tensor.shape)
        message = f"the data has shape {list(tensor.data.shape)}, the tensor {shown}"
        raise GraphError(message, tensor=tensor.name)
    try:
        return data.encode(tensor.data, tensor.dtype)
    except data.ValueProblem as problem:
        raise GraphError(str(problem), tensor=tensor.name) from None


def _shape(tensor: Tensor) -> Record:
    if tensor.shape is None or len(tensor.shape) != 1 or tensor.variable:
        raise GraphError("a shape is a list of sizes: one dimension, not a variable", tensor=tensor.name)
    record: Record = {"name": tensor.name, "rank": _int32(tensor.shape[0], "rank", tensor=tensor.name)}
    if tensor.data is not None:
        record["data"] = _data(tensor) or bytes(8)  # other readers take no bytes for no constant
    return record


def _operator(op: Operator, block: Block, explicit: bool) -> Record:
    spec = TABLE[op.op]
    surplus = [name for name in op.attributes if name not in {a.name for a in spec.attributes if a.field is not None}]
    if surplus:
        raise GraphError(f"{op.op} has no attributes called {', '.join(surplus)}", node=op.name)
    attributes: Record = {}
    for attribute in spec.attributes:
        if attribute.field is None:
            continue
        value = op.attributes.get(attribute.name, attribute.default)
        if value is None and not attribute.optional:
            raise GraphError(f"{op.op}: attribute '{attribute.name}' is missing", node=op.name)
        if value is not None:
            attributes[attribute.name] = _attribute(attribute, value, op, spec, block)
    code = variables.code_in_file(op, explicit=explicit)
    record: Record = {"op": code, "attribute_type": spec.code, "attribute": attributes}
    record["inputs"] = [_text(name) for name in op.inputs]
    record["outputs"] = [_text(name) for name in op.outputs]
    if op.location is not None and str(op.location):
        record["location"] = {"text": _text(op.location.name or str(op.location))}
    return record


def _attribute(attribute: Attribute, value: Any, op: Operator, spec: OpSpec, block: Block) -> Any:
    kind, what = attribute.kind, f"{op.op}: {attribute.name}"
    try:
        if kind == "bool":
            return {True: True, False: False}[value]
        if kind == "i32":
            return _int32(value, what, node=op.name)
        if kind.startswith("i32["):
            return [_int32(v, what, node=op.name) for v in value]
        if kind == "acc_type":
            return value.code
        if kind in ("string", "graph"):
            return _text(value)
        if kind == "bytes":
            return bytes(memoryview(value))
        if kind == "value":
            dtype = value_dtype(attribute, op, spec, block)
            if dtype is None and isinstance(value, bytes):
                return value  # as it was read
            if dtype is None:
                raise GraphError(f"{what}: the input whose type it has is missing", node=op.name)
            return data.encode_number(value, dtype)
        table = schema.attribute_table(spec.code)
        field = table.field(attribute.name) if table is not None else None
        assert field is not None
        assert field.enum is not None
        return field.enum.values[value]
    except data.ValueProblem as problem:
        raise GraphError(f"{what}: {problem}", node=op.name) from None
    except (TypeError, KeyError, AttributeError):
        raise GraphError(f"{what}: can't hold {value!r}", node=op.name) from None
