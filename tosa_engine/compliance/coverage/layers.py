"""What one operator of a graph met in its runs, next to what is proved of it for all inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...types import i8
from .corners import Seen, corners, segments
from .corners.integers import tie
from .corners.scaling import Scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ranges import Interval
    from ...spec.table import Call
    from ...types import Array

LOW: Final = "saturates low"
HIGH: Final = "saturates high"
ABOVE: Final = "tie above 0"
BELOW: Final = "tie below 0"
COUNTED: Final = (LOW, HIGH, ABOVE, BELOW)


class Rescaled:
    """A RESCALE: how many elements saturated, were ties. `possible`: what the proved interval of its input allows."""

    kind = "rescale"

    def __init__(self, call: Call, interval: Interval | None) -> None:
        self.elements = 0
        self.counts = dict.fromkeys(COUNTED, 0)
        self.possible = dict.fromkeys(COUNTED, True)
        known = all(call.constant(name) is not None for name in ("multiplier", "shift", "input_zp", "output_zp"))
        if interval is not None and known:
            self._prove(call, interval)
        if call.out_t.bits >= 32:
            self.possible |= {LOW: False, HIGH: False}

    def _prove(self, call: Call, interval: Interval) -> None:
        constants = {name: call.constant(name) for name in ("multiplier", "shift", "input_zp", "output_zp")}
        ends = [Scaled(Seen(call, {**constants, "input": end}, [])) for end in (interval.low, interval.high)]
        if call.input_unsigned:  # whose ends are no bounds of what its bits say
            return
        least, most = ends
        self.possible[LOW] = bool((least.result < least.low).any())
        self.possible[HIGH] = bool((most.result > most.high).any())
        first = _first_tie(least.multiplier, least.shift)
        self.possible[ABOVE] = bool(((first > 0) & (first <= most.value)).any())
        self.possible[BELOW] = bool(((first > 0) & (-first >= least.value)).any())

    def add(self, seen: Seen) -> None:
        found = Scaled(seen)
        ties, result = tie(found.product, found.shift), found.result
        self.elements += result.size
        for name, met in (
            (LOW, result < found.low), (HIGH, result > found.high),
            (ABOVE, ties & (found.value > 0)), (BELOW, ties & (found.value < 0)),
        ):  # fmt: skip
            self.counts[name] += int(np.count_nonzero(met))

    def data(self) -> dict[str, Any]:
        met = {n: {"elements": self.counts[n], "possible": self.possible[n]} for n in COUNTED}
        return {"elements": self.elements, **met}


def _first_tie(multiplier: Array, shift: Array) -> Array:
    """The least value above 0 whose product is halfway between two results; 0 where there is none."""
    multiplier, shift = np.broadcast_arrays(multiplier.astype(np.int64), shift.astype(np.int64))
    twos = np.log2(np.maximum(multiplier & -multiplier, 1).astype(np.float64)).astype(np.int64)
    odd = shift - 1 - twos
    return np.where((multiplier > 0) & (odd >= 0), np.int64(1) << np.clip(odd, 0, 62), 0)


class Summed:
    """A sum of products: the least and greatest that were met, next to the proved ends, and the bits that both take."""

    kind = "accumulator"

    def __init__(self, call: Call, interval: Interval | None) -> None:
        self.dtype = call.tensor("output").dtype
        self.least: int | None = None
        self.most = 0
        self.proved = (self.dtype.minimum, self.dtype.maximum)
        if interval is not None:
            self.proved = (int(interval.low.min()), int(interval.high.max()))

    def add(self, seen: Seen) -> None:
        if not seen.result.size:
            return
        low, high = int(seen.result.min()), int(seen.result.max())
        self.least, self.most = (low, high) if self.least is None else (min(low, self.least), max(high, self.most))

    def data(self) -> dict[str, Any]:
        low, high = self.proved
        return {
            "least": self.least, "greatest": None if self.least is None else self.most,
            "proved_least": low, "proved_greatest": high,
            "bits": 0 if self.least is None else width(self.least, self.most),
            "proved_bits": width(low, high), "type_bits": self.dtype.bits,
        }  # fmt: skip


def width(low: int, high: int) -> int:
    """The bits of the narrowest two's-complement number that holds both."""
    return max((-low - 1).bit_length() if low < 0 else low.bit_length(), high.bit_length() if high > 0 else 0) + 1


