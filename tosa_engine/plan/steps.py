"""The vocabulary of plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block
    from ..kernels.work import Work
    from ..spec.table import Call
    from ..types import Array, DType


@dataclass(frozen=True)
class Step:
    """One kernel on some tensors: `calls` are the operators it computes, in order. `work` is None where there is
    nothing to do, because the output shares the input's bytes, or its inputs were written into it.
    """

    calls: tuple[Call, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    work: Work | None

    @property
    def output(self) -> str:
        """The first output; empty where there is none."""
        return self.outputs[0] if self.outputs else ""

    @property
    def name(self) -> str:
        return self.calls[-1].operator.name

    @property
    def operators(self) -> str:
        """The operators' names, like CONV2D+RESCALE+TABLE(RESCALE+MUL+RESCALE)."""
        return "+".join(name_of(call) for call in self.calls)


def name_of(call: Call) -> str:
    """The operator's name, with those of the graph that it stands for."""
    instead = "+".join(one.spec.name for one in call.stands_for)
    return call.spec.name + (f"({instead})" if instead not in ("", call.spec.name) else "")


@dataclass(frozen=True)
class Arena:
    """Offsets by name, and three sizes in bytes: of the arena, of all buffers, and the most that live at one step."""

    offsets: Mapping[str, int]
    size: int
    total: int
    lower_bound: int


@dataclass(frozen=True)
class Held:
    """A variable that lies in the memory of a run: `at` is the tensor with its value while the run goes on, `then` the
    one with its value when that has ended; None where nothing is written.
    """

    dtype: DType
    at: str
    then: str | None
    initial: Array


@dataclass(frozen=True)
class Plan:
    """Steps in order. `roots` maps each tensor to the one whose buffer it uses, `starts` those that begin further in
    this buffer to how many bytes further; `constants` hold values of roots; `regions` are the plans of the regions that
    control flow runs, by name. The block is for one of `parts` equal parts of the batch. With `parts_in_parallel`,
    every worker does parts of its own, otherwise all workers share the steps of one after the other. `held` are the
    variables that lie in the block's memory, by name; as inputs and outputs of the block they live through every run.
    """

    block: Block
    steps: tuple[Step, ...]
    roots: Mapping[str, str]
    constants: Mapping[str, Array]
    arena: Arena
    starts: Mapping[str, int]
    keep: frozenset[str] = field(default_factory=frozenset)
    regions: Mapping[str, Plan] = field(default_factory=dict)
    parts: int = 1
    parts_in_parallel: bool = False
    held: Mapping[str, Held] = field(default_factory=dict)
