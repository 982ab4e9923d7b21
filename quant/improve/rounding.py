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

Every fourth sample is held back: where a layer's rounding takes the outputs of the whole integer network (before a
softmax or ARGMAX at its end) further from the float ones on these, the layer keeps the nearest integers.
"""

from __future__ import annotations

import base64
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from tosa_engine.journal import Journal
from tosa_engine.spec import TABLE, traits_of

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
from ..pieces import Pieces, Plans
from .descent import best_of
from .runs import ChangingNetwork, decibels_gained, distance, held_back, judged_tensors, runs_of, subgraph_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array

    Sample = Mapping[str, Array]

POSITIONS: Final = 512  # rows of x that one sample gives at most
MOST_TAPS: Final = 8192  # G then takes 512 MiB
DAMPING: Final = 0.01


@dataclass(frozen=True)
class Rounded:
    """What rounding did to a layer: mean square errors of its results on the samples, and how many weights moved;
    `before` and `after` are the errors of the network's outputs on held-back samples, in parts of the outputs' own
    power.

    `skipped` says why nothing was done; empty where something was.
    """

    layer: str
    nearest: float = 0.0
    found: float = 0.0
    moved: int = 0
    weights: int = 0
    before: float = 0.0
    after: float = 0.0
    skipped: str = ""

    @property
    def kept(self) -> bool:
        """Whether these integers stay; without, they are the nearest."""
        return self.after < self.before

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.layer}: rounded to the nearest, {self.skipped}"
        if not self.moved:
            return f"{self.layer}: rounded to the nearest, which gives the least error"
        share = 100 * self.moved / self.weights
        local, whole = decibels_gained(self.nearest, self.found), decibels_gained(self.before, self.after)
        verdict = "kept" if self.kept else "dropped"
        return (
            f"{self.layer}: {share:.1f} % of the weights rounded the other way, {local:.1f} dB less error, "
            f"{whole:+.2f} dB of the outputs on held-back samples: {verdict}"
        )


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

    Raises UsageError when there are fewer than two samples.
    """
    made, journal = ready.copy(), Journal() if journal is None else journal
    block, work = made.main, _Work(reference, made, samples, floats)
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
        layer = _Layer(op, weight.data, np.broadcast_to(np.asarray(quant.scale), (len(rows),)), quant.bits)
        key = f"adaround {op.outputs[0]}"
        known = journal.get(key)
        if known is None:
            moved, rounded = work.solved(layer, np.random.default_rng([seed, block.operators.index(op)]))
            journal.put(key, {"other": _text(moved), "found": asdict(rounded)})
        else:
            with journal.reading(key):
                moved, rounded = _mask(known["other"], rows.shape), Rounded(**known["found"])
        own = own_constant(block, op, 1)
        own.data = layer.rounded(moved & rounded.kept)
        own.quant = replace(quant, scale=tuple(layer.scales.tolist()), zero_point=(0,) * len(rows), axis=None)
        work.take(layer, own.data, rounded)
        done(rounded)
    return made


@dataclass(frozen=True)
class _Layer:
    """A layer's weights, and what quantizes them: a scale for each row."""

    op: Operator
    weight: Array
    scales: Array
    bits: int

    @cached_property
    def rows(self) -> Array:
        return rows_of(self.op.op, self.weight)

    def rounded(self, moved: Array) -> Array:
        """The weights as multiples of their scales: the nearest, or where `moved` the one on the other side."""
        exact, most = self.rows.astype(np.float64) / self.scales[:, None], LEVELS[self.bits]
        low, high, nearest = (np.clip(f(exact), -most, most) for f in (np.floor, np.ceil, np.rint))
        steps = np.where(moved, low + high - nearest, nearest) + 0.0  # no zero is negative
        return from_rows(self.op.op, steps * self.scales[:, None], self.weight.shape).astype(np.float32)


class _Work:
    """The float network and the integer one, on the samples to round with and on those that are held back."""

    def __init__(self, reference: Graph, made: Graph, samples: Iterable[Sample], floats: frozenset[str]) -> None:
        plans, judged = Plans(), judged_tensors(reference)
        self.fit, self.judges = (runs_of(part, plans) for part in held_back(samples))
        self.real = Pieces(subgraph_for(reference, *judged))
        self.integers = ChangingNetwork(subgraph_for(made, *judged), floats)
        self._now: float | None = None

    def solved(self, layer: _Layer, rng: np.random.Generator) -> tuple[Array, Rounded]:
        """Which weights don't become the nearest integer, in the shape of the rows, and what that gives."""
        moments = _Moments(layer.op, layer.weight)
        floating = self.fit.values(self.real, layer.op.inputs[:1], keep=True)
        for (x,), stored in zip(floating, self.integers.operand(layer.op.outputs[0], self.fit), strict=True):
            moments.add(x.astype(np.float64), stored, rng)
        moved, found = _solve(layer, moments, rng)
        before = after = self._distance() if self._now is None else self._now
        if found.moved:
            self.integers.set_weights(layer.op, layer.rounded(moved))
            after = self._distance()
        return moved, replace(found, before=before, after=after)

    def take(self, layer: _Layer, weight: Array, found: Rounded) -> None:
        """Go on with what became of a layer."""
        self.integers.set_weights(layer.op, weight)
        self._now = found.after if found.kept else found.before

    def _distance(self) -> float:
        return distance(self.real, self.integers, self.judges)


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


def _solve(layer: _Layer, moments: _Moments, rng: np.random.Generator) -> tuple[Array, Rounded]:
    """Which weights don't become the nearest integer, in the shape of the rows, and what that gives."""
    rows, most = layer.rows, LEVELS[layer.bits]
    real, taps, count = moments.real, rows.shape[1], max(moments.count, 1)
    gram, cross = moments.own / count, moments.cross / count
    step = layer.scales.reshape(moments.groups, -1, 1)
    damping = DAMPING * np.trace(gram, axis1=1, axis2=2)[:, None, None] / taps * np.eye(taps)
    plain = np.matmul(real, cross.swapaxes(1, 2))
    nearest = np.clip(np.rint(real / step), -most, most)
    wanted = plain + np.matmul(real, damping)
    found = best_of(gram + damping, wanted, real / step, step, nearest, most, rng)

    def error(integers: Array) -> float:
        steps = integers * step
        return max(float((np.matmul(steps, gram) * steps - 2 * steps * plain).sum()) + moments.power / count, 0.0)

    moved = found != nearest
    return moved.reshape(rows.shape), Rounded(layer.op.name, error(nearest), error(found), int(moved.sum()), rows.size)


def _text(mask: Array) -> str:
    return base64.b64encode(np.packbits(mask).tobytes()).decode()


def _mask(text: str, shape: tuple[int, ...]) -> Array:
    """What `_text` wrote. Raises ValueError for the text of another mask."""
    packed, count = np.frombuffer(base64.b64decode(text, validate=True), np.uint8), int(np.prod(shape))
    if packed.size != -(-count // 8):
        raise ValueError(f"{packed.size} bytes for {count} weights")
    return np.unpackbits(packed, count=count).astype(bool).reshape(shape)


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
