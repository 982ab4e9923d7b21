"""What an implementation must give for a graph and its inputs, and whether it did.

The oracle says what is right. Integers must be equal; RESCALE with INEXACT_ROUND must be in its interval; floats must
be as exact as the specification asks (`accuracy`), each operator judged on the values that the implementation gave it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import check, oracle
from ..errors import GraphError, Problems, RequireViolation
from ..infer import infer
from ..spec import bind_operator
from ..types import holds_floats
from . import accuracy
from .doors import Answer, Ending
from .inexact import as_numbers, inexact_ends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..graph import Graph
    from ..spec.table import Call
    from ..target import Target
    from ..types import Array
    from .doors import Door


class Status(Enum):
    """How a test ended. `UNSUPPORTED` counts as not covered, `KNOWN` as a difference that is listed."""

    PASSED = "passed"
    WRONG = "wrong"
    VERDICT = "wrong verdict"
    CRASHED = "crashed"
    HUNG = "hung"
    MEMORY = "too much memory"
    UNSUPPORTED = "not covered"
    KNOWN = "known"

    @property
    def good(self) -> bool:
        return self in (Status.PASSED, Status.UNSUPPORTED, Status.KNOWN)


STATUSES = {Ending.CRASH: Status.CRASHED, Ending.HANG: Status.HUNG, Ending.MEMORY: Status.MEMORY}


@dataclass(frozen=True)
class Expected:
    """What the specification says: the verdict, the label of the rule it comes from, the values of all tensors."""

    ending: Ending
    label: str = ""
    values: Mapping[str, Array] | None = None


@dataclass(frozen=True)
class Judgement:
    """`label` is the rule that the graph breaks, if one; `tensor` the first output that differs."""

    status: Status
    text: str = ""
    label: str = ""
    tensor: str = ""
    ending: Ending = Ending.VALID


def expected(graph: Graph, feeds: Mapping[str, Array], target: Target) -> Expected:
    """What the oracle says."""
    values: dict[str, Array] = {}
    try:
        check.validate(graph, target)
        outputs = oracle.run(graph, feeds, lambda _, name, array: values.__setitem__(name, array), level=target.level)
    except RequireViolation as violation:
        return Expected(Ending.UNPREDICTABLE, violation.label)
    except (GraphError, Problems) as problem:
        return Expected(Ending.ERROR, problem.problems[0].label if isinstance(problem, Problems) else problem.label)
    return Expected(Ending.VALID, values=values | outputs)


def opened(graph: Graph) -> Graph:
    """The graph as implementations are to run it: one of several operators with floats gives all tensors, since two
    right implementations may be apart by more behind each operator.
    """
    main = graph.main
    computing = [op for op in main.operators if op.inputs]
    if len(computing) < 2 or not any(t.dtype.is_float for t in main.tensors.values()):
        return graph
    found = graph.copy()
    found.main.outputs = [name for op in found.main.operators if op.inputs for name in op.outputs]
    return found


def try_out(door: Door, graph: Graph, feeds: Mapping[str, Array], target: Target, *, strict: bool) -> Judgement:
    """Run a graph on an implementation and judge the answer. With `strict` a violated REQUIRE must be reported."""
    asked = opened(graph)
    wanted = expected(asked, feeds, target)
    return judge(asked, feeds, wanted, door.run(asked, feeds), strict=strict)


def judge(graph: Graph, feeds: Mapping[str, Array], wanted: Expected, answer: Answer, *, strict: bool) -> Judgement:
    ending, label = answer.ending, wanted.label
    if ending is Ending.UNSUPPORTED:
        return Judgement(Status.UNSUPPORTED, answer.message, label, ending=ending)
    if (
        ending is Ending.ERROR
        and wanted.ending is Ending.VALID
        and any(op.op == "CUSTOM" for op in graph.main.operators)
    ):
        return Judgement(Status.UNSUPPORTED, f"no such custom operator: {answer.message}", label, ending=ending)
    if ending in STATUSES:
        return Judgement(STATUSES[ending], answer.message, label, ending=ending)
    if wanted.ending is Ending.UNPREDICTABLE:
        good = ending is Ending.UNPREDICTABLE or not strict
        return Judgement(Status.PASSED if good else Status.VERDICT, _verdicts(wanted, answer), label, ending=ending)
    if ending is not wanted.ending and ending is not Ending.NO_OUTPUT:
        return Judgement(Status.VERDICT, _verdicts(wanted, answer), label, ending=ending)
    if ending is Ending.NO_OUTPUT:
        status = Status.WRONG if wanted.ending is Ending.VALID else Status.VERDICT
        return Judgement(status, answer.message, label, ending=ending)
    if ending is not Ending.VALID:
        return Judgement(Status.PASSED, label=label, ending=ending)
    assert wanted.values is not None
    for name, text in differences(graph, feeds, wanted.values, answer.outputs):
        return Judgement(Status.WRONG, f"'{name}': {text}", label, name)
    return Judgement(Status.PASSED, label=label)


def _verdicts(wanted: Expected, answer: Answer) -> str:
    why = f" ({wanted.label})" if wanted.label else ""
    said = f": {answer.message}" if answer.message else ""
    return f"{answer.ending.value} in place of {wanted.ending.value}{why}{said}"


def differences(
    graph: Graph, feeds: Mapping[str, Array], wanted: Mapping[str, Array], got: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """The outputs that aren't what they must be, in the order of the graph, each with what is wrong."""
    for name in graph.main.outputs:
        if got[name].shape != wanted[name].shape and not (got[name].size == 1 == wanted[name].size):
            yield name, f"shape {list(got[name].shape)} in place of {list(wanted[name].shape)}"
            return
    shaped = {name: got[name].reshape(wanted[name].shape) for name in graph.main.outputs}
    shown = graph.copy()
    infer(shown)
    constants = {t.name: t.data for t in shown.main.tensors.values() if t.data is not None}
    values: dict[str, Array] = {**wanted, **constants, **feeds, **shaped}
    floats = any(tensor.dtype.is_float for tensor in shown.main.tensors.values())
    for operator in shown.main.operators:
        if not any(name in shaped for name in operator.outputs):
            continue
        call = bind_operator(operator, shown.main, shown)
        if floats and call.spec.pure and operator.inputs:
            yield from _inexact(call, operator.outputs, values)
            continue
        for name in operator.outputs:
            if name in shaped:
                text = _unequal(call, values, wanted[name], shaped[name])
                if text:
                    yield name, text


