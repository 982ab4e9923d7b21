"""What tests exercise: type rows, classes of attributes and pairs of them, labels of rules, numeric corners."""

from __future__ import annotations

from .measure import KINDS, Coverage, Item, items, look, packed, unpacked

__all__ = ["KINDS", "Coverage", "Item", "items", "look", "packed", "unpacked"]
