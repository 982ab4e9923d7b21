"""Ranges of scatter and gather (specification 2.11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .findings import DEPENDS, PROVED, VIOLATED

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts
    from .interval import Interval


def gather(call: Call, facts: Facts, values: Interval, indices: Interval) -> Interval:
    facts.within("R1", indices, 0, call.K - 1)
    return values


def scatter(call: Call, facts: Facts, values_in: Interval, indices: Interval, input: Interval) -> Interval:
    facts.within("R1", indices, 0, call.K - 1)
    known = call.constant("indices")
    if call.W > call.K:
        verdict = VIOLATED  # more indices than places
    elif call.W == 1:
        verdict = PROVED
    elif known is None:
        verdict = DEPENDS
    else:
        verdict = PROVED if all(len(np.unique(batch)) == call.W for batch in known) else VIOLATED
    facts.decide("R2", verdict)
    return values_in.hull(input)


TRANSFERS = {"GATHER": gather, "SCATTER": scatter}
