"""Operators whose compile-time constants are known only when they run (EXT-DYNAMIC): prepared anew each time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import raise_all
from ..graph import Block
from ..infer import violations
from ..kernels.work import Work, aligned
from ..spec import bind_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Tensor
    from ..kernels import Kernel
    from ..kernels.work import Run
    from ..spec.table import Call
    from ..types import Array


def unknown(kernel: Kernel, call: Call) -> bool:
    """Whether a constant that the kernel needs isn't known yet."""
    return any(call.constant(name) is None for name in kernel.constants)


def late_work(kernel: Kernel, call: Call) -> Work:
    """Work of one unit that binds the operator to the values it finds, checks its ERROR_IFs and runs it."""
    operator = call.operator

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            known = bind_operator(operator, _with_values(call, kernel, inputs))
            raise_all(violations(known))
            work = kernel.prepare(known)
            return work.bind(inputs, outputs)(0, work.units, [aligned(count, dtype) for dtype, count in work.scratch])

        return run

    return Work(1, 1.0, bind)


def _with_values(call: Call, kernel: Kernel, inputs: Sequence[Array]) -> Block:
    tensors: dict[str, Tensor] = {}
    values = dict(zip(call.operator.inputs, inputs, strict=True))
    for argument in call.spec.arguments:
        found = call.tensors[argument.name]
        for tensor in found if isinstance(found, list) else [found]:
            known = argument.name in kernel.constants and tensor.name in values
            tensors[tensor.name] = replace(tensor, data=values[tensor.name] if known else tensor.data)
    return Block("late", tensors=tensors)
