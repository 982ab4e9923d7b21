"""Uses of operators that move elements, of RESIZE, of control flow, variables and CUSTOM."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from ....graph import Block, Operator, Tensor
from ....spec.case import Case
from ....types import bool_, i8

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....types import DType, Shape
    from .use import Use


def pad(use: Use) -> None:
    shape = use.shape()
    sides = np.zeros((len(shape), 2), np.int64)
    axis, which = int(use.rng.integers(0, len(shape))), use.chosen["padding"]
    sides[axis] = {"none": (0, 0), "before": (2, 0), "after": (0, 1), "both": (1, 2)}[which]
    use.operand("input1", shape).constant("padding", sides.reshape(-1))
    use.constant("pad_const", [0 if use.chosen["pad_const"] == "0" else 1]).outputs()


def reshape(use: Use) -> None:
    """The factors of the elements, multiplied until they are as few as the rank of the output."""
    shape, rank = use.shape(), int(use.chosen["rank of output"])
    sizes = [n for n in shape if n > 1]
    while len(sizes) > rank:
        sizes = [sizes[0] * sizes[1], *sizes[2:]]
    sizes = [*sizes, *[1] * (rank - len(sizes))]
    use.operand("input1", shape).constant("shape", use.rng.permutation(np.array(sizes, np.int64))).outputs()


def slice_(use: Use) -> None:
    shape = use.shape()
    start, size = [0] * len(shape), list(shape)
    axis = max(range(len(shape)), key=lambda i: shape[i])
    if use.chosen["size"] == "part":
        start[axis] = int(use.chosen["start"] == "some")
        size[axis] = shape[axis] - 1
    use.operand("input1", shape).constant("start", start).constant("size", size).outputs()


def tile(use: Use) -> None:
    shape = use.shape()
    multiples = [1] * len(shape)
    if use.chosen["multiples"] == "more":
        multiples[int(use.rng.integers(0, len(shape)))] = 3
    use.operand("input1", shape).constant("multiples", multiples).outputs()


def transpose(use: Use) -> None:
    rank = int(use.chosen["rank"])
    perms = list(range(rank))
    if use.chosen["perms"] == "last stays":
        perms = [*perms[-2::-1], rank - 1]
    elif use.chosen["perms"] == "last moves":
        perms = perms[::-1]
    use.case.set(perms=tuple(perms))
    use.operand("input1", use.shape()).outputs()


def gather(use: Use) -> None:
    n, k, w, c = use.number("N", 2), use.number("K", 4), use.number("W", 3), use.number("C")
    use.operand("values", (n, k, c)).operand("indices", (n, w), use.rng.integers(0, k, (n, w))).outputs()


def scatter(use: Use) -> None:
    n, k, w, c = use.number("N", 2), use.number("K", 4), use.number("W", 3), use.number("C")
    indices = np.stack([use.rng.permutation(k)[:w] for _ in range(n)])
    use.operand("values_in", (n, k, c)).operand("indices", (n, w), indices).operand("input", (n, w, c)).outputs()


RATIOS: Final = {"same": ((2, 2), (3, 3)), "up": ((4, 2), (3, 1), (3, 2)), "down": ((2, 4), (2, 3), (1, 2))}
OFFSETS: Final = {"less": (-1, -2), "0": (0,), "more": (1, 2, 3)}


def resize(use: Use) -> None:
    """The first way of an axis, by numbers that get larger, that fits what was chosen."""
    sizes, numbers = [], []
    for axis, letter in (("y", "OH"), ("x", "OW")):
        size, (n, d), offset, border = _sampling(use, axis, single=use.chosen[letter] == "1")
        sizes.append(size)
        numbers.append((n, d, offset, border))
    (yn, yd, yo, yb), (xn, xd, xo, xb) = numbers
    use.operand("input", (use.number("N", 2), *sizes, use.number("C")))
    use.constant("scale", [yn, yd, xn, xd]).constant("offset", [yo, xo]).constant("border", [yb, xb]).outputs()


def _sampling(use: Use, axis: str, *, single: bool) -> tuple[int, tuple[int, int], int, int]:
    borders = {"less": (-1, -2, -3, -4, -5, -6), "0": (0,), "more": (1, 2)}[use.chosen[f"border_{axis}"]]
    offsets, ratios = OFFSETS[use.chosen[f"offset_{axis}"]], RATIOS[use.chosen[f"scale_{axis}"]]
    for size, (n, d), offset, border in product(range(1, 9), ratios, offsets, borders):
        span = (size - 1) * n - offset + border
        legal = -n <= offset < 16 * n and -16 * n <= border < n and span >= 0 and span % d == 0
        if legal and (span == 0) == single:
            return size, (n, d), offset, border
    raise AssertionError(f"{use.spec.name}: no way along {axis} for {dict(use.chosen)}")


def condition(use: Use) -> None:
    """COND_IF: branches of which one changes what it is given."""
    count = use.number("tensors of input_list")
    use.case.input("condition", bool_, (1,) * int(use.chosen["rank"]))
    use.feeds["condition"] = np.full((1,) * int(use.chosen["rank"]), use.rng.integers(0, 2) == 1)
    shapes: list[Shape] = [(2, 3)] * count
    use.case.list_input("input_list", i8, *shapes)
    then, other = _branch("then", "IDENTITY", shapes), _branch("else", "BITWISE_NOT", shapes)
    use.case.region(then).region(other).set(then_graph="then", else_graph="else")
    _list_outputs(use, i8, shapes)


def _branch(name: str, op: str, shapes: list[Shape]) -> Block:
    block = Block(name)
    for i, shape in enumerate(shapes):
        for side, names in (("a", block.inputs), ("b", block.outputs)):
            block.add(Tensor(f"{side}{i}", i8, shape))
            names.append(f"{side}{i}")
        block.operators.append(Operator(op, [f"a{i}"], [f"b{i}"]))
    return block


def _list_outputs(use: Use, dtype: DType, shapes: list[Shape]) -> None:
    for i, shape in enumerate(shapes):
        use.case.output(f"output_{i}", dtype, shape)


def loop(use: Use) -> None:
    """WHILE_LOOP: shifts its first tensor right until it holds zeros; the others are passed on."""
    shapes: list[Shape] = [(1, 3)] * use.number("tensors of input_list")
    use.case.list_input("input_list", i8, *shapes)
    use.feeds["input_list_0"] = np.array([[0, 9, 100]], np.int8)
    body, cond = _branch("body", "IDENTITY", shapes), Block("cond", [f"a{i}" for i in range(len(shapes))])
    body.add(Tensor("one", i8, (1, 1), np.ones((1, 1), np.int8)))
    body.operators[0] = Operator("LOGICAL_RIGHT_SHIFT", ["a0", "one"], ["b0"])
    body.operators.insert(0, Operator("CONST", [], ["one"]))
    for name, shape in zip(cond.inputs, shapes, strict=True):
        cond.add(Tensor(name, i8, shape))
    for op, source, made, dtype, shape in (
        ("REDUCE_MAX", "a0", "most", i8, (1, 1)), ("CAST", "most", "found", bool_, (1, 1)),
    ):  # fmt: skip
        cond.add(Tensor(made, dtype, shape))
        attributes = {"axis": 1, "nan_mode": "PROPAGATE"} if op == "REDUCE_MAX" else {}
        cond.operators.append(Operator(op, [source], [made], attributes))
    cond.outputs = ["found"]
    use.case.region(cond).region(body).set(cond_graph="cond", body_graph="body")
    _list_outputs(use, i8, shapes)


def custom(use: Use) -> None:
    example = use.spec.example(use.row)
    shapes: list[Shape] = [(2, 3)] * use.number("tensors of input_list")
    use.case.set(**example.attributes).list_input("input_list", i8, *shapes)
    _list_outputs(use, i8, shapes)


def variable(use: Use) -> None:
    """A declaration with the operator that uses it: some tools read no others."""
    dtype = use.row.types["var_t"]
    shape = tuple(int(n) for n in use.rng.integers(1, 3, int(use.chosen["rank"])))
    declared = {"name": "v", "var_shape": shape, "type": dtype}
    if use.chosen["initial_value"] == "given":
        use.case = Case("VARIABLE_READ").after("VARIABLE", **declared, initial_value=np.ones(shape, dtype.storage))
        use.case.set(name="v").output("output1", dtype, shape)
    else:
        use.case = Case("VARIABLE_WRITE").after("VARIABLE", **declared, initial_value=None)
        use.case.set(name="v").input("input1", dtype, shape)


def with_variable(use: Use) -> None:
    """VARIABLE_READ and VARIABLE_WRITE behind the declaration."""
    name = use.spec.arguments[0].name
    dtype, shape = use.dtype(name), use.shape()
    initial = np.asarray(use.arange(shape) % 100, dtype.storage)
    use.case.after("VARIABLE", name="v", var_shape=shape, type=dtype, initial_value=initial).set(name="v")
    if use.spec.inputs:
        use.operand(name, shape)
    else:
        use.case.output(name, dtype, shape)


def example(use: Use) -> None:
    """What the op table shows."""
    found = deepcopy(use.spec.example(use.row))
    use.case.inputs, use.case.attributes, use.case.outputs = found.inputs, found.attributes, found.outputs


MOVES: Final[Mapping[str, Callable[[Use], None]]] = {
    "PAD": pad, "RESHAPE": reshape, "SLICE": slice_, "TILE": tile, "TRANSPOSE": transpose, "GATHER": gather,
    "SCATTER": scatter, "RESIZE": resize, "COND_IF": condition, "WHILE_LOOP": loop, "CUSTOM": custom,
    "VARIABLE": variable, "VARIABLE_READ": with_variable, "VARIABLE_WRITE": with_variable,
}  # fmt: skip
