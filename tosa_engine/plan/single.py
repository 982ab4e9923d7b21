"""The work of one operator by its kernel: now, or, where its compile-time constants are known only when it runs
(EXT-DYNAMIC), anew in each run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..infer import bind_values, waits
from ..kernels import KERNELS
from ..kernels.work import Work, aligned
from .proofs import prove_alone
from .steps import Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..kernels import Kernel
    from ..kernels.work import Run
    from ..spec.table import Call
    from ..target import Level
    from ..types import Array


def row_of(call: Call) -> tuple[str, str]:
    """The operator and the key of its row, by which kernels and their forms are registered."""
    assert call.row is not None
    return call.spec.name, call.row.key


def kernel_of(call: Call) -> Kernel:
    return KERNELS[row_of(call)]


def is_known(call: Call) -> bool:
    """Whether all compile-time constants, and the other constants that the kernel needs, are known."""
    return not waits(call) and all(call.constant(name) is not None for name in kernel_of(call).constants)


def prepare(call: Call, level: Level | None = None) -> Work:
    """The work of one operator by its kernel, for all values of its inputs' types."""
    return work_of(prove_alone(call), level)


def work_of(call: Call, level: Level | None = None) -> Work:
    """The work of one operator, for what is proved of it."""
    return kernel_of(call).prepare(call) if is_known(call) else prepared_in_run(call, level)


def single(call: Call, level: Level | None) -> Step:
    """A step of one operator."""
    work = None if kernel_of(call).alias and is_known(call) else work_of(call, level)
    return Step((call,), tuple(call.operator.inputs), tuple(call.operator.outputs), work)


def prepared_in_run(call: Call, level: Level | None = None) -> Work:
    """Work of one unit that binds the operator to the values it finds, checks its rules and runs it."""

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            known = prove_alone(bind_values(call, _values(call, inputs), level))
            work = kernel_of(known).prepare(known)
            return work.bind(inputs, outputs)(0, work.units, [aligned(count, dtype) for dtype, count in work.scratch])

        return run

    return Work(1, 1.0, bind)


def _values(call: Call, inputs: Sequence[Array]) -> dict[str, Array]:
    """The values of constants, by the tensor's name."""
    values = dict(zip(call.operator.inputs, inputs, strict=True))
    constants = kernel_of(call).constants
    needed = [a.name for a in call.spec.inputs if not a.is_list and (a.ctc or a.name in constants)]
    names = {call.tensor(name).name for name in needed}
    return {name: value for name, value in values.items() if name in names}
