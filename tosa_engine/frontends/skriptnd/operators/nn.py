"""nn: convolutions, pools, activations, normalizations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ....lower import elementary
from ....lower import pool as pools
from ....lower.composites import grouped
from ....lower.convolution import convolution, transposed_convolution
from ....lower.normalization import normalized_by_constants
from ....lower.normalization import softmax as softmax_of
from ....lower.views import shape_of
from ....lower.windows import UNIT, Window
from .linear import bias_of
from .quant import own_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ..writer import Call


def _windows(c: Call, outputs: Sequence[int]) -> list[Window]:
    """What a window leaves over is taken off the end; what it lacks is added there."""
    found = []
    numbers = zip(c["extents"], c["size"], c["stride"], c["dilation"], c["lead"], c["reach"], outputs, strict=True)
    for extent, size, stride, dilation, lead, reach, output in numbers:
        found.append(Window(size, stride, dilation, lead, (output - 1) * stride + reach - extent - lead, output))
    return found


def _channels_second(c: Call, x: Tensor, form: str) -> Tensor:
    rank = len(shape_of(x))
    orders = {
        "NCX": range(rank),
        "NXC": (0, rank - 1, *range(1, rank - 1)),
        "XCN": (rank - 1, rank - 2, *range(rank - 2)),
        "CXN": (rank - 1, 0, *range(1, rank - 1)),
    }
    return c.b.transpose(x, tuple(orders[form]))


def _as_wanted(c: Call, x: Tensor) -> Tensor:
    rank = len(shape_of(x))
    orders = {"NCX": range(rank), "NXC": (0, *range(2, rank), 1), "XCN": (*range(2, rank), 1, 0)}
    return c.b.transpose(x, tuple(orders[c["data_format"]]))


def conv(c: Call) -> Tensor | None:
    if not 1 <= len(c["size"]) <= 3:
        return None
    x = _channels_second(c, c.x(0), c["data_format"])
    weight = _channels_second(c, c.x(1), c["filter_format"])
    bias = bias_of(c, 2, weight, c["outer"])
    return _as_wanted(c, convolution(c.b, x, weight, bias, _windows(c, c["results"]), c["number"]))


def deconv(c: Call) -> Tensor | None:
    if not 1 <= len(c["size"]) <= 3:
        return None
    x = _channels_second(c, c.x(0), c["data_format"])
    weight = _channels_second(c, c.x(1), c["filter_format"])
    bias = bias_of(c, 2, weight, c["outputs"])
    windows = []
    numbers = zip(c["size"], c["stride"], c["dilation"], c["lead"], c["total"], c["results"], strict=True)
    for size, stride, dilation, lead, total, output in numbers:
        windows.append(Window(size, stride, dilation, lead, total - lead, output))
    return _as_wanted(c, transposed_convolution(c.b, x, weight, bias, windows, c["number"]))


def _pool_windows(c: Call) -> list[Window]:
    axes, new = c.axes(), c["new"]
    windows = dict(zip(axes, _windows(c, [new[a] for a in axes]), strict=True))
    return [windows.get(i, _through(n)) for i, n in enumerate(shape_of(c.x()))]


def _through(extent: int) -> Window:
    return Window(UNIT.size, UNIT.stride, UNIT.dilation, 0, 0, extent)


def pool(lowering: Callable[..., Tensor], border: str, c: Call) -> Tensor:
    return lowering(c.b, c.x(), _pool_windows(c), border)


def avg_pool(c: Call) -> Tensor:
    return pools.average_pool(c.b, c.x(), _pool_windows(c), "ignore" if c["ignore_border"] else "constant")


def rms_pool(c: Call) -> Tensor:
    border = "ignore" if c["ignore_border"] else "constant"
    square = c.part("sqr", c.b.binary("MUL", c.x(), c.x()))
    return elementary.root(c.b, c.part("mean", pools.average_pool(c.b, square, _pool_windows(c), border)))


def relu(c: Call) -> Tensor | None:
    alpha, most, x = c["alpha"], c["max"], c.x()
    if alpha is None and most is None:
        return elementary.relu(c.b, x)
    if alpha is None:
        return c.b.clamp(x, 0.0, most)
    return None if most is not None else _below_zero(c, lambda: _times(c, alpha, x))


def _below_zero(c: Call, other: Callable[[], Tensor], within: str = "") -> Tensor:
    """x where it isn't negative; else `other`, which is written behind the comparison."""
    x = c.x()
    below = c.part(f"{within}lt", elementary.compared(c.b, "GREATER", own_number(c, 0.0), x))
    return elementary.chosen(c.b, below, c.part(f"{within}mul", other()), x)


