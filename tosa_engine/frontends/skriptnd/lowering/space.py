"""The points of a formula's loops, as the axes of tensors, and values that differ from point to point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....lower.views import shape_of
from ..language.scalars import Wrong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..tensors import TensorRef

MOST_POINTS: Final = 1 << 26  # along an axis


@dataclass(slots=True, eq=False)
class Lane:
    """A value at each point: an array that is known, or a tensor, with the axes of the space; 1: it is the same."""

    dtype: str
    data: Array | None = None
    tensor: Tensor | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        if self.data is not None:
            return self.data.shape  # type: ignore[no-any-return]
        assert self.tensor is not None
        return shape_of(self.tensor)


@dataclass(slots=True, eq=False)
class Choice:
    """A tensor of a pack that data choose."""

    refs: list[TensorRef]
    index: Lane

    @property
    def dtype(self) -> str:
        return self.refs[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.refs[0].shape


@dataclass(slots=True)
class Space:
    """Each axis has the points of one loop, or of several that lie behind each other."""

    groups: list[list[str]]  # names of loops
    extents: dict[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(math.prod(self.extents[n] for n in group) for group in self.groups)

    def counter(self, name: str) -> Lane:
        """The index of a loop at each point."""
        at = next(i for i, group in enumerate(self.groups) if name in group)
        group = self.groups[at]
        if self.shape[at] > MOST_POINTS:
            raise Wrong(f"a formula of {self.shape[at]} points; {MOST_POINTS} at most", "SKND.E5")
        inner = np.arange(self.extents[name], dtype=np.int64)
        shape = [self.extents[n] if n == name else 1 for n in group]
        full = np.broadcast_to(inner.reshape(shape), [self.extents[n] for n in group]).reshape(-1)
        return Lane("int", full.reshape([full.size if i == at else 1 for i in range(len(self.groups))]))

    def depends(self, lane: Lane) -> tuple[int, ...]:
        """The axes along which a value differs."""
        return tuple(i for i, n in enumerate(lane.extents) if n != 1)


def merged(names: Sequence[str], classes: dict[str, Any], extents: dict[str, int], most: int) -> Space:
    """Loops as axes: each its own, or, where these would be too many, those of one class together."""
    names = sorted(names, key=lambda n: str(classes[n]))
    if len(names) <= most:
        return Space([[n] for n in names], extents)
    groups: dict[Any, list[str]] = {}
    for name in names:
        groups.setdefault(classes[name], []).append(name)
    return Space(list(groups.values()), extents)


def strides_of(shape: Sequence[int]) -> list[int]:
    """How far apart neighbours along each axis are in the flat tensor."""
    found = [1]
    for n in reversed(shape[1:]):
        found.insert(0, found[0] * n)
    return found if shape else []
