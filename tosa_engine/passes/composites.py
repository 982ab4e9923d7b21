"""Named groups of operators (`graph.Composite`): their bodies, and the pass that puts the bodies in their place.

| name | attributes | body |
|---|---|---|
| sigmoid | | 1 / (1 + exp(-x)) |
| tanh | | 1 - 2 / (1 + exp(2 x)) |
| softmax | axis | exp(x - max) / sum |
| mean | axes | sum times the reciprocal of the volume |

All keep the rank of their input. `exp` may overflow to infinity, whose reciprocal is 0: the right limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..graph import Block, Composite, Graph, Tensor, copy_operator
from ..types import count
from .emit import Emitter

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from ..graph import Location, Operator
    from ..types import Shape


def _sigmoid(e: Emitter, x: Tensor, _: Mapping[str, Any]) -> Tensor:
    one = e.scalar(1.0, rank=len(x.shape or ()))
    return e.unary("RECIPROCAL", e.binary("ADD", e.unary("EXP", e.negate(x)), one))


def _tanh(e: Emitter, x: Tensor, _: Mapping[str, Any]) -> Tensor:
    rank = len(x.shape or ())
    one, two = e.scalar(1.0, rank=rank), e.scalar(2.0, rank=rank)
    denominator = e.binary("ADD", e.unary("EXP", e.binary("MUL", x, two)), one)
    return e.binary("SUB", one, e.binary("MUL", e.unary("RECIPROCAL", denominator), two))


def _softmax(e: Emitter, x: Tensor, attributes: Mapping[str, Any]) -> Tensor:
    axis = attributes["axis"]
    exponentials = e.unary("EXP", e.binary("SUB", x, e.reduce("REDUCE_MAX", x, axis)))
    total = e.reduce("REDUCE_SUM", exponentials, axis)
    return e.binary("MUL", exponentials, e.unary("RECIPROCAL", total))


def _mean(e: Emitter, x: Tensor, attributes: Mapping[str, Any]) -> Tensor:
    axes, shape = attributes["axes"], x.shape or ()
    for axis in axes:
        x = e.reduce("REDUCE_SUM", x, axis)
    return e.binary("MUL", x, e.scalar(1.0 / count(tuple(shape[a] for a in axes)), rank=len(shape)))


BODIES: Final[Mapping[str, Callable[[Emitter, Tensor, Mapping[str, Any]], Tensor]]] = {
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "softmax": _softmax,
    "mean": _mean,
}
ELEMENTWISE: Final = frozenset({"sigmoid", "tanh"})


def output_shape(name: str, shape: Shape, attributes: Mapping[str, Any]) -> Shape:
    """The shape that a composite gives for an input of `shape`."""
    if name != "mean":
        return shape
    return tuple(1 if axis in attributes["axes"] else extent for axis, extent in enumerate(shape))


def compose(
    name: str, x: Tensor, output: Tensor, attributes: Mapping[str, Any], location: Location | None = None
) -> Composite:
    """The composite `name` from tensor `x` to tensor `output`, with its body. Its constants are inside the body."""
    body = Block(name, [x.name], [output.name])
    body.add(Tensor(x.name, x.dtype, x.shape))
    emitter = Emitter(body, location, output.name)
    result = BODIES[name](emitter, body.tensors[x.name], attributes)
    assert result.shape == output.shape
    _rename(body, emitter.producers[result.name], result, output.name)
    return Composite(name, [x.name], [output.name], dict(attributes), location, body)


def _rename(body: Block, producer: Operator, tensor: Tensor, name: str) -> None:
    del body.tensors[tensor.name]
    producer.outputs = [name]
    tensor.name = name
    body.add(tensor)


def run(graph: Graph, keep: Container[str] = ()) -> Graph:
    """Each composite (but those named in `keep`) replaced by the operators of its body, under free names."""
    expanded = graph.copy()
    for _, block in expanded.blocks():
        operators = block.operators
        block.operators = []
        for operator in operators:
            if isinstance(operator, Composite) and operator.op not in keep:
                block.operators.extend(_inline(block, operator))
            else:
                block.operators.append(operator)
    return expanded


expand = run


def _inline(block: Block, composite: Composite) -> list[Operator]:
    body = composite.body
    names = dict(zip(body.inputs, composite.inputs, strict=True))
    names.update(zip(body.outputs, composite.outputs, strict=True))
    inlined: list[Operator] = []
    for name, tensor in body.tensors.items():
        if name not in names:
            names[name] = block.fresh(name)
            block.add(Tensor(names[name], tensor.dtype, tensor.shape, tensor.data, tensor.quant, tensor.source))
    for operator in body.operators:
        renamed = copy_operator(operator)
        renamed.inputs = [names[n] for n in operator.inputs]
        renamed.outputs = [names[n] for n in operator.outputs]
        inlined.extend(_inline(block, renamed) if isinstance(renamed, Composite) else [renamed])
    return inlined
