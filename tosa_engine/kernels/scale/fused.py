"""Elementwise operators together with the RESCALEs around them. The caller has proved every REQUIRE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from .._jit.variants import variant
from ..elementwise.prepare import collapse
from ..work import Loop, Work, blocks, flat
from .numbers import DOUBLE, HIGH_WORD, OUT_ROUND, SPLIT, Scale, scale_numbers, split_numbers, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array, DType
    from ..work import Run


def rescaled_binary(
    call: Call, scales: Sequence[Scale], zeros: Sequence[int], bounds: tuple[int, int], in_t: DType | None = None
) -> Work:
    """ADD, SUB or MUL (without a shift) of two tensors that are scaled to int32, the result scaled again.

    `scales` and `zeros` are those of both inputs and of the output; `bounds` those of the result. `in_t` is the type of
    both inputs, None where one is a constant of int32.
    """
    from . import loops as scale_loops

    dims, first, second = (np.array(v, np.int64) for v in collapse(call.shape_of("output"), call.shape1, call.shape2))
    # the first input repeats along the last axis: the second takes its place; as does one that is easier to scale
    swapped = first[-1] == 0 or bool(call.spec.name == "ADD" and second[-1] and whole(scales[1]))
    order = [1, 0] if swapped else [0, 1]
    zeros_in = [*(zeros[i] for i in order), 0]
    numbers = [scale_numbers(*s, z) for s, z in zip([*(scales[i] for i in order), scales[2]], zeros_in, strict=True)]
    minus, product = call.spec.name == "SUB", call.spec.name == "MUL"
    signs = [-1 if minus and swapped else 1, -1 if minus and not swapped else 1]
    simple = bool(numbers[2][HIGH_WORD]) and not any(double for _, _, double in scales)
    parts = [0] * (OUT_ROUND + 1 - SPLIT)
    if in_t is not None:
        span = max(max(in_t.maximum - z, z - in_t.minimum) for z in zeros_in[:2])
        ordered, zeros_of = [*(scales[i] for i in order), scales[2]], [*zeros_in[:2], zeros[2]]
        parts = split_numbers(ordered, zeros_of, signs, span, product=product, high_word=simple)
    p = np.array([*numbers[0], *numbers[1], *numbers[2], zeros[2], *bounds, *signs, product, *parts], np.int64)
    loop = scale_loops.rescaled if simple else scale_loops.rescaled_anyhow
    strides = [(first, second)[i] for i in order]
    count = types.count(call.shape_of("output"))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        a, b = (flat(inputs[i]) for i in order)
        return Loop(loop, variant(), a, b, dims, *strides, p, outputs[0].reshape(-1))

    over = tuple(i for i, shape in enumerate((call.shape1, call.shape2)) if shape == call.shape_of("output"))
    return Work(blocks(count), 0.5 * count, bind, over=over)


def rescale_by_one(call: Call, scale: Scale, zeros: tuple[int, int], bounds: tuple[int, int]) -> Work:
    """RESCALE of int8, int16 or int32 by one scale for all channels."""
    from . import loops as scale_loops

    p = np.array([*scale_numbers(*scale, zeros[0]), zeros[1], *bounds], np.int64)
    count = types.count(call.shape_of("output"))
    loop = scale_loops.rescale_anyhow if p[DOUBLE] else scale_loops.rescale

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(loop, variant(), flat(inputs[0]), p, outputs[0].reshape(-1))

    return Work(blocks(count), 0.2 * count, bind, over=(0,))
