"""Data layout (specification 2.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from ..types import bool_, fp32, i8, i16, i32
from .case import Case
from .table import Argument, Attribute, Call, Check, Limit, OpSpec, Row, row, scalar, shape_input, tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Shape

BOTH = "PRO-INT | PRO-FP"
INPUTS = (tensor("input1", "in_out_t", "shape1", (1, None)),)
OUTPUTS = (tensor("output", "in_out_t", "shape", (1, None)),)


def _rows(sixteen: str) -> tuple[Row, ...]:
    return (
        row("Boolean", BOTH, in_out_t=bool_),
        row("signed 8", "PRO-INT", in_out_t=i8),
        row("signed 16", sixteen, in_out_t=i16),
        row("signed 32", "PRO-INT", in_out_t=i32),
        row("fp32", "PRO-FP", in_out_t=fp32),
    )


def _values(c: Call, name: str) -> tuple[int, ...] | None:
    """The elements of a constant shape_t input, or None while it isn't constant."""
    data = c[name]
    return None if data is None else tuple(int(v) for v in data)


def _output_shape(*dims: int) -> Callable[[Case], object]:
    return lambda case: case.reshape("output", *dims)


def _shape(name: str, *values: int) -> Callable[[Case], object]:
    return lambda case: case.const(name, types.shape, list(values))


# CONCAT


def _same_but_axis(c: Call) -> bool:
    first, axis = c.shapes1[0], c.axis
    return all(s[:axis] == first[:axis] and s[axis + 1 :] == first[axis + 1 :] for s in c.shapes1)


def _concat_ranks(c: Call) -> bool:
    return len({len(s) for s in c.shapes1}) == 1


def _concat_shape(c: Call) -> Shape:
    first = c.shapes1[0]
    return (*first[: c.axis], sum(s[c.axis] for s in c.shapes1), *first[c.axis + 1 :])


def _concat_legal(c: Call) -> bool:
    return 0 <= c.axis < len(c.shapes1[0]) and _concat_ranks(c) and _same_but_axis(c)


def _concat_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    return Case("CONCAT").list_input("input1", t, (2, 3), (2, 1)).set(axis=1).output("output", t, (2, 4))


def _second(*dims: int) -> Callable[[Case], object]:
    def mutate(case: Case) -> None:
        tensors = case.inputs["input1"]
        assert isinstance(tensors, list)
        tensors[1].shape = dims

    return mutate


CONCAT = OpSpec(
    name="CONCAT",
    code=55,
    schema="Concat",
    section="2.10.1",
    inputs=(Argument("input1", "in_out_t", "shapes1", (1, None), is_list=True),),
    attributes=(Attribute("axis", "i32", 0),),
    outputs=OUTPUTS,
    rows=_rows("EXT-INT16"),
    shapes=lambda c: [_concat_shape(c)],
    limits=(Limit("length of input1", "max_tensor_list_size", lambda c: len(c.shapes1)),),
    checks=(
        Check(
            "CONCAT.E1",
            lambda c: not 0 <= c.axis < max(1, len(c.shapes1[0])),
            "axis must be one of the inputs' axes, got axis {axis} for shapes {shapes1}",
            lambda case: case.set(axis=2),
            "input1",
        ),
        Check(
            "CONCAT.E2",
            lambda c: not _concat_ranks(c),
            "inputs must have one rank, got {shapes1}",
            _second(2),
            "input1",
        ),
        Check(
            "CONCAT.E3",
            lambda c: 0 <= c.axis < len(c.shapes1[0]) and _concat_ranks(c) and not _same_but_axis(c),
            "inputs must have equal sizes off axis {axis}, got {shapes1}",
            _second(5, 1),
            "input1",
        ),
        Check(
            "CONCAT.E4",
            lambda c: c.has("shape") and _concat_legal(c) and _concat_shape(c) != c["shape"],
            "output must have the inputs' sizes {shapes1} added along axis {axis}, got {shape}",
            _output_shape(2, 5),
            "output",
        ),
    ),
    example=_concat_example,
)

# PAD


def _padded(c: Call) -> Shape | None:
    padding = _values(c, "padding")
    if padding is None or len(padding) != 2 * len(c.shape1):
        return None
    return tuple(
        before + size + after for before, size, after in zip(padding[::2], c.shape1, padding[1::2], strict=True)
    )


def _pad_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("PAD").input("input1", t, (2, 3)).const("padding", types.shape, [0, 1, 2, 0]).const("pad_const", t, [1])
    return case.output("output", t, (3, 5))


def _known(shape: Shape | None) -> Shape:
    assert shape is not None
    return shape


