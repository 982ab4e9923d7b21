"""Operators whose compile-time constants are known only when they run (EXT-DYNAMIC): prepared anew each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...infer import bind_values, waits
from ...kernels.work import Work, aligned
from .proofs import prove_alone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...kernels import Kernel
    from ...kernels.work import Run
    from ...spec.table import Call
    from ...target import Level
    from ...types import Array


def unknown(kernel: Kernel, call: Call) -> bool:
    """Whether a compile-time constant, or another constant that the kernel needs, isn't known yet."""
    return waits(call) or any(call.constant(name) is None for name in kernel.constants)


def late_work(kernel: Kernel, call: Call, level: Level | None = None) -> Work:
    """Work of one unit that binds the operator to the values it finds, checks its rules and runs it."""

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            known = bind_values(call, _values(call, kernel, inputs), level)
            work = kernel.prepare(prove_alone(known))
            return work.bind(inputs, outputs)(0, work.units, [aligned(count, dtype) for dtype, count in work.scratch])

        return run

    return Work(1, 1.0, bind)


def _values(call: Call, kernel: Kernel, inputs: Sequence[Array]) -> dict[str, Array]:
    """The values of constants, by the tensor's name."""
    values = dict(zip(call.operator.inputs, inputs, strict=True))
    needed = [a.name for a in call.spec.inputs if not a.is_list and (a.ctc or a.name in kernel.constants)]
    names = {call.tensor(name).name for name in needed}
    return {name: value for name, value in values.items() if name in names}
