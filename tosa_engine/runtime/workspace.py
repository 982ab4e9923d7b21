"""The memory of a block in a run: the arena, each worker's scratch, and the steps bound to them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..kernels.work import Chain, Effect, Loop, aligned
from .bound import Bound
from .program import Program

if TYPE_CHECKING:
    from ..kernels.work import Around
    from ..plan.steps import Plan, Step
    from ..types import Array

WORTH_SHARING = 1_000.0  # nanoseconds of a compiled step that isn't worth sharing
WORTH_SHARING_IN_PYTHON = 200_000.0  # nanoseconds of a step of Python's that is worth it
WORTH_WAKING = 200_000.0  # nanoseconds of all shared steps for which workers are worth waking


class Workspace:
    """The memory of a block in one run at a time: the arena, each worker's scratch, and the steps bound to them, and to
    what is `around` the block.
    """

    def __init__(self, plan: Plan, workers: int, around: Around) -> None:
        self.plan, self.workers = plan, workers
        self.around = around
        self._memory = aligned(plan.arena.size, np.uint8)
        self._views: dict[str, Array] = {}
        most = max((_bytes(s) for s in plan.steps), default=0)
        scratch = [aligned(most, np.uint8) for _ in range(workers)]
        self._team = workers > 1 and shared_cost(plan) >= WORTH_WAKING and _compiles()
        self.steps = [self._bind(step, scratch) for step in plan.steps]
        written = {n for step in plan.steps for _, n in _outputs(step)}
        writer = {n: op.name for op in plan.block.operators for n in op.outputs}
        self._early = [(writer.get(n, ""), n) for n in plan.block.tensors if n not in written and self._known(n)]

    @cached_property
    def program(self) -> Program:
        """The steps as a program, which compiles all of them."""
        looked_at = frozenset(i for i, step in enumerate(self.plan.steps) if self.written_by(step))
        return Program(self.steps, self.workers, looked_at)

    def get_code(self) -> None:
        """Compile all steps now, or read them from the disk."""
        _ = self.program

    @cached_property
    def ports(self) -> tuple[list[Array], list[Array]]:
        """The arrays of the block's inputs, and those of its outputs."""
        block = self.plan.block
        return [self.view(name) for name in block.inputs], [self.view(name) for name in block.outputs]

    def _known(self, name: str) -> bool:
        root = self.plan.roots[name]
        return root in self.plan.constants or root in self.plan.arena.offsets

    def view(self, name: str) -> Array:
        """The array of a tensor, in the arena or a constant."""
        if name not in self._views:
            tensor = self.plan.block.tensors[name]
            root, shape = self.plan.roots[name], tensor.shape
            assert shape is not None
            if root in self.plan.constants:
                self._views[name] = self.plan.constants[root].reshape(shape)
            else:
                start = self.plan.arena.offsets[root] + self.plan.starts.get(name, 0)
                size = tensor.size * tensor.dtype.storage.itemsize
                self._views[name] = self._memory[start : start + size].view(tensor.dtype.storage).reshape(shape)
        return self._views[name]

    def _bind(self, step: Step, scratch: list[Array]) -> Bound:
        work = step.work
        if work is None:
            return Bound(step, None, 0, shared=False, scratch=())
        inputs, outputs = [self.view(n) for n in step.inputs], [self.view(n) for n in step.outputs]
        if isinstance(work, Effect) and work.bind_around is not None:
            run = work.bind_around(inputs, outputs, self.around)
        else:
            run = work.bind(inputs, outputs)
        shared = (
            self._team and can_share(step) and (isinstance(run, (Chain, Loop)) or work.cost >= WORTH_SHARING_IN_PYTHON)
        )
        return Bound(step, run, work.units, shared, tuple(work.carve(memory) for memory in scratch), work.cost)

    def written_by(self, step: Step | None) -> list[tuple[str, str]]:
        """(node, tensor) that are known after a step: kept ones among its operators' outputs; at the start the rest."""
        if step is None:
            return self._early
        return [(node, name) for node, name in _outputs(step) if name in self.plan.keep]


def _compiles() -> bool:
    from ..kernels import _jit

    return _jit.JIT


def can_share(step: Step) -> bool:
    return step.work is not None and max(step.work.units, step.work.most_units) > 1 and step.work.cost >= WORTH_SHARING


def shared_cost(plan: Plan) -> float:
    """Nanoseconds of the steps that several workers can share."""
    return sum(step.work.cost for step in plan.steps if step.work is not None and can_share(step))


def _bytes(step: Step) -> int:
    return 0 if step.work is None else step.work.scratch_bytes


def _outputs(step: Step) -> list[tuple[str, str]]:
    return [(call.operator.name, name) for call in step.calls for name in call.operator.outputs]
