"""Values of feature maps at places between their elements, where the places are data.

Every place has some neighbours: 1, 2 or 4 along each axis. Their values are looked up, and added up by their shares.
A place is a coordinate along each spatial axis: tensors [N, places], counted in elements.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from .. import types
from ..types import count
from .elementary import chosen, compared, number, plus, round_even, times
from .layout import gathered
from .linear import matmul
from .problems import Misfit
from .resize import CUBIC_SLOPE
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..graph import Tensor
    from .writer import Writer

    Neighbour = tuple[Tensor, Tensor | None]  # whole coordinates, the share of this neighbour

METHODS: Final = ("nearest", "linear", "cubic")
PADDING: Final = ("zeros", "border", "reflection")
FARTHEST: Final = float(1 << 22)  # coordinates beyond are no different from it


def unnormalized(g: Writer, x: Tensor, extent: int, *, aligned: bool) -> Tensor:
    """Coordinates from -1 .. 1: `aligned` are the middles of the first and last element, else their outer ends."""
    if aligned:
        return times(g, plus(g, x, 1.0), (extent - 1) / 2)
    return times(g, plus(g, times(g, plus(g, x, 1.0), float(extent)), -1.0), 0.5)


def sampled(
    g: Writer, x: Tensor, places: Sequence[Tensor], method: str = "linear", padding: str = "zeros", *,
    aligned: bool = True,
) -> Tensor:  # fmt: skip
    """[N, C, places] of `x` [N, C, spatial axes ...]. `aligned`: reflection is about the middles of the ends."""
    total: Tensor | None = None
    for values, share in neighbours(g, x, places, method, padding, aligned=aligned):
        term = values if share is None else g.binary("MUL", values, share)
        total = term if total is None else g.binary("ADD", total, term)
    assert total is not None
    return g.transpose(total, (0, 2, 1))


def neighbours(
    g: Writer, x: Tensor, places: Sequence[Tensor], method: str, padding: str, *, aligned: bool = True
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """The values [N, places, C] of one neighbour of all places, and its shares [N, places, 1], one after the other."""
    shape = shape_of(x)
    if len(places) != len(shape) - 2 or any(shape_of(p)[0] != shape[0] for p in places):
        raise Misfit(f"places {[list(shape_of(p)) for p in places]} in a tensor of shape {list(shape)}")
    rows = g.transpose(g.reshape(x, (shape[0], shape[1], count(shape[2:]))), (0, 2, 1))
    axes = [
        list(_along(g, place, extent, method, padding, aligned=aligned))
        for place, extent in zip(places, shape[2:], strict=True)
    ]
    for one in itertools.product(*axes):
        index, share = one[0]
        for (more, part), extent in zip(one[1:], shape[3:], strict=True):
            index = g.binary("ADD", times(g, index, extent), more)
            share = part if share is None else share if part is None else g.binary("MUL", share, part)
        yield gathered(g, rows, index), None if share is None else g.reshape(share, (*shape_of(share), 1))


def _along(g: Writer, at: Tensor, extent: int, method: str, padding: str, *, aligned: bool) -> Iterator[Neighbour]:
    """The neighbours along one axis: i32 indices inside of it, and their shares; 0 is that of one outside."""
    ends = (0.0, extent - 1.0) if aligned else (-0.5, extent - 0.5)
    at = g.clamp(at, -FARTHEST, FARTHEST)
    at = round_even(g, at) if method == "nearest" else at
    at = _brought_back(g, at, extent, ends, padding)
    low = g.unary("FLOOR", at)
    past = g.binary("SUB", at, low)
    reach = range(1) if method == "nearest" else range(2) if method == "linear" else range(-1, 3)
    for step in reach:
        index = plus(g, low, float(step)) if step else low
        share = None if method == "nearest" else _share(g, past, step, method)
        if padding == "zeros":
            within = inside(g, index, 0.0, extent - 1.0)
            kept = number(g, 1.0, index) if share is None else share
            share = chosen(g, within, kept, number(g, 0.0, index))
        elif padding == "reflection":
            index = _reflected(g, index, ends)
        index = g.clamp(index, 0.0, extent - 1.0)
        yield g.operator("CAST", [index], shape_of(index), types.i32), share


def _brought_back(g: Writer, at: Tensor, extent: int, ends: tuple[float, float], padding: str) -> Tensor:
    """Places outside as the padding has them inside."""
    if padding == "zeros":
        return at
    found = g.clamp(at, 0.0, extent - 1.0) if padding == "border" else _reflected(g, at, ends)
    return chosen(g, inside(g, at, *ends), at, found)


def inside(g: Writer, x: Tensor, low: float, high: float) -> Tensor:
    """Whether low <= x <= high."""
    above = compared(g, "GREATER_EQUAL", x, number(g, low, x))
    return compared(g, "LOGICAL_AND", above, compared(g, "GREATER_EQUAL", number(g, high, x), x))


def _reflected(g: Writer, x: Tensor, ends: tuple[float, float]) -> Tensor:
    """Back and forth between the ends."""
    low, room = ends[0], ends[1] - ends[0]
    if not room:
        return times(g, x, 0.0)
    way = g.unary("ABS", plus(g, x, -low))
    turns = g.unary("FLOOR", times(g, way, 1 / (2 * room)))
    rest = g.binary("SUB", way, times(g, turns, 2 * room))
    back = g.binary("MINIMUM", rest, g.binary("SUB", number(g, 2 * room, rest), rest))
    return plus(g, back, low)


def _share(g: Writer, past: Tensor, step: int, method: str) -> Tensor:
    """The share of the neighbour `step` elements after the one below a place that is `past` it by 0 .. 1."""
    if method == "linear":
        return past if step else g.binary("SUB", number(g, 1.0, past), past)
    distance = plus(g, past, float(-step)) if step < 1 else g.binary("SUB", number(g, float(step), past), past)
    a = CUBIC_SLOPE
    near = step in (0, 1)
    factors = (a + 2, -(a + 3), 0.0, 1.0) if near else (a, -5 * a, 8 * a, -4 * a)
    found = number(g, factors[0], distance)
    for factor in factors[1:]:
        found = g.binary("MUL", found, distance)
        found = plus(g, found, factor) if factor else found
    return found


def deformed_convolution(
    g: Writer, x: Tensor, weight: Tensor, places: Sequence[Tensor], mask: Tensor | None, groups: int, outputs: int
) -> Tensor:
    """[N, outputs channels, positions]: a convolution that looks at `places` [N, offset groups, taps * positions].

    `mask` [N, offset groups, taps * positions] weighs what it sees; `weight` is [channels, inputs / groups, taps ...].
    """
    shape, (channels, share) = shape_of(x), shape_of(weight)[:2]
    parts, taps = shape_of(places[0])[1], count(shape_of(weight)[2:])
    if shape[1] % parts or shape[1] != share * groups or channels % groups:
        raise Misfit(f"{shape[1]} channels in {groups} groups and {parts} groups of offsets, for {channels} channels")
    each = shape[1] // parts
    flat = g.reshape(x, (shape[0] * parts, each, *shape[2:]))
    seen = sampled(g, flat, [g.reshape(p, (shape[0] * parts, shape_of(p)[2])) for p in places])
    if mask is not None:
        seen = g.binary("MUL", seen, g.reshape(mask, (shape[0] * parts, 1, taps * outputs)))
    columns = g.reshape(seen, (shape[0], groups, share * taps, outputs))
    kernel = g.reshape(weight, (1, groups, channels // groups, share * taps))
    return g.reshape(matmul(g, kernel, columns), (shape[0], channels, outputs))
