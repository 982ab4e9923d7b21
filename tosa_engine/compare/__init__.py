"""Comparing arrays, the tensors of models and of dumps, and finding what may have caused a difference."""

from __future__ import annotations

from .arrays import EXACT, Difference, Tolerance, WrongForm, compare, compare_all

__all__ = ["EXACT", "Difference", "Tolerance", "WrongForm", "compare", "compare_all"]
