"""Ranges of the data nodes (specification 2.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .interval import of_type, of_values

if TYPE_CHECKING:
    from ..spec.table import Call
    from .findings import Facts
    from .interval import Interval


def const(call: Call, facts: Facts) -> Interval:
    values = call.constant("output")
    return of_type(call.out_t) if values is None else of_values(values)


def identity(call: Call, facts: Facts, input1: Interval) -> Interval:
    return input1


TRANSFERS = {"CONST": const, "IDENTITY": identity}
