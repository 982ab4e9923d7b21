"""gather, scatter, dynamic_slice and dynamic_update_slice: rows of a table at places that are computed.

Axes of which whole slices are taken stay together as the columns of the table; all others make its rows. A place is the
start, clamped or tested to lie inside before it is multiplied, plus the constant places within a slice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....errors import Unsupported
from ....lower.elementary import chosen, compared, number
from ....lower.layout import gathered
from ....lower.scatter import scattered
from ....lower.views import shape_of
from ....types import count
from ..elements import U32
from ..values import Value
from .bodies import applied, identity, simple, takes
from .reductions import total

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....types import Shape
    from ..call import Call
    from ..module import Body

MOST_PAIRS: Final = 1 << 22  # of rows and updates that are compared
MOST_UPDATES: Final = 4096  # that are combined one after the other


@dataclass(frozen=True)
class Table:
    """An operand as a table: its axes `rows`, then `columns`."""

    shape: Shape
    rows: list[int]
    columns: list[int]

    @property
    def sizes(self) -> tuple[int, int]:
        return count(tuple(self.shape[a] for a in self.rows)), count(tuple(self.shape[a] for a in self.columns))

    def stride(self, axis: int) -> int:
        """How far the next element along an axis is, in rows."""
        after = self.rows[self.rows.index(axis) + 1 :]
        return count(tuple(self.shape[a] for a in after))

    def of(self, call: Call, x: Tensor) -> Tensor:
        return call.g.reshape(call.g.transpose(x, [*self.rows, *self.columns]), (1, *self.sizes))

    def back(self, call: Call, table: Tensor) -> Tensor:
        order = [*self.rows, *self.columns]
        whole = call.g.reshape(table, [self.shape[a] for a in order])
        return call.g.transpose(whole, [order.index(i) for i in range(len(order))])


@dataclass(frozen=True)
class Places:
    """Where slices lie: `starts` by operand axis, each [N] or a number for all; `window` the extents of a slice."""

    table: Table
    starts: Mapping[int, Tensor]
    fixed: Mapping[int, np.ndarray]  # the same for axes of a batch: known numbers [N]
    window: Sequence[int]
    count: int

    def offsets(self) -> np.ndarray:
        """The rows within a slice, by its rows' axes."""
        extents = [self.window[a] for a in self.table.rows]
        grid = np.indices(extents).reshape(len(extents), -1)
        strides = np.asarray([self.table.stride(a) for a in self.table.rows], np.int64).reshape(-1, 1)
        found: np.ndarray = (grid * strides).sum(0)
        return found


def gather(call: Call) -> Value:
    numbers = call.numbers("dimension_numbers")
    sizes = call.integers("slice_sizes")
    if call.name == "dynamic_gather":
        sizes = [int(n) for n in call.known(2, "the sizes of slices").reshape(-1)]
    operand, indices = call.inputs[:2]
    batching = numbers.get("operand_batching_dims", [])
    collapsed = [*numbers.get("collapsed_slice_dims", []), *batching]
    order, vectors = _vectors(call, indices, numbers.get("index_vector_dim", 0))
    known = _batches(numbers, indices.shape, order)
    map_ = numbers.get("start_index_map", [])
    table = _table(operand.shape, [a for a in range(len(sizes)) if sizes[a] != operand.shape[a] or a in known])
    starts = {
        axis: _clamped(call, vectors(i), operand.shape[axis] - sizes[axis])
        for i, axis in enumerate(map_)
        if axis in table.rows
    }
    batch = tuple(indices.shape[a] for a in order)
    places = Places(table, starts, known, sizes, count(batch))
    found = _gathered(call, table.of(call, call.full(0)), places)
    return call.result(
        _arranged(call, found, places, batch, collapsed, numbers.get("offset_dims", [])), operand.element
    )