def _times(c: Call, factor: float, x: Tensor) -> Tensor:
    return c.b.binary("MUL", own_number(c, factor), x)


def elu(c: Call, within: str = "") -> Tensor:
    """alpha * (exp(x) - 1) below 0"""
    x = c.x()

    def bent() -> Tensor:
        power = c.part(f"{within}exp", c.b.unary("EXP", x))
        return _times(c, c["alpha"], c.part(f"{within}sub", c.b.binary("SUB", power, own_number(c, 1.0))))

    return _below_zero(c, bent, within)


def selu(c: Call) -> Tensor:
    return _times(c, c["lambda"], c.part("elu", elu(c, "elu_")))


def gelu(c: Call) -> Tensor | None:
    """x * sigmoid(1.702 * x), where that is asked for."""
    if c["approximate"] != "SIGMOID":
        return None
    sigmoid = c.part("sigmoid", grouped(c.b, "sigmoid", c.part("mul", _times(c, 1.702, c.x()))))
    return c.b.binary("MUL", c.x(), sigmoid)


def activation(name: str, c: Call) -> Tensor:
    return grouped(c.b, name, c.x())


def silu(c: Call) -> Tensor:
    return c.b.binary("MUL", c.x(), c.part("sigmoid", grouped(c.b, "sigmoid", c.x())))


def softplus(c: Call) -> Tensor:
    """log(exp(x) + 1)"""
    power = c.part("exp", c.b.unary("EXP", c.x()))
    return c.b.unary("LOG", c.part("add", elementary.plus(c.b, power, 1.0)))


def prelu(c: Call) -> Tensor:
    x, axis = c.x(), c.axes("axis")[0]
    shape = tuple(n if i == axis else 1 for i, n in enumerate(shape_of(x)))
    return _below_zero(c, lambda: c.b.binary("MUL", c.b.reshape(c.x(1), shape), x))


def softmax(c: Call) -> Tensor:
    return softmax_of(c.b, c.x(), c.axes())


def batch_norm(c: Call) -> Tensor | None:
    """Constant parameters become one product and one sum."""
    x, axis = c.x(), c["axis"]
    shape = tuple(n if i == axis else 1 for i, n in enumerate(shape_of(x)))
    found = []
    for at, missing in ((1, None), (2, None), (3, 0.0), (4, 1.0)):
        tensor = c.optional(at)
        if tensor is None:
            assert missing is not None
            found.append(c.b.scalar(missing, rank=len(shape)))
        elif tensor.data is None:
            return None
        else:
            found.append(c.b.reshape(tensor, shape))
    return normalized_by_constants(c.b, x, *found, epsilon=c["epsilon"])


MAPPERS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "nn.conv": conv,
    "nn.deconv": deconv,
    "nn.max_pool": partial(pool, pools.max_pool, "ignore"),
    "nn.sum_pool": partial(pool, pools.sum_pool, "constant"),
    "nn.avg_pool": avg_pool,
    "nn.rms_pool": rms_pool,
    "nn.relu": relu,
    "nn.prelu": prelu,
    "nn.elu": elu,
    "nn.selu": selu,
    "nn.gelu": gelu,
    "nn.sigmoid": partial(activation, "sigmoid"),
    "nn.silu": silu,
    "nn.softplus": softplus,
    "nn.erf": lambda c: c.b.unary("ERF", c.x()),
    "nn.softmax": softmax,
    "nn.batch_norm": batch_norm,
}
