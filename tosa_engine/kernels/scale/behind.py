"""RESCALE and CLAMP behind an operator as its epilogue: forms of kernels with `epilogue`, `clips`, `two_outputs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ...numerics.float_formats import round_to
from ..bounds import fits_output
from ..forms import Form
from ..work import Epilogue
from .rescale import output_range, rescale_numbers, scale_of, zero_points

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ...spec.table import Call
    from ..forms import Match
    from ..work import Kernel, Limits, Work
    from .numbers import Scale

SCALED = (("RESCALE", "CLAMP"), ("RESCALE",))
CLIPPED = (("CLAMP",),)


def epilogue_of(chain: Sequence[Call]) -> Epilogue | None:
    """What RESCALE, and a CLAMP behind it, do to a sum; None where the CLAMP reads bits that RESCALE wrote as unsigned,
    or where the RESCALE isn't one of sums.
    """
    rescale, *clamps = chain
    if rescale.in_t not in (types.i32, types.i48) or (clamps and rescale.output_unsigned):
        return None
    multiplier, shift, _ = rescale_numbers(rescale)
    double = rescale.rounding_mode == "DOUBLE_ROUND"
    return Epilogue(multiplier, shift, double, zero_points(rescale)[1], *clip_of(rescale, clamps))


def clip_of(rescale: Call, clamps: Sequence[Call]) -> tuple[int, int]:
    """The least and the greatest result of a RESCALE and the CLAMPs behind it."""
    low, high = output_range(rescale)
    for clamp in clamps:
        low, high = (min(max(value, clamp.min_val), clamp.max_val) for value in (low, high))
    return low, high


def one_scale_behind(match: Match) -> tuple[Scale, int, tuple[int, int]] | None:
    """The scale, zero point and bounds of the RESCALE and CLAMP behind an operator; None where channels have scales of
    their own, or the result is unsigned.
    """
    rescale, *clamps = match.behind[0]
    if rescale.per_channel or rescale.output_unsigned or rescale.in_t is not types.i32:
        return None
    return scale_of(rescale), zero_points(rescale)[1], clip_of(rescale, clamps)


def limits_of(clamp: Call) -> Limits | None:
    """The bounds of a CLAMP of floats, rounded to its format.

    Left out are a CLAMP that ignores NaN, and one whose upper bound is a zero: the kernels' clip lets a zero of the
    other sign pass.
    """
    if clamp.nan_mode != "PROPAGATE":
        return None
    bounds = np.array([clamp.min_val, clamp.max_val], np.float64)
    with np.errstate(over="ignore"):
        low, high = (float(np.float32(bound)) for bound in round_to(bounds, clamp.in_out_t))
    return None if high == 0.0 else (low, high)


def forms_behind(kernel: Kernel) -> Iterator[Form]:
    """What a kernel can do with operators behind its own."""
    if kernel.clips:
        yield Form(_clipping(kernel.prepare), behind=CLIPPED)
    if kernel.epilogue:
        yield Form(_scaling(kernel.prepare), behind=SCALED)
    if kernel.two_outputs is not None:
        yield Form(_scaling(kernel.two_outputs), behind=SCALED, readers=2)


def _clipping(prepare: Callable[..., Work]) -> Callable[[Match], Work | None]:
    def prepared(match: Match) -> Work | None:
        limits = limits_of(match.behind[0][0])
        return None if limits is None else prepare(match.call, limits)

    return prepared


def _scaling(prepare: Callable[..., Work | None]) -> Callable[[Match], Work | None]:
    """For sums that can't leave their format on the way."""

    def prepared(match: Match) -> Work | None:
        found = [epilogue_of(chain) for chain in match.behind]
        return prepare(match.call, *found) if fits_output(match.call) and None not in found else None

    return prepared
