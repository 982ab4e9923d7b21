"""Named groups of operators (`graph.Composite`): the names that there are, and their bodies.

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

from ..graph import Block, Composite, Tensor
from ..types import count
from .views import shape_of
from .writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Location
    from ..types import Shape


def _sigmoid(g: Writer, x: Tensor, _: Mapping[str, Any]) -> Tensor:
    one = g.scalar(1.0, rank=len(shape_of(x)))
    return g.unary("RECIPROCAL", g.binary("ADD", g.unary("EXP", g.negate(x)), one))


def _tanh(g: Writer, x: Tensor, _: Mapping[str, Any]) -> Tensor:
    rank = len(shape_of(x))
    one, two = g.scalar(1.0, rank=rank), g.scalar(2.0, rank=rank)
    denominator = g.binary("ADD", g.unary("EXP", g.binary("MUL", x, two)), one)
    return g.binary("SUB", one, g.binary("MUL", g.unary("RECIPROCAL", denominator), two))


def _softmax(g: Writer, x: Tensor, attributes: Mapping[str, Any]) -> Tensor:
    axis = attributes["axis"]
    exponentials = g.unary("EXP", g.binary("SUB", x, g.reduce("REDUCE_MAX", x, axis)))
    total = g.reduce("REDUCE_SUM", exponentials, axis)
    return g.binary("MUL", exponentials, g.unary("RECIPROCAL", total))


def _mean(g: Writer, x: Tensor, attributes: Mapping[str, Any]) -> Tensor:
    axes, shape = attributes["axes"], shape_of(x)
    for axis in axes:
        x = g.reduce("REDUCE_SUM", x, axis)
    return g.binary("MUL", x, g.scalar(1.0 / count(tuple(shape[a] for a in axes)), rank=len(shape)))


BODIES: Final[Mapping[str, Callable[[Writer, Tensor, Mapping[str, Any]], Tensor]]] = {
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
    writer = Writer(body, location, output.name)
    result = BODIES[name](writer, body.tensors[x.name], attributes)
    assert result.shape == output.shape
    writer.rename(result, output.name)
    return Composite(name, [x.name], [output.name], dict(attributes), location, body)


def grouped(g: Writer, name: str, x: Tensor, **attributes: Any) -> Tensor:
    """The composite `name` of `x`, which is an operator of the block, with its body inside."""
    output = g.output(name, x.dtype, output_shape(name, shape_of(x), attributes))
    g.append(compose(name, x, output, attributes, g.location))
    return output
