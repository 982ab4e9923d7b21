"""What operations compute of arrays that are known before the graph runs, in numpy: modulo the width, as XLA does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import Unsupported
from .module import word
from .writer import check_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...types import Array
    from .call import Call

    Rule = Callable[..., Array | None]

MOST_SLICED: Final = 1 << 20


def evaluate(call: Call) -> list[Array] | None:
    """The results; None where an operand isn't known, or there is no rule."""
    rule = RULES.get(call.name)
    if rule is None or not all(value.is_known for value in call.inputs) or call.operation.regions:
        return None
    if not call.pointwise and call.kind.element is not None and call.name not in LAZY:
        check_size(call.shape)
    with np.errstate(all="ignore"):
        found = rule(call, *(value.data for value in call.inputs))
    return None if found is None else [np.asarray(found).astype(call.element.storage, copy=False)]


def _plain(function: Callable[..., Any]) -> Rule:
    return lambda _, *given: np.asarray(function(*given))


def _is_bool(x: Array) -> bool:
    return x.dtype == np.bool_


def _divided(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return x / y
    safe = np.where(y == 0, 1, y)
    found = np.floor_divide(x, safe)
    if x.dtype.kind == "i":
        found = found + ((found * safe != x) & ((x < 0) != (safe < 0))).astype(x.dtype)
        return np.where(y == 0, np.asarray(-1, x.dtype), found)
    return np.asarray(np.where(y == 0, np.asarray(np.iinfo(x.dtype).max, x.dtype), found))


def _remainder(x: Array, y: Array) -> Array:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y)))


def _compared(call: Call, x: Array, y: Array) -> Array | None:
    kind = call.attribute("compare_type")
    if kind is not None and word(kind) == "TOTALORDER":
        return None
    direction = word(call.attribute("comparison_direction"))
    functions: dict[str, Any] = {
        "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
        "GE": np.greater_equal,
    }  # fmt: skip
    found: Array = functions[direction](x, y)
    return found


def _converted(call: Call, x: Array) -> Array:
    wanted = call.element
    if wanted.is_bool:
        return np.asarray(x != 0)
    if wanted.is_integer and x.dtype.kind not in "iub":
        wide = np.nan_to_num(np.trunc(x.astype(np.float64)), nan=0.0, posinf=2.0**64, neginf=-(2.0**64))
        clipped = np.clip(wide, float(wanted.minimum), float(wanted.maximum))
        exact = [min(int(v), wanted.maximum) for v in clipped.reshape(-1)]
        return np.asarray(exact, wanted.storage).reshape(x.shape)
    found = x.astype(wanted.storage)
    if wanted.bits < 8 and wanted.is_integer:
        mask = wanted.maximum - wanted.minimum
        found = (x.astype(np.int64) & mask).astype(np.int64)
        found = np.where(found > wanted.maximum, found - mask - 1, found).astype(wanted.storage)
    return found


def _shifted(x: Array, y: Array, op: str) -> Array:
    bits = x.dtype.itemsize * 8
    unsigned = x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x
    amount = y.astype(np.int64)
    inside = (amount >= 0) & (amount < bits)
    by = np.where(inside, amount, 0)
    if op == "arithmetic":
        signed = x.view(f"i{x.dtype.itemsize}")
        return np.asarray(signed >> np.where(inside, amount, bits - 1).astype(signed.dtype)).view(x.dtype)
    moved = unsigned << by.astype(unsigned.dtype) if op == "left" else unsigned >> by.astype(unsigned.dtype)
    return np.asarray(np.where(inside, moved, 0)).astype(unsigned.dtype).view(x.dtype)


def _iota(call: Call, *_: Array) -> Array:
    axis, shape = call.attribute("iota_dimension"), call.shape
    line = np.arange(shape[axis]).astype(call.element.storage)
    return np.broadcast_to(line.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)


def _broadcast_in_dim(call: Call, x: Array, *_: Array) -> Array:
    if call.pointwise:
        return x
    places, shape = call.integers("broadcast_dimensions"), call.shape
    inner = [1] * len(shape)
    for axis, place in enumerate(places):
        inner[place] = x.shape[axis]
    order = np.argsort(places, kind="stable")
    return np.broadcast_to(x.transpose(order).reshape(inner), shape)


def _reshape(call: Call, x: Array, *_: Array) -> Array:
    return x if call.pointwise else x.reshape(call.shape)


def _sliced(call: Call, x: Array) -> Array:
    starts, ends, steps = (call.integers(n) for n in ("start_indices", "limit_indices", "strides"))
    return x[tuple(slice(*one) for one in zip(starts, ends, steps, strict=True))]


