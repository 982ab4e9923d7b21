"""Compiled copies: along strided axes (TRANSPOSE, SLICE, ...), of rows by index (GATHER, SCATTER), around CONV2D.

Elements are unsigned integers of their size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import inline, jit

if TYPE_CHECKING:
    from ...types import Array

COLUMNS = 8  # elements that a transposition reads at once
LINE = 8  # words of a short run that are copied at once
SHORT = 64  # words of a run for which a loop of its own would take longer than the copy
START, AXES = 2, 3  # of a geometry: two first positions, then size, stride of the input and stride of the output


@inline
def copy_run(x: Array, source: int, step: int, out: Array, to: int, pace: int, count: int) -> None:
    """out[to + i * pace] = x[source + i * step] for `count` values of i."""
    if step == 1 and pace == 1:
        values, target = x[source : source + count], out[to : to + count]
        for i in range(len(target)):
            target[i] = values[i]
    elif step == 0 and pace == 1:
        value, target = x[source], out[to : to + count]
        for i in range(len(target)):
            target[i] = value
    else:
        for i in range(count):
            out[to + i * pace] = x[source + i * step]


@inline
def copy_lines(x: Array, source: int, out: Array, to: int, count: int) -> None:
    """Whole lines of neighbours."""
    for i in range(0, count, LINE):
        line, target = x[source + i : source + i + LINE], out[to + i : to + i + LINE]
        a, b, c, d, e, f, g, h = line[0], line[1], line[2], line[3], line[4], line[5], line[6], line[7]
        target[0], target[1], target[2], target[3] = a, b, c, d
        target[4], target[5], target[6], target[7] = e, f, g, h


@inline
def unweave(x: Array, source: int, out: Array, to: int, pace: int, count: int) -> None:
    """A row of fours becomes four rows, `pace` from each other: pixels of four channels become planes."""
    line = x[source : source + 4 * count]
    a, b = out[to : to + count], out[to + pace : to + pace + count]
    c, d = out[to + 2 * pace : to + 2 * pace + count], out[to + 3 * pace : to + 3 * pace + count]
    for i in range(count):
        a[i] = line[4 * i]
        b[i] = line[4 * i + 1]
        c[i] = line[4 * i + 2]
        d[i] = line[4 * i + 3]


@inline
def weave(x: Array, source: int, apart: int, out: Array, to: int, count: int) -> None:
    """Three rows, `apart` from each other, become one row of triples: an image's planes become pixels."""
    a, b, c = x[source : source + count], x[source + apart :], x[source + 2 * apart :]
    target = out[to : to + 3 * count]
    for i in range(count):
        target[3 * i] = a[i]
        target[3 * i + 1] = b[i]
        target[3 * i + 2] = c[i]


@inline
def columns(x: Array, source: int, step: int, out: Array, to: int, pace: int, count: int) -> None:
    """Eight rows of a transposed matrix at once: out[to + k * pace + i] = x[source + i * step + k]."""
    a, b = out[to : to + count], out[to + pace : to + pace + count]
    c, d = out[to + 2 * pace : to + 2 * pace + count], out[to + 3 * pace : to + 3 * pace + count]
    e, f = out[to + 4 * pace : to + 4 * pace + count], out[to + 5 * pace : to + 5 * pace + count]
    g, h = out[to + 6 * pace : to + 6 * pace + count], out[to + 7 * pace : to + 7 * pace + count]
    for i in range(count):
        at = source + i * step
        line = x[at : at + COLUMNS]
        a[i], b[i], c[i], d[i] = line[0], line[1], line[2], line[3]
        e[i], f[i], g[i], h[i] = line[4], line[5], line[6], line[7]


@inline
def is_transposed(g: Array, planes: int, rows: int, step: int, pace: int) -> bool:
    """Whether a copy is a transposition of a matrix: units are neighbours in the input."""
    return planes == 1 and rows == 1 and g[START + 1] == 1 and step > 1 and pace == 1