def _inexact(call: Call, outputs: list[str], values: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    inputs: dict[str, Any] = {}
    for argument in call.spec.inputs:
        tensors = call.tensors[argument.name]
        one = not isinstance(tensors, list)
        inputs[argument.name] = values[tensors.name] if one else [values[t.name] for t in tensors]
    found = accuracy.check_operator(call, inputs, [values[name] for name in outputs])
    for name, accurate in zip(outputs, found, strict=False):
        if not accurate.good:
            yield name, str(accurate)


def _unequal(call: Call, values: Mapping[str, Array], wanted: Array, got: Array) -> str:
    if call.spec.name == "RESCALE" and call.rounding_mode == "INEXACT_ROUND":
        return _outside(call, values, got)
    same = equal(got, wanted)
    if same.all():
        return ""
    return shown_difference(~same, got, wanted)


def equal(got: Array, wanted: Array) -> Array:
    """Of every element whether it is equal; any NaN for NaN, zeros with their signs."""
    if not holds_floats(wanted):
        return np.asarray(got == wanted)
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    return np.asarray(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b)))


def shown_difference(differs: Array, got: Array, wanted: Array) -> str:
    index = tuple(int(i) for i in np.argwhere(differs)[0]) if differs.ndim else ()
    count = f"{np.count_nonzero(differs)} of {differs.size} elements differ"
    return f"{count}, first at {list(index)}: {got[index]} in place of {wanted[index]}"


def _outside(call: Call, values: Mapping[str, Array], got: Array) -> str:
    """What is outside of the intervals of INEXACT_ROUND."""
    least, most = inexact_ends(call, values)
    found = as_numbers(got, call.output_unsigned)
    outside = (found < least) | (found > most)
    if not outside.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(outside)[0]) if outside.ndim else ()
    return f"element {list(index)} is {found[index]}, INEXACT_ROUND allows {least[index]} .. {most[index]}"
