"""Kernels of the control flow operators: they run regions, which are plans of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .work import DONE, Kernel, effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Around, Effect, Run


def _store(outputs: Sequence[Array], values: Sequence[Array]) -> int:
    for output, value in zip(outputs, values, strict=True):
        np.copyto(output, value)
    return DONE


def cond_if(call: Call) -> Effect:
    def bind(inputs: Sequence[Array], outputs: Sequence[Array], around: Around) -> Run:
        condition, *values = inputs

        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            return _store(outputs, around.run(call.then_graph if condition.reshape(-1)[0] else call.else_graph, values))

        return run

    return effect(bind)


def while_loop(call: Call) -> Effect:
    """The body's results are copied before they become its inputs: both lie in the memory of the body."""

    def bind(inputs: Sequence[Array], outputs: Sequence[Array], around: Around) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            values = list(inputs)
            while around.run(call.cond_graph, values)[0].reshape(-1)[0]:
                values = [value.copy() for value in around.run(call.body_graph, values)]
            return _store(outputs, values)

        return run

    return effect(bind)


KERNELS = {("COND_IF", "all"): Kernel(cond_if), ("WHILE_LOOP", "all"): Kernel(while_loop)}