def _vectors(call: Call, indices: Value, axis: int) -> tuple[list[int], Callable[[int], Value]]:
    """The axes of `indices` that count vectors, and a function that gives one element of all vectors, [N]."""
    rank = len(indices.shape)
    order = [a for a in range(rank) if a != axis]
    size = count(tuple(indices.shape[a] for a in order))

    def element(i: int) -> Value:
        if indices.data is not None:
            one = indices.data if axis == rank else np.take(indices.data, i, axis)
            return Value(indices.element, (size,), np.ascontiguousarray(one).reshape(size))
        x = call.g.full(indices)
        x = x if axis == rank else call.g.section(x, axis, i, 1)
        return Value(indices.element, (size,), None, call.wide(call.g.reshape(x, (size,))))

    return order, element


def _batches(numbers: Mapping[str, Any], shape: Shape, order: Sequence[int]) -> dict[int, np.ndarray]:
    """Axes of the operand that go along with axes of the indices."""
    operand = numbers.get("operand_batching_dims", numbers.get("input_batching_dims", []))
    own = numbers.get("start_indices_batching_dims", numbers.get("scatter_indices_batching_dims", []))
    grid = np.indices([shape[a] for a in order]).reshape(len(order), -1) if order else np.zeros((0, 1), np.int64)
    return {axis: grid[order.index(mine)] for axis, mine in zip(operand, own, strict=True)}


def _table(shape: Shape, rows: Sequence[int]) -> Table:
    return Table(shape, list(rows), [a for a in range(len(shape)) if a not in rows])


def _inside(starts: np.ndarray, most: int) -> np.ndarray:
    return np.asarray([min(max(int(n), 0), most) for n in starts.reshape(-1)]).reshape(starts.shape)


def _clamped(call: Call, value: Value, most: int) -> Tensor:
    """Starts in 0 .. most."""
    g = call.g
    if value.data is not None:
        return g.const(_inside(value.data, most).astype(np.int32), types.i32, "starts")
    x = call.wide(g.full(value))
    if value.element is U32 and g.reach(x)[0] < 0:  # what has the highest bit is large
        x = chosen(g, compared(g, "GREATER", number(g, 0, x), x), number(g, most, x), x)
    return g.binary("MINIMUM", g.binary("MAXIMUM", x, number(g, 0, x)), number(g, most, x))


def _rows(call: Call, places: Places) -> Tensor:
    """The rows of all slices: [N, elements of a slice]."""
    g = call.g
    offsets = places.offsets()
    base = np.zeros(places.count, np.int64)
    for axis, at in places.fixed.items():
        base = base + at * places.table.stride(axis)
    found = g.const((base.reshape(-1, 1) + offsets.reshape(1, -1)).astype(np.int32), types.i32, "places")
    for axis, start in places.starts.items():
        stride = places.table.stride(axis)
        start = g.reshape(start, (count(shape_of(start)), 1))
        scaled = start if stride == 1 else g.binary("MUL", start, number(g, stride, start))
        found = g.binary("ADD", found, scaled)
    return found


def _gathered(call: Call, table: Tensor, places: Places) -> Tensor:
    """[N, elements of a slice, columns]."""
    g = call.g
    rows = _rows(call, places)
    each = shape_of(rows)[1]
    found = gathered(g, table, g.reshape(rows, (1, places.count * each)))
    return g.reshape(found, (places.count, each, places.table.sizes[1]))


def _arranged(
    call: Call, x: Tensor, places: Places, batch: Shape, collapsed: Sequence[int], offsets: Sequence[int]
) -> Tensor:
    """[N, slice rows, columns] with the slice's axes at their places among those of the batch."""
    g, table = call.g, places.table
    order = [*table.rows, *table.columns]
    whole = g.reshape(x, (*batch, *(places.window[a] for a in order)))
    n = len(batch)
    kept = [a for a in range(len(table.shape)) if a not in collapsed]
    dropped = [a for a in order if a in collapsed]
    turned = g.transpose(
        whole, [*range(n), *(n + order.index(a) for a in kept), *(n + order.index(a) for a in dropped)]
    )
    flat = g.reshape(turned, (*batch, *(places.window[a] for a in kept)))
    rank = n + len(kept)
    own, inner = iter(range(n)), iter(range(n, rank))
    sources = [next(inner) if axis in offsets else next(own) for axis in range(rank)]
    return g.transpose(flat, sources)


