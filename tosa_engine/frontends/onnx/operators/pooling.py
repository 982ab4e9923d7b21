"""Pools over spatial axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .... import types
from ....errors import Unsupported
from ....lower.pool import average_pool, max_pool
from ....lower.reductions import mean, reduced
from ....lower.views import shape_of
from ....lower.windows import Window
from ..elements import UINT8
from ..writer import value_of
from .windows import windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call
    from ..values import Value


def _windows(call: Call) -> list[Window]:
    """A window over each axis; batch and channels have windows of one element."""
    shape = call.shape(0)
    found = windows_of(call, shape[2:], call.attributes["kernel_shape"], round_up=bool(call.attribute("ceil_mode", 0)))
    return [*(Window(1, 1, 1, 0, 0, n) for n in shape[:2]), *found]


def average(call: Call) -> Value:
    """Padding counts only with count_include_pad; what ceil_mode adds never does."""
    border = "constant" if call.attribute("count_include_pad", 0) else "ignore"
    if border == "constant" and call.attribute("ceil_mode", 0):
        raise Unsupported("count_include_pad with ceil_mode")
    return value_of(average_pool(call.g, call.tensor(0), _windows(call), border), call.element())


def maximum(call: Call) -> Value:
    if len(call.outputs) > 1 and call.outputs[1]:
        raise Unsupported("the indices of maxima")
    x = call.tensor(0)
    if x.dtype is types.i32:
        if call.element() is not UINT8:
            raise Unsupported(f"maxima of {call.element()}")
        found = max_pool(call.g, call.cast(x, types.i16), _windows(call), "ignore")
        return value_of(call.cast(found, types.i32), UINT8)
    return value_of(max_pool(call.g, x, _windows(call), "ignore"), call.element())


def global_average(call: Call) -> Value:
    x = call.tensor(0)
    return value_of(mean(call.g, x, range(2, len(shape_of(x)))), call.element())


def global_maximum(call: Call) -> Value:
    x = call.tensor(0)
    return value_of(reduced(call.g, "REDUCE_MAX", x, range(2, len(shape_of(x)))), call.element())


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {
    "AveragePool": average,
    "GlobalAveragePool": global_average,
    "GlobalMaxPool": global_maximum,
    "MaxPool": maximum,
}
