"""RESCALE by one scale that no other step has taken, with the CLAMP behind it. The caller has proved every REQUIRE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from .._jit.variants import variant
from ..forms import Form
from ..work import Loop, Work, blocks, flat
from .behind import clip_of
from .numbers import DOUBLE, scale_numbers
from .rescale import scale_of, zero_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ...types import Array
    from ..forms import Match
    from ..work import Run
    from .numbers import Scale


def plain(match: Match) -> Work | None:
    """Where all channels have one scale, and neither side is unsigned."""
    call = match.call
    if call.per_channel or call.input_unsigned or call.output_unsigned:
        return None
    return rescale_by_one(call, scale_of(call), zero_points(call), clip_of(call, match.behind[0]))


def rescale_by_one(call: Call, scale: Scale, zeros: tuple[int, int], bounds: tuple[int, int]) -> Work:
    """RESCALE of int8, int16 or int32 by one scale for all channels."""
    from . import loops as scale_loops

    p = np.array([*scale_numbers(*scale, zeros[0]), zeros[1], *bounds], np.int64)
    count = types.count(call.shape_of("output"))
    loop = scale_loops.rescale_by_any_scale if p[DOUBLE] else scale_loops.rescale

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(loop, variant(), flat(inputs[0]), p, outputs[0].reshape(-1))

    return Work(blocks(count), 0.2 * count, bind, overwritable=(0,))


FORM = Form(plain, behind=(("CLAMP",), ()), last=True)
FORMS = {("RESCALE", f"{a}_{b}"): (FORM,) for a in ("i8", "i16", "i32") for b in ("i8", "i16", "i32")}