def dynamic_slice(call: Call) -> Value:
    """A gather of one slice."""
    operand, sizes = call.inputs[0], call.integers("slice_sizes")
    table = _table(operand.shape, [a for a, n in enumerate(sizes) if n != operand.shape[a]])
    if not table.rows:
        return call.inputs[0]
    starts = {a: _clamped(call, call.inputs[1 + a], operand.shape[a] - sizes[a]) for a in table.rows}
    if all(start.data is not None for start in starts.values()):
        x = call.full(0)
        for axis, start in starts.items():
            assert start.data is not None
            x = call.g.section(x, axis, int(start.data.reshape(-1)[0]), sizes[axis])
        return call.result(x, operand.element)
    places = Places(table, starts, {}, sizes, 1)
    found = _gathered(call, table.of(call, call.full(0)), places)
    part = Table(tuple(sizes), table.rows, table.columns)
    return call.result(part.back(call, found), operand.element)


def dynamic_update_slice(call: Call) -> Value:
    operand, update = call.inputs[:2]
    if 0 in update.shape:
        return operand
    table = _table(operand.shape, [a for a, n in enumerate(update.shape) if n != operand.shape[a]])
    if not table.rows:
        return Value(operand.element, operand.shape, update.data, None if update.is_known else call.lean(1))
    starts = {a: _clamped(call, call.inputs[2 + a], operand.shape[a] - update.shape[a]) for a in table.rows}
    if all(start.data is not None for start in starts.values()):
        at = {a: int(start.data.reshape(-1)[0]) for a, start in starts.items() if start.data is not None}
        return call.result(_replaced(call, call.full(0), call.full(1), at), operand.element)
    places = Places(table, starts, {}, list(update.shape), 1)
    rows = _rows(call, places)
    part = Table(update.shape, table.rows, table.columns)
    updates = part.of(call, call.full(1))
    found = scattered(call.g, table.of(call, call.full(0)), call.g.reshape(rows, (1, shape_of(rows)[1])), updates)
    return call.result(table.back(call, found), operand.element)


def _replaced(call: Call, x: Tensor, update: Tensor, at: Mapping[int, int]) -> Tensor:
    """A part of x replaced, at a place that is known: what lies around it is put around the update."""
    g = call.g
    axis = next(iter(at), None)
    if axis is None:
        return update
    start, size, extent = at[axis], shape_of(update)[axis], shape_of(x)[axis]
    inner = _replaced(call, g.section(x, axis, start, size), update, {a: n for a, n in at.items() if a != axis})
    parts = [g.section(x, axis, 0, start)] if start else []
    parts.append(inner)
    if start + size < extent:
        parts.append(g.section(x, axis, start + size, extent - start - size))
    return g.concat(parts, axis)


def scatter(call: Call) -> list[Value]:
    """Updates brought to their places by the body; those that lie outside are left out."""
    half = (len(call.inputs) - 1) // 2
    operands, indices, updates = call.inputs[:half], call.inputs[half], call.inputs[half + 1 :]
    numbers, body = call.numbers("scatter_dimension_numbers"), call.operation.regions[0]
    shape, windows = operands[0].shape, numbers.get("update_window_dims", [])
    batching = numbers.get("input_batching_dims", [])
    inserted = [*numbers.get("inserted_window_dims", []), *batching]
    kept = [a for a in range(len(shape)) if a not in inserted]
    window = [1] * len(shape)
    for mine, axis in zip(windows, kept, strict=True):
        window[axis] = updates[0].shape[mine]
    if any(0 in value.shape for value in (indices, *updates)):
        return operands
    order, vectors = _vectors(call, indices, numbers.get("index_vector_dim", 0))
    known = _batches(numbers, indices.shape, order)
    map_ = numbers.get("scatter_dims_to_operand_dims", [])
    table = _table(shape, [a for a in range(len(shape)) if a in map_ or a in known or window[a] != shape[a]])
    batch = tuple(indices.shape[a] for a in order)
    raw = {axis: vectors(i) for i, axis in enumerate(map_)}
    tables = [table.of(call, call.g.full(value)) for value in operands]
    given = [_update_rows(call, value, table, window, windows, kept, batch) for value in updates]
    if not table.rows:
        rows, inside = call.g.const(np.zeros((1, count(batch)), np.int32), types.i32), None
        table = Table((1, *shape), [0], [a + 1 for a in range(len(shape))])
    else:
        rows, inside = _tested_rows(call, raw, Places(table, {}, known, window, count(batch)))
    unique = bool(call.attribute("unique_indices")) or shape_of(rows)[1] == 1
    found = _combined(call, body, operands, tables, given, (rows, inside, unique))
    if len(table.shape) != len(shape):
        return [Value(v.element, shape, None, call.g.reshape(t, shape)) for v, t in zip(operands, found, strict=True)]
    return [Value(v.element, shape, None, table.back(call, t)) for v, t in zip(operands, found, strict=True)]


