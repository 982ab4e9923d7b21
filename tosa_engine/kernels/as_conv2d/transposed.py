"""TRANSPOSE_CONV2D as CONV2Ds whose channels are neighbouring outputs.

Along an axis with stride s, output o = q * s + r + pad gets input q - j times the weight of kernel position r + j * s.
The outputs with the same rest r (a phase) are thus a convolution with stride 1, over the kernel positions that leave
this rest, in reverse order. All phases with equally many positions (a group; there are two along an axis) read the same
inputs: they are computed at once, as channels, and their results are placed. Phases without positions have the bias.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..layout.copies import copy_loop, units_of
from ..work import Chain, Loop, Work, aligned, bits, constant, loops_of
from .conv2d import conv2d

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..work import Epilogue, Run

PLAIN = {"stride": (1, 1), "dilation": (1, 1)}
MOST_BIAS = 256  # outputs that are the bias, computed once


@dataclass(frozen=True)
class Group:
    """Along an axis: the phases with this number of taps, and the inputs q - taps + 1 .. q of the blocks q."""

    stride: int
    before: int
    kernel: int
    inputs: int
    outputs: int
    phases: tuple[int, ...]
    taps: int

    @property
    def blocks(self) -> range:
        return range(-self.before // self.stride, (self.outputs - 1 - self.before) // self.stride + 1)

    @property
    def first(self) -> int:
        """The first input, which may be padding."""
        return self.blocks.start - self.taps + 1

    @property
    def inside(self) -> slice:
        """The inputs."""
        return slice(max(0, self.first), min(self.inputs, self.blocks.stop))

    @property
    def pad(self) -> tuple[int, int]:
        return self.inside.start - self.first, self.blocks.stop - self.inside.stop

    @property
    def positions(self) -> Array:
        """[phase, tap]: kernel positions in the order of the inputs."""
        return np.asarray(np.add.outer(np.array(self.phases), np.arange(self.taps)[::-1] * self.stride))

    def places(self) -> tuple[Array, Array, Array]:
        """The outputs of these phases: where they are, in which block (from 0 on), and which of the phases."""
        out = np.arange(self.outputs, dtype=np.int64)
        block = (out - self.before) // self.stride
        number = np.full(self.stride, -1, np.int64)
        number[list(self.phases)] = np.arange(len(self.phases))
        phase = number[out - self.before - block * self.stride]
        mine = phase >= 0
        return out[mine], block[mine] - self.blocks.start, phase[mine]


def groups(stride: int, before: int, kernel: int, inputs: int, outputs: int) -> list[Group]:
    """Of all phases that outputs have; those which meet no input have no taps."""
    found: dict[int, list[int]] = {}
    for rest in sorted({(o - before) % stride for o in range(min(stride, outputs))}):
        taps = len(range(rest, kernel, stride))
        group = Group(stride, before, kernel, inputs, outputs, (rest,), taps)
        found.setdefault(taps if group.inside.start < group.inside.stop else 0, []).append(rest)
    return [Group(stride, before, kernel, inputs, outputs, tuple(p), taps) for taps, p in found.items()]


def runs_of(to: Array, source: Array, size: int, most: int) -> Array:
    """(from, to, count) of elements for pieces of `size` of them, neighbours joined up to `most` pieces."""
    new = (np.diff(to) != 1) | (np.diff(source) != size)
    starts = [0, *(np.flatnonzero(new) + 1).tolist(), len(to)]
    cuts = [(i, min(i + most, end)) for first, end in itertools.pairwise(starts) for i in range(first, end, most)]
    return np.array([n for i, end in cuts for n in (source[i], to[i] * size, (end - i) * size)], np.int64)


@dataclass(frozen=True)
class Part:
    """A CONV2D on a part of the input, or on one row of padding, and where its results go."""

    work: Work
    region: tuple[slice, slice] | None
    shape: tuple[int, ...]  # of the result, per image
    rows: Array
    runs: Array
    whole: bool = False  # the results are the output


def sums(call: Call, epilogue: Epilogue | None, y: Group, x: Group) -> Part:
    weight = constant(call, "weight")[:, y.positions[:, :, None, None], x.positions[None, None]]
    weight = weight.transpose(1, 3, 0, 2, 4, 5).reshape(-1, y.taps, x.taps, call.IC)
    region = (y.inside, x.inside)
    size = (region[0].stop - region[0].start, region[1].stop - region[1].start)
    work = conv2d(call, epilogue, call.N, size, weight, pad=(*y.pad, *x.pad), **PLAIN)
    channels, line = weight.shape[0], len(x.blocks) * weight.shape[0]
    (row, block_y, phase_y), (column, block_x, phase_x) = y.places(), x.places()
    rows = np.stack([block_y * line + phase_y * len(x.phases) * call.OC, row * call.OW * call.OC], axis=1)
    runs = runs_of(column, block_x * channels + phase_x * call.OC, call.OC, call.OW)
    whole = y.stride == x.stride == 1
    return Part(work, region, (len(y.blocks), line), np.ascontiguousarray(rows.reshape(-1)), runs, whole)


def bias(call: Call, epilogue: Epilogue | None, y: Group, x: Group) -> Part:
    count = min(call.OW, MOST_BIAS)
    weight = np.zeros((call.OC, 1, 1, 1), call.weight_t.storage)
    work = conv2d(call, epilogue, 1, (1, count), weight + call.weight_zp, pad=(0, 0, 0, 0), **PLAIN)
    row, column = y.places()[0], x.places()[0]
    rows = np.stack([np.zeros_like(row), row * call.OW * call.OC], axis=1)
    source = np.zeros_like(column)
    breaks = np.flatnonzero(np.diff(column, prepend=-2) != 1)
    position = np.arange(len(column)) - np.repeat(np.arange(len(column))[breaks], np.diff([*breaks, len(column)]))
    source = position % count * call.OC
    return Part(work, None, (1, 0), np.ascontiguousarray(rows.reshape(-1)), runs_of(column, source, call.OC, count))


def parts_of(call: Call, epilogue: Epilogue | None) -> list[Part]:
    along_y = groups(call.stride_y, call.out_pad_top, call.KH, call.IH, call.OH)
    along_x = groups(call.stride_x, call.out_pad_left, call.KW, call.IW, call.OW)
    return [(sums if y.taps and x.taps else bias)(call, epilogue, y, x) for y in along_y for x in along_x]


def in_groups(call: Call, epilogue: Epilogue | None) -> Work:
    """The work of a TRANSPOSE_CONV2D: for each group, the part of the input that it reads, its sums, their places."""
    from ..layout import loops as layout_loops

    parts = parts_of(call, epilogue)
    firsts = np.cumsum([0, *(len(part.work.scratch) for part in parts)]).tolist()
    shape = (call.N, call.IH, call.IW, call.IC)
    results = max(call.N * max(part.shape[0] * part.shape[1], MOST_BIAS * call.OC) for part in parts)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        out, result = outputs[0], aligned(results, outputs[0].dtype)
        loops: list[tuple[Loop, int]] = []
        for part, first in zip(parts, firsts, strict=False):
            x, target = inputs[0].reshape(shape), out if part.whole else result
            if part.region is None:
                x = np.full(MOST_BIAS, call.input_zp, inputs[0].dtype)
            elif part.region != (slice(0, call.IH), slice(0, call.IW)):
                region = (slice(None), *part.region)
                cut = np.zeros_like(x[region])
                loops.append((copy_loop(x, lambda x: x[region], cut, cut).taking(0, 0), units_of(cut.shape)))  # noqa: B023
                x = cut
            run, work = part.work.bind([x], [target]), part.work
            loops += loops_of(run, work.units, first, len(work.scratch))
            if not part.whole:
                g = np.array([0 if part.region is None else part.shape[0] * part.shape[1], out[0].size], np.int64)
                place = Loop(layout_loops.place, bits(result), part.rows, part.runs, g, bits(out.reshape(-1)))
                loops.append((place.taking(0, 0), call.N * len(part.rows) // 2))
        return Chain(*loops)

    scratch = tuple(s for part in parts for s in part.work.scratch)
    cost = sum(part.work.cost for part in parts) + 0.3 * call.N * call.OH * call.OW * call.OC
    return Work(1, cost, bind, scratch, most_units=call.N * call.OH)
