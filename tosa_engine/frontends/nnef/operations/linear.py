"""linear and matmul (sections 4.7, 4.9.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....lower.linear import bias_vector, fully_connected, is_one_constant, turned
from ....lower.linear import matmul as product_of
from ....lower.views import shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def bias_of(b: NnefWriter, argument: Any, weight: Tensor, outputs: int, axis: int) -> Tensor:
    """The bias of a filter; it may differ from 1 along `axis` only."""
    given, rank = b.value(argument), len(shape_of(weight))
    if shape_of(given) == (outputs,) and axis and outputs > 1:
        b.bend(f"bias of shape [{outputs}]; the standard has [1, {outputs}]")
        given = b.reshape(given, (1,) * axis + (outputs,))
    bias = b.trailing(given, rank)
    shape = shape_of(bias)
    if len(shape) > rank or any(n != 1 and (i != axis or n != outputs) for i, n in enumerate(shape)):
        raise b.error(f"bias of shape {list(shape)} doesn't fit {outputs} outputs on axis {axis}")
    return bias_vector(b, bias, outputs, spread=weight.data is not None)


def linear(b: NnefWriter, operation: Operation) -> Tensor:
    """matmul(input, filter, transposeB = true) + bias."""
    arguments = operation.arguments
    x, weight = b.value(arguments["input"]), b.value(arguments["filter"])
    shape, filter_shape = shape_of(x), shape_of(weight)
    if len(shape) < 2 or len(shape) != len(filter_shape) or shape[-1] != filter_shape[-1]:
        raise b.error(f"input of shape {list(shape)} doesn't fit a filter of shape {list(filter_shape)}")
    if not is_one_constant(weight):
        product = product_of(b, x, turned(b, weight))
        return b.binary("ADD", product, b.trailing(b.value(arguments["bias"]), len(shape)))
    bias = bias_of(b, arguments["bias"], weight, filter_shape[-2], axis=len(shape) - 1)
    return fully_connected(b, x, weight, bias)


def matmul(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    left, right = b.value(arguments["A"], 2), b.value(arguments["B"], 2)
    sides = []
    for x, transposed in ((left, arguments["transposeA"]), (right, arguments["transposeB"])):
        if len(shape_of(x)) < 2:
            raise b.error(f"needs tensors of rank 2 or more, got shape {list(shape_of(x))}")
        sides.append(turned(b, x) if transposed else x)
    return product_of(b, *sides)


MAPPERS: Final[Mapping[str, Mapper]] = {"linear": linear, "matmul": matmul}
