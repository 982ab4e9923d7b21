"""Graph to graph. Each pass is a module with `run(graph) -> Graph`: the input isn't changed, the result is legal, and
computes the same values (batch_norm: up to rounding).

`PIPELINE` is what front ends run, in this order; `composites` expands named groups for files and plans.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from . import batch_norm, composites, dead_code, folding, layout, names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph

PIPELINE: Final[Mapping[str, Callable[[Graph], Graph]]] = {
    "folding": folding.run,
    "layout": layout.run,
    "folding of what layout moved": folding.run,
    "batch_norm": batch_norm.run,
    "dead_code": dead_code.run,
    "names": names.run,
}


def run_pipeline(graph: Graph) -> Graph:
    """All passes of `PIPELINE`."""
    for run in PIPELINE.values():
        graph = run(graph)
    return graph


__all__ = ["PIPELINE", "batch_norm", "composites", "dead_code", "folding", "layout", "names", "run_pipeline"]
