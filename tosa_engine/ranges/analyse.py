"""The analysis: an interval for every integer tensor of a graph, a verdict for every REQUIRE."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from ..graph import Composite
from ..infer import infer
from ..spec import bind_operator
from . import (
    activation_funcs,
    comparison,
    data_layout,
    data_nodes,
    ewise_binary,
    ewise_ternary,
    ewise_unary,
    image,
    reduction,
    scatter_gather,
    tensor_ops,
    type_conversion,
)
from .findings import DEPENDS, PROVED, VIOLATED, Facts, Finding
from .interval import of_tensor
from .one_by_one import Known, refine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..graph import Block, Graph, Tensor
    from ..spec.table import Call
    from .interval import Interval

    Transfer = Callable[..., Interval]

FAMILIES: Final = (
    tensor_ops, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction, data_layout,
    scatter_gather, image, type_conversion, data_nodes,
)  # fmt: skip
TRANSFERS: Final[Mapping[str, Transfer]] = {
    name: transfer for family in FAMILIES for name, transfer in family.TRANSFERS.items()
}


@dataclass(frozen=True)
class Ranges:
    """What is known about a graph for all inputs: `intervals` by tensor name (of the main block; only of integers and
    bool), and the `findings` on REQUIREs in the order of the operators.
    """

    intervals: Mapping[str, Interval]
    findings: tuple[Finding, ...]

    def count(self, verdict: str) -> int:
        return sum(finding.verdict == verdict for finding in self.findings)


class Analysis:
    """Walks over operators in their order. `intervals` holds what is known so far, by tensor name."""

    def __init__(self) -> None:
        self.intervals: dict[str, Interval] = {}
        self.findings: dict[int, Sequence[Finding]] = {}  # by the identity of the operator
        self._writers: dict[str, tuple[int, Call]] = {}

    def start(self, tensor: Tensor) -> None:
        """A tensor that nobody computes: a constant's values, or all values of the format."""
        found = of_tensor(tensor)
        if found is not None:
            self.intervals[tensor.name] = found

    def step(self, call: Call) -> None:
        """One operator, after those that write its inputs."""
        found, findings = transfer(call, self.intervals)
        if found is not None:
            found, findings = refine(call, found, findings, Known(self.intervals, self._writers))
        self.findings[id(call.operator)] = findings
        for tensor in _outputs(call):
            self._writers[tensor.name] = len(self.findings), call
            interval = of_tensor(tensor) if found is None else found
            if interval is not None:
                self.intervals[tensor.name] = interval

    def proved(self, call: Call) -> bool:
        """Whether no input can violate a REQUIRE of the operator: all of those that were looked at."""
        findings = self.findings[id(call.operator)]
        return len(findings) > 0 and all(f.verdict == PROVED for f in findings)


def transfer(call: Call, intervals: Mapping[str, Interval]) -> tuple[Interval | None, Sequence[Finding]]:
    """The interval of an operator's output, and what is known of its REQUIREs; None where only its type is known.

    `intervals` has the integer inputs by tensor name; of those it lacks, all values of the type are assumed.
    """
    function = TRANSFERS.get(call.spec.name)
    facts = Facts(call)
    if function is None:
        if call.spec.pure:  # of floats alone
            facts.depends(*(r.label.partition(".")[2] for r in call.spec.requires))
        return None, facts.findings
    arguments: dict[str, Any] = {}
    floats = False
    for argument in call.spec.inputs:
        if argument.is_shape:
            continue
        tensors = call.tensors[argument.name]
        found = [_known(t, intervals) for t in (tensors if argument.is_list else [tensors])]
        floats |= any(f is None for f in found)
        arguments[argument.name] = found if argument.is_list else found[0]
    output = _outputs(call)[0]
    if floats and not output.dtype.is_float:
        facts.depends(*(r.label.partition(".")[2] for r in call.spec.requires))  # CAST: NaN
    if floats or of_tensor(output) is None:
        return None, facts.findings
    assert output.shape is not None
    return function(call, facts, **arguments).fit(output.shape), facts.findings


def _known(tensor: Tensor, intervals: Mapping[str, Interval]) -> Interval | None:
    return intervals[tensor.name] if tensor.name in intervals else of_tensor(tensor)


def _outputs(call: Call) -> list[Tensor]:
    found: list[Tensor] = []
    for argument in call.spec.outputs:
        tensors = call.tensors[argument.name]
        found += tensors if isinstance(tensors, list) else [tensors]
    return found


def analyse_calls(calls: Iterable[Call]) -> Analysis:
    """The analysis of operators in order; tensors that none of them writes have the values of their type or data."""
    analysis = Analysis()
    for call in calls:
        analysis.step(call)
    return analysis


def analyse(graph: Graph) -> Ranges:
    """Intervals and findings for a legal graph (`check.validate`), which isn't changed.

    A finding of the main block that says `violated` means that every run ends in the verdict unpredictable. Regions of
    control flow start from all values of their inputs' types, and may not run at all: nothing in them is `violated`.
    """
    graph = graph.copy()
    infer(graph)
    main = Analysis()
    findings: list[Finding] = []
    for _, block in graph.blocks():
        analysis = main if block is graph.main else Analysis()
        found = _block(graph, block, analysis)
        findings += found if block is graph.main else [_softened(f) for f in found]
    return Ranges(main.intervals, tuple(findings))


def _block(graph: Graph, block: Block, analysis: Analysis) -> list[Finding]:
    found: list[Finding] = []
    for name in block.inputs:
        if name not in analysis.intervals:
            analysis.start(block.tensors[name])
    for op in block.operators:
        if isinstance(op, Composite):
            inner = Analysis()
            pairs = zip(op.inputs, op.body.inputs, strict=True)
            inner.intervals.update({i: analysis.intervals[o] for o, i in pairs if o in analysis.intervals})
            found += _block(graph, op.body, inner)
            pairs = zip(op.outputs, op.body.outputs, strict=True)
            analysis.intervals.update({o: inner.intervals[i] for o, i in pairs if i in inner.intervals})
            continue
        analysis.step(bind_operator(op, block, graph))
        found += analysis.findings[id(op)]
    return found


def _softened(finding: Finding) -> Finding:
    return replace(finding, verdict=DEPENDS) if finding.verdict == VIOLATED else finding
