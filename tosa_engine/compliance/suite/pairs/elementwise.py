"""Uses of operators that compute element by element, and of those along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ....numerics.float_formats import FORMATS
from ....types import i8, i16, i32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....types import Shape
    from .use import Use


def elementwise(use: Use) -> None:
    """Operands that broadcast as chosen, and what stands beside them."""
    each = use.spec.traits.elementwise
    assert each is not None
    narrow = use.chosen.get("broadcast", "none")
    numbers = [] if narrow == "none" else [int(word) - 1 for word in narrow.split(" and ")]
    apart = len(numbers) > 1 and len(numbers) == len(each.operands)  # no operand has all of the shape
    shape = use.shape(lambda found: sum(n > 1 for n in found) >= (2 if apart else min(len(numbers), 1)))
    wide = [axis for axis, n in enumerate(shape) if n > 1][: 2 if apart else 1]
    for i, name in enumerate(each.operands):
        own = list(shape)
        if i in numbers:
            own[wide[numbers.index(i) % len(wide)]] = 1
        use.operand(name, tuple(own), given=_given(use, name, tuple(own)))
    if use.spec.name in BESIDE:
        BESIDE[use.spec.name](use)
    use.outputs()


def _given(use: Use, name: str, shape: Shape) -> object:
    """Values without which a REQUIRE would fail; None: any."""
    operator, rng = use.spec.name, use.rng
    if "SHIFT" in operator and name == "input2":
        return rng.integers(0, use.dtype(name).bits, shape)
    if operator == "INTDIV" and name == "input2":
        return rng.choice([-7, -2, 1, 2, 3, 100], shape)
    if operator == "POW":
        return rng.choice([0.5, 1.0, 1.5, 2.0], shape)
    if operator == "RESCALE" and not use.dtype(name).is_float:
        dtype = use.dtype(name)
        low, high = max(dtype.minimum, -9999), min(dtype.maximum, 9999)
        return rng.integers(low, high, shape, endpoint=True)
    return None


def _clamp(use: Use) -> None:
    dtype = use.row.types["in_out_t"]
    low, high = (float("-inf"), float("inf")) if dtype.is_float else (dtype.minimum, dtype.maximum)
    inside = (-FORMATS[dtype].largest / 2, 2.0) if dtype.is_float else (-5, 90)
    ends = {"min_val": (low, inside[0]), "max_val": (high, inside[1])}
    use.case.set(**{name: pair[use.chosen[name] == "inside"] for name, pair in ends.items()})


def _table(use: Use) -> None:
    entries = use.row.letters["TABLE_SIZE"]
    most = 127 if use.row.types["table_t"] is i8 else 16383
    use.constant("table", use.rng.integers(-most, most, entries))


def _mul(use: Use) -> None:
    use.constant("shift", [{"0": 0, "to 31": 3, "beyond": 40}[use.chosen["shift"]]])


def _rescale(use: Use) -> None:
    """Multipliers of at most 12 bits where the shift is small, so that no result leaves int32."""
    wide, channels = use.chosen["scale32"] == "true", 1
    if use.chosen["per_channel"] == "true":
        shape = use.case.tensor("input").shape or (1,)
        channels = shape[-1]
    near = use.chosen["shift"] == "to 31"
    unit = (1 << 12) if not wide else (1 << 17) if near else (1 << 30)
    multipliers = use.rng.integers(unit, 2 * unit, channels)
    use.case.const("multiplier", i32 if wide else i16, multipliers)
    use.case.const("shift", i8, use.rng.integers(20, 32, channels) if near else use.rng.integers(33, 40, channels))
    use.zero_point("input_zp").zero_point("output_zp")


def along_axis(use: Use) -> None:
    """One operand, and an axis of it."""
    name, place = use.spec.inputs[0].name, use.chosen["axis"]
    rank = int(use.chosen["rank"])
    axis = {"only": 0, "first": 0, "last": rank - 1}.get(place, int(use.rng.integers(1, max(rank - 1, 2))))
    long = use.chosen["length of axis"] == "more"
    shape = use.shape(lambda found: (found[axis] > 1) == long)
    use.case.set(axis=axis)
    if use.spec.inputs[0].is_list:
        return concat(use, shape)
    use.operand(name, shape).outputs()
    return None


def concat(use: Use, shape: Shape) -> None:
    axis, dtype = use.case.attributes["axis"], use.dtype("input1")
    lengths = use.rng.integers(1, 4, use.number("tensors of input1") - 1).tolist()
    others = [(*shape[:axis], length, *shape[axis + 1 :]) for length in lengths]
    use.case.list_input("input1", dtype, shape, *others)
    use.outputs()


def nothing_in(use: Use) -> None:
    """CONST: a tensor with values, which leaves the graph."""
    dtype, shape = use.dtype("output"), use.shape()
    top = 1 if dtype.kind == "bool" else 7
    use.case.output("output", dtype, shape, np.arange(int(np.prod(shape))).reshape(shape) % (top + 1))


def _negate(use: Use) -> None:
    use.zero_point("input1_zp").zero_point("output_zp")


BESIDE: Final[Mapping[str, Callable[[Use], None]]] = {
    "CLAMP": _clamp, "TABLE": _table, "MUL": _mul, "RESCALE": _rescale,
    "NEGATE": _negate,
}  # fmt: skip
