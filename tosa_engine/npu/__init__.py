"""Targets that are processors: which operators they have, under which rules, and what a graph costs on them."""

from __future__ import annotations

from .rules import Npu, Rule, violations
from .targets import NAMES, npu
from .work import Work, work_of

__all__ = ["NAMES", "Npu", "Rule", "Work", "npu", "violations", "work_of"]
