"""Those operators of data layout (specification 2.10) that only move elements, and what all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .. import types
from ..types import bool_, i8, i16, i32
from .case import Case
from .floats import ALL, float_rows
from .table import Attribute, Call, Check, OpSpec, Row, row, shape_input, tensor
from .traits import AlongAxis, EachAxis, Entries, Permuted, rearranged, view

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Shape
    from .traits import Bound, View

BOTH = "PRO-INT | PRO-FP"
INPUTS = (tensor("input1", "in_out_t", "shape1", (1, None)),)
OUTPUTS = (tensor("output", "in_out_t", "shape", (1, None)),)


def rows(sixteen: str) -> tuple[Row, ...]:
    return (
        row("Boolean", BOTH, in_out_t=bool_),
        row("signed 8", "PRO-INT", in_out_t=i8),
        row("signed 16", sixteen, in_out_t=i16),
        row("signed 32", "PRO-INT", in_out_t=i32),
        *float_rows(ALL, "in_out_t"),
    )


def values(c: Call, name: str) -> tuple[int, ...] | None:
    """The elements of a constant shape_t input, or None while it isn't constant."""
    data = c[name]
    return None if data is None else tuple(int(v) for v in data)


def output_shape(*dims: int) -> Callable[[Case], object]:
    return lambda case: case.reshape("output", *dims)


def shape_setter(name: str, *values: int) -> Callable[[Case], object]:
    return lambda case: case.const(name, types.shape, list(values))


def known(shape: Shape | None) -> Shape:
    assert shape is not None
    return shape


# REVERSE


def _reverse_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    return Case("REVERSE").input("input1", t, (2, 3)).set(axis=1).output("output", t, (2, 3))


REVERSE = OpSpec(
    name="REVERSE",
    code=58,
    schema="Reverse",
    section="2.10.4",
    inputs=(tensor("input1", "in_out_t", "shape", (1, None)),),
    attributes=(Attribute("axis", "i32", 0),),
    outputs=OUTPUTS,
    rows=rows("PRO-INT"),
    traits=view(lambda c: lambda x: np.flip(x, c["axis"]), AlongAxis("axis", keeps_rank=True)),
    shapes=lambda c: [c["shape"]],
    checks=(
        Check(
            "REVERSE.E1",
            lambda c: not 0 <= c.axis < len(c["shape"]),
            "axis must be one of the input's axes, got axis {axis} for shape {shape}",
            lambda case: case.set(axis=2),
            "input1",
        ),
    ),
    example=_reverse_example,
)

# SLICE


def _slice_legal(c: Call) -> bool:
    lengths = {len(v) for v in (values(c, "start"), values(c, "size")) if v is not None}
    return lengths <= {len(c.shape1)}


def _slice_beyond(c: Call) -> bool:
    start, size = values(c, "start"), values(c, "size")
    if start is None or size is None or not _slice_legal(c):
        return False
    return any(a + n > limit for a, n, limit in zip(start, size, c.shape1, strict=True))


def _slice_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("SLICE").input("input1", t, (4, 3))
    return case.const("start", types.shape, [1, 0]).const("size", types.shape, [2, 3]).output("output", t, (2, 3))


def _longer_start(case: Case) -> None:
    case.const("start", types.shape, [1, 0, 0])


def _slice(c: Bound) -> View:
    start, size = c.constant("start"), c.constant("size")
    assert start is not None
    assert size is not None
    region = tuple(slice(int(a), int(a) + int(n)) for a, n in zip(start, size, strict=True))
    return lambda x: x[region]


SLICE = OpSpec(
    name="SLICE",
    code=59,
    schema="Slice",
    section="2.10.5",
    inputs=(*INPUTS, shape_input("start", "[start_rank]"), shape_input("size", "[size_rank]")),
    attributes=(),
    outputs=OUTPUTS,
    rows=rows("PRO-INT"),
    traits=view(_slice, EachAxis((Entries("start", 1, 0), Entries("size", 1, None)))),
    shapes=lambda c: [known(values(c, "size"))],
    checks=(
        Check(
            "SLICE.E1",
            lambda c: not _slice_legal(c),
            "start {start} and size {size} need one entry per axis of {shape1}",
            _longer_start,
            "start",
        ),
        Check(
            "SLICE.E2",
            lambda c: c.has("shape") and len(c["shape"]) != len(c.shape1),
            "output must have the input's rank, got {shape} for {shape1}",
            output_shape(6),
            "output",
        ),
        Check(
            "SLICE.E3",
            lambda c: min(values(c, "start") or (0,)) < 0,
            "start must not be negative, got {start}",
            shape_setter("start", -1, 0),
            "start",
        ),
        Check(
            "SLICE.E4",
            lambda c: min(values(c, "size") or (1,)) <= 0,
            "size must be positive, got {size}",
            shape_setter("size", 2, 0),
            "size",
        ),
        Check(
            "SLICE.E5",
            _slice_beyond,
            "start {start} plus size {size} goes beyond the input's shape {shape1}",
            shape_setter("start", 3, 0),
            "start",
        ),
        Check(
            "SLICE.E6",
            lambda c: (
                c.has("shape") and len(c["shape"]) == len(c.shape1) and values(c, "size") not in (None, c["shape"])
            ),
            "output must have shape {size}, got {shape}",
            output_shape(2, 2),
            "output",
        ),
    ),
    example=_slice_example,
)

