"""What is said of a graph on a processor: cycles, products and memory, as a whole and by operator."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

VELA, ESTIMATE = "Vela", "our estimate"


@dataclass(frozen=True)
class OperatorCost:
    """Of an operator of the graph, with those that are computed in one step with it: cycles of the step and of the
    NPU's arithmetic alone, and products.
    """

    node: str
    op: str
    cycles: int
    npu_cycles: int
    macs: int


@dataclass(frozen=True)
class Costs:
    """`by` whom; `clock` in Hz, 0 where it isn't known. Cycles, of the NPU and with waiting for memory, and products.
    Per memory (Vela alone) its peak in bytes, access cycles and bytes read and written; `unnamed` cycles belong to no
    operator of the graph.
    """

    target: str
    by: str
    clock: float
    cycles: int
    npu_cycles: int
    macs: int
    utilisation: float
    operators: tuple[OperatorCost, ...]
    memories: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unnamed: int = 0
