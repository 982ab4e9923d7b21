"""What the converter's graph lacks: the model's names and scales, and QUANTIZE that saturates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ...errors import DataError, Unsupported
from ...graph import Location, Operator, Tensor
from ...passes import names
from . import schema
from .mlir import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph import Block, Graph, QParams
    from .model import Held, Model


def mend(graph: Graph, model: Model) -> None:
    """Change the graph that the tools made of a model, before its constants are folded.

    Raises DataError where its inputs and outputs aren't the model's, Unsupported for a QUANTIZE that isn't known.
    """
    for _, block in graph.blocks():
        for operator in block.operators:
            place = operator.location.name if operator.location is not None else ""
            operator.location = Location(model.name, 0, name_of(place))
    _saturate(graph.main, model)
    _own_outputs(graph.main)
    _name_ports(graph.main, graph.main.inputs, model.inputs, model.name, "inputs")
    _name_ports(graph.main, graph.main.outputs, model.outputs, model.name, "outputs")
    _name_values(graph.main, model)


def _own_outputs(block: Block) -> None:
    """An output that is an input, a constant or another output gets a tensor of its own, which can have its name."""
    producers, seen = block.producers(), set[str]()
    for number, name in enumerate(block.outputs):
        made = producers.get(name)
        if made is not None and made.op != "CONST" and name not in seen:
            seen.add(name)
            continue
        tensor = block.tensors[name]
        own = block.add(Tensor(block.fresh(f"{name}_out"), tensor.dtype, tensor.shape))
        block.operators.append(Operator("IDENTITY", [name], [own.name]))
        block.outputs[number] = own.name


def _name_ports(block: Block, ports: Sequence[str], held: Sequence[Held], file: str, what: str) -> None:
    """Inputs or outputs take the model's names and scales."""
    if len(ports) != len(held):
        raise DataError(f"{file}: the converter made {len(ports)} {what} of {len(held)}")
    renamed: dict[str, str] = {}
    for port, one in zip(ports, held, strict=True):
        tensor = block.tensors[port]
        if tensor.dtype is not one.dtype:
            raise DataError(f"{file}: the converter made {tensor.dtype.name} of {one.element}", tensor=one.name)
        tensor.quant, tensor.source = one.quant, Location(file, 0, one.name)
        if one.name and one.name not in block.tensors and one.name not in renamed.values():
            renamed[port] = one.name
    names.apply(block, renamed)


def _name_values(block: Block, model: Model) -> None:
    """What the last operator of a place writes is the model's tensor of that name, where type and rank agree."""
    known = {model.tensors[number].name: model.tensors[number] for node in model.nodes for number in node.outputs}
    last = {op.location.name: op for op in block.operators if op.location is not None and op.outputs}
    for name, operator in last.items():
        one, tensor = known.get(name), block.tensors[operator.outputs[0]]
        if one is None or name in block.tensors or tensor.source is not None:
            continue
        if one.dtype is tensor.dtype and len(one.shape) == len(tensor.shape or ()):
            tensor.quant, tensor.source = _inside(one.quant), Location(model.name, 0, name)


def _inside(quant: QParams | None) -> QParams | None:
    """Of a tensor between operators: the converter computes unsigned tensors in signed integers."""
    if quant is None or quant.signed:
        return quant
    return replace(quant, zero_point=(quant.zero_point[0] - (1 << (quant.bits - 1)),), signed=True)


def _saturate(block: Block, model: Model) -> None:
    """QUANTIZE of floats saturates in TFLite; CAST to int32, ADD, CAST wraps. The floats are clamped before."""
    quantized = {
        model.tensors[node.outputs[0]].name: _inside(model.tensors[node.outputs[0]].quant)
        for node in model.nodes
        if node.code == schema.QUANTIZE and node.outputs and _is_float(model, node.inputs)
    }
    producers = block.producers()
    for operator in list(block.operators):
        name = operator.location.name if operator.location is not None else ""
        if name not in quantized or operator.op != "CAST" or block.tensors[operator.inputs[0]].dtype is not types.i32:
            continue
        quant = quantized[name]
        cast = _float_cast(block, producers, operator, quant)
        if cast is None or quant is None:
            raise Unsupported(f"{model.name}: QUANTIZE that the converter writes in a way that isn't known", node=name)
        _clamp_before(block, cast, quant.low - quant.zero_point[0], quant.high - quant.zero_point[0])


def _is_float(model: Model, numbers: Sequence[int]) -> bool:
    return bool(numbers) and numbers[0] >= 0 and model.tensors[numbers[0]].element in ("float32", "float16")


def _float_cast(block: Block, producers: dict[str, Operator], last: Operator, quant: QParams | None) -> Operator | None:
    """The CAST of floats to int32 in CAST, ADD of the zero point, CAST."""
    addition = producers.get(last.inputs[0])
    if quant is None or addition is None or addition.op != "ADD":
        return None
    constant, cast = block.tensors[addition.inputs[1]].data, producers.get(addition.inputs[0])
    if constant is None or not np.all(constant == quant.zero_point[0]) or cast is None or cast.op != "CAST":
        return None
    return cast if block.tensors[cast.inputs[0]].dtype.is_float else None


def _clamp_before(block: Block, cast: Operator, low: int, high: int) -> None:
    """Integers are limits of the same kind for floats and for what they are rounded to."""
    source = block.tensors[cast.inputs[0]]
    clamped = block.add(Tensor(block.fresh(f"{source.name}_clamped"), source.dtype, source.shape))
    limits = {"min_val": float(low), "max_val": float(high)}
    clamp = Operator(
        "CLAMP", [source.name], [clamped.name], {**limits, "nan_mode": "PROPAGATE"}, location=cast.location
    )  # fmt: skip
    block.operators.insert(block.operators.index(cast), clamp)
    cast.inputs[0] = clamped.name
