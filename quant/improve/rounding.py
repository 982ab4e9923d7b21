"""Rounding of weights by what it does to the layer's results, in the manner of AdaRound, without gradients.

A weight may become either of the two integers about it. Of one output channel with real weights w, integer weights q
in steps of s, inputs x of the float network and x' of the integer one, whose earlier layers are rounded already, the
error

    mean((x' . s q - x . w)^2) = s^2 q G q - 2 s q h + const,   G = mean(x' x'), h = mean(x' x) w

needs of the data only the two matrices, however many samples there are. One weight after the other goes to its better
side, all output channels at once, until none wants to: a local minimum of the sum above. It is looked for from the
nearest integers, and from those that come of rounding one weight after the other while the weights not rounded yet make
good for the error (through the inverse of G); each channel keeps the better of the two. A hundredth of the mean of G's
diagonal added to it keeps weights near that the samples don't decide.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tosa_engine.spec import TABLE, traits_of

from ..journal import Journal
from ..legalize.weights import (
    LEVELS,
    channel_axis,
    from_rows,
    is_weighted,
    own_constant,
    row_axes,
    row_qparams,
    rows_of,
    usable,
)
from ..pieces import Pieces
from .runs import ChangingNetwork, decibels_gained, runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array

    Sample = Mapping[str, Array]

POSITIONS: Final = 512  # rows of x that one sample gives at most
MOST_TAPS: Final = 8192  # G then takes 512 MiB
SWEEPS: Final = 40
DAMPING: Final = 0.01


@dataclass(frozen=True)
class Rounded:
    """What rounding did to a layer: mean square errors of its results on the samples, and how many weights moved.

    `skipped` says why nothing was done; empty where something was.
    """

    layer: str
    nearest: float = 0.0
    found: float = 0.0
    moved: int = 0
    weights: int = 0
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.layer}: rounded to the nearest, {self.skipped}"
        share = 100 * self.moved / max(self.weights, 1)
        gain = decibels_gained(self.nearest, self.found)
        return f"{self.layer}: {share:.1f} % of the weights rounded the other way, {gain:.1f} dB less error"


def adaround(
    reference: Graph,
    ready: Graph,
    samples: Iterable[Sample],
    *,
    layers: Sequence[str] | None = None,
    floats: frozenset[str] = frozenset(),
    seed: int = 0,
    done: Callable[[Rounded], None] = lambda _: None,
    journal: Journal | None = None,
) -> Graph:
    """A copy of `ready` whose weights are multiples of their scales: quantization then takes those integers.

    `reference` is the float network, `ready` the same with QParams attached; `layers` are the names of the first
    outputs of the operators to round (None: all that can be), `floats` those of the ones that stay in float. Layers are
    done in execution order, each on the inputs that the integer network gives it. `done` is called after each. The same
    seed, samples and network give the same bytes, with layers that the `journal` of an earlier run has, too.
    """
    made, journal = ready.copy(), Journal() if journal is None else journal
    block, integers, runs, real = made.main, ChangingNetwork(made, floats), runs_of(samples), Pieces(reference)
    for op in list(block.operators):
        weight = block.tensors[op.inputs[1]] if is_weighted(op) else None
        left = op.outputs[0] in floats or (layers is not None and op.outputs[0] not in layers)
        if weight is None or weight.data is None or left:
            continue
        if not can_round(op):
            done(Rounded(op.name, skipped=f"{op.op} has no such method"))
            continue
        rows = rows_of(op.op, weight.data)
        reason = _why_not(made, op, rows.shape[1])
        if reason:
            done(Rounded(op.name, skipped=reason))
            continue
        quant = weight.quant if weight.quant is not None and usable(weight.quant, len(rows)) else row_qparams(rows)
        scales = np.broadcast_to(np.asarray(quant.scale), (len(rows),))
        key = f"adaround {op.outputs[0]}"
        known = journal.get(key)
        if known is None:
            rng = np.random.default_rng([seed, block.operators.index(op)])
            moments = _Moments(op, weight.data)
            floating = runs.values(real, op.inputs[:1], keep=True)
            for (x,), stored in zip(floating, integers.operand(op.outputs[0], runs), strict=True):
                moments.add(x.astype(np.float64), stored, rng)
            moved, rounded = _solve(op, rows, scales, moments, quant.bits, rng)
            journal.put(key, {"other": _text(moved), "found": asdict(rounded)})
        else:
            with journal.reading(key):
                moved, rounded = _mask(known["other"], rows.shape), Rounded(**known["found"])
        found = _rounded(rows, scales, quant.bits, moved)
        own = own_constant(block, op, 1)
        own.data = from_rows(op.op, found, weight.data.shape).astype(np.float32)
        own.quant = replace(quant, scale=tuple(scales.tolist()), zero_point=(0,) * len(rows), axis=None)
        integers.set_weights(op, own.data)
        done(rounded)
    return made


def can_round(op: Operator) -> bool:
    """Whether an operator's weights can be rounded: matrices, and windows of two axes that read what they cover."""
    window = traits_of(op).window
    return is_weighted(op) and (window is None or (len(window.kernel) == 2 and not window.transposed))


