"""Data layout (specification 2.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import types
from .case import Case
from .rearrange import INPUTS, OUTPUTS, REVERSE, SLICE, TILE, TRANSPOSE, known, output_shape, rows, shape_setter, values
from .table import Argument, Attribute, Call, Check, Limit, OpSpec, Row, scalar, shape_input, tensor
from .traits import AlongAxis, EachAxis, Entries, Memory, Reshaped, in_order, rearranged, view

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import Shape

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
    rows=rows("EXT-INT16"),
    traits=rearranged("input1", batch=("input1",), axes=AlongAxis("axis", keeps_rank=True), memory=Memory.PARTS),
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
            output_shape(2, 5),
            "output",
        ),
    ),
    example=_concat_example,
)

# PAD


def _padded(c: Call) -> Shape | None:
    padding = values(c, "padding")
    if padding is None or len(padding) != 2 * len(c.shape1):
        return None
    return tuple(
        before + size + after for before, size, after in zip(padding[::2], c.shape1, padding[1::2], strict=True)
    )


def _pad_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("PAD").input("input1", t, (2, 3)).const("padding", types.shape, [0, 1, 2, 0]).const("pad_const", t, [1])
    return case.output("output", t, (3, 5))


PAD = OpSpec(
    name="PAD",
    code=56,
    schema="Pad",
    section="2.10.2",
    inputs=(*INPUTS, shape_input("padding", "[2*rank(shape1)]"), scalar("pad_const", "in_out_t")),
    attributes=(),
    outputs=OUTPUTS,
    rows=rows("PRO-INT"),
    traits=rearranged("input1", batch=("input1",), axes=EachAxis((Entries("padding", 2, 0),)), fill="pad_const"),
    shapes=lambda c: [known(_padded(c))],
    checks=(
        Check(
            "PAD.E1",
            lambda c: c.has("shape") and len(c["shape"]) != len(c.shape1),
            "output must have the input's rank, got {shape} for {shape1}",
            output_shape(15),
            "output",
        ),
        Check(
            "PAD.E2",
            lambda c: min(values(c, "padding") or (0,)) < 0,
            "padding must not be negative, got {padding}",
            shape_setter("padding", 0, 1, -1, 3),
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
            output_shape(3, 6),
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
    rows=rows("PRO-INT"),
    traits=view(in_order, Reshaped("shape")),
    shapes=lambda c: [known(values(c, "shape"))],
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
            lambda c: c.has("output_shape") and values(c, "shape") not in (None, c.output_shape),
            "output must have the shape that the input 'shape' gives, {shape}, got {output_shape}",
            shape_setter("shape", 4, 3),
            "output",
        ),
    ),
    example=_reshape_example,
)

OPERATORS = (CONCAT, PAD, RESHAPE, REVERSE, SLICE, TILE, TRANSPOSE)
