"""Fewer operators: which of a graph fail by themselves, fed with what the oracle gives for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import oracle
from ...errors import TosaEngineError
from ...graph import Tensor, copy_operator, new_graph
from ...types import Array

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...graph import Graph, Operator
    from .probing import Probe

    Part = tuple[Graph, dict[str, Array]]


def fewer(graph: Graph, feeds: dict[str, Array], probe: Probe) -> Part:
    """The smallest part that was found to fail; the graph itself where none does."""
    if len(graph.regions) > 1 or probe.rules:
        return graph, feeds
    values = dict(feeds)
    try:
        oracle.run(graph, feeds, lambda _, name, array: values.__setitem__(name, array))
    except TosaEngineError:
        return graph, feeds
    for chosen in _parts(graph, probe.last.tensor):
        part = part_of(graph, chosen, values)
        if probe.fails(*part):
            return part
    return graph, feeds


def _parts(graph: Graph, tensor: str) -> Iterator[list[Operator]]:
    """Single operators, the suspect and what stands before it first; then pairs; then all before the suspect."""
    producers = graph.main.producers()
    suspect = producers.get(tensor)
    computing = [op for op in graph.main.operators if op.inputs]
    before = [suspect] if suspect is not None else computing[-1:]
    for op in before:
        before += [
            producers[n] for n in op.inputs if n in producers and producers[n].inputs and producers[n] not in before
        ]
    ordered = [*before, *(op for op in computing if op not in before)]
    yield from ([op] for op in ordered)
    for op in ordered:
        yield from ([producers[n], op] for n in op.inputs if n in producers and producers[n].inputs)
    for count in range(3, len(before)):
        yield before[:count]


def part_of(graph: Graph, chosen: Sequence[Operator], values: Mapping[str, Array]) -> Part:
    """These operators as a graph of their own; what they read from others is fed."""
    made, feeds = new_graph(), dict[str, Array]()
    block, tensors = made.main, graph.main.tensors
    written = {name for op in chosen for name in op.outputs}
    constants = {op.outputs[0]: op for op in graph.main.operators if not op.inputs and op.outputs}
    for name in dict.fromkeys(n for op in chosen for n in (*op.inputs, *op.outputs)):
        old = tensors[name]
        block.add(Tensor(name, old.dtype, old.shape, old.data))
        if name in written:
            continue
        if old.data is not None:
            block.operators.append(copy_operator(constants[name]))
        else:
            block.inputs.append(name)
            feeds[name] = values[name]
    block.operators += [copy_operator(op) for op in graph.main.operators if any(op is one for one in chosen)]
    read = {name for op in chosen for name in op.inputs}
    block.outputs = [name for op in block.operators if op.inputs for name in op.outputs if name not in read]
    return made, feeds
