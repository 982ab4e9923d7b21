"""Kernels of the elementwise ternary operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .elementwise import elementwise, unsigned
from .formula import Formula, where
from .work import Kernel

if TYPE_CHECKING:
    from ..spec.table import Call
    from .work import Work


def chosen(condition: Any, a: Any, b: Any) -> Any:
    return where(condition != 0, a, b)


def select(call: Call) -> Work:
    return elementwise(call, Formula("select", chosen, 3), 0.2, read=unsigned)


KERNELS = {("SELECT", key): Kernel(select) for key in ("bool", "i8", "i16", "i32", "fp32")}
