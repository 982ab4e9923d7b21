"""Kernels of the shape operators: like constants, shapes are held by the plan."""

from __future__ import annotations

from .data_nodes import const
from .work import Kernel

KERNELS = {("CONST_SHAPE", "shape"): Kernel(const)}