class _Moments:
    """Sums of x' x', x' x and (x w)^2 of a layer, by group: DEPTHWISE_CONV2D has one for each channel, others one in
    all.
    """

    def __init__(self, op: Operator, weight: Array) -> None:
        self.op, self.shape = op, weight.shape
        axes, channels = row_axes(op.op), channel_axis(op.op)
        self.groups = weight.shape[channels] if channels in axes else 1
        rows = rows_of(op.op, weight).astype(np.float64)
        taps = rows.shape[1]
        self.real = rows.reshape(self.groups, -1, taps)
        self.power = 0.0
        self.own = np.zeros((self.groups, taps, taps))
        self.cross = np.zeros((self.groups, taps, taps))
        self.count = 0

    def add(self, real: Array, stored: Array, rng: np.random.Generator) -> None:
        """One sample: the rows of x that it gives, `POSITIONS` of them at random where there are more."""
        views = [self._windows(x) for x in (real, stored)]
        total = int(np.prod(views[0].shape[:3]))
        chosen = np.arange(total) if total <= POSITIONS else np.sort(rng.choice(total, POSITIONS, replace=False))
        at = np.unravel_index(chosen, views[0].shape[:3])
        x, y = (self._grouped(view[at]) for view in views)
        self.own += np.matmul(y.swapaxes(1, 2), y)
        self.cross += np.matmul(y.swapaxes(1, 2), x)
        self.power += float(np.square(np.matmul(x, self.real.swapaxes(1, 2))).sum())
        self.count += len(chosen)

    def _windows(self, x: Array) -> Array:
        """[batch, y, x, C, KH, KW]: what each output position reads; a row of a matrix is a window of one."""
        traits = traits_of(self.op)
        if traits.window is None or traits.weight is None:
            return x[:, :, None, :, None, None]
        kernel = [self.shape[axis] for axis in TABLE[self.op.op].axes(traits.weight.argument, *traits.window.kernel)]
        top, bottom, left, right = self.op.attributes["pad"]
        (sy, sx), (dy, dx) = self.op.attributes["stride"], self.op.attributes["dilation"]
        padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
        rows: Array = sliding_window_view(padded, (kernel[0] - 1) * dy + 1, axis=1)
        windows: Array = sliding_window_view(rows, (kernel[1] - 1) * dx + 1, axis=2)
        return windows[:, ::sy, ::sx, :, ::dy, ::dx]

    def _grouped(self, rows: Array) -> Array:
        """[group, position, tap], the taps in the order of `rows_of`."""
        if channel_axis(self.op.op) in row_axes(self.op.op):
            return np.moveaxis(rows.reshape(*rows.shape[:2], -1), 1, 0)
        return np.moveaxis(rows, 1, 3).reshape(1, len(rows), -1)


def _solve(
    op: Operator, rows: Array, scales: Array, moments: _Moments, bits: int, rng: np.random.Generator
) -> tuple[Array, Rounded]:
    """Which weights don't become the nearest integer, in the shape of the rows, and what that gives."""
    real, taps, count = moments.real, rows.shape[1], max(moments.count, 1)
    gram, cross = moments.own / count, moments.cross / count
    step = scales.reshape(moments.groups, -1, 1)
    damping = DAMPING * np.trace(gram, axis1=1, axis2=2)[:, None, None] / taps * np.eye(taps)
    plain = np.matmul(real, cross.swapaxes(1, 2))
    nearest = np.clip(np.rint(real / step), -LEVELS[bits], LEVELS[bits])
    wanted = plain + np.matmul(real, damping)
    found = best_of(gram + damping, wanted, real / step, step, nearest, LEVELS[bits], rng)

    def error(integers: Array) -> float:
        steps = integers * step
        return max(float((np.matmul(steps, gram) * steps - 2 * steps * plain).sum()) + moments.power / count, 0.0)

    moved = found != nearest
    return moved.reshape(rows.shape), Rounded(op.name, error(nearest), error(found), int(moved.sum()), rows.size)


def _rounded(rows: Array, scales: Array, bits: int, moved: Array) -> Array:
    """The rows as multiples of their scales: the nearest, or where `moved` the one on the other side."""
    exact = rows.astype(np.float64) / scales[:, None]
    low, high, nearest = (np.clip(f(exact), -LEVELS[bits], LEVELS[bits]) for f in (np.floor, np.ceil, np.rint))
    return (np.where(moved, low + high - nearest, nearest) + 0.0) * scales[:, None]  # no zero is negative