@jit
def copy(x: Array, g: Array, out: Array, low: int, high: int) -> int:
    """Copy along three axes or more; a unit is one index of the first. See `copies.axes` for g."""
    last = len(g) - AXES
    rows, row_step, row_pace = g[last - 3], g[last - 2], g[last - 1]
    count, step, pace = g[last], g[last + 1], g[last + 2]
    planes = np.int64(1)
    for axis in range(START + AXES, last - AXES, AXES):
        planes *= g[axis]
    if is_transposed(g, planes, rows, step, pace):
        while high - low >= COLUMNS:
            columns(x, g[0] + low, step, out, g[1] + low * g[START + 2], g[START + 2], count)
            low += COLUMNS
        if high - low == 4 and step == 4:
            unweave(x, g[0] + low, out, g[1] + low * g[START + 2], g[START + 2], count)
            low = high
    for unit in range(low, high):
        for plane in range(planes):
            source, to, rest = g[0] + unit * g[START + 1], g[1] + unit * g[START + 2], plane
            for axis in range(last - 2 * AXES, START, -AXES):
                index = rest % g[axis]
                rest //= g[axis]
                source += index * g[axis + 1]
                to += index * g[axis + 2]
            if rows == 3 and row_pace == 1 and step == 1 and pace == 3:
                weave(x, source, row_step, out, to, count)
                continue
            row = 0
            if row_step == 1 and step > 1 and pace == 1:
                while rows - row >= COLUMNS:
                    columns(x, source + row, step, out, to + row * row_pace, row_pace, count)
                    row += COLUMNS
            if step == 1 and pace == 1 and count <= SHORT and count % LINE == 0:
                while row < rows:
                    copy_lines(x, source + row * row_step, out, to + row * row_pace, count)
                    row += 1
            while row < rows:
                copy_run(x, source + row * row_step, step, out, to + row * row_pace, pace, count)
                row += 1
    return -1


@jit
def move(x: Array, out: Array, apart: int, low: int, high: int) -> int:
    """All of x to `out`, in one unit, where the two may overlap: `out` begins `apart` elements behind x, or in front of
    it where that is negative. 0: they don't overlap.
    """
    count = len(out)
    step = count if apart == 0 else min(count, abs(apart))
    first = np.int64(0) if apart <= 0 else (count - 1) // step * step
    for i in range(0, count, step):
        at = i if apart <= 0 else first - i
        copy_run(x, at, 1, out, at, 1, min(step, count - at))
    return -1


@jit
def fill(value: Array, out: Array, low: int, high: int) -> int:
    """All elements become the first one of `value`."""
    target = out[low:high]
    for i in range(len(target)):
        target[i] = value[0]
    return -1


@jit
def gather(values: Array, indices: Array, K: int, C: int, W: int, out: Array, low: int, high: int) -> int:
    """A unit is one row of C values."""
    for unit in range(low, high):
        index = np.int64(indices[unit])
        if index < 0 or index >= K:
            return unit * C
        copy_run(values, (unit // W * K + index) * C, 1, out, unit * C, 1, C)
    return -1


@jit
def scatter(
    values: Array, indices: Array, source: Array, K: int, C: int, W: int, out: Array, written: Array, low: int,
    high: int,
) -> int:  # fmt: skip
    """A unit is a batch of K rows, W of which come from `source`. No index may come twice."""
    for n in range(low, high):
        for k in range(K):
            written[k] = 0
        copy_run(values, n * K * C, 1, out, n * K * C, 1, K * C)
        for w in range(n * W, (n + 1) * W):
            index = np.int64(indices[w])
            if index < 0 or index >= K or written[index] != 0:
                return int(n * K * C)
            written[index] = 1
            copy_run(source, w * C, 1, out, (n * K + index) * C, 1, C)
    return -1


@jit
def stack(x: Array, zero: Array, g: Array, out: Array, low: int, high: int) -> int:
    """The slices that each output slice of a CONV3D reads become channels of one image. A unit is a row of an image.

    g: ID, IH, IW, IC, OD, KD, stride, dilation, padding before the first slice, first output slice. Where there is no
    slice stands `zero`.
    """
    ID, IH, IW, IC, OD, KD = g[0], g[1], g[2], g[3], g[4], g[5]
    for unit in range(low, high):
        image, y = g[9] + unit // IH, unit % IH
        n, first = image // OD, image % OD * g[6] - g[8]
        for k in range(KD):
            depth = first + k * g[7]
            inside = depth >= 0 and depth < ID
            source, to = ((n * ID + depth) * IH + y) * IW * IC, (unit * IW * KD + k) * IC
            for column in range(IW):
                if inside:
                    copy_run(x, source + column * IC, 1, out, to + column * KD * IC, 1, IC)
                else:
                    copy_run(zero, 0, 0, out, to + column * KD * IC, 1, IC)
    return -1


@jit
def place(x: Array, rows: Array, runs: Array, g: Array, out: Array, low: int, high: int) -> int:
    """Runs of each listed row go to the rows of an image. A unit is a listed row of an image.

    rows: (from, to) of each row, within an image; runs: (from, to, count) within a row; g: elements of an image of x,
    elements of one of `out`.
    """
    listed = len(rows) // 2
    for unit in range(low, high):
        image, row = unit // listed, unit % listed
        source, to = image * g[0] + rows[2 * row], image * g[1] + rows[2 * row + 1]
        for run in range(0, len(runs), 3):
            copy_run(x, source + runs[run], 1, out, to + runs[run + 1], 1, runs[run + 2])
    return -1
