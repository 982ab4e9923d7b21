"""What an operator finds around it: the graph's regions and its variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..state import Variables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Block, Graph
    from ..spec.table import Call
    from ..target import Level
    from ..types import Array

    Observer = Callable[[Call, Mapping[str, Array | list[Array]], list[Array]], object]


@dataclass
class Context:
    """`run_block(block, inputs, context)` executes a region's block and gives its outputs. `observe` hears of every
    operator that ran, in all regions: its call, its inputs by argument, its outputs.
    """

    graph: Graph | None
    run_block: Callable[[Block, list[Array], Context], list[Array]]
    variables: Variables = field(default_factory=Variables)
    level: Level | None = None
    observe: Observer | None = None

    def run(self, block: Block | None, inputs: list[Array]) -> list[Array]:
        assert block is not None, "bound operators have their regions"
        self.variables.begin_region()
        return self.run_block(block, inputs, self)
