"""Where results of a formula go: reductions, permutations, values that are put in the place of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....lower.elementary import chosen, compared
from ....lower.layout import at_constant, gather
from ....lower.problems import Unlowered, check_made
from ....lower.views import shape_of
from ..language.evaluation import Bound
from ..language.scalars import Wrong
from ..writer import FORMATS
from .arithmetic import Arithmetic, neutral
from .space import Lane, strides_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..tensors import TensorRef
    from ..writer import SkndWriter
    from .access import Reader
    from .space import Space

REDUCTIONS: Final = {
    "+": "REDUCE_SUM", "*": "REDUCE_PRODUCT", "<?": "REDUCE_MIN", ">?": "REDUCE_MAX", "&&": "REDUCE_ALL",
    "||": "REDUCE_ANY",
}  # fmt: skip
MOST_COMPARED: Final = 1 << 22
MOST_FACTORS: Final = 1024


class Store:
    """The results of an operator so far."""

    def __init__(self, b: SkndWriter) -> None:
        self.b = b
        self.tensors: dict[TensorRef, Tensor] = {}

    def current(self, ref: TensorRef, b: SkndWriter) -> Tensor:
        """What was written so far; what wasn't is 0."""
        if ref in self.tensors:
            return self.tensors[ref]
        return b.value(ref)

    def start(self, ref: TensorRef, op: str) -> Tensor:
        if ref not in self.tensors:
            dtype = FORMATS[ref.dtype]
            check_made(int(np.prod(ref.shape, dtype=np.int64)), "a constant")
            fill = neutral(op, ref.dtype) if op not in ("=", ":=") else 0
            self.tensors[ref] = self.b.const(np.full(ref.shape, fill, dtype.storage), dtype)
        return self.tensors[ref]

    def assign(
        self,
        targets: Sequence[tuple[TensorRef, list[Any], Any]],
        op: str,
        a: Arithmetic,
        reader: Reader,
        space: Space,
        kept: Sequence[int],
        *,
        summed: bool,
    ) -> None:
        """Values to their targets, as one step: what they read was read before. `summed`: nothing is left to reduce."""
        mask = reader.kept
        for ref, index, value in targets:
            lane = a.lane(value)
            if lane.dtype != ref.dtype:
                raise Wrong(f"'{ref.name}' is {ref.dtype}, its formula {lane.dtype}", "SKND.Y2")
            self.tensors[ref] = self._assigned(ref, index, lane, op, a, reader, space, kept, mask, summed)

    def _assigned(
        self,
        ref: TensorRef,
        index: list[Any],
        lane: Lane,
        op: str,
        a: Arithmetic,
        reader: Reader,
        space: Space,
        kept: Sequence[int],
        mask: Lane | None,
        summed: bool,
    ) -> Tensor:
        if len(index) != len(ref.shape):
            raise Wrong(f"'{ref.name}' has {len(ref.shape)} dimensions, not {len(index)}", "SKND.L5")
        places: list[Lane] = []
        inside: Lane | None = None
        for one, extent in zip(index, ref.shape, strict=True):
            reader.reset()
            if isinstance(one, Bound) and one.low is not None:
                raise Wrong(f"an index of the result '{ref.name}' is replaced", "SKND.L6")
            places.append(reader.place(one, extent, ref))
            if reader.kept is not None:
                inside = reader.kept if inside is None else a.binary("&&", inside, reader.kept)
        if inside is not None:
            mask = inside if mask is None else a.binary("&&", mask, inside)
        if op in REDUCTIONS and not summed:
            if mask is not None:
                lane, mask = a.chosen(mask, lane, _number(neutral(op, lane.dtype), lane.dtype)), None
            lane = self._reduced(a, lane, op, space.shape, kept)
        shape = tuple(n if i in kept else 1 for i, n in enumerate(space.shape))
        if all(p.data is not None for p in places):
            return self._at_known(ref, places, lane, mask, op, a, shape)
        return self._at_any(ref, places, lane, mask, op, a, reader, shape)

    def _reduced(self, a: Arithmetic, lane: Lane, op: str, shape: Sequence[int], kept: Sequence[int]) -> Lane:
        """Over all axes that aren't kept; an axis along which the value is the same counts as often as it is long."""
        for axis, extent in enumerate(shape):
            if axis in kept or extent == 1:
                continue
            if lane.extents[axis] == 1:
                if op in ("+", "*"):
                    times = float(extent) if lane.dtype == "real" else extent
                    lane = a.binary("*", lane, times) if op == "+" else a.binary("**", lane, times)
                continue
            x = a.tensor(lane)
            if op == "*" and lane.dtype == "int":
                x = self._product(x, axis)
            else:
                x = self.b.reduce(REDUCTIONS[op], x, axis)
            lane = Lane(lane.dtype, tensor=x)
        return lane

    def _product(self, x: Tensor, axis: int) -> Tensor:
        """TOSA has no product of integers along an axis."""
        size = shape_of(x)[axis]
        if size > MOST_FACTORS:
            raise Unlowered(f"a product of {size} integers; at most {MOST_FACTORS}")
        while size > 1:
            half = size // 2
            found = self.b.binary("MUL", self.b.section(x, axis, 0, half), self.b.section(x, axis, half, half))
            if size % 2:
                found = self.b.concat([found, self.b.section(x, axis, size - 1, 1)], axis)
            x, size = found, half + size % 2
        return x

    # destinations that are known

    def _at_known(
        self, ref: TensorRef, places: list[Lane], lane: Lane, mask: Lane | None, op: str, a: Arithmetic, shape: Any
    ) -> Tensor:
        strides = strides_of(ref.shape)
        flat: Any = np.zeros((1,) * len(shape), np.int64)
        for place, stride in zip(places, strides, strict=True):
            assert place.data is not None
            flat = flat + place.data * stride
        flat = np.broadcast_to(flat, shape)
        size = int(np.prod(ref.shape, dtype=np.int64))
        straight = self._turned(ref, places, shape)
        known = mask.data if mask is not None else None
        if straight is not None and (mask is None or known is None):
            x = self._straight(a.whole(lane, shape), ref, straight)
            if mask is None:
                return self._combined(ref, x, None, op)
            kept = self._straight(a.whole(mask, shape), ref, straight)
            return self._combined(ref, x, kept, op)
        wanted = flat if known is None else np.where(np.broadcast_to(known, shape), flat, -1)
        if mask is None or known is not None:
            return self._scattered(ref, a.whole(lane, shape), wanted.reshape(-1), size, op)
        if np.unique(flat).size != flat.size:
            raise Unlowered("a condition that depends on data, and results that fall together")
        new = self._moved(a.whole(lane, shape), flat.reshape(-1), ref)
        return chosen(self.b, self._moved(a.whole(mask, shape), flat.reshape(-1), ref), new, self.start(ref, op))

    def _moved(self, x: Tensor, flat: Array, ref: TensorRef) -> Tensor:
        """Every item at its own place; 0, or false, elsewhere."""
        b, size = self.b, int(np.prod(ref.shape, dtype=np.int64))
        table = np.full(size, flat.size, np.int64)
        table[flat] = np.arange(flat.size)
        rest = b.const(np.zeros(1, x.dtype.storage), x.dtype)
        values = b.concat([b.reshape(x, (flat.size,)), rest], 0)
        return b.reshape(at_constant(b, values, table, 0), ref.shape)

    def _turned(self, ref: TensorRef, places: list[Lane], shape: Any) -> list[int] | None:
        """The axes of the space in the order of the result's, where each is one of them as a whole."""
        order = []
        for place, extent in zip(places, ref.shape, strict=True):
            assert place.data is not None
            axes = [i for i, n in enumerate(place.data.shape) if n != 1]
            counts = place.data.reshape(-1)
            if len(axes) > 1 or counts.size != extent or (counts != np.arange(extent)).any():
                return None
            order += axes
        used = [i for i, n in enumerate(shape) if n != 1]
        return order if sorted(order) == used else None

    def _straight(self, x: Tensor, ref: TensorRef, order: list[int]) -> Tensor:
        b = self.b
        small = b.reshape(x, tuple(shape_of(x)[i] for i in sorted(order)))
        ranks = {axis: n for n, axis in enumerate(sorted(order))}
        return b.reshape(b.transpose(small, tuple(ranks[axis] for axis in order)), ref.shape)

    def _combined(self, ref: TensorRef, x: Tensor, kept: Tensor | None, op: str) -> Tensor:
        if ref not in self.tensors and kept is None:
            return x
        old = self.start(ref, op)
        if op not in ("=", ":="):
            return self._accumulated(op, old, x)
        return x if kept is None else chosen(self.b, kept, x, old)

    def _accumulated(self, op: str, old: Tensor, x: Tensor) -> Tensor:
        if op in ("&&", "||"):
            return compared(self.b, "LOGICAL_AND" if op == "&&" else "LOGICAL_OR", old, x)
        return self.b.binary({"+": "ADD", "*": "MUL", "<?": "MINIMUM", ">?": "MAXIMUM"}[op], old, x)

    def _scattered(self, ref: TensorRef, x: Tensor, flat: Array, size: int, op: str) -> Tensor:
        """Every place gathers what falls on it; of assignments the last counts."""
        b, count = self.b, flat.size
        points = np.flatnonzero(flat >= 0)
        order = points[np.argsort(flat[points], kind="stable")]
        where = flat[order]
        first = np.searchsorted(where, where, side="left")
        rank = np.arange(where.size) - first
        most = int(rank.max()) + 1 if rank.size else 0
        if not most:
            return self.start(ref, op)
        covered = np.zeros(size, np.bool_)
        covered[where] = True
        if op in ("=", ":="):
            table = np.full((size, 1), -1, np.int64)
            table[where, 0] = order  # later ones replace earlier ones
        else:
            check_made(size * most, "indices")
            table = np.full((size, most), -1, np.int64)
            table[where, rank] = order
        values = b.reshape(x, (count,))
        if (table < 0).any():
            fill = np.full(1, neutral(op, ref.dtype) if op not in ("=", ":=") else 0, FORMATS[ref.dtype].storage)
            values = b.concat([values, b.const(fill, FORMATS[ref.dtype])], 0)
            table = np.where(table < 0, count, table)
        found = b.reshape(at_constant(b, values, table.reshape(-1), 0), table.shape)
        if table.shape[1] > 1:
            integer = op == "*" and ref.dtype == "int"
            found = self._product(found, 1) if integer else b.reduce(REDUCTIONS[op], found, 1)
        whole = b.reshape(found, ref.shape)
        if op in ("=", ":=") and not covered.all() and ref in self.tensors:
            keep = b.const(covered.reshape(ref.shape), types.bool_)
            return chosen(b, keep, whole, self.tensors[ref])
        return self._combined(ref, whole, None, op)

    # destinations that data give

    def _at_any(
        self,
        ref: TensorRef,
        places: list[Lane],
        lane: Lane,
        mask: Lane | None,
        op: str,
        a: Arithmetic,
        reader: Reader,
        shape: Any,
    ) -> Tensor:
        """Every place looks at all points: those that fall on it are accumulated, or the last one counts."""
        b, size, count = self.b, int(np.prod(ref.shape)), int(np.prod(shape))
        if size * count > MOST_COMPARED:
            raise Unlowered(f"{count} values at places of {size} that data give; at most {MOST_COMPARED} comparisons")
        index = reader.flat_index(ref.shape, places)
        if mask is not None:
            index = a.chosen(mask, index, -1)
        flat = b.reshape(a.whole(index, shape), (1, count))
        values = b.reshape(a.whole(lane, shape), (1, count))
        counter = b.const(np.arange(size).reshape(size, 1), types.i32)
        here = compared(b, "EQUAL", counter, flat)
        old = b.reshape(self.start(ref, op), (size, 1))
        if op not in ("=", ":="):
            fill = b.const(np.full((1, 1), neutral(op, ref.dtype)), FORMATS[ref.dtype])
            found = chosen(b, here, values, fill)
            integer = op == "*" and ref.dtype == "int"
            found = self._product(found, 1) if integer else b.reduce(REDUCTIONS[op], found, 1)
            return b.reshape(self._accumulated(op, old, found), ref.shape)
        numbers = b.const(np.arange(1, count + 1).reshape(1, count), types.i32)
        last = b.reduce("REDUCE_MAX", chosen(b, here, numbers, b.scalar(0, types.i32, 2)), 1)
        some = compared(b, "GREATER", last, b.scalar(0, types.i32, 2))
        at = b.binary("MAXIMUM", b.binary("SUB", last, b.scalar(1, types.i32, 2)), b.scalar(0, types.i32, 2))
        new = gather(b, b.reshape(values, (count,)), b.reshape(at, (size,)), 0)
        return b.reshape(chosen(b, some, b.reshape(new, (size, 1)), old), ref.shape)


def _number(value: float, dtype: str) -> Any:
    return float(value) if dtype == "real" else bool(value) if dtype == "bool" else int(value)
