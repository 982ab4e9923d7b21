"""What all loops do with a run of neighbouring elements. (Slices index from 0: the compiler then knows that no index is
negative.)
"""

from __future__ import annotations

from typing import Any

from .._jit import inline


@inline
def fill(value: Any, target: Any) -> None:
    for i in range(len(target)):
        target[i] = value


@inline
def copy(source: Any, target: Any) -> None:
    for i in range(len(target)):
        target[i] = source[i]
