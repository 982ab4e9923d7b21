"""What a graph costs on a processor: as Vela computes it where that can be, else our first estimate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Unsupported
from . import vela
from .estimate import estimate
from .figures import ESTIMATE, Costs
from .rules import violations

if TYPE_CHECKING:
    from ..graph import Graph
    from .rules import Npu


def costs(graph: Graph, npu: Npu) -> Costs:
    """
    Raises:
        Unsupported: the processor lacks something that the graph has, or Vela refuses the graph or ends.
        UsageError: the processor's own file has no speed for an estimate.
    """
    if vela.available() and vela.knows(npu):
        return vela.costs(graph, npu.name)
    problems = violations(graph, npu)
    if problems:
        more = f", and {len(problems) - 1} more problems" if problems[1:] else ""
        raise Unsupported(f"{problems[0]}{more}", label="TARGET.legal")
    found = tuple(estimate(graph, npu))
    cycles, macs = sum(one.cycles for one in found), sum(one.macs for one in found)
    computing, most = sum(one.npu_cycles for one in found), npu.macs_per_cycle * sum(one.cycles for one in found)
    return Costs(npu.name, ESTIMATE, npu.clock, cycles, computing, macs, macs / most if most else 0.0, found)
