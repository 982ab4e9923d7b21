"""What single operators get wrong: PAD, CONCAT, ADD between RESCALEs, MATMUL, MAX_POOL2D, RESIZE, reductions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .listed import hypothesis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...spec.table import Call
    from ...types import Array
    from ..trial import Trial

    Found = Iterator[tuple[str, Array | None]]

MOST_PARTS: Final = 4
REDUCTIONS: Final = ("REDUCE_SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_ALL", "REDUCE_ANY", "REDUCE_PRODUCT", "ARGMAX")


@hypothesis("padding value", "PAD")
def padding(trial: Trial, call: Call) -> Found:
    value = trial.array(call, "pad_const")
    others = np.unique(trial.got[trial.differs]) if call.operator.outputs[0] == trial.target else np.zeros(1, int)
    if others.size == 1 and others[0] != value[0]:
        yield f"padded with {others[0]} instead of {value[0]}", trial.again(call, pad_const=others.astype(value.dtype))


@hypothesis("parts", "CONCAT")
def parts(trial: Trial, call: Call) -> Found:
    given = trial.arguments(call)["input1"]
    assert isinstance(given, list)
    if len(given) <= MOST_PARTS:
        for order in itertools.permutations(range(len(given))):
            if list(order) != sorted(order):
                yield f"parts in the order {list(order)}", trial.again(call, input1=[given[i] for i in order])


@hypothesis("scales of operands", "ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM")
def operand_scales(trial: Trial, call: Call) -> Found:
    """Each operand is scaled as the other one should be."""
    first, second = (trial.producer(name) for name in call.operator.inputs[:2])
    if first is None or second is None or first.spec.name != "RESCALE" or second.spec.name != "RESCALE":
        return
    names = ("multiplier", "shift")
    of_first = {name: trial.array(first, name) for name in names}
    of_second = {name: trial.array(second, name) for name in names}
    if all(np.array_equal(of_first[name], of_second[name]) for name in names):
        return
    swapped = trial.again(first, **of_second), trial.again(second, **of_first)
    for which, a, b in (("swapped", *swapped), ("both the first one's", None, swapped[1]),
                        ("both the second one's", swapped[0], None)):  # fmt: skip
        changed = {name: value for name, value in (("input1", a), ("input2", b)) if value is not None}
        if changed:
            yield f"scales of the operands {which}", trial.again(call, **changed)


@hypothesis("matrix product", "MATMUL")
def product(trial: Trial, call: Call) -> Found:
    a, b = trial.array(call, "A"), trial.array(call, "B")
    zeros = trial.array(call, "A_zp"), trial.array(call, "B_zp")
    if b.shape[1] == b.shape[2]:
        yield "B transposed", trial.again(call, B=np.ascontiguousarray(b.swapaxes(1, 2)))
    else:
        yield (
            "the elements of B in transposed order",
            trial.again(call, B=np.ascontiguousarray(b.swapaxes(1, 2)).reshape(b.shape)),
        )
    for name, zero in zip(("A_zp", "B_zp"), zeros, strict=True):
        if zero.any():
            changed: dict[str, Array | list[Array]] = {name: np.zeros_like(zero)}
            yield f"{name[0]}'s zero point {zero[0]} not subtracted", trial.again(call, **changed)
    if zeros[0][0] != zeros[1][0]:
        yield "the zero points of A and B swapped", trial.again(call, A_zp=zeros[1], B_zp=zeros[0])
    for by in (1, -1) if a.shape[0] > 1 else ():
        yield f"B's matrices rotated by {by:+}", trial.again(call, B=np.roll(b, by, 0))
        yield f"A's matrices rotated by {by:+}", trial.again(call, A=np.roll(a, by, 0))


@hypothesis("maximum", "MAX_POOL2D")
def maximum(trial: Trial, call: Call) -> Found:
    values, pad = trial.array(call, "input"), call.pad
    if values.dtype.kind == "i":
        top = np.asarray(np.iinfo(values.dtype).min, values.dtype)
        found = trial.again(call, input=values ^ top)
        yield "maximum of unsigned values", None if found is None else found ^ top
    if not any(pad):
        right = trial.values[call.operator.outputs[0]]
        rows, columns = call.stride
        picked = values[:, ::rows, ::columns][:, : right.shape[1], : right.shape[2]]
        yield "the first element of each window instead of its maximum", np.ascontiguousarray(picked)


@hypothesis("place of the image", "RESIZE")
def shifted(trial: Trial, call: Call) -> Found:
    """Off by a row or a column of the input, or by one step of the offset."""
    values, offset, border = (trial.array(call, name) for name in ("input", "offset", "border"))
    for axis, name in ((1, "row"), (2, "column")):
        for by in (1, -1):
            rolled = np.take(values, np.clip(np.arange(values.shape[axis]) - by, 0, values.shape[axis] - 1), axis)
            yield f"off by one {name} of the input ({by:+})", trial.again(call, input=rolled)
            moved, end = offset.copy(), border.copy()
            moved[axis - 1] += by
            end[axis - 1] += by  # the size of the output stays
            text = f"offset {moved.tolist()} instead of {offset.tolist()}"
            yield text, trial.again(call, offset=moved, border=end)


@hypothesis("last element", *REDUCTIONS)
def last_element(trial: Trial, call: Call) -> Found:
    values: Any = trial.array(call, "input")
    size = values.shape[call.axis]
    if size > 1:
        index = [slice(None)] * values.ndim
        index[call.axis] = slice(0, size - 1)
        yield "without the last element", trial.again(call, input=np.ascontiguousarray(values[tuple(index)]))
        index[call.axis] = slice(1, size)
        if call.spec.name != "ARGMAX":
            yield "without the first element", trial.again(call, input=np.ascontiguousarray(values[tuple(index)]))
