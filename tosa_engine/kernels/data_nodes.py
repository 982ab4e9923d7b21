"""Kernels of the data nodes. Constants are held by the plan: their work is to be there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .layout.copies import copy_work
from .work import Kernel, Work, constant

if TYPE_CHECKING:
    from ..spec.table import Call


def const(call: Call) -> Work:
    """A copy of the values; a plan uses them in place."""
    work = copy_work(call.shape_of("output"), lambda x: x)
    return Work(work.units, work.cost, lambda inputs, outputs: work.bind([constant(call, "output")], outputs))


def identity(call: Call) -> Work:
    return copy_work(call.shape_of("output"), lambda x: x)


TYPES = ("bool", "i4", "i8", "i16", "i32", "i48", "fp8e4m3", "fp8e5m2", "fp16", "bf16", "fp32")
KERNELS = {("CONST", t): Kernel(const) for t in TYPES} | {("IDENTITY", t): Kernel(identity, alias=True) for t in TYPES}
