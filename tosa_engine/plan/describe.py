"""What a plan is made of, as plain data and as text: steps, kernels, costs and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..kernels.work import Effect
from ..text import joined
from .steps import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..graph import Block
    from ..kernels.work import Work
    from .steps import Plan, Step

Facts = dict[str, Any]
FAMILIES: Final = "tosa_engine.kernels."


def describe(plan: Plan) -> str:
    """One line per step, and the memory it takes; then the same for each region."""
    return text(facts(plan))


def facts(plan: Plan) -> Facts:
    """Steps, memory and regions of a plan; sizes in bytes, times as the planner estimates them for one thread."""
    found = _block(plan) | {"parts": plan.parts, "apart": plan.parts_in_parallel}
    if plan.regions:
        found["regions"] = {name: _block(region) for name, region in plan.regions.items()}
    return found


def _block(plan: Plan) -> Facts:
    return {
        "steps": [_step(plan, number, step) for number, step in enumerate(plan.steps)],
        "nanoseconds": round(sum(step.work.cost for step in plan.steps if step.work is not None)),
        "arena": _arena(plan),
    }


def kernel(work: Work) -> str:
    """The family of kernels, and the function that prepared the work, like `depthwise.depthwise_int8`: the one that
    binds it is defined inside.
    """
    bind: Any = work.bind_around if isinstance(work, Effect) else work.bind
    inside, outside = bind.__module__.partition(FAMILIES)[2], bind.__module__.rpartition(".")[2]
    return f"{inside.partition('.')[0] or outside}.{bind.__qualname__.partition('.')[0]}"


def _step(plan: Plan, number: int, step: Step) -> Facts:
    tensors = plan.block.tensors
    found: Facts = {
        "number": number,
        "operators": [name_of(call) for call in step.calls],
        "rows": [call.row.key for call in step.calls if call.row is not None],
        "node": step.name,
        "outputs": [
            {"name": name, "type": tensors[name].dtype.name, "shape": list(tensors[name].shape or ())}
            for name in step.outputs
        ],
    }
    if step.work is None and not step.calls[-1].spec.pure:
        return found | {"kernel": None, "variable": step.calls[-1]["name"]}
    if step.work is None:
        return found | {"kernel": None, "shares": plan.roots[step.output], "start": plan.starts.get(step.output, 0)}
    read = dict.fromkeys(name for call in step.calls for name in call.operator.inputs)
    constant = [name for name in read if plan.roots[name] in plan.constants]
    return found | {
        "kernel": kernel(step.work),
        "units": step.work.units,
        "nanoseconds": round(step.work.cost),
        "bytes": {
            "read": _bytes(plan.block, {*step.inputs}.difference(constant)),
            "constant": _bytes(plan.block, constant),
            "written": _bytes(plan.block, step.outputs),
            "scratch": sum(dtype.itemsize * count for dtype, count in step.work.scratch),
        },
    }


def _given(block: Block) -> list[str]:
    """The tensors of the graph, without those that a plan has added."""
    return [*block.inputs, *(name for operator in block.operators for name in operator.outputs)]


def _bytes(block: Block, names: Iterable[str]) -> int:
    return sum(block.tensors[name].size * block.tensors[name].dtype.storage.itemsize for name in names)


def _arena(plan: Plan) -> Facts:
    arena = plan.arena
    return {
        "size": arena.size,
        "lower_bound": arena.lower_bound,
        "ratio": round(arena.size / arena.lower_bound, 3) if arena.lower_bound else 1.0,
        "buffers": arena.total,
        "unfused": _bytes(plan.block, [n for n in _given(plan.block) if n not in plan.constants]),
    }


def text(found: Facts) -> str:
    """One line per step, and the memory it takes; then the same for each region."""
    lines = _lines(found)
    if found["parts"] > 1:
        who = "every thread does parts of its own" if found["apart"] else "all threads share the steps of one part"
        lines.append(f"the plan runs {found['parts']} times, on a part of the batch each; {who}")
    for name, region in found.get("regions", {}).items():
        lines += [f"region '{name}':", *_lines(region)]
    return joined(lines)


HEAD = f"{'step':>4} {'units':>6} {'est. us':>9} {'read':>11} {'constant':>11} {'written':>11} {'scratch':>9}  "


def _shared(step: Facts) -> str:
    """Why there is nothing to do."""
    if "variable" in step:
        return f"the variable {step['variable']} in the run's memory"
    if step["shares"] == step["outputs"][0]["name"]:
        return "its inputs were written into it"
    return f"the bytes of {step['shares']}" + (f" from {step['start']:,} on" if step["start"] else "")


def _lines(found: Facts) -> list[str]:
    width = max((len(s["kernel"] or "") for s in found["steps"]), default=0)
    lines = [f"{HEAD}{'kernel':{width}}  operators -> outputs"] if found["steps"] else []
    for step in found["steps"]:
        outputs = ", ".join(f"{t['name']} {t['type']}{t['shape']}" for t in step["outputs"])
        what = f"{'+'.join(step['operators'])} -> {outputs}"
        if step["kernel"] is None:
            lines.append(f"{step['number']:4}{'':{len(HEAD) - 4 + width}}  {what} ({_shared(step)})")
            continue
        size = step["bytes"]
        lines.append(
            f"{step['number']:4} {step['units']:6} {step['nanoseconds'] / 1e3:9,.1f} {size['read']:11,} "
            f"{size['constant']:11,} {size['written']:11,} {size['scratch']:9,}  {step['kernel']:{width}}  {what}"
        )
    a = found["arena"]
    lines.append(
        f"arena: {a['size']:,} bytes, {a['ratio']:.2f} x the most that is live at one step ({a['lower_bound']:,}); "
        f"all buffers: {a['buffers']:,}; all tensors, unfused: {a['unfused']:,}"
    )
    return lines
