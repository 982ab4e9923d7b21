"""The formulas of NNEF 1.0.4, chapter 4, transcribed one by one into slow numpy: doubles, NCHW, element by element."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Array = np.ndarray[Any, np.dtype[Any]]
Pairs = "Sequence[tuple[int, int]]"


def bordered(index: int, extent: int, border: str) -> int | None:
    """Border Modes: the input position that stands for `index`, None for the constant 0 (or nothing)."""
    if 0 <= index < extent:
        return index
    if border == "replicate":
        return 0 if index < 0 else extent - 1
    if border == "reflect":
        return -index if index < 0 else (extent - 1) - (index - extent + 1)
    if border == "reflect-even":
        return -index - 1 if index < 0 else (extent - 1) - (index - extent)
    return None


def value(x: Array, place: Sequence[int], border: str) -> float | None:
    found = [bordered(i, n, border) for i, n in zip(place, x.shape, strict=True)]
    return None if None in found else float(x[tuple(found)])  # type: ignore[arg-type]


def automatic(extent: int, size: int, stride: int, dilation: int) -> tuple[int, int]:
    reach = (size - 1) * dilation + 1
    total = max((math.ceil(extent / stride) - 1) * stride + reach - extent, 0)
    return total // 2, math.ceil(total / 2)


def parameters(
    shape: Sequence[int], size: Sequence[int], padding: Any, stride: Sequence[int], dilation: Sequence[int]
) -> tuple[Any, list[int], list[int]]:
    s, d = list(stride) or [1] * len(shape), list(dilation) or [1] * len(shape)
    p = list(padding) or [automatic(*numbers) for numbers in zip(shape, size, s, d, strict=True)]
    return p, s, d


def down(extent: int, size: int, padding: tuple[int, int], stride: int, dilation: int) -> int:
    return math.floor((sum(padding) + extent - ((size - 1) * dilation + 1)) / stride) + 1


def windows(
    x: Array, size: Sequence[int], border: str, padding: Any, stride: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, ...], Iterator[tuple[tuple[int, ...], list[float | None]]]]:
    """The output shape, and for every output position the values of its window, row-major; None is outside."""
    p, s, d = parameters(x.shape, size, padding, stride, dilation)
    shape = tuple(down(*numbers) for numbers in zip(x.shape, size, p, s, d, strict=True))

    def every() -> Iterator[tuple[tuple[int, ...], list[float | None]]]:
        for i in np.ndindex(shape):
            yield (
                i,
                [
                    value(x, [i[a] * s[a] + j[a] * d[a] - p[a][0] for a in range(x.ndim)], border)
                    for j in np.ndindex(*size)
                ],
            )

    return shape, every()


def box(x: Array, size: Any, border: str, padding: Any, stride: Any, dilation: Any, normalize: bool = False) -> Array:
    shape, every = windows(x, size, border, padding, stride, dilation)
    out = np.zeros(shape)
    for i, values in every:
        inside = [v for v in values if v is not None]
        volume = len(inside) if border == "ignore" else len(values)
        out[i] = sum(inside) / (max(volume, 1) if normalize else 1)
    return out


def max_pool(x: Array, size: Any, border: str, padding: Any, stride: Any, dilation: Any) -> Array:
    shape, every = windows(x, size, border, padding, stride, dilation)
    out = np.zeros(shape)
    for i, values in every:
        kept = [v for v in values if v is not None] if border == "ignore" else [v or 0.0 for v in values]
        out[i] = max(kept, default=-np.inf)
    return out


def argmax_pool(x: Array, size: Any, border: str, padding: Any, stride: Any, dilation: Any) -> Array:
    shape, every = windows(x, size, border, padding, stride, dilation)
    out = np.zeros(shape, np.int32)
    outside = -np.inf if border == "ignore" else 0.0
    for i, values in every:
        out[i] = int(np.argmax([outside if v is None else v for v in values]))
    return out


def sample(x: Array, index: Array, size: Any, border: str, padding: Any, stride: Any, dilation: Any) -> Array:
    shape, every = windows(x, size, border, padding, stride, dilation)
    out = np.zeros(shape)
    for i, values in every:
        out[i] = values[index[i]] or 0.0
    return out


def up(extent: int, size: int, padding: tuple[int, int], stride: int, dilation: int) -> int:
    return (extent - 1) * stride + (size - 1) * dilation + 1 - sum(padding)


def reverse(
    x: Array, size: Any, border: str, padding: Any, stride: Any, dilation: Any, output_shape: Any
) -> tuple[tuple[int, ...], Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], float | None]]]:
    """The up-scaled shape, and (output position, window position, input position, input value) for every term."""
    s, d = list(stride) or [1] * x.ndim, list(dilation) or [1] * x.ndim
    if padding:
        p = list(padding)
        shape = tuple(output_shape or (up(*n) for n in zip(x.shape, size, p, s, d, strict=True)))
    else:
        shape = tuple(output_shape or (n * step for n, step in zip(x.shape, s, strict=True)))
        p = []
        for n, big, f, step, gap in zip(x.shape, shape, size, s, d, strict=True):
            total = max((n - 1) * step + (f - 1) * gap + 1 - big, 0)
            p.append((total // 2, math.ceil(total / 2)))

    def terms() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], float | None]]:
        for i in np.ndindex(shape):
            for j in np.ndindex(*size):
                at = [i[a] + p[a][0] - j[a] * d[a] for a in range(x.ndim)]
                if any(n % step for n, step in zip(at, s, strict=True)):
                    continue
                place = tuple(n // step for n, step in zip(at, s, strict=True))
                yield i, j, place, value(x, place, border)

    return shape, terms()


def debox(
    x: Array, size: Any, border: str, padding: Any, stride: Any, dilation: Any, output_shape: Any, normalize: bool
) -> Array:
    shape, terms = reverse(x, size, border, padding, stride, dilation, output_shape)
    out = np.zeros(shape)
    for i, _, _, found in terms:
        out[i] += found or 0.0
    return out / (math.prod(size) if normalize else 1)


def desample(x: Array, index: Array, size: Any, padding: Any, stride: Any, dilation: Any, output_shape: Any) -> Array:
    shape, terms = reverse(x, size, "constant", padding, stride, dilation, output_shape)
    out = np.zeros(shape)
    for i, j, place, found in terms:
        if found is not None and index[place] == np.ravel_multi_index(j, tuple(size)):
            out[i] += found
    return out


def conv(x: Array, w: Array, bias: Array, border: str, padding: Any, stride: Any, dilation: Any, groups: int) -> Array:
    spatial = x.ndim - 2
    groups = groups or x.shape[1]
    p, s, d = parameters(x.shape[2:], w.shape[2:], padding, stride, dilation)
    sizes = [down(*n) for n in zip(x.shape[2:], w.shape[2:], p, s, d, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    for place in np.ndindex(out.shape):
        b, k, i = place[0], place[1], place[2:]
        group = k // (w.shape[0] // groups)
        total = 0.0
        for c in range(w.shape[1]):
            plane = x[b, group * w.shape[1] + c]
            for j in np.ndindex(w.shape[2:]):
                at = [i[a] * s[a] + j[a] * d[a] - p[a][0] for a in range(spatial)]
                total += (value(plane, at, border) or 0.0) * w[(k, c, *j)]
        out[place] = total + (bias.reshape(-1)[k] if bias.size > 1 else float(bias.reshape(-1)[0]))
    return out


def deconv(
    x: Array,
    w: Array,
    bias: Array,
    border: str,
    padding: Any,
    stride: Any,
    dilation: Any,
    output_shape: Any,
    groups: int,
) -> Array:
    groups = groups or (output_shape[1] if output_shape else x.shape[1])
    channels, inputs = w.shape[1] * groups, x.shape[1] // groups
    shape = None
    out = None
    for b, k1 in itertools.product(range(x.shape[0]), range(channels)):
        group = k1 // w.shape[1]
        for k2 in range(group * inputs, (group + 1) * inputs):
            plane = x[b, k2]
            shape, terms = reverse(plane, w.shape[2:], border, padding, stride, dilation, output_shape[2:])
            if out is None:
                out = np.zeros((x.shape[0], channels, *shape))
            for i, j, _, found in terms:
                out[(b, k1, *i)] += (found or 0.0) * w[(k2, k1 % w.shape[1], *j)]
    assert out is not None
    return out + (bias.reshape(1, -1, *[1] * (x.ndim - 2)) if bias.size > 1 else bias.reshape(-1)[0])


def pad(x: Array, padding: Any, border: str, constant: float) -> Array:
    shape = tuple(n + p + q for n, (p, q) in zip(x.shape, padding, strict=True))
    out = np.zeros(shape)
    for i in np.ndindex(shape):
        found = value(x, [i[a] - padding[a][0] for a in range(x.ndim)], border)
        out[i] = constant if found is None else found
    return out


def upsample_axis(x: Array, axis: int, factor: int, method: str, border: str) -> Array:
    """Multi-linear up-sampling of one axis."""
    moved = np.moveaxis(np.asarray(x, np.float64), axis, 0)
    extent = moved.shape[0]
    out = np.zeros((extent * factor, *moved.shape[1:]))
    for i in range(extent * factor):
        if method == "symmetric":
            at = (i - (factor - 1) / 2) / factor
        elif method == "aligned":
            at = i * (extent - 1) / max(extent * factor - 1, 1)
        else:
            at = i / factor
        j, u = math.floor(at), at - math.floor(at)
        for index, share in ((j, 1 - u), (j + 1, u)):
            place = bordered(index, extent, border)
            if place is not None and share > 0:
                out[i] += share * moved[place]
    return np.moveaxis(out, 0, axis)


def roi_pool(x: Array, rois: Array, items: Array, size: Sequence[int], average: bool) -> Array:
    """Cells begin at the region's start + i * floor(r / p) and have ceil(r / p) positions (docs/errata.md)."""
    spatial = x.ndim - 2
    out = np.zeros((len(rois), x.shape[1], *size))
    for n, c, *i in np.ndindex(out.shape):
        region = []
        for a in range(spatial):
            start, end = (math.floor(float(rois[n, k]) + 0.5) for k in (a, a + spatial))
            r = end - start
            low = start + i[a] * (r // size[a])
            region.append([h for h in range(low, low + math.ceil(r / size[a])) if 0 <= h < x.shape[2 + a]])
        volume = 1
        for a in range(spatial):
            start, end = (math.floor(float(rois[n, k]) + 0.5) for k in (a, a + spatial))
            volume *= max(math.ceil((end - start) / size[a]), 1)
        values = [float(x[(int(items.reshape(-1)[n]), c, *place)]) for place in itertools.product(*region)]
        out[(n, c, *i)] = sum(values) / volume if average else max(values, default=-np.inf)
    return out


def roi_resample(x: Array, rois: Array, items: Array, size: Sequence[int], method: str) -> Array:
    spatial = x.ndim - 2
    out = []
    for n in range(len(rois)):
        maps = np.asarray(x[int(items.reshape(-1)[n])], np.float64)
        for a in range(spatial):
            start, end = float(rois[n, a]), float(rois[n, a + spatial])
            moved = np.moveaxis(maps, 1 + a, 0)
            lines = []
            for i in range(size[a]):
                if method == "symmetric":
                    at = start + (i + 0.5) * (end - start) / size[a] - 0.5
                elif method == "aligned":
                    at = start + i * (end - start - 1) / max(size[a] - 1, 1)
                else:
                    at = start + i * (end - start) / size[a]
                at = min(max(at, 0), moved.shape[0] - 1)
                j = min(math.floor(at), moved.shape[0] - 2) if moved.shape[0] > 1 else 0
                u = at - j
                lines.append((1 - u) * moved[j] + (u * moved[j + 1] if moved.shape[0] > 1 else 0))
            maps = np.moveaxis(np.stack(lines), 0, 1 + a)
        out.append(maps)
    return np.stack(out)
