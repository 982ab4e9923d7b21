"""Graph to graph. Each pass is a module with `run(graph) -> Graph`: the input isn't changed, the result is legal, and
computes the same values (batch_norm, normalization: up to rounding). `change(graph)` does the same to the graph itself.

`PIPELINE` is what front ends run, in this order; `composites` expands named groups for files and plans;
`normalization` is for quantization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import batch_norm, composites, dead_code, folding, layout, masks, names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph

PIPELINE: Final[Mapping[str, Callable[[Graph], None]]] = {
    "folding": folding.change,
    "layout": layout.change,
    "folding of what layout moved": folding.change,
    "masks": masks.change,
    "batch_norm": batch_norm.change,
    "dead_code": dead_code.change,
    "names": names.change,
}


def run_pipeline(graph: Graph) -> Graph:
    """All passes of `PIPELINE`, on one copy of the graph."""
    changed = graph.copy()
    for change in PIPELINE.values():
        change(changed)
    return changed


__all__ = ["PIPELINE", "batch_norm", "composites", "dead_code", "folding", "layout", "masks", "names", "run_pipeline"]