def _text(mask: Array) -> str:
    return base64.b64encode(np.packbits(mask).tobytes()).decode()


def _mask(text: str, shape: tuple[int, ...]) -> Array:
    """What `_text` wrote. Raises ValueError for the text of another mask."""
    packed, count = np.frombuffer(base64.b64decode(text, validate=True), np.uint8), int(np.prod(shape))
    if packed.size != -(-count // 8):
        raise ValueError(f"{packed.size} bytes for {count} weights")
    return np.unpackbits(packed, count=count).astype(bool).reshape(shape)


def best_of(
    gram: Array, wanted: Array, exact: Array, step: Array, nearest: Array, most: int, rng: np.random.Generator
) -> Array:
    """The better of the two descents, for each row; arguments as those of `descend`."""
    found = descend(gram, wanted, exact, step, nearest, most, rng)
    other = descend(gram, wanted, exact, step, with_error_feedback(gram, wanted, exact, step, most), most, rng)
    costs = [(np.matmul(q * step, gram) * q * step - 2 * q * step * wanted).sum(axis=2) for q in (found, other)]
    return np.where((costs[1] < costs[0])[:, :, None], other, found)


def with_error_feedback(gram: Array, wanted: Array, exact: Array, step: Array, most: int) -> Array:
    """Neighbours of the exact integers: taps in the order of falling G_ii; what rounding one of them does to the result
    is made good by the real values of the taps after it.
    """
    low = np.clip(np.floor(exact), -most, most)
    high = np.clip(np.ceil(exact), -most, most)
    found = np.empty_like(exact)
    for group, matrix in enumerate(gram):
        if not matrix.any():  # inputs that are zero in every sample
            found[group] = np.clip(np.rint(exact[group]), low[group], high[group])
            continue
        order = np.argsort(-np.diagonal(matrix), kind="stable")
        inverse = np.linalg.pinv(matrix[np.ix_(order, order)], hermitian=True)
        ideal = np.matmul(wanted[group][:, order], inverse)
        upper = np.linalg.cholesky(inverse + 1e-12 * np.trace(inverse) / len(order) * np.eye(len(order))).T
        for i, tap in enumerate(order):
            steps = np.rint(ideal[:, i] / step[group, :, 0])
            found[group, :, tap] = np.clip(steps, low[group, :, tap], high[group, :, tap])
            miss = (ideal[:, i] - found[group, :, tap] * step[group, :, 0]) / upper[i, i]
            ideal[:, i:] -= miss[:, None] * upper[i, i:]
    return found


def descend(
    gram: Array, wanted: Array, exact: Array, step: Array, start: Array, most: int, rng: np.random.Generator
) -> Array:
    """Integers of [group, row, tap] about `exact` for which s^2 q G q - 2 s q h is least, one tap changed at a time.

    `gram` G is [group, tap, tap], `wanted` h [group, row, tap], `step` s [group, row, 1]. From `start`, taps are
    visited in a random order; each row takes the one of the two neighbours of its exact value that is better now.
    """
    low = np.clip(np.floor(exact), -most, most)
    high = np.clip(np.ceil(exact), -most, most)
    slope = np.matmul(start * step, gram) - wanted
    # by tap, of the change to the other neighbour: what it is in real units, its own square, and the least gain
    change = _by_tap((low + high - 2 * start) * step)
    square = change * np.diagonal(gram, axis1=1, axis2=2).T[:, :, None]
    least = -1e-12 * np.abs(change * _by_tap(wanted))
    flipped = np.zeros(change.shape, bool)
    for _ in range(SWEEPS):
        changes = 0
        for tap in rng.permutation(exact.shape[2]):
            delta = change[tap]
            group, row = np.nonzero(delta * (2 * slope[:, :, tap] + square[tap]) < least[tap])
            if group.size:
                changes += group.size
                slope[group, row] += delta[group, row, None] * gram[group, tap]
                flipped[tap, group, row] ^= True
                delta[group, row] *= -1
                square[tap, group, row] *= -1
        if not changes:
            break
    return np.where(np.moveaxis(flipped, 0, 2), low + high - start, start)


def _by_tap(values: Array) -> Array:
    """[group, row, tap] as [tap, group, row]."""
    return np.ascontiguousarray(np.moveaxis(values, 2, 0))


def _why_not(ready: Graph, op: Operator, taps: int) -> str:
    """Why a layer's weights are left alone; empty where they aren't."""
    quant, shape = ready.main.tensors[op.inputs[0]].quant, ready.main.tensors[op.inputs[1]].shape or ()
    if traits_of(op).window is None and shape[0] != 1:
        return f"it has {shape[0]} matrices"
    if taps > MOST_TAPS:
        return f"its {taps} taps are more than {MOST_TAPS}"
    if traits_of(op).window is None and quant is not None and quant.bits == 16:
        return "its weights have 16 bits"
    return ""
