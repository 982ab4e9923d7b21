"""Kernels of the variable operators. A REQUIRE that fails is told by the oracle, as for all kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..state import Variable
from .layout.copies import move_loop
from .work import DONE, Chain, Kernel, aligned, effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Around, Effect, Loop, Run

FAILED = 0


def variable(call: Call) -> Effect:
    dtype, shape, initial = call.var_t, call.var_shape, call.initial_value
    fits = initial is None or (initial.dtype == dtype.storage and initial.shape == shape)

    def bind(inputs: Sequence[Array], outputs: Sequence[Array], around: Around) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            variables, name = around.variables, call["name"]
            if name in variables.seen or not (fits or name in variables.held):
                return FAILED
            variables.declare(name, Variable(dtype, shape, None if initial is None else initial.copy()))
            return DONE

        return run

    return effect(bind)


def variable_write(call: Call) -> Effect:
    def bind(inputs: Sequence[Array], outputs: Sequence[Array], around: Around) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            variables, name = around.variables, call["name"]
            held = variables.held.get(name)
            if held is None or name not in variables.declared:
                return FAILED
            if held.shape != call.shape or held.dtype is not call.in_t:
                return FAILED
            variables.write(name, inputs[0].copy())
            return DONE

        return run

    return effect(bind)


def variable_read(call: Call) -> Effect:
    def bind(inputs: Sequence[Array], outputs: Sequence[Array], around: Around) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            held = around.variables.held.get(call["name"])
            if held is None or held.data is None or held.shape != call.shape or held.dtype is not call.out_t:
                return FAILED
            np.copyto(outputs[0], held.data)
            return DONE

        return run

    return effect(bind)


def write_all(pairs: Sequence[tuple[Array, Array]]) -> Chain:
    """Copies each first array to the second one, as if all at once: what another pair reads is copied aside before it
    is written.
    """
    early: list[Loop] = []
    late: list[Loop] = []
    for i, (value, target) in enumerate(pairs):
        written = [other for j, (_, other) in enumerate(pairs) if j != i]
        if any(np.may_share_memory(value, other) for other in written):
            aside = aligned(value.nbytes, np.uint8).view(value.dtype).reshape(value.shape)
            early.append(move_loop(value, aside))
            value = aside
        late.append(move_loop(value, target))
    return Chain(*((loop, 1) for loop in (*early, *late)))


TYPES = ("i8", "fp16", "fp32")
KERNELS = (
    {("VARIABLE", t): Kernel(variable) for t in TYPES}
    | {("VARIABLE_WRITE", t): Kernel(variable_write) for t in TYPES}
    | {("VARIABLE_READ", t): Kernel(variable_read) for t in TYPES}
)
