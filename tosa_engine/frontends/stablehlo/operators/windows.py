"""reduce_window and select_and_scatter."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.axes import every
from ....lower.elementary import chosen, compared
from ....lower.pool import max_pool
from ....lower.views import shape_of
from ....lower.windows import Window
from ..elements import BOOL, is_wide
from ..values import Value
from .bodies import applied, is_identity, simple
from .layout import padded
from .reductions import part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ....graph import Tensor
    from ..call import Call
    from ..module import Body

MOST_POSITIONS: Final = 4096


@dataclass(frozen=True)
class Windows:
    """The numbers of a windowed operation, axis by axis; `inner` is the padding between elements."""

    sizes: list[int]
    strides: list[int]
    dilations: list[int]
    inner: list[int]
    low: list[int]
    high: list[int]

    @classmethod
    def of(cls, call: Call, rank: int) -> Windows:
        ones = [1] * rank
        padding = call.integers("padding", [0] * (2 * rank))
        return cls(
            call.integers("window_dimensions", ones), call.integers("window_strides", ones),
            call.integers("window_dilations", ones), [n - 1 for n in call.integers("base_dilations", ones)],
            padding[::2], padding[1::2],
        )  # fmt: skip


def reduce_window(call: Call) -> list[Value]:
    """Axis by axis, by doubling: a window of 2 n is two of n."""
    half = len(call.inputs) // 2
    operands, initial = call.inputs[:half], call.inputs[half:]
    body, windows = call.operation.regions[0], Windows.of(call, len(operands[0].shape))
    name = simple(body)
    if half == 1 and name == "maximum":
        found = _pooled(call, operands[0], initial[0], windows)
        if found is not None:
            return [found]
    values = []
    if half == 1 and name is not None and is_identity(name, initial[0]) and is_wide(operands[0].element):
        initial = [_near(call, windows, initial[0])]
    for value, first in zip(operands, initial, strict=True):
        x = padded(call, call.g.full(value), first, windows.low, windows.high, windows.inner)
        values.append(Value(value.element, shape_of(x), None, x))
    for axis in range(len(operands[0].shape)):
        values = _slid(call, body, values, axis, windows)
    if not (half == 1 and name is not None and is_identity(name, call.inputs[1])):
        values = applied(call, body, [*initial, *values])
    return [Value(v.element, k.shape, None, call.g.full(v)) for v, k in zip(values, call.kinds, strict=True)]


def _near(call: Call, windows: Windows, initial: Value) -> Value:
    """The least (or greatest) 64-bit integer as that of int32, which does where each window has an element."""
    reach = [(n - 1) * d for n, d in zip(windows.sizes, windows.dilations, strict=True)]
    empty = any(max(a, b) > r for a, b, r in zip(windows.low, windows.high, reach, strict=True))
    if initial.data is None or empty or any(windows.inner):
        return initial
    least, most = max(initial.element.minimum, types.i32.minimum), types.i32.maximum
    number = min(max(int(initial.data.reshape(-1)[0]), least), most)
    return Value(initial.element, (), np.asarray(number, initial.element.storage))


def _pooled(call: Call, value: Value, initial: Value, windows: Windows) -> Value | None:
    """MAX_POOL2D over two of four axes."""
    axes = [
        i for i, n in enumerate(windows.sizes) if n > 1 or windows.strides[i] > 1 or windows.low[i] or windows.high[i]
    ]
    plain = all(n == 0 for n in windows.inner) and all(n == 1 for n in windows.dilations)
    fits = plain and len(value.shape) == 4 and 1 <= len(axes) <= 2 and min(*windows.low, *windows.high) >= 0
    if not fits or value.element.carrier not in (types.i8, types.i16, types.fp32, types.fp16, types.bf16):
        return None
    if not is_identity("maximum", initial):
        return None
    spatial = axes if len(axes) == 2 else sorted([axes[0], axes[0] - 1 if axes[0] else 1])
    others = [i for i in range(4) if i not in spatial]
    order = [*others, *spatial]
    found = []
    for axis in order:
        low, high, size, stride = (getattr(windows, n)[axis] for n in ("low", "high", "sizes", "strides"))
        if low >= size or high >= size:
            return None
        output = (value.shape[axis] + low + high - size) // stride + 1
        left = (value.shape[axis] + low + high - size) % stride
        found.append(Window(size, stride, 1, low, high - left, output))
    if any(w.before < 0 or w.after < 0 for w in found):
        return None
    pooled = max_pool(call.g, call.g.transpose(call.full(0), order), found, "ignore")
    return call.result(call.g.transpose(pooled, [order.index(i) for i in range(4)]), value.element)


def _slid(call: Call, body: Body, values: list[Value], axis: int, windows: Windows) -> list[Value]:
    size, step, dilation = windows.sizes[axis], windows.strides[axis], windows.dilations[axis]
    extent = values[0].shape[axis]
    room = extent - ((size - 1) * dilation + 1)
    if room < 0:
        raise Unsupported("a window that is larger than what it slides over")
    found: list[Value] | None = None
    power, width, offset = values, 1, 0
    while True:
        if size & width:
            mine = [part(call, v, axis, offset, room + 1) for v in power]
            found = mine if found is None else applied(call, body, [*found, *mine])
            offset += width * dilation
        if 2 * width > size:
            break
        left = power[0].shape[axis] - width * dilation
        pairs = [[part(call, v, axis, start, left) for v in power] for start in (0, width * dilation)]
        power, width = applied(call, body, [*pairs[0], *pairs[1]]), 2 * width
    assert found is not None
    if step == 1:
        return found
    taken = [every(call.g, call.g.full(v), axis, 0, step, room // step + 1) for v in found]
    return [Value(v.element, shape_of(t), None, t) for v, t in zip(found, taken, strict=True)]


def select_and_scatter(call: Call) -> Value:
    """Of every window the element that `select` keeps; there the source goes, by `scatter`."""
    operand, source, initial = call.inputs
    select, scatter = call.operation.regions
    rank = len(operand.shape)
    windows = Windows.of(call, rank)
    shape = tuple(n + a + b for n, a, b in zip(operand.shape, windows.low, windows.high, strict=True))
    nothing = Value(operand.element, (), np.zeros((), operand.element.storage))
    wide = padded(call, call.full(0), nothing, windows.low, windows.high, [0] * rank)
    best, place = _selected(call, select, wide, windows, source.shape, operand)
    whole = call.g.spread(call.g.reshape(call.g.lean(initial), (1,) * rank), shape)
    found = Value(operand.element, shape, None, whole)
    del best
    for k, offset in enumerate(_offsets(windows)):
        found = _scattered(call, scatter, found, source, (place, k, offset), windows)
    x = call.g.slice(call.g.full(found), [max(n, 0) for n in windows.low], operand.shape)
    return call.result(x, operand.element)


def _offsets(windows: Windows) -> Iterator[tuple[int, ...]]:
    if types.count(tuple(windows.sizes)) > MOST_POSITIONS:
        raise Unsupported(f"windows of more than {MOST_POSITIONS} elements")
    yield from itertools.product(*(range(n) for n in windows.sizes))


def _selected(
    call: Call, body: Body, x: Tensor, windows: Windows, outputs: Sequence[int], operand: Value
) -> tuple[Value, Tensor]:
    """The element of each window and the number of its place; padding is never kept."""
    g = call.g
    inside = np.pad(
        np.ones(operand.shape, np.bool_),
        [(max(a, 0), max(b, 0)) for a, b in zip(windows.low, windows.high, strict=True)],
    )
    best: Value | None = None
    place: Tensor | None = None
    there = np.zeros(tuple(outputs), np.bool_)
    for k, offset in enumerate(_offsets(windows)):
        taken = tuple(
            slice(o, o + (n - 1) * s + 1, s) for o, n, s in zip(offset, outputs, windows.strides, strict=True)
        )
        valid = inside[taken]
        mine = x
        for axis, (o, n, s) in enumerate(zip(offset, outputs, windows.strides, strict=True)):
            mine = every(g, mine, axis, o, s, n)
        value = Value(operand.element, tuple(outputs), None, mine)
        if best is None or place is None:
            best, place = value, g.const(np.full(tuple(outputs), k, np.int32), types.i32)
            there = valid.copy()
            continue
        kept = g.full(applied(call, body, [best, value])[0])
        kept = compared(g, "LOGICAL_OR", kept, g.const(~valid, types.bool_))
        kept = compared(g, "LOGICAL_AND", kept, g.const(there, types.bool_))
        best = Value(operand.element, tuple(outputs), None, chosen(g, kept, g.full(best), mine))
        place = chosen(g, kept, place, g.scalar(k, types.i32, len(outputs)))
        there = there | valid
    assert best is not None
    assert place is not None
    return best, place


def _scattered(
    call: Call, body: Body, found: Value, source: Value, at: tuple[Tensor, int, tuple[int, ...]], windows: Windows
) -> Value:
    """The source's elements whose window kept its element number k, brought to their places."""
    g, (place, k, offset) = call.g, at
    shape = found.shape
    inner = [s - 1 for s in windows.strides]
    after = [n - o - ((m - 1) * s + 1) for n, o, m, s in zip(shape, offset, source.shape, windows.strides, strict=True)]
    here = compared(g, "EQUAL", place, g.scalar(k, types.i32, len(shape)))
    nothing = Value(source.element, (), np.zeros((), source.element.storage))
    never = Value(BOOL, (), np.zeros((), np.bool_))
    moved = padded(call, g.full(source), nothing, list(offset), after, inner)
    mask = padded(call, here, never, list(offset), after, inner)
    changed = applied(call, body, [found, Value(source.element, shape, None, moved)])[0]
    return Value(found.element, shape, None, chosen(g, mask, g.full(changed), g.full(found)))


OPERATORS: Final[Mapping[str, Callable[[Call], Value | list[Value]]]] = {
    "reduce_window": reduce_window, "select_and_scatter": select_and_scatter,
}  # fmt: skip
