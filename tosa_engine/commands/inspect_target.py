"""`tosa-engine inspect --target`: what keeps a model from a processor, or what it costs there."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..graph import Graph
    from ..npu import Npu

Summary = dict[str, Any]
MOST_ROWS = 10


def on_target(graph: Graph, npu: Npu) -> Summary:
    """What keeps a graph from a processor; where nothing does, what it costs there."""
    from ..check import check
    from ..errors import TosaEngineError
    from ..npu import violations
    from ..npu.costs import costs

    found: Summary = {
        "name": npu.name,
        "problems": [str(p) for p in [*check(graph, npu.target), *violations(graph, npu)]],
    }
    if found["problems"]:
        return found
    try:
        found["costs"] = asdict(costs(graph, npu))
    except TosaEngineError as problem:
        found["no_costs"] = problem.message
    return found


def text_of(found: Summary) -> list[str]:
    from ..npu.ethos_u import ETHOS_U
    from ..npu.figures import VELA

    lines = [f"target     {found['name']}"]
    if found["problems"]:
        lines.append(f"  {len(found['problems'])} problems, so it has no cycles")
        return [*lines, *(f"  {problem}" for problem in found["problems"][:MOST_ROWS])]
    if "costs" not in found:
        return [*lines, f"  {found.get('no_costs', 'legal')}"]
    costs = found["costs"]
    lines.append(
        f"  {costs['cycles']:,} cycles by {costs['by']}, {costs['npu_cycles']:,} of them the NPU's; "
        f"{costs['utilisation']:.1%} of its products"
    )
    if costs["by"] != VELA and costs["target"] in ETHOS_U:
        lines.append("  an estimate (docs/targets.md); Vela's: pip install 'tosa-engine[vela]'")
    for name, memory in costs["memories"].items():
        if memory["peak"] or memory["read"] or memory["written"]:
            lines.append(
                f"  {name}: peak {memory['peak']:,} bytes, {memory['read']:,} read, {memory['written']:,} written"
            )
    most = sorted(costs["operators"], key=lambda one: -one["cycles"])[:MOST_ROWS]
    total = sum(one["cycles"] for one in costs["operators"]) + costs["unnamed"]
    for one in most:
        share = one["cycles"] / total if total else 0.0
        lines.append(f"  {one['cycles']:>13,} cycles  {share:6.1%}  {one['op']} {one['node']}")
    return lines
