"""What all loops do with a run of neighbouring elements. (Slices index from 0: the compiler then knows that no index is
negative.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import inline

if TYPE_CHECKING:
    from ...types import Array


@inline
def fill(value: Array, target: Array) -> None:
    for i in range(len(target)):
        target[i] = value


@inline
def copy(source: Array, target: Array) -> None:
    for i in range(len(target)):
        target[i] = source[i]