def _update_rows(
    call: Call, value: Value, table: Table, window: Sequence[int], windows: Sequence[int], kept: Sequence[int],
    batch: Shape,
) -> Tensor:  # fmt: skip
    """Updates as [1, N * rows of a slice, columns]."""
    g, x = call.g, call.g.full(value)
    outer = [a for a in range(len(value.shape)) if a not in windows]
    x = g.transpose(x, [*outer, *windows])
    n = count(batch)
    x = g.reshape(x, (n, *(window[a] for a in kept)))
    order = [a for a in (*table.rows, *table.columns) if a in kept]
    x = g.transpose(x, [0, *(1 + kept.index(a) for a in order)])
    rows, columns = (count(tuple(window[a] for a in part)) for part in (table.rows, table.columns))
    return g.reshape(x, (1, n * rows, columns))


def _tested_rows(call: Call, raw: Mapping[int, Value], places: Places) -> tuple[Tensor, Tensor | None]:
    """The rows of all updates, [1, W], and which of them lie inside; None where all are known to."""
    g, table = call.g, places.table
    extents = [places.window[a] for a in table.rows]
    grid = np.indices(extents).reshape(len(extents), -1)
    each = grid.shape[1]
    flat = np.zeros((places.count, each), np.int64)
    for axis, at in places.fixed.items():
        flat += at.reshape(-1, 1) * table.stride(axis)
    inside: Tensor | None = None
    good = np.ones((places.count, each), np.bool_)
    found: Tensor | None = None
    for i, axis in enumerate(table.rows):
        stride, offset = table.stride(axis), grid[i].reshape(1, -1)
        start = raw.get(axis)
        if start is None:
            flat += offset * stride
            continue
        if start.data is not None:
            at = start.data.astype(object).reshape(-1, 1) + offset
            good &= np.asarray((at >= 0) & (at < table.shape[axis]), np.bool_)
            flat += np.clip(at, 0, table.shape[axis] - 1).astype(np.int64) * stride
            continue
        at_row, fits = _one_axis(call, start, offset, table.shape[axis], places.window[axis])
        inside = fits if inside is None else compared(g, "LOGICAL_AND", inside, fits)
        scaled = at_row if stride == 1 else g.binary("MUL", at_row, number(g, stride, at_row))
        found = scaled if found is None else g.binary("ADD", found, scaled)
    base = g.const(flat.astype(np.int32), types.i32, "places")
    rows = base if found is None else g.spread(g.binary("ADD", found, base), flat.shape)
    if not good.all():
        mask = g.const(good, types.bool_, "inside")
        inside = mask if inside is None else compared(g, "LOGICAL_AND", inside, mask)
    size = (1, places.count * each)
    return g.reshape(rows, size), None if inside is None else g.reshape(g.spread(inside, flat.shape), size)


