"""Kernels of CONV3D and TRANSPOSE_CONV2D: cut into uses of CONV2D, whose kernels do the sums.

A slice [n, od] of a CONV3D is a CONV2D whose channels are those of KD slices of the input. The outputs of a
TRANSPOSE_CONV2D whose rows and columns leave the same rests on division by the strides (a phase) are a CONV2D with
stride 1, over those kernel positions that leave these rests, in reverse order. In both, the input that a piece of work
needs is copied first, padding included.

Sums are added up in another order than the specification's: only where a bound proves that no REQUIRE can fail. Where
it doesn't, `convolution_loops` test every partial sum in order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..spec import bind_operator
from ..spec.case import Case
from . import tensor_ops
from .bounds import fits_output
from .floats import in_fp32
from .packing import per_channel_bias
from .tensor_float import CONV_SUMS
from .trim import trimmed
from .work import DONE, LEAST_UNITS, Epilogue, Kernel, Loop, Work, constant, flat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run

MOST_PHASES = 64  # beyond, each does so little that preparing it isn't worth it
Span = tuple[int, int]  # the first position and how many


@dataclass(frozen=True)
class Window:
    """A CONV2D without padding on copies of input: its weights [OC,KH,KW,IC], and which rows and columns it reads."""

    weight: Array
    rows: Span
    columns: Span
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)

    @property
    def size(self) -> tuple[int, int]:
        """Of the output."""
        kernel, spans = self.weight.shape[1:3], (self.rows, self.columns)
        height, width = (
            (count - 1 - (k - 1) * d) // s + 1
            for (_, count), k, d, s in zip(spans, kernel, self.dilation, self.stride, strict=True)
        )
        return height, width

    def cut(self, first: int, count: int) -> Window:
        """For `count` output rows from the first one on."""
        reach = (self.weight.shape[1] - 1) * self.dilation[0]
        rows = (self.rows[0] + first * self.stride[0], (count - 1) * self.stride[0] + reach + 1)
        return Window(self.weight, rows, self.columns, self.stride, self.dilation)


@dataclass(frozen=True)
class Piece:
    """What one unit does: the CONV2D, the input slices whose channels it takes ([IH,IW,IC], or None for padding), and
    the place of its result in the output.
    """

    work: Work
    window: Window
    slices: tuple[int | None, ...]
    place: tuple[Any, ...]


def inner(call: Call, window: Window, epilogue: Epilogue | None) -> Work:
    """The work of a window, by the kernel of CONV2D."""
    assert call.row is not None
    case = Case("CONV2D").input("input", call.in_t, (1, window.rows[1], window.columns[1], window.weight.shape[3]))
    case.const("weight", call.weight_t, window.weight).const("bias", call.out_t, constant(call, "bias"))
    case.const("input_zp", call.in_t, [call.input_zp]).const("weight_zp", call.weight_t, [call.weight_zp])
    case.output("output", call.out_t, (1, *window.size, call.OC))
    case.set(pad=(0, 0, 0, 0), stride=window.stride, dilation=window.dilation)
    case.set(acc_type=call.acc_type, local_bound=call.local_bound)
    block = case.graph().main
    conv2d = tensor_ops.KERNELS["CONV2D", call.row.key]
    found = bind_operator(block.operators[-1], block)
    found.proved = {label.replace(call.spec.name, "CONV2D"): ends for label, ends in call.proved.items()}
    return conv2d.prepare(found) if epilogue is None else conv2d.prepare(found, epilogue)


def fill(source: Array, window: Window, slices: Sequence[int | None], zero: Any, target: Array) -> None:
    """target [rows, columns, channels of all slices] = what the window reads of source [slice, IH, IW, IC]."""
    reads, writes = [], []
    for (first, count), size in zip((window.rows, window.columns), source.shape[1:3], strict=True):
        low, high = max(0, first), min(size, first + count)
        reads.append(slice(low, max(low, high)))
        writes.append(slice(low - first, max(low, high) - first))
    depth = source.shape[3]
    target[...] = zero
    for i, number in enumerate(slices):
        if number is not None:
            target[writes[0], writes[1], i * depth : (i + 1) * depth] = source[number][reads[0], reads[1]]


def in_parts(call: Call, whole: Window, pieces: int, epilogue: Epilogue | None) -> Iterator[tuple[Window, int, Work]]:
    """The output rows of a window in parts, so that `pieces` of it make enough units for several workers: each with
    its first row and its work.
    """
    height = whole.size[0]
    parts = max(1, min(height, LEAST_UNITS // pieces))
    works: dict[int, Work] = {}
    for i in range(parts):
        first, end = height * i // parts, height * (i + 1) // parts
        window = whole.cut(first, end - first)
        if end - first not in works:
            works[end - first] = inner(call, window, epilogue)
        yield window, first, works[end - first]


def conv3d_pieces(call: Call, epilogue: Epilogue | None) -> Iterator[Piece]:
    """A piece for each n, od, and part of the rows."""
    weight = constant(call, "weight").transpose(0, 2, 3, 1, 4).reshape(call.OC, call.KH, call.KW, call.KD * call.IC)
    rows, columns = (
        (-before, (outputs - 1) * s + (k - 1) * d + 1)
        for before, outputs, s, k, d in zip(
            (call.pad_top, call.pad_left), (call.OH, call.OW), call.stride[1:], (call.KH, call.KW), call.dilation[1:],
            strict=True,
        )
    )  # fmt: skip
    whole = Window(weight, rows, columns, tuple(call.stride[1:]), tuple(call.dilation[1:]))
    for window, first, work in in_parts(call, whole, call.N * call.OD, epilogue):
        for n, od in itertools.product(range(call.N), range(call.OD)):
            depths = [od * call.stride_d - call.pad_d0 + kd * call.dilation_d for kd in range(call.KD)]
            slices = tuple(n * call.ID + d if 0 <= d < call.ID else None for d in depths)
            yield Piece(work, window, slices, (n, od, slice(first, first + window.size[0])))


def phase(rest: int, stride: int, before: int, kernel: int, outputs: int) -> tuple[list[int], Span]:
    """Along one axis, for the outputs rest, rest + stride, ...: the kernel positions that meet inputs, in the inputs'
    order, and the inputs. At kernel position k, output o gets input (o - before - k) / stride.
    """
    count = len(range(rest, outputs, stride))
    taps = list(range((rest - before) % stride, kernel, stride))[::-1]
    return taps, ((rest - before - taps[0]) // stride if taps else 0, count - 1 + len(taps))


def transpose_conv2d_pieces(call: Call, epilogue: Epilogue | None) -> Iterator[Piece]:
    """A piece for each phase, n, and part of the rows."""
    weight = constant(call, "weight")
    phases = list(itertools.product(range(min(call.stride_y, call.OH)), range(min(call.stride_x, call.OW))))
    for rest_y, rest_x in phases:
        ky, rows = phase(rest_y, call.stride_y, call.out_pad_top, call.KH, call.OH)
        kx, columns = phase(rest_x, call.stride_x, call.out_pad_left, call.KW, call.OW)
        if ky and kx:
            whole = Window(np.ascontiguousarray(weight[:, ky][:, :, kx]), rows, columns)
        else:  # nothing but the bias: one position that meets padding only
            height, width = rows[1] - len(ky) + 1, columns[1] - len(kx) + 1
            whole = Window(np.zeros_like(weight[:, :1, :1]), (call.IH, height), (call.IW, width))
        for window, first, work in in_parts(call, whole, call.N * len(phases), epilogue):
            start, step = rest_y + first * call.stride_y, call.stride_y
            lines = slice(start, start + (window.size[0] - 1) * step + 1, step)
            for n in range(call.N):
                yield Piece(work, window, (n,), (n, lines, slice(rest_x, None, call.stride_x)))


def scratch_of(call: Call, pieces: Sequence[Piece]) -> tuple[tuple[np.dtype[Any], int], ...]:
    """The copied input, the result in any format, and what CONV2D carves its own scratch from."""
    windows = [p.window for p in pieces]
    copied = max(w.rows[1] * w.columns[1] * w.weight.shape[3] for w in windows)
    result = max(w.size[0] * w.size[1] for w in windows) * call.OC
    inner = max(p.work.scratch_bytes for p in pieces)
    return ((call.in_t.storage, copied), (np.dtype(np.int64), result), (np.dtype(np.uint8), inner))


def in_pieces(call: Call, pieces: list[Piece]) -> Work:
    zero = call.input_zp

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        source, out = inputs[0].reshape(-1, *call.shape_of("input")[-3:]), outputs[0]

        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            for piece in pieces[low:high]:
                window = piece.window
                shape = (window.rows[1], window.columns[1], window.weight.shape[3])
                copied = scratch[0][: shape[0] * shape[1] * shape[2]]
                fill(source, window, piece.slices, zero, copied.reshape(shape))
                place = out[piece.place]
                direct = place.flags.c_contiguous
                result = place if direct else scratch[1].view(out.dtype)[: place.size].reshape(place.shape)
                run_piece = piece.work.bind([copied], [result])
                status = run_piece(0, piece.work.units, piece.work.carve(scratch[2]))
                assert status == DONE, "a bound on the sums proves that no REQUIRE can fail"
                if not direct:
                    place[...] = result
            return DONE

        return run

    copies = sum(p.window.rows[1] * p.window.columns[1] * p.window.weight.shape[3] for p in pieces)
    return Work(len(pieces), 1.0 * copies + sum(p.work.cost for p in pieces), bind, scratch_of(call, pieces))


def wide(call: Call, loop: Callable[..., int], g: Sequence[int]) -> Work:
    """In 64-bit sums, every partial sum tested; a unit is one output position."""
    weight = np.ascontiguousarray(constant(call, "weight").astype(np.int32) - np.int32(call.weight_zp)).reshape(-1)
    bias = per_channel_bias(call, call.OC).astype(np.int64)
    numbers = np.array([*g, call.input_zp, call.acc_t.maximum], np.int64)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)
        return Loop(loop, x, weight, bias, numbers, out)

    units = int(np.prod(call.shape_of("output")[:-1]))
    return Work(units, 2.0 * units * weight.size, bind)


def unproved(call: Call) -> bool:
    """Whether a REQUIRE on the sums could fail."""
    return bool(call.acc_t.is_int) and not fits_output(call)


def conv3d(call: Call, epilogue: Epilogue | None = None) -> Work:
    if not unproved(call):
        return in_pieces(call, list(conv3d_pieces(call, epilogue)))
    from . import convolution_loops

    assert epilogue is None
    g = [
        call.ID, call.IH, call.IW, call.IC, call.OD, call.OH, call.OW, call.OC, call.KD, call.KH, call.KW, *call.stride,
        *call.dilation, call.pad_d0, call.pad_top, call.pad_left,
    ]  # fmt: skip
    return wide(call, convolution_loops.conv3d, g)


def transpose_conv2d(call: Call, epilogue: Epilogue | None = None) -> Work:
    many = call.acc_t.is_int and epilogue is None and call.stride_y * call.stride_x > MOST_PHASES
    if not unproved(call) and not many:
        return in_pieces(call, list(transpose_conv2d_pieces(call, epilogue)))
    from . import convolution_loops

    assert epilogue is None
    g = [
        call.IH, call.IW, call.IC, call.OH, call.OW, call.OC, call.KH, call.KW, *call.stride, call.out_pad_top,
        call.out_pad_left,
    ]  # fmt: skip
    return wide(call, convolution_loops.transpose_conv2d, g)


KERNELS = {
    (op, key): Kernel(prepare, tensor_ops.CONV, epilogue=not key.startswith("fp"))
    for op, prepare in (("CONV3D", trimmed(conv3d)), ("TRANSPOSE_CONV2D", transpose_conv2d))
    for key in ("i8_i8_i32_acci32", "i8_i4_i32_acci32", "i16_i8_i48_acci48", "fp32_fp32_fp32_accfp32")
}
KERNELS |= {
    (op, key): Kernel(in_fp32(prepare), tensor_ops.CONV)
    for op, prepare in (("CONV3D", trimmed(conv3d)), ("TRANSPOSE_CONV2D", transpose_conv2d))
    for key in CONV_SUMS
}