# TILE


def _tiled(c: Call) -> Shape | None:
    multiples = values(c, "multiples")
    if multiples is None or len(multiples) != len(c.shape1):
        return None
    return tuple(size * times for size, times in zip(c.shape1, multiples, strict=True))


def _tile_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("TILE").input("input1", t, (2, 3)).const("multiples", types.shape, [3, 2])
    return case.output("output", t, (6, 6))


TILE = OpSpec(
    name="TILE",
    code=60,
    schema="Tile",
    section="2.10.6",
    inputs=(*INPUTS, shape_input("multiples", "[rank(shape1)]")),
    attributes=(),
    outputs=OUTPUTS,
    rows=rows("PRO-INT"),
    traits=rearranged("input1", batch=("input1",), axes=EachAxis((Entries("multiples", 1, 1),))),
    shapes=lambda c: [known(_tiled(c))],
    checks=(
        Check(
            "TILE.E1",
            lambda c: c.has("shape") and len(c["shape"]) != len(c.shape1),
            "output must have the input's rank, got {shape} for {shape1}",
            output_shape(36),
            "output",
        ),
        Check(
            "TILE.E2",
            lambda c: (
                c.has("shape")
                and len(c["shape"]) == len(c.shape1)
                and _tiled(c) is not None
                and _tiled(c) != c["shape"]
            ),
            "output must have the input's shape {shape1} times multiples {multiples}, got {shape}",
            output_shape(6, 3),
            "output",
        ),
    ),
    example=_tile_example,
)

# TRANSPOSE


def _permuted(c: Call) -> Shape | None:
    if sorted(c.perms) != list(range(len(c.shape1))):
        return None
    return tuple(c.shape1[p] for p in c.perms)


def _transpose_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    return Case("TRANSPOSE").input("input1", t, (2, 3, 4)).set(perms=(2, 0, 1)).output("output", t, (4, 2, 3))


TRANSPOSE = OpSpec(
    name="TRANSPOSE",
    code=61,
    schema="Transpose",
    section="2.10.7",
    inputs=INPUTS,
    attributes=(Attribute("perms", "i32[rank]", 0),),
    outputs=OUTPUTS,
    rows=rows("PRO-INT"),
    traits=view(lambda c: lambda x: x.transpose(c["perms"]), Permuted("perms")),
    shapes=lambda c: [known(_permuted(c))],
    checks=(
        Check(
            "TRANSPOSE.E1",
            lambda c: len(c.perms) != len(c.shape1),
            "perms must have one entry per axis of the input, got {perms} for {shape1}",
            lambda case: case.set(perms=(1, 0)),
            "input1",
        ),
        Check(
            "TRANSPOSE.E2",
            lambda c: c.has("shape") and len(c["shape"]) != len(c.shape1),
            "output must have the input's rank, got {shape} for {shape1}",
            output_shape(4, 6),
            "output",
        ),
        Check(
            "TRANSPOSE.E3",
            lambda c: c.has("shape") and types.count(c["shape"]) != types.count(c.shape1),
            "output must have as many elements as the input, got {shape} for {shape1}",
            output_shape(4, 2, 4),
            "output",
        ),
        Check(
            "TRANSPOSE.E4",
            lambda c: any(not 0 <= p < len(c.shape1) for p in c.perms),
            "perms must name axes of the input, got {perms} for {shape1}",
            lambda case: case.set(perms=(2, 0, 3)),
            "input1",
        ),
        Check(
            "TRANSPOSE.E5",
            lambda c: len(set(c.perms)) != len(c.perms),
            "perms must not name an axis twice, got {perms}",
            lambda case: case.set(perms=(2, 0, 0)),
            "input1",
        ),
        Check(
            "TRANSPOSE.E6",
            lambda c: c.has("shape") and _permuted(c) not in (None, c["shape"]),
            "output must have the input's shape {shape1} permuted by {perms}, got {shape}",
            output_shape(2, 3, 4),
            "output",
        ),
    ),
    example=_transpose_example,
)
