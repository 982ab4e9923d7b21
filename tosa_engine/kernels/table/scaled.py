"""TABLE of int16 with the RESCALE by one scale, and the CLAMP, behind it. The caller has proved every REQUIRE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..forms import Form
from ..scale.behind import SCALED, one_scale_behind
from .prepare import table_rescaled

if TYPE_CHECKING:
    from ..forms import Match
    from ..work import Work


def scaled(match: Match) -> Work | None:
    behind = one_scale_behind(match)
    return None if behind is None else table_rescaled(match.call, *behind)


FORMS = {("TABLE", "i16_i16_i32"): (Form(scaled, behind=SCALED),)}
