"""Failing tests made small: fewer operators, smaller shapes, simpler attributes and data; and what may be wrong."""

from __future__ import annotations

from .probing import Probe
from .shrinking import shrink
from .suspicion import suspicion
from .use import Use

__all__ = ["Probe", "Use", "shrink", "suspicion"]