def _one_axis(call: Call, start: Value, offset: np.ndarray, extent: int, window: int) -> tuple[Tensor, Tensor]:
    """start + offset in 0 .. extent - 1, and whether it was there. Far starts are brought near, where sums fit."""
    g = call.g
    x = call.wide(g.full(start))
    if start.element is U32 and g.reach(x)[0] < 0:
        x = chosen(g, compared(g, "GREATER", number(g, 0, x), x), number(g, extent, x), x)
    near = g.binary("MINIMUM", g.binary("MAXIMUM", x, number(g, -window, x)), number(g, extent, x))
    at = g.reshape(near, (count(shape_of(near)), 1))
    if offset.any():
        at = g.binary("ADD", at, g.const(offset.astype(np.int32), types.i32, "offsets"))
    above = compared(g, "GREATER_EQUAL", at, number(g, 0, at))
    fits = compared(g, "LOGICAL_AND", above, compared(g, "GREATER", number(g, extent, at), at))
    safe = g.binary("MINIMUM", g.binary("MAXIMUM", at, number(g, 0, at)), number(g, extent - 1, at))
    return safe, fits


def _combined(
    call: Call, body: Body, operands: Sequence[Value], tables: list[Tensor], updates: Sequence[Tensor],
    at: tuple[Tensor, Tensor | None, bool],
) -> list[Tensor]:  # fmt: skip
    rows, inside, unique = at
    if unique:
        return _at_once(call, body, operands, tables, updates, rows, inside)
    name = simple(body) if len(operands) == 1 else None
    size, width = shape_of(tables[0])[1], shape_of(rows)[1]
    columns = shape_of(tables[0])[2]
    replaced = takes(body) == 1 and len(operands) == 1
    reducible = name in ("add", "maximum", "minimum", "and", "or") or (
        name == "multiply" and operands[0].element.is_float
    )
    if replaced and size * width <= MOST_PAIRS:
        return [_last(call, tables[0], updates[0], rows, inside)]
    if name is not None and reducible and size * width * columns <= MOST_PAIRS:
        found = _by_rows(call, name, operands[0], tables[0], updates[0], rows, inside)
        if found is not None:
            return [found]
    return _one_by_one(call, body, operands, tables, updates, rows, inside)


def _at_once(
    call: Call, body: Body, operands: Sequence[Value], tables: Sequence[Tensor], updates: Sequence[Tensor],
    rows: Tensor, inside: Tensor | None,
) -> list[Tensor]:  # fmt: skip
    """Every place occurs once: one GATHER, the body, one SCATTER. What lies outside goes to rows of its own."""
    g = call.g
    width, size = shape_of(rows)[1], shape_of(tables[0])[1]
    wide = list(tables)
    if inside is not None:
        wide = [g.pad(t, (0, 0, 0), (0, width, 0), False if t.dtype is types.bool_ else 0) for t in tables]
        spare = g.const((size + np.arange(width)).reshape(1, width), types.i32, "outside")
        rows = chosen(g, inside, rows, spare)
    before = [gathered(g, t, rows) for t in wide]
    given = [
        Value(v.element, shape_of(t), None, t) for ts in (before, updates) for v, t in zip(operands, ts, strict=True)
    ]
    after = [g.full(value) for value in applied(call, body, given)]
    found = [scattered(g, t, rows, x) for t, x in zip(wide, after, strict=True)]
    return [g.section(t, 1, 0, size) for t in found] if inside is not None else found


def _hits(call: Call, rows: Tensor, inside: Tensor | None, size: int) -> Tensor:
    """Which update goes to which row: bool [size, W]."""
    g = call.g
    counter = g.const(np.arange(size).reshape(size, 1), types.i32, "rows")
    hits = compared(g, "EQUAL", counter, rows)
    return hits if inside is None else compared(g, "LOGICAL_AND", hits, inside)