def _padded(call: Call, x: Array, value: Array) -> Array:
    low, high, inner = (call.integers(n) for n in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    extents = [max(n + (n - 1) * i, 0) if n else 0 for n, i in zip(x.shape, inner, strict=True)]
    wide = np.full(extents, value, x.dtype)
    wide[tuple(slice(None, None, i + 1) for i in inner)] = x
    wide = wide[tuple(slice(max(-a, 0), n - max(-b, 0)) for a, b, n in zip(low, high, extents, strict=True))]
    return np.pad(wide, [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)], constant_values=value)


def _dynamic_slice(call: Call, x: Array, *starts: Array) -> Array:
    sizes = call.integers("slice_sizes")
    at = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, sizes, strict=True)]
    return x[tuple(slice(a, a + size) for a, size in zip(at, sizes, strict=True))]


def _dynamic_update_slice(_: Call, x: Array, update: Array, *starts: Array) -> Array:
    at = [min(max(int(s), 0), n - m) for s, n, m in zip(starts, x.shape, update.shape, strict=True)]
    found = np.array(x)
    found[tuple(slice(a, a + n) for a, n in zip(at, update.shape, strict=True))] = update
    return found


def _selected(call: Call, test: Array, yes: Array, no: Array) -> Array:
    if test.ndim == 0 and not call.pointwise:
        return yes if bool(test) else no
    return np.where(test, yes, no)


def _constant(call: Call) -> Array:
    found = call.attribute("value")
    if found is None:
        raise Unsupported(f"TOSA has no number format for {call.kind.text}")
    uniform = call.kind.quantized
    return np.asarray(found) if uniform is None else uniform.real(found)


def _sign(x: Array) -> Array:
    return np.sign(x) if x.dtype.kind in "iu" else np.where((x == 0) | (x != x), x, np.copysign(np.ones_like(x), x))


def _popcount(x: Array) -> Array:
    mask = (1 << (8 * x.dtype.itemsize)) - 1
    return np.asarray([bin(int(v) & mask).count("1") for v in x.reshape(-1)], x.dtype).reshape(x.shape)


def _bitcast(call: Call, x: Array) -> Array | None:
    if call.kind.quantized is not None:
        return call.kind.quantized.real(x)
    wanted = call.element.storage
    if wanted.itemsize != x.dtype.itemsize or call.element.bits in (1, 2, 4, 5) or call.element.is_bool:
        return None
    return np.ascontiguousarray(x).view(wanted).reshape(x.shape)


LAZY: Final = frozenset(("constant", "broadcast_in_dim", "iota", "get_dimension_size", "reshape"))
RULES: Final[Mapping[str, Rule]] = {
    "abs": _plain(np.abs), "add": _plain(lambda x, y: x | y if _is_bool(x) else x + y),
    "and": _plain(np.bitwise_and), "bitcast_convert": _bitcast, "broadcast_in_dim": _broadcast_in_dim,
    "ceil": _plain(np.ceil), "clamp": _plain(lambda low, x, high: np.minimum(np.maximum(x, low), high)),
    "compare": _compared, "concatenate": lambda c, *x: np.concatenate(x, c.attribute("dimension")),
    "constant": _constant, "convert": _converted, "cosine": _plain(np.cos), "divide": _plain(_divided),
    "dynamic_broadcast_in_dim": _broadcast_in_dim, "dynamic_iota": _iota, "dynamic_reshape": _reshape,
    "dynamic_slice": _dynamic_slice, "dynamic_update_slice": _dynamic_update_slice,
    "exponential": _plain(np.exp), "floor": _plain(np.floor), "iota": _iota, "is_finite": _plain(np.isfinite),
    "log": _plain(np.log), "maximum": _plain(np.maximum), "minimum": _plain(np.minimum),
    "multiply": _plain(lambda x, y: x & y if _is_bool(x) else x * y),
    "negate": _plain(lambda x: (0 - x) if x.dtype.kind == "u" else -x), "not": _plain(np.invert),
    "or": _plain(np.bitwise_or), "pad": _padded, "popcnt": _plain(_popcount),
    "remainder": _plain(_remainder), "reshape": _reshape,
    "reverse": lambda c, x: np.flip(x, c.integers("dimensions")),
    "rsqrt": _plain(lambda x: (1 / np.sqrt(x.astype(np.float64))).astype(x.dtype)), "select": _selected,
    "shift_left": _plain(lambda x, y: _shifted(x, y, "left")),
    "shift_right_arithmetic": _plain(lambda x, y: _shifted(x, y, "arithmetic")),
    "shift_right_logical": _plain(lambda x, y: _shifted(x, y, "logical")), "sign": _plain(_sign),
    "sine": _plain(np.sin), "slice": _sliced, "sqrt": _plain(np.sqrt),
    "subtract": _plain(lambda x, y: x - y), "tanh": _plain(np.tanh),
    "transpose": lambda c, x: x.transpose(c.integers("permutation")), "xor": _plain(np.bitwise_xor),
}  # fmt: skip
