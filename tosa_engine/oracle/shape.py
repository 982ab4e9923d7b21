"""What shape operators give (specification 2.18)."""

from __future__ import annotations

from .data_nodes import const

ORACLES = {"CONST_SHAPE": const}
