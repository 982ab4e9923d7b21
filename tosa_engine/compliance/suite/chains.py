"""Operators behind each other as networks have them, which implementations compute as one step: with aimed data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...graph import Operator
from ...infer import infer
from ...lower.writer import Writer
from ...spec import TABLE
from ...types import BY_NAME, i8, i32

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from ...graph import Graph, Tensor
    from ...types import Array

    Made = tuple[Graph, dict[str, Array]]
    First = Callable[[str, str, int, random.Random], Made]

# the first operator with its row and the aim, then what follows
CHAINS: Final = (
    ("RESCALE", "i32_i8", 1, ("CLAMP",)),
    ("RESCALE", "i8_i8", 1, ("CLAMP",)),
    ("RESCALE", "i32_i16", 1, ("CLAMP",)),
    ("RESCALE", "i32_i8", 0, ("TABLE",)),
    ("CONV2D", "i8_i8_i32_acci32", 0, ("RESCALE", "CLAMP")),
    ("DEPTHWISE_CONV2D", "i8_i8_i32_acci32", 0, ("RESCALE", "CLAMP")),
    ("MATMUL", "i8_i32", 0, ("RESCALE",)),
    ("RESCALE", "i8_i32", 0, ("ADD", "RESCALE", "CLAMP")),
    ("AVG_POOL2D", "i8_acci32", 0, ("CLAMP",)),
    ("RESCALE", "i8_i32", 2, ("MUL", "RESCALE")),
    ("NEGATE", "i8_acci32", 0, ("CLAMP",)),
)


def chain(number: int, rng: random.Random, first: First) -> Made:
    """The chain of this number, again from the first one after the last; `first` makes aimed single operators."""
    operator, row, aim, rest = CHAINS[number % len(CHAINS)]
    spec = TABLE[operator]
    keys = [one.key for one in spec.rows]
    graph, feeds = first(operator, row if row in keys else _like(keys, row), aim, rng)
    for op in graph.main.operators:
        if op.attributes.get("rounding_mode") == "INEXACT_ROUND":  # leaves the result open, and all that follows
            op.attributes["rounding_mode"] = "SINGLE_ROUND"
    for name in rest:
        _follow(graph, name, rng)
    infer(graph)
    return graph, feeds


def _like(keys: list[str], row: str) -> str:
    return next((key for key in keys if key.split("_")[0] == row.split("_", maxsplit=1)[0]), keys[0])


def _follow(graph: Graph, name: str, rng: random.Random) -> None:
    infer(graph)
    block = graph.main
    writer, last = Writer(block), block.tensors[block.outputs[0]]

    def constant(stem: str, dtype: Any, values: Any) -> str:
        return writer.constant(stem, dtype, np.asarray(values, dtype.storage)).name

    inputs, attributes, dtype = _OPERANDS[name](last, constant, rng)
    made = writer.tensor("t", dtype, None)
    writer.append(Operator(name, [last.name, *inputs], [made.name], attributes))
    block.outputs = [made.name]


def _clamp(last: Tensor, constant: Any, rng: random.Random) -> tuple[list[str], dict[str, Any], Any]:
    low, high = last.dtype.minimum, last.dtype.maximum
    ends = rng.choice([(low, high), (low // 2, high // 2), (0, high), (low + 1, high - 1)])
    return [], {"min_val": ends[0], "max_val": ends[1], "nan_mode": "PROPAGATE"}, last.dtype


def _rescale(last: Tensor, constant: Any, rng: random.Random) -> tuple[list[str], dict[str, Any], Any]:
    """From int32 to int8, so that a part of the results is clipped."""
    shift = rng.choice([31, 32, 34, 37, 40])
    inputs = [constant("multiplier", i32, [rng.randint(1 << 30, (1 << 31) - 1)]), constant("shift", i8, [shift])]
    inputs += [constant("zero", i32, [0]), constant("zero", i8, [rng.choice([0, 3, -128])])]
    modes = ["SINGLE_ROUND", "DOUBLE_ROUND"]
    attributes = {"scale32": True, "rounding_mode": rng.choice(modes), "per_channel": False}
    return inputs, {**attributes, "input_unsigned": False, "output_unsigned": False}, i8


def _table(last: Tensor, constant: Any, rng: random.Random) -> tuple[list[str], dict[str, Any], Any]:
    return [constant("table", i8, [rng.randint(-128, 127) for _ in range(256)])], {}, i8


def _with_itself(last: Tensor, constant: Any, rng: random.Random) -> tuple[list[str], dict[str, Any], Any]:
    shape = (1,) * len(last.shape or ())
    return [constant("other", last.dtype, np.full(shape, rng.randint(-99, 99)))], {}, last.dtype


def _product(last: Tensor, constant: Any, rng: random.Random) -> tuple[list[str], dict[str, Any], Any]:
    inputs, attributes, dtype = _with_itself(last, constant, rng)
    return [*inputs, constant("shift", BY_NAME["i8"], [rng.choice([0, 7, 31])])], attributes, dtype


_OPERANDS: Final = {"CLAMP": _clamp, "RESCALE": _rescale, "TABLE": _table, "ADD": _with_itself, "MUL": _product}