class LookedUp:
    """A TABLE: which of its entries, or of its segments between them, were met, of those that inputs can reach."""

    kind = "table"

    def __init__(self, call: Call, interval: Interval | None) -> None:
        small = call.in_t is i8
        self.total, self.met, self.name = (256, set[int](), "entries") if small else (512, set[int](), "segments")
        self.first, self.last = 0, self.total - 1
        if interval is not None:
            low, high = int(interval.low.min()), int(interval.high.max())
            self.first, self.last = (low + 128, high + 128) if small else ((low + 32768) >> 7, (high + 32768) >> 7)

    def add(self, seen: Seen) -> None:
        self.met |= segments(seen)

    def data(self) -> dict[str, Any]:
        missed = [i for i in range(self.first, self.last + 1) if i not in self.met]
        return {
            "of": self.name, "met": len(self.met), "possible": self.last - self.first + 1, "there": self.total,
            "not_met": missed,
        }  # fmt: skip


class Cornered:
    """All other corners of an operator's row that its constants and the proved intervals leave open."""

    kind = "corners"

    def __init__(self, call: Call, intervals: Mapping[str, Interval]) -> None:
        assert call.row is not None
        tests = corners(call.spec.name, call.row.key)
        self._open = {n: test for n, test in tests.items() if _is_open(call, n) and not _excluded(call, n, intervals)}
        self.met: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._open or self.met)

    def add(self, seen: Seen) -> None:
        found = [name for name, test in self._open.items() if test(seen)]
        self.met += found
        for name in found:
            del self._open[name]

    def data(self) -> dict[str, Any]:
        return {"met": self.met, "not_met": list(self._open)}


def _is_open(call: Call, corner: str) -> bool:
    """Whether values decide about a corner: not attributes and constants, nor what is counted."""
    about, _, what = corner.partition(": ")
    if call.spec.name == "RESCALE":
        if about.startswith(("unsigned input", "unsigned output")):
            return bool(call.input_unsigned if "input" in about else call.output_unsigned)
        own = f"{call.rounding_mode}, {32 if call.scale32 else 16} bits"
        return what not in COUNTED and (about == own or about in ("input",))
    constants = {a.name for a in call.spec.inputs if not a.is_list and call.constant(a.name) is not None}
    return about not in constants and not about.startswith("shift")


def _excluded(call: Call, corner: str, intervals: Mapping[str, Interval]) -> bool:
    """Whether a corner is an end of a format that the interval of its tensor doesn't reach."""
    about, _, end = corner.partition(": ")
    arguments = call.spec.outputs[:1] if about == "result" else [a for a in call.spec.inputs if a.name == about]
    if end not in ("least", "greatest") or not arguments or arguments[0].is_list:
        return False
    tensor = call.tensor(arguments[0].name)
    interval = intervals.get(tensor.name)
    if interval is None or not tensor.dtype.is_int:
        return False
    return bool(
        interval.low.min() > tensor.dtype.minimum if end == "least" else interval.high.max() < tensor.dtype.maximum
    )


def parts_of(call: Call, intervals: Mapping[str, Interval]) -> list[Rescaled | Summed | LookedUp | Cornered]:
    """What is looked at of an operator; `intervals` are those that are proved, by tensor."""
    found: list[Rescaled | Summed | LookedUp | Cornered] = []
    name, operator = call.spec.name, call.operator
    if name == "RESCALE":
        found.append(Rescaled(call, intervals.get(operator.inputs[0])))
    elif name == "TABLE":
        found.append(LookedUp(call, intervals.get(operator.inputs[0])))
    elif call.spec.traits.is_sum and call.tensor("output").dtype.is_int:
        found.append(Summed(call, intervals.get(operator.outputs[0])))
    if call.spec.traits.moves is not None:  # which has no corner of its own
        return found
    rest = Cornered(call, intervals)
    return [*found, rest] if rest else found