def _last(call: Call, table: Tensor, updates: Tensor, rows: Tensor, inside: Tensor | None) -> Tensor:
    """Each row is replaced by its last update, as in the order of the updates."""
    g = call.g
    size, width = shape_of(table)[1], shape_of(rows)[1]
    hits = _hits(call, rows, inside, size)
    order = g.const(np.arange(width).reshape(1, width), types.i32, "order")
    last = g.reduce("REDUCE_MAX", chosen(g, hits, order, number(g, -1, order)), 1)
    some = compared(g, "GREATER_EQUAL", last, number(g, 0, last))
    at = g.reshape(g.binary("MAXIMUM", last, number(g, 0, last)), (1, size))
    return chosen(g, g.reshape(some, (1, size, 1)), gathered(g, updates, at), table)


REDUCED: Final = {"add": "REDUCE_SUM", "maximum": "REDUCE_MAX", "minimum": "REDUCE_MIN", "multiply": "REDUCE_PRODUCT"}


def _by_rows(
    call: Call, name: str, operand: Value, table: Tensor, updates: Tensor, rows: Tensor, inside: Tensor | None
) -> Tensor | None:
    """All updates of a row reduced at once, together with what the row has."""
    g, element = call.g, operand.element
    none = identity(name, element)
    if none is None or (element.is_integer and name in ("and", "or")) or (element.is_integer and name == "multiply"):
        return None
    if element is U32 and name != "add":
        return None
    size, width, columns = shape_of(table)[1], shape_of(rows)[1], shape_of(updates)[2]
    hits = g.reshape(_hits(call, rows, inside, size), (size, width, 1))
    neutral = Value(element, (), none)
    if element.is_bool:
        op = "REDUCE_ANY" if name in ("add", "or", "maximum") else "REDUCE_ALL"
        picked = chosen(g, hits, updates, g.reshape(g.lean(neutral), (1, 1, 1)))
        found = g.reshape(g.reduce(op, g.spread(picked, (size, width, columns)), 1), (1, size, columns))
        return compared(g, "LOGICAL_OR" if op == "REDUCE_ANY" else "LOGICAL_AND", table, found)
    work = types.fp32 if element.is_float else types.i32
    wide = [call.cast(t, work) for t in (updates, table)]
    filler = g.reshape(call.cast(g.lean(neutral), work), (1, 1, 1))
    picked = chosen(g, hits, wide[0], filler)
    all_ = g.concat([picked, g.reshape(wide[1], (size, 1, columns))], 1)
    if name == "add" and not element.is_float:
        reduced = total(call, all_, [1], element)
        return g.reshape(call.wrapped(reduced, element), shape_of(table))
    return g.reshape(call.cast(g.reduce(REDUCED[name], all_, 1), element.carrier), shape_of(table))


def _one_by_one(
    call: Call, body: Body, operands: Sequence[Value], tables: list[Tensor], updates: Sequence[Tensor], rows: Tensor,
    inside: Tensor | None,
) -> list[Tensor]:  # fmt: skip
    """In the order of the updates: the row of each goes through the body."""
    g = call.g
    width = shape_of(rows)[1]
    if width > MOST_UPDATES:
        raise Unsupported(f"{width} updates whose places may be the same; {MOST_UPDATES} at most are done one by one")
    counter = g.const(np.arange(shape_of(tables[0])[1]).reshape(1, -1, 1), types.i32, "rows")
    for i in range(width):
        here = compared(g, "EQUAL", counter, g.reshape(g.section(rows, 1, i, 1), (1, 1, 1)))
        if inside is not None:
            here = compared(g, "LOGICAL_AND", here, g.reshape(g.section(inside, 1, i, 1), (1, 1, 1)))
        given = [*tables, *(g.section(x, 1, i, 1) for x in updates)]
        shapes = [shape_of(t) for t in given]
        values = [Value(v.element, s, None, t) for v, s, t in zip([*operands, *operands], shapes, given, strict=True)]
        after = [g.full(value) for value in applied(call, body, values)]
        tables = [chosen(g, here, new, old) for new, old in zip(after, tables, strict=True)]
    return tables


OPERATORS: Final[Mapping[str, Callable[[Call], Value | list[Value]]]] = {
    "dynamic_gather": gather, "dynamic_slice": dynamic_slice, "dynamic_update_slice": dynamic_update_slice,
    "gather": gather, "scatter": scatter,
}  # fmt: skip
