"""Labels of rules: which a graph breaks, and which limits of a level it reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...check import check
from ...infer import callees_first, infer_block
from ...spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...errors import TosaEngineError
    from ...graph import Block, Graph, Operator
    from ...spec import Argument, OpSpec
    from ...spec.table import Call
    from ...target import Level, Target

AT, BEYOND = "at", "beyond"
# the next size that no other rule forbids is twice the limit
POWERS: Final = frozenset({"FFT2D", "RFFT2D"})
# by label: why no test has it
IMPOSSIBLE: Final[Mapping[str, str]] = {
    "AVG_POOL2D.R2": "a sum of n values of 16 bits is below 2^(k + 15), apply_scale_32 takes up to 2^(29 + k)",
    "ARGMAX.R1": "an index beyond int32 needs an axis of 2^31 elements, which no level has",
    "VARIABLE_WRITE.R2": "it needs a variable of an earlier run, and a test is one run",
    "VARIABLE_READ.R1": "a file declares the variables that its operators name",
    "VARIABLE_WRITE.R1": "a file declares the variables that its operators name",
    "VARIABLE.R1": "a file has one type for a variable and its initial value",
    "VARIABLE.R2": "a file has one shape for a variable and its initial value",
    **{
        f"{op}.L{n} {AT}": "padding is smaller than the kernel, which has the same limit"
        for op in ("AVG_POOL2D", "MAX_POOL2D")
        for n in range(5, 9)
    },
}


def labels(operator: str) -> list[str]:
    """Those of an operator that a test can have: ERROR_IFs, REQUIREs, limits of the level at and one beyond."""
    spec = TABLE[operator]
    found = [rule.label for rule in spec.checks] + [require.label for require in spec.requires]
    limits = [f"{operator}.L{n}" for n in range(1, len(spec.limits) + 1)]
    limits += [f"{operator}.rank.{argument.name}" for argument in ranked(spec)]
    found += [f"{limit} {where}" for limit in limits for where in (AT, BEYOND)]
    return [label for label in found if label not in IMPOSSIBLE]


def ranked(spec: OpSpec) -> list[Argument]:
    """The arguments whose rank the level bounds."""
    return [a for a in spec.arguments if a.rank[1] is None]


def of_graph(graph: Graph, target: Target) -> tuple[set[str], Sequence[TosaEngineError], list[Call]]:
    """The labels that a graph has, all that is wrong with it, and the operators that fit their entries."""
    problems = check(graph, target)
    calls: list[Call] = []
    found = {problem.label for problem in problems}
    copied = graph.copy()
    try:
        blocks = callees_first(copied) if copied.regions and copied.regions[0].blocks else []
        for _, block in blocks:
            bound, _ = infer_block(block, copied)
            for _, call in bound:
                calls.append(call)
                found |= set(_limits(call, target.level))
            for op in block.operators:
                found |= set(_ranks(block, op, target.level))
    except RecursionError:  # regions that run themselves
        pass
    return found, problems, calls


def _limits(call: Call, level: Level) -> Iterator[str]:
    for i, limit in enumerate(call.spec.limits, 1):
        value, most = limit.get(call), getattr(level, limit.limit)
        if value == most:
            yield f"{call.spec.name}.L{i} {AT}"
        elif value == (2 * most if call.spec.name in POWERS else most + 1):
            yield f"{call.spec.name}.L{i} {BEYOND}"


def _ranks(block: Block, op: Operator, level: Level) -> Iterator[str]:
    spec = TABLE.get(op.op)
    if spec is None:
        return
    bounded = {argument.name for argument in ranked(spec)}
    for arguments, names in ((spec.inputs, op.inputs), (spec.outputs, op.outputs)):
        for i, name in enumerate(names if arguments else ()):
            argument, tensor = arguments[min(i, len(arguments) - 1)], block.tensors.get(name)
            if tensor is None or tensor.shape is None or argument.name not in bounded:
                continue
            rank = len(tensor.shape)
            if rank in (level.max_rank, level.max_rank + 1):
                yield f"{op.op}.rank.{argument.name} {AT if rank == level.max_rank else BEYOND}"
