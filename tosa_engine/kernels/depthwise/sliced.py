"""DEPTHWISE_CONV2D of one output pixel that reads SLICEs of a tensor, as networks have that keep the last frames and
give each group of channels a window of its own: the part is read in place. The caller has proved every REQUIRE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bounds import accumulator_bound, fits_output
from ..forms import Form
from ..scale.behind import SCALED, epilogue_of
from ..scale.simpler import simpler
from .pixel import is_pixel, pixel_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...spec.table import Call
    from ..forms import Match
    from ..work import Work
    from .pixel import Part


def of_slices(match: Match) -> Work | None:
    """The work of the convolution with the SLICEs in front and the RESCALE behind."""
    call, (slices,), epilogue = match.call, match.before, epilogue_of(match.behind[0])
    if epilogue is None or not fits_output(call) or not is_pixel(call):
        return None
    part = part_of(slices)
    if part is None:
        return None
    call, scaled = simpler(call, epilogue)
    assert scaled is not None
    return pixel_of(call, scaled, np.broadcast_to(accumulator_bound(call), call.C), part)


def part_of(slices: Sequence[Call]) -> Part | None:
    """Where SLICEs, one after the other, leave some channels of neighbouring pixels of one image; else None."""
    _, height, width, depth = (int(n) for n in slices[0].shape1)
    starts = [one.constant("start") for one in slices]
    size = slices[-1].constant("size")
    assert size is not None
    image, y, x, channel = np.sum([np.asarray(start, np.int64).reshape(-1) for start in starts], axis=0).tolist()
    lines, columns = int(size.reshape(-1)[1]), int(size.reshape(-1)[2])
    if lines > 1 and columns != width:
        return None
    return ((image * height + y) * width + x) * depth + channel, depth


ROWS = ("i8_i8_i32_acci32", "i8_i4_i32_acci32")
FORM = Form(of_slices, before=(("SLICE", "SLICE"), ("SLICE",)), behind=SCALED)
FORMS = {("DEPTHWISE_CONV2D", row): (FORM,) for row in ROWS}
