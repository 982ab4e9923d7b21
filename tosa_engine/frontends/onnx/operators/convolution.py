"""Conv and ConvTranspose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....errors import GraphError
from ....lower.convolution import check_groups, check_ranks, convolution, transposed_convolution
from ....lower.linear import bias_vector
from ....lower.views import shape_of
from ..writer import value_of
from .windows import transposed_windows_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....graph import Tensor
    from ..call import Call
    from ..values import Value


def _bias(call: Call, outputs: int, like: Tensor) -> Tensor:
    if not call.has(2):
        return call.g.scalar(0.0, like.dtype)
    if call.shape(2) != (outputs,):
        raise GraphError(f"a bias of shape {list(call.shape(2))} for {outputs} channels")
    return bias_vector(call.g, call.tensor(2), outputs, spread=False)


def _kernel(call: Call, weight: Tensor) -> tuple[int, ...]:
    sizes = shape_of(weight)[2:]
    said = call.attribute("kernel_shape")
    if said and tuple(said) != sizes:
        raise GraphError(f"kernel_shape {list(said)}, but weights of shape {list(shape_of(weight))}")
    return sizes


def conv(call: Call) -> Value:
    x, weight, groups = call.tensor(0), call.tensor(1), call.attribute("group", 1)
    check_ranks(x, weight)
    check_groups(x, weight, groups)
    windows = windows_of(call, shape_of(x)[2:], _kernel(call, weight))
    return value_of(convolution(call.g, x, weight, _bias(call, shape_of(weight)[0], x), windows, groups))


def conv_transpose(call: Call) -> Value:
    x, weight, groups = call.tensor(0), call.tensor(1), call.attribute("group", 1)
    check_ranks(x, weight)
    check_groups(x, weight, groups, transposed=True)
    windows = transposed_windows_of(call, shape_of(x)[2:], _kernel(call, weight))
    bias = _bias(call, shape_of(weight)[1] * groups, x)
    return value_of(transposed_convolution(call.g, x, weight, bias, windows, groups))


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"Conv": conv, "ConvTranspose": conv_transpose}
