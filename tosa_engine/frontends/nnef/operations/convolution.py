"""conv and deconv (section 4.3.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....lower.borders import FILLED
from ....lower.convolution import check_groups, check_ranks, convolution, swapped, transposed_convolution
from ....lower.views import shape_of
from ..language.extensions import TRACT
from .linear import bias_of
from .windows import border_of, reverse_windows_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def conv(b: NnefWriter, operation: Operation) -> Tensor:
    """No groups are as many as channels."""
    arguments = operation.arguments
    x, weight = b.value(arguments["input"]), b.value(arguments["filter"])
    check_ranks(x, weight)
    shape, filter_shape = shape_of(x), shape_of(weight)
    groups = arguments["groups"] or shape[1]
    check_groups(x, weight, groups)
    windows = windows_of(b, shape[2:], filter_shape[2:], arguments)
    border = border_of(b, arguments, FILLED)
    bias = bias_of(b, arguments["bias"], weight, filter_shape[0], axis=1)
    return convolution(b, x, weight, bias, windows, groups, border)


def deconv(b: NnefWriter, operation: Operation) -> Tensor:
    """No groups are as many as the channels of the output. The extension tract_core has other filters."""
    arguments = operation.arguments
    x, weight = b.value(arguments["input"]), b.value(arguments["filter"])
    check_ranks(x, weight)
    shape, wanted = shape_of(x), arguments["output_shape"]
    groups = arguments["groups"] or (wanted[1] if wanted else shape[1])
    if TRACT in b.document.extensions:
        weight = _of_inputs(b, x, weight, groups)
    check_groups(x, weight, groups, transposed=True)
    filter_shape = shape_of(weight)
    channels = filter_shape[1] * groups
    if wanted and (len(wanted) != len(shape) or tuple(wanted[:2]) != (shape[0], channels)):
        raise b.error(f"'output_shape' {list(wanted)} doesn't fit batch {shape[0]} and {channels} channels")
    windows = reverse_windows_of(b, shape[2:], filter_shape[2:], arguments, wanted[2:])
    border = border_of(b, arguments, FILLED)
    bias = bias_of(b, arguments["bias"], weight, channels, axis=1)
    return transposed_convolution(b, x, weight, bias, windows, groups, border)


def _of_inputs(b: NnefWriter, x: Tensor, weight: Tensor, groups: int) -> Tensor:
    """A filter [outputs, inputs of a group, ...], as tract has it, as [inputs, outputs of a group, ...]."""
    check_groups(x, weight, groups)
    turned = swapped(b, weight, groups)
    wanted = f"the standard's begins with the inputs: {list(shape_of(turned))}"
    b.bend(f"filter of shape {list(shape_of(weight))} begins with the outputs, as tract_core has it; {wanted}")
    return turned


MAPPERS: Final[Mapping[str, Mapper]] = {"conv": conv, "deconv": deconv}
