"""What a processor asks of a graph, and where a graph doesn't have it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from ..errors import GraphError
from ..infer import callees_first, infer_block
from ..spec import is_constant
from ..target import Target
from .conditions import parse
from .place import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..graph import Graph
    from .conditions import Condition


@dataclass(frozen=True)
class Rule:
    """Of operators (none: of all) for which every `when` holds: every one of `needs` must hold. `why` is what the
    processor has, `rewrite` what helps.
    """

    label: str
    operators: tuple[str, ...]
    needs: tuple[str, ...]
    why: str
    rewrite: str = ""
    when: tuple[str, ...] = ()

    @cached_property
    def _when(self) -> tuple[Condition, ...]:
        return tuple(parse(text) for text in self.when)

    @cached_property
    def _needs(self) -> tuple[Condition, ...]:
        return tuple(parse(text) for text in self.needs)

    def broken(self, place: Place) -> str:
        """What an operator has that it shouldn't have; or nothing."""
        if self.operators and place.call.operator.op not in self.operators:
            return ""
        if any(one.holds(place) is not True for one in self._when):
            return ""
        return ", ".join(one.shown(place) for one in self._needs if one.holds(place) is False)


@dataclass(frozen=True)
class Npu:
    """A processor: what graphs for it are checked against, the formats that the first argument of its operators may
    have, its rules, and what an estimate of its cycles needs: products of 8 bits, bytes of tensors and bytes of
    constants in a cycle, and the units of operators that have others than usual (`estimate`).
    """

    name: str
    operators: Mapping[str, tuple[str, ...]]
    rules: tuple[Rule, ...] = ()
    target: Target = field(default_factory=Target)
    source: str = ""
    macs_per_cycle: int = 0
    bytes_per_cycle: float = 0.0
    constant_bytes_per_cycle: float = 0.0
    units: Mapping[str, int] = field(default_factory=dict)
    clock: float = 0.0  # Hz


class TargetError(GraphError):
    """A rule of a processor doesn't hold."""


def violations(graph: Graph, npu: Npu) -> list[GraphError]:
    """All rules of the processor that the operators of a graph break. The graph must be legal; it isn't changed."""
    graph = graph.copy()
    found: list[GraphError] = []
    for _, block in callees_first(graph):
        bound, _ = infer_block(block, graph)
        producers, consumers = block.producers(), block.consumers()
        for one in bound:
            if not is_constant(one.call.operator):
                found += _of(Place(one.call, producers, consumers), npu)
    return found


def _of(place: Place, npu: Npu) -> Iterator[TargetError]:
    operator = place.call.operator
    formats = npu.operators.get(operator.op)
    if formats is None:
        yield TargetError(f"{npu.name} has no {operator.op}", label=f"{npu.name}.operator", node=operator.name)
        return
    first = place.format_of(place.call.spec.inputs[0].name) if place.call.spec.inputs else None
    if formats and first is not None and first not in formats:
        message = f"{npu.name} has {operator.op} of {', '.join(formats)}, not of {first}"
        yield TargetError(message, label=f"{npu.name}.format", node=operator.name, tensor=operator.inputs[0])
    for rule in npu.rules:
        if value := rule.broken(place):
            advice = f"; {rule.rewrite}" if rule.rewrite else ""
            message = f"{operator.op}: {value}, but {rule.why}{advice}"
            yield TargetError(message, label=f"{npu.name}.{rule.label}", node=operator.name)
