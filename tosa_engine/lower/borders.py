"""Borders: what lies beyond the ends of an axis.

| border | beyond a b c lies |
|---|---|
| `constant` | a value |
| `ignore` | nothing: what pools look at is inside only; elsewhere a value, as `constant` |
| `replicate` | a a [a b c] c c |
| `reflect` | c b [a b c] b a |
| `reflect-even` | b a [a b c] c b |

PAD knows constants only; all others are slices, reversals and concatenations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .axes import joined, part, repeated, reversed_
from .problems import Misfit
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from .windows import Window
    from .writer import Writer

BORDERS: Final = ("ignore", "constant", "replicate", "reflect", "reflect-even")
FILLED: Final = BORDERS[1:]
CLEAR: Final = BORDERS[:2]


def extended(g: Writer, x: Tensor, axis: int, before: int, after: int, border: str, value: float = 0.0) -> Tensor:
    """The axis with `before` and `after` more elements as `border` says; fewer where they are negative.

    `value` is what the border 'constant' has, and 'ignore', which has no value of its own.
    """
    extent = shape_of(x)[axis] + min(before, 0) + min(after, 0)
    if extent < 1:
        raise Misfit(f"padding ({before}, {after}) leaves nothing of the extent {shape_of(x)[axis]}")
    if border not in CLEAR:
        return _mirrored(g, x, axis, before, after, border)
    x = part(g, x, axis, max(-before, 0), extent)
    if before <= 0 and after <= 0:
        return x
    amounts = [[max(n, 0) if i == axis else 0 for i in range(len(shape_of(x)))] for n in (before, after)]
    return g.pad(x, amounts[0], amounts[1], value)


def _mirrored(g: Writer, x: Tensor, axis: int, before: int, after: int, border: str) -> Tensor:
    """'replicate', 'reflect' and 'reflect-even' look at the whole input, also where the other end is cut off."""
    extent = shape_of(x)[axis]
    parts = [part(g, x, axis, max(-before, 0), extent + min(before, 0) + min(after, 0))]
    even = border == "reflect-even"
    most = extent if even else extent - 1
    if border != "replicate" and max(before, after) > most:
        raise Misfit(f"padding ({before}, {after}) is more than '{border}' has to show of an extent of {extent}")
    if before > 0:
        edge = part(g, x, axis, 0 if even else 1, before) if border != "replicate" else None
        parts.insert(0, _edge(g, x, axis, 0, before) if edge is None else reversed_(g, edge, axis))
    if after > 0:
        edge = part(g, x, axis, extent - after - (not even), after) if border != "replicate" else None
        parts.append(_edge(g, x, axis, extent - 1, after) if edge is None else reversed_(g, edge, axis))
    return joined(g, parts, axis)


def _edge(g: Writer, x: Tensor, axis: int, index: int, times: int) -> Tensor:
    return repeated(g, part(g, x, axis, index, 1), axis, times)


def extended_all(
    g: Writer, x: Tensor, windows: Sequence[Window], border: str, value: float = 0.0, first: int = 0
) -> Tensor:
    """The borders of windows over the axes `first`, `first` + 1, ... added to `x`, or cut off."""
    for axis, window in enumerate(windows, first):
        if (window.before, window.after) != (0, 0):
            x = extended(g, x, axis, window.before, window.after, border, value)
    return x


def padded(g: Writer, x: Tensor, padding: Sequence[tuple[int, int]], border: str, value: float = 0.0) -> Tensor:
    """All axes with as much more before and after them, or less where it is negative; with `value` one PAD does."""
    shape = shape_of(x)
    if min(n + p + q for n, (p, q) in zip(shape, padding, strict=True)) < 1:
        raise Misfit(f"padding {[list(p) for p in padding]} leaves nothing of shape {list(shape)}")
    if border in CLEAR:
        start = [max(-p, 0) for p, _ in padding]
        inner = g.slice(x, start, [n + min(p, 0) + min(q, 0) for n, (p, q) in zip(shape, padding, strict=True)])
        return g.pad(inner, [max(p, 0) for p, _ in padding], [max(q, 0) for _, q in padding], value)
    for axis, (before, after) in enumerate(padding):
        if (before, after) != (0, 0):
            x = extended(g, x, axis, before, after, border)
    return x
