"""Operators as a program: which ones can be, and what the loop reads of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ... import types
from ..bounds import holds
from ..scale.rescale import output_range, scale_of, zero_points
from ..work import Loop, Work, constant
from . import places as at
from .places import MOST, WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...graph import Tensor
    from ...spec.table import Call
    from ...types import Array
    from ..work import Run

INTEGERS: Final = (types.i8, types.i16, types.i32)
OF_TWO: Final = {
    "ADD": at.ADD, "SUB": at.SUB, "MUL": at.MUL, "MAXIMUM": at.MAXIMUM, "MINIMUM": at.MINIMUM,
    "LOGICAL_LEFT_SHIFT": at.SHIFT_LEFT, "LOGICAL_RIGHT_SHIFT": at.SHIFT_BITS_RIGHT,
    "ARITHMETIC_RIGHT_SHIFT": at.SHIFT_RIGHT,
}  # fmt: skip
OF_ONE: Final = {"CLZ": at.CLZ, "CLAMP": at.CLAMP, "CAST": at.CUT, "RESCALE": at.RESCALE}
REDUCTIONS: Final = {"REDUCE_SUM": at.REDUCE_SUM, "REDUCE_MAX": at.REDUCE_MAX, "REDUCE_MIN": at.REDUCE_MIN}
LONGEST: Final = 62  # shift of a RESCALE, and of a MUL that is tested
KNOWN: Final = frozenset((*OF_TWO, *OF_ONE, *REDUCTIONS, "TABLE"))
TESTED: Final = ("ADD", "SUB", "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT", "ARITHMETIC_RIGHT_SHIFT", "REDUCE_SUM")


def can_be_small(call: Call) -> bool:
    """Whether a program can do an operator: few integers, whose REQUIREs the loop tests, or that are proved."""
    name = call.spec.name
    if name not in KNOWN:
        return False
    tensors = [call.tensor(a.name) for a in (*call.spec.inputs, *call.spec.outputs)]
    if any(t.dtype not in INTEGERS for t in tensors) or any(t.size > MOST for t in tensors if t.data is None):
        return False
    proved = _is_proved(call)
    tested = name in TESTED or (name == "MUL" and 0 <= int(call["shift"]) <= LONGEST)
    if not (proved or tested):
        return False
    operands = [t for t in _operands(call) if t.data is None or t.size > 1]
    if name in REDUCTIONS:
        return bool(call.tensor("output").size == 1)
    if any(t.size != call.tensor("output").size for t in operands if t.size > 1):
        return False
    if name in OF_TWO:
        return name in ("MUL", "MAXIMUM", "MINIMUM") or call.tensor("output").dtype is types.i32
    if name == "RESCALE":
        return not (call.per_channel or call.input_unsigned or call.output_unsigned) and bool(call.scale32)
    return name != "TABLE" or call.constant("table") is not None


def _is_proved(call: Call) -> bool:
    if call.spec.name != "RESCALE":
        return all(require.label in call.proved for require in call.spec.requires)
    if call.constant("multiplier") is None or call.constant("shift") is None:
        return False
    multiplier, shift, _ = scale_of(call)
    return multiplier >= 0 and 2 <= shift <= LONGEST and holds(call, "R3", "R5")


def _operands(call: Call) -> list[Tensor]:
    names = ("input1", "input2") if call.spec.name in OF_TWO else (call.spec.inputs[0].name,)
    return [call.tensor(name) for name in names]


class Program:
    """Puts operators on a few integers into words; tensors get places in a memory of int64 by their names."""

    def __init__(self) -> None:
        self.words: list[list[int]] = []
        self.tables: list[Array] = []
        self.values: dict[int, Array] = {}  # of constants, by their places
        self.places: dict[str, int] = {}
        self.size = 0

    def place(self, tensor: Tensor) -> int:
        if tensor.name not in self.places:
            self.places[tensor.name] = self.size
            if tensor.data is not None:
                self.values[self.size] = tensor.data.reshape(-1).astype(np.int64)
            self.size += tensor.size
        return self.places[tensor.name]

    def add(self, call: Call) -> None:
        output, operands = call.tensor("output"), _operands(call)
        kind = REDUCTIONS.get(call.spec.name)
        if kind is not None:
            self.word(kind, operands[0].size, self.place(output), operands)
            return
        kind, numbers = self.described(call)
        self.word(kind, output.size, self.place(output), operands, numbers)

    def word(self, kind: int, count: int, to: int, operands: Sequence[Tensor], numbers: Sequence[int] = ()) -> None:
        read = [n for tensor in operands for n in (self.place(tensor), int(tensor.size > 1))]
        found = [kind, count, to, *read, *[0] * (4 - len(read)), *numbers]
        self.words.append(found + [0] * (WORDS - len(found)))

    def described(self, call: Call) -> tuple[int, list[int]]:
        """An operation and its numbers."""
        name = call.spec.name
        if name == "TABLE":
            return self.table(constant(call, "table"))
        if name == "RESCALE":
            return at.RESCALE, [*scale_of(call), *zero_points(call), *output_range(call)]
        if name == "CLAMP":
            return at.CLAMP, [call.min_val, call.max_val]
        if name == "CAST":
            return at.CUT, [call.tensor("output").dtype.bits]
        if name == "ARITHMETIC_RIGHT_SHIFT":
            return at.SHIFT_RIGHT, [int(call.round)]
        if name == "MUL":
            return at.MUL, [int(call["shift"])]
        return {**OF_TWO, **OF_ONE}[name], []

    def table(self, entries: Array) -> tuple[int, list[int]]:
        start = sum(len(one) for one in self.tables)
        self.tables.append(entries.reshape(-1).astype(np.int64))
        return (at.INTERPOLATE if entries.dtype == np.int16 else at.LOOK_UP), [start]


def small_work(calls: Sequence[Call], source: Tensor, result: Tensor) -> Work:
    """One step of operators that compute `result` from `source` alone."""
    from . import loops

    made = Program()
    made.word(at.LOAD, source.size, made.place(source), ())
    for call in calls:
        made.add(call)
    made.word(at.STORE, result.size, 0, [result])
    p = np.array(made.words, np.int64).reshape(-1)
    tables = np.concatenate([*made.tables, np.zeros(1, np.int64)])

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        memory = np.zeros(made.size, np.int64)
        for place, values in made.values.items():
            memory[place : place + len(values)] = values
        return Loop(loops.program, inputs[0].reshape(-1), p, tables, memory, outputs[0].reshape(-1))

    return Work(1, 10.0 * len(calls), bind)
