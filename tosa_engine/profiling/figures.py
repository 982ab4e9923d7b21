"""A profile as plain data: times, rates and bounds of all steps, and what they come to by operator."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from ..plan.describe import facts as facts_of_plan
from ..spec import macs_of, traits_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..plan.steps import Plan, Step
    from ..runtime.profile import Profile
    from ..spec import Call
    from .machine import Machine

    Facts = dict[str, Any]

FURTHEST: Final = 10


def figures(profile: Profile, machine: Machine) -> Facts:
    """Times in nanoseconds, rates in products (MACs) and bytes per nanosecond, which are GMAC/s and GB/s.

    `bound` of a step is the larger of its products and its bytes at the machine's rates, `share` what part of its time
    that is; it is above 1 where a transform needs fewer products. `furthest` are the steps that lose most to it.
    """
    planned = facts_of_plan(profile.plan)["steps"]
    parts = profile.plan.parts
    steps = [
        _step(profile.plan, one.step, planned[one.number], one.nanoseconds, machine, parts) for one in profile.steps
    ]
    lost = sorted(steps, key=lambda step: step["bound"] - step["nanoseconds"])
    return {
        "run": profile.run,
        "in_steps": profile.in_steps,
        "around": max(profile.run - profile.in_steps, 0.0),
        "accounted": profile.accounted,
        "runs": profile.runs,
        "parts": parts,
        "macs": sum(step["macs"] for step in steps),
        "bound": sum(step["bound"] for step in steps),
        "machine": {
            "bytes": machine.bytes, "products": {" x ".join(pair): rate for pair, rate in machine.products.items()}
        },
        "operators": _by_operator(steps),
        "steps": steps,
        "furthest": [step["number"] for step in lost[:FURTHEST]],
    }  # fmt: skip


def _step(plan: Plan, step: Step, planned: Facts, nanoseconds: float, machine: Machine, parts: int) -> Facts:
    size = planned["bytes"]
    moved = parts * (size["read"] + size["constant"] + size["written"])
    products = [(parts * macs_of(call.operator, plan.block), call) for call in step.calls]
    macs = sum(count for count, _ in products)
    at_best = sum(count / machine.rate(*_formats(call)) for count, call in products if count)
    bound = max(at_best, moved / machine.bytes)
    return {
        "number": planned["number"],
        "operators": step.operators,
        "nodes": list(dict.fromkeys(call.operator.name for call in _of_the_graph(step))),
        "outputs": planned["outputs"],
        "kernel": planned["kernel"],
        "nanoseconds": nanoseconds,
        "macs": macs,
        "bytes": moved,
        "bound": bound,
        "share": bound / nanoseconds if nanoseconds else 0.0,
    }


def _formats(call: Call) -> Any:
    """Of values and weights."""
    weight = traits_of(call.operator).weight
    assert weight is not None
    return call.tensor(call.spec.inputs[0].name).dtype, call.tensor(weight.argument).dtype


def _of_the_graph(step: Step) -> Iterator[Call]:
    for call in step.calls:
        yield from call.stands_for or (call,)


def _by_operator(steps: Sequence[Facts]) -> list[Facts]:
    """Sums over steps of the same operators, the longest first."""
    groups: dict[str, list[Facts]] = defaultdict(list)
    for step in steps:
        groups[step["operators"]].append(step)
    found: list[Facts] = [
        {"operators": operators, "steps": len(group)}
        | {key: sum(step[key] for step in group) for key in ("nanoseconds", "macs", "bytes", "bound")}
        for operators, group in groups.items()
    ]
    for one in found:
        one["share"] = one["bound"] / one["nanoseconds"] if one["nanoseconds"] else 0.0
    return sorted(found, key=lambda one: -one["nanoseconds"])
