"""Reading tensors at indices: views and gathers with constant indices where those are known, else GATHER."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....lower.layout import at_constant, gather
from ....lower.problems import check_made
from ....lower.views import shape_of
from ..language.evaluation import WHOLE, Bound
from ..language.scalars import Wrong
from .space import Lane, strides_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..tensors import TensorRef
    from .arithmetic import Arithmetic


class Reader:
    """Reads for one formula. `skipped` collects where a guarded index is outside."""

    def __init__(self, arithmetic: Arithmetic, shape: Sequence[int]) -> None:
        self.a, self.shape = arithmetic, tuple(shape)
        self.rank = len(self.shape)
        self.kept: Lane | None = None  # None: everywhere

    def read(self, ref: TensorRef, tensor: Tensor, index: list[Any]) -> Any:
        """The value at each point; with WHOLE a pack of them."""
        if len(index) != len(ref.shape):
            raise Wrong(f"'{ref.name}' has {len(ref.shape)} dimensions, not {len(index)}", "SKND.L5")
        if any(i is WHOLE for i in index):
            at = next(n for n, i in enumerate(index) if i is WHOLE)
            return [self.read(ref, tensor, [*index[:at], k, *index[at + 1 :]]) for k in range(ref.shape[at])]
        places = [self.place(i, n, ref) for i, n in zip(index, ref.shape, strict=True)]
        if ref.data is not None:
            if ref.data.size == 1:
                return Lane(ref.dtype, np.full((1,) * self.rank, ref.data.reshape(-1)[0]))
            if all(p.data is not None for p in places):
                return Lane(ref.dtype, np.asarray(ref.array)[tuple(p.data for p in places)])
        if all(p.data is not None for p in places):
            return Lane(ref.dtype, tensor=self._at_known(tensor, [p.data for p in places if p.data is not None]))
        return Lane(ref.dtype, tensor=self._at_any(tensor, places))

    # indices

    def place(self, index: Any, extent: int, ref: TensorRef) -> Lane:
        """An index that is inside; where it was outside, it is noted as skipped, or replaced."""
        if isinstance(index, Bound):
            return self._guarded(index, extent, ref)
        lane = self.a.lane(index)
        if lane.dtype != "int":
            raise Wrong(f"an index of type {lane.dtype}", "SKND.Y6")
        if lane.data is not None:
            inside = (lane.data >= 0) & (lane.data < extent)
            if not inside.all():
                self._check_unread(inside, ref, extent)
                return Lane("int", np.clip(lane.data, 0, extent - 1))
            return lane
        return self._sure(lane, extent)

    def _check_unread(self, inside: Array, ref: TensorRef, extent: int) -> None:
        """An index outside is right only where a condition leaves its value out."""
        count: Any = ~inside
        for lane in self.a.active:
            if lane.data is None:
                return
            count = count & lane.data
        if count.any():
            raise Wrong(f"an index of '{ref.name}' leaves its extent of {extent}; guard it: '|i|'", "SKND.E6")

    def _sure(self, lane: Lane, extent: int) -> Lane:
        """An index that data give: outside, where its value counts, it is -1, which is an error of the run."""
        if not self.a.active:
            return lane
        inside = self._inside(lane, extent)
        low = self.a.binary(">?", self.a.binary("<?", lane, extent - 1), 0)
        counts = self.a.active[0]
        for more in self.a.active[1:]:
            counts = self.a.binary("&&", counts, more)
        wrong = self.a.binary("&&", counts, self.a.unary("!", inside))
        return self.a.chosen(wrong, -1, low)

    def _inside(self, lane: Lane, extent: int) -> Lane:
        return self.a.binary("&&", self.a.binary(">=", lane, 0), self.a.binary("<", lane, extent))

    def _guarded(self, bound: Bound, extent: int, ref: TensorRef) -> Lane:
        lane = self.a.lane(bound.index)
        inside = self._inside(lane, extent)
        if bound.low is None:
            counts = inside
            for active in self.a.active:
                counts = self.a.binary("||", counts, self.a.unary("!", active))
            self.keep(counts)
            return self.a.binary(">?", self.a.binary("<?", lane, extent - 1), 0)
        low, high = self.a.lane(bound.low), self.a.lane(bound.high)
        found = self.a.chosen(self.a.binary("<", lane, 0), low, lane)
        found = self.a.chosen(self.a.binary(">=", lane, extent), high, found)
        return self.place(found, extent, ref)

    def reset(self) -> None:
        """Nothing is skipped."""
        self.kept = None

    def keep(self, lane: Lane) -> None:
        if lane.data is not None and lane.data.all():
            return
        self.kept = lane if self.kept is None else self.a.binary("&&", self.kept, lane)

    # values

    def _at_known(self, x: Tensor, places: list[Array]) -> Tensor:
        """Axis by axis, if each index differs along one axis of its own; else from the flat tensor."""
        axes = [[i for i, n in enumerate(p.shape) if n != 1] for p in places]
        used = [a for own in axes for a in own]
        if all(len(own) <= 1 for own in axes) and len(set(used)) == len(used):
            return self._axis_by_axis(x, places, axes)
        strides = strides_of(shape_of(x))
        flat = sum(p * s for p, s in zip(places, strides, strict=True))
        return self.gathered(x, np.asarray(flat))

    def gathered(self, x: Tensor, flat: Array) -> Tensor:
        """Items of the flat tensor."""
        b, size = self.a.b, int(np.prod(shape_of(x), dtype=np.int64))
        check_made(flat.size, "indices")
        if flat.size == size and (flat.reshape(-1) == np.arange(size)).all():
            return b.reshape(x, flat.shape)
        return b.reshape(at_constant(b, b.reshape(x, (size,)), flat.reshape(-1), 0), flat.shape)

    def _axis_by_axis(self, x: Tensor, places: list[Array], axes: list[list[int]]) -> Tensor:
        b = self.a.b
        order = []
        for axis, (place, own) in enumerate(zip(places, axes, strict=True)):
            wanted = place.reshape(-1)
            if wanted.size != shape_of(x)[axis] or (wanted != np.arange(wanted.size)).any():
                x = at_constant(b, x, wanted, axis)
            order.append(own[0] if own else -1)
        kept = [axis for axis, o in enumerate(order) if o >= 0]
        x = b.reshape(x, tuple(shape_of(x)[axis] for axis in kept))
        turned = sorted(range(len(kept)), key=lambda i: order[kept[i]])
        x = b.transpose(x, tuple(turned))
        shape = [1] * self.rank
        for axis in kept:
            shape[order[axis]] = self.shape[order[axis]]
        return b.reshape(x, tuple(shape))

    def flat_index(self, extents: Sequence[int], places: Sequence[Lane]) -> Lane:
        """The index in the flat tensor; -1 where an index is outside."""
        flat, right = self.a.lane(0), None
        for extent, place in zip(extents, places, strict=True):
            flat = self.a.binary("+", self.a.binary("*", flat, extent), place)
            if place.data is None:
                inside = self._inside(place, extent)
                right = inside if right is None else self.a.binary("&&", right, inside)
        return flat if right is None else self.a.chosen(right, flat, -1)

    def _at_any(self, x: Tensor, places: list[Lane]) -> Tensor:
        b, size = self.a.b, int(np.prod(shape_of(x), dtype=np.int64))
        index = self.a.tensor(self.flat_index(shape_of(x), places))
        count = int(np.prod(shape_of(index), dtype=np.int64))
        found = gather(b, b.reshape(x, (size,)), b.reshape(index, (count,)), 0)
        return b.reshape(found, shape_of(index))
