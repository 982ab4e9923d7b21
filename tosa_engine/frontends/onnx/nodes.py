"""Nodes of a model as the mapper sees them: their names, and which of them a value needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OWN: Final = ("", "ai.onnx")  # two names of one domain


def domain_of(name: str) -> str:
    return "" if name in OWN else name


def label_of(node: Any) -> str:
    """A node as messages call it."""
    name = node.name or next((f"of '{output}'" for output in node.output if output), "")
    return f"{node.op_type} {name}".strip()


def needed(nodes: Sequence[Any], wanted: Iterable[str]) -> list[Any]:
    """The nodes that the values `wanted` depend on, in their order."""
    names, found = set(wanted), []
    for node in reversed(nodes):
        if not names.isdisjoint(node.output):
            found.append(node)
            names.update(node.input)
            if node.attribute:
                names.update(_captured(node))
    return found[::-1]


def _captured(node: Any) -> set[str]:
    """Names that the graphs among a node's attributes read."""
    names: set[str] = set()
    graphs = [graph for one in node.attribute for graph in ([one.g] if one.HasField("g") else [*one.graphs])]
    while graphs:
        graph = graphs.pop()
        names.update(output.name for output in graph.output)
        for inner in graph.node:
            names.update(inner.input)
            graphs += [g for one in inner.attribute for g in ([one.g] if one.HasField("g") else [*one.graphs])]
    return names
