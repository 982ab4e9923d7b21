"""What a run takes, compared with what it may take before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import memory
from ..spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..graph import Graph, Tensor
    from ..plan.steps import Plan
    from ..types import Array


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes of a run: `held` are the graph's constants, in memory already, `packed` other forms of them that kernels
    read, and what planning computed; `tensors` those inside, and `work` the kernels' own, in all workers; `kept` what
    probes keep; `arrays` in- and outputs.
    """

    held: int
    packed: int
    tensors: int
    work: int
    kept: int
    arrays: int
    workers: int

    @property
    def total(self) -> int:
        return self.held + self.packed + self.tensors + self.work + self.kept + self.arrays

    def __str__(self) -> str:
        parts = {
            "constants": self.held, "constants as kernels read them": self.packed, "tensors": self.tensors,
            f"work in {self.workers} threads": self.work, "tensors that are kept": self.kept,
            "in- and outputs": self.arrays,
        }  # fmt: skip
        return ", ".join(f"{size:,} for {what}" for what, size in parts.items() if size)

    def check(self, limit: int | None) -> None:
        """Raise DataError where the run takes more than `limit` bytes (None: than there are)."""
        memory.refuse_more(self.total, f"a run takes {self.total:,} bytes ({self})", limit, self.held)

    def fits(self, limit: int | None) -> bool:
        return memory.fits(self.total, limit, self.held)


def before_planning(graph: Graph, keep: Iterable[str], workers: int) -> Need:
    """What any plan of the graph takes: constants, their packed forms, kept tensors, in- and outputs."""
    weights = {id(a): a.nbytes for a in map(_whole, _weights(graph))}
    arrays = _bytes([*graph.inputs, *graph.outputs])
    return Need(_size(_constants(graph)), sum(weights.values()), 0, 0, kept(graph, keep), arrays, workers)


def of_plan(first: Need, graph: Graph, plan: Plan, *, in_parallel: bool = False, runs: int = 1) -> Need:
    """What a plan takes of which `first` was known before; `in_parallel`: of several `runs`, each worker does some."""
    blocks, workers = [plan, *plan.regions.values()], first.workers
    tensors = sum(block.arena.size for block in blocks)
    work = max((step.work.scratch_bytes for b in blocks for step in b.steps if step.work is not None), default=0)
    copies = workers if in_parallel or plan.parts_in_parallel else 1
    every = _size([*_constants(graph), *(array for b in blocks for array in b.constants.values())])
    packed = first.packed + every - first.held
    return Need(first.held, packed, copies * tensors, workers * work, first.kept, runs * first.arrays, workers)


def kept(graph: Graph, names: Iterable[str]) -> int:
    """Bytes of tensors of the main block, by name."""
    found = graph.main.tensors
    return _bytes(found[name] for name in names if name in found)


def _bytes(tensors: Iterable[Tensor]) -> int:
    return sum((t.size or 0) * t.dtype.storage.itemsize for t in tensors)


def _constants(graph: Graph) -> Iterator[Array]:
    for _, block in graph.blocks():
        yield from (tensor.data for tensor in block.tensors.values() if tensor.data is not None)


def _weights(graph: Graph) -> Iterator[Array]:
    """Constants that kernels pack: each as large as it is, about."""
    for _, block in graph.blocks():
        for op in block.operators:
            if TABLE[op.op].traits.weight is not None:
                value = block.tensors[op.inputs[1]].data
                yield from () if value is None else (value,)


def _size(arrays: Iterable[Array]) -> int:
    """Bytes of arrays together, where some are the same or parts of each other."""
    return sum({id(whole): whole.nbytes for whole in map(_whole, arrays)}.values())


def _whole(array: Array) -> Array:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
