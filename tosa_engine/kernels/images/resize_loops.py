"""The compiled loops of RESIZE. A unit is one output row; vectors run over the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import inline, jit
from ..layout.loops import copy_run

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Number


@inline
def blend(
    a: Array, b: Array, c: Array, d: Array, top: Number, bottom: Number, left: Number, right: Number, out: Array
) -> None:
    """Four neighbours times their weights, in the specification's order, which counts for floats."""
    for i in range(len(out)):
        total = a[i] * top * left
        total += b[i] * top * right
        total += c[i] * bottom * left
        total += d[i] * bottom * right
        out[i] = total


@jit
def bilinear(x: Array, g: Array, places: Array, ways: Array, out: Array, low: int, high: int) -> int:
    """RESIZE; `places` are the rows before and after each output row, then the columns; `ways` their weights."""
    IH, IW, C, OH, OW = g[0], g[1], g[2], g[3], g[4]
    for unit in range(low, high):
        n, oy = unit // OH, unit % OH
        first, second = (n * IH + places[oy]) * IW * C, (n * IH + places[OH + oy]) * IW * C
        above, below = x[first : first + IW * C], x[second : second + IW * C]
        top, bottom = ways[oy], ways[OH + oy]
        for ox in range(OW):
            column, to = 2 * OH + ox, (unit * OW + ox) * C
            left, right = places[column] * C, places[column + OW] * C
            blend(
                above[left : left + C],
                above[right : right + C],
                below[left : left + C],
                below[right : right + C],
                top,
                bottom,
                ways[column],
                ways[column + OW],
                out[to : to + C],
            )
    return -1


@jit
def nearest(x: Array, g: Array, rows: Array, columns: Array, out: Array, low: int, high: int) -> int:
    """RESIZE; `rows` and `columns`: those of the input for each of the output. A row that repeats is copied whole."""
    IH, IW, C, OH, OW = g[0], g[1], g[2], g[3], g[4]
    for unit in range(low, high):
        n, oy = unit // OH, unit % OH
        to = unit * OW * C
        if unit > low and oy > 0 and rows[oy] == rows[oy - 1]:
            copy_run(out, to - OW * C, 1, out, to, 1, OW * C)
            continue
        first = (n * IH + rows[oy]) * IW * C
        source, target = x[first : first + IW * C], out[to : to + OW * C]
        if C == 1:
            for ox in range(OW):
                target[ox] = source[columns[ox]]
        else:
            for ox in range(OW):
                copy_run(source, columns[ox] * C, 1, target, ox * C, 1, C)
    return -1