PAD = OpSpec(
    name="PAD",
    code=56,
    schema="Pad",
    section="2.10.2",
    inputs=(*INPUTS, shape_input("padding", "[2*rank(shape1)]"), scalar("pad_const", "in_out_t")),
    attributes=(),
    outputs=OUTPUTS,
    rows=_rows("PRO-INT"),
    shapes=lambda c: [_known(_padded(c))],
    checks=(
        Check(
            "PAD.E1",
            lambda c: c.has("shape") and len(c["shape"]) != len(c.shape1),
            "output must have the input's rank, got {shape} for {shape1}",
            _output_shape(15),
            "output",
        ),
        Check(
            "PAD.E2",
            lambda c: min(_values(c, "padding") or (0,)) < 0,
            "padding must not be negative, got {padding}",
            _shape("padding", 0, 1, -1, 3),
            "padding",
        ),
        Check(
            "PAD.E3",
            lambda c: (
                c.has("shape")
                and len(c["shape"]) == len(c.shape1)
                and _padded(c) is not None
                and _padded(c) != c["shape"]
            ),
            "output must have the input's shape {shape1} plus padding {padding}, got {shape}",
            _output_shape(3, 6),
            "output",
        ),
    ),
    example=_pad_example,
)

# RESHAPE


def _reshape_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    return Case("RESHAPE").input("input1", t, (2, 6)).const("shape", types.shape, [3, 4]).output("output", t, (3, 4))


def _wrong_reshape(case: Case) -> None:
    case.const("shape", types.shape, [3, 5]).reshape("output", 3, 5)


RESHAPE = OpSpec(
    name="RESHAPE",
    code=57,
    schema="Reshape",
    section="2.10.3",
    inputs=(
        tensor("input1", "in_out_t", "shape1", (0, None)),
        shape_input("shape", "[output_rank]"),
    ),
    attributes=(),
    outputs=(tensor("output", "in_out_t", "output_shape", (0, None)),),
    rows=_rows("PRO-INT"),
    shapes=lambda c: [_known(_values(c, "shape"))],
    checks=(
        Check(
            "RESHAPE.E1",
            lambda c: types.count(c.shape1) != types.count(c.output_shape if c.has("output_shape") else c.shape1),
            "output must have as many elements as the input, got {output_shape} for {shape1}",
            _wrong_reshape,
            "output",
        ),
        Check(
            "RESHAPE.E2",
            lambda c: c.has("output_shape") and _values(c, "shape") not in (None, c.output_shape),
            "output must have the shape that the input 'shape' gives, {shape}, got {output_shape}",
            _shape("shape", 4, 3),
            "output",
        ),
    ),
    example=_reshape_example,
)

# SLICE


def _slice_legal(c: Call) -> bool:
    lengths = {len(v) for v in (_values(c, "start"), _values(c, "size")) if v is not None}
    return lengths <= {len(c.shape1)}


def _slice_beyond(c: Call) -> bool:
    start, size = _values(c, "start"), _values(c, "size")
    if start is None or size is None or not _slice_legal(c):
        return False
    return any(a + n > limit for a, n, limit in zip(start, size, c.shape1, strict=True))


def _slice_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("SLICE").input("input1", t, (4, 3))
    return case.const("start", types.shape, [1, 0]).const("size", types.shape, [2, 3]).output("output", t, (2, 3))


def _longer_start(case: Case) -> None:
    case.const("start", types.shape, [1, 0, 0])


SLICE = OpSpec(
    name="SLICE",
    code=59,
    schema="Slice",
    section="2.10.5",
    inputs=(*INPUTS, shape_input("start", "[start_rank]"), shape_input("size", "[size_rank]")),
    attributes=(),
    outputs=OUTPUTS,
    rows=_rows("PRO-INT"),
    shapes=lambda c: [_known(_values(c, "size"))],
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
            _output_shape(6),
            "output",
        ),
        Check(
            "SLICE.E3",
            lambda c: min(_values(c, "start") or (0,)) < 0,
            "start must not be negative, got {start}",
            _shape("start", -1, 0),
            "start",
        ),
        Check(
            "SLICE.E4",
            lambda c: min(_values(c, "size") or (1,)) <= 0,
            "size must be positive, got {size}",
            _shape("size", 2, 0),
            "size",
        ),
        Check(
            "SLICE.E5",
            _slice_beyond,
            "start {start} plus size {size} goes beyond the input's shape {shape1}",
            _shape("start", 3, 0),
            "start",
        ),
        Check(
            "SLICE.E6",
            lambda c: (
                c.has("shape") and len(c["shape"]) == len(c.shape1) and _values(c, "size") not in (None, c["shape"])
            ),
            "output must have shape {size}, got {shape}",
            _output_shape(2, 2),
            "output",
        ),
    ),
    example=_slice_example,
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
    rows=_rows("PRO-INT"),
    shapes=lambda c: [_known(_permuted(c))],
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
            _output_shape(4, 6),
            "output",
        ),
        Check(
            "TRANSPOSE.E3",
            lambda c: c.has("shape") and types.count(c["shape"]) != types.count(c.shape1),
            "output must have as many elements as the input, got {shape} for {shape1}",
            _output_shape(4, 2, 4),
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
            _output_shape(2, 3, 4),
            "output",
        ),
    ),
    example=_transpose_example,
)

OPERATORS = (CONCAT, PAD, RESHAPE, SLICE, TRANSPOSE)
