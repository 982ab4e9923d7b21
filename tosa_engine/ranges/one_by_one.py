"""Where intervals leave a REQUIRE open: what depends on one tensor only is computed for each value that it can have.

Intervals take v and f(v) for two values that know nothing of each other. Walking back through elementwise operators
until a single tensor is left, all of them are functions of its elements (broadcasting repeats the same ones for all);
the transfer functions compute them for intervals of one value each, all values at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from . import activation_funcs, comparison, ewise_binary, ewise_ternary, ewise_unary, type_conversion
from .findings import DEPENDS, PROVED, Facts
from .interval import Interval, of_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ..graph import Tensor
    from ..spec.table import Argument, Call
    from ..types import Array
    from .findings import Finding

MOST_VALUES: Final = 1 << 17
MOST_OPERATORS: Final = 32
ELEMENTWISE: Final = {
    name: transfer
    for family in (activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, type_conversion)
    for name, transfer in family.TRANSFERS.items()
}


class Known(NamedTuple):
    """What is known where an operator stands: `intervals` by tensor, and `writers` with their places in the order."""

    intervals: Mapping[str, Interval]
    writers: Mapping[str, tuple[int, Call]]


def refine(
    call: Call, output: Interval, findings: Sequence[Finding], known: Known
) -> tuple[Interval, Sequence[Finding]]:
    """The interval of an operator's output and its findings, better where single values make them so."""
    if all(f.verdict != DEPENDS for f in findings):
        return output, findings
    for source, calls in sources(call, known.writers):
        interval = known.intervals.get(source.name) or of_tensor(source)
        assert interval is not None, "operands are integers"
        values = interval.flat()
        low, high = int(values.low), int(values.high)
        if high - low >= MOST_VALUES:
            continue
        results, proved = _computed(calls, source, np.arange(low, high + 1))
        output = output.clip(results.low.min(), results.high.max())
        findings = [proved.get(f.label, f) if f.verdict == DEPENDS else f for f in findings]
        if all(f.verdict != DEPENDS for f in findings):
            break
    return output, findings


def sources(call: Call, writers: Mapping[str, tuple[int, Call]]) -> Iterator[tuple[Tensor, list[Call]]]:
    """Tensors whose elements alone an operator's elements depend on, nearest first, each with the operators between, in
    their order.
    """
    calls, waiting = [call], _operands(call)
    while waiting is not None and len(calls) <= MOST_OPERATORS:
        if len(waiting) == 1:
            yield next(iter(waiting.values())), calls[::-1]
        written = [name for name in waiting if name in writers]
        if not written:
            return
        last = max(written, key=lambda name: writers[name][0])
        calls.append(writers[last][1])
        more = _operands(calls[-1])
        del waiting[last]
        waiting = None if more is None else waiting | more


def _operands(call: Call) -> dict[str, Tensor] | None:
    """The tensors that an elementwise operator reads, beside constants that are the same for all elements; None where
    it isn't such an operator.
    """
    output = call.tensor(call.spec.outputs[0].name)
    if call.spec.name not in ELEMENTWISE or not (output.dtype.is_int or output.dtype.kind == "bool"):
        return None
    found: dict[str, Tensor] = {}
    for argument in call.spec.inputs:
        tensor = call.tensor(argument.name)
        if _data(tensor) is None and not (_is_parameter(argument) or tensor.dtype.is_float):
            found[tensor.name] = tensor
        elif not _is_same(call, argument, tensor):
            return None
    return found


def _is_parameter(argument: Argument) -> bool:
    """Whether an argument isn't one element for each of the output's: zero points, multipliers, the table."""
    return argument.shape.startswith("[")


def _is_same(call: Call, argument: Argument, tensor: Tensor) -> bool:
    """Whether a tensor is a constant, and the same for all elements: one value, or a table."""
    data = _data(tensor)
    if data is None or data.size == 0:
        return False
    return _is_table(call, argument) or bool((data == data.flat[0]).all())


def _is_table(call: Call, argument: Argument) -> bool:
    """Whether the row says how many elements an argument has: TABLE's entries."""
    assert call.row is not None
    return argument.shape.strip("[]") in call.row.letters


def _data(tensor: Tensor) -> Array | None:
    return None if tensor.variable else tensor.data


def _computed(calls: Sequence[Call], source: Tensor, values: Array) -> tuple[Interval, dict[str, Finding]]:
    """The results of the last operator for all values of the source, and what they prove, by label."""
    known = {source.name: Interval(values, values)}
    for call in calls:
        facts = Facts(call)
        arguments: dict[str, Interval] = {}
        for argument in call.spec.inputs:
            tensor = call.tensor(argument.name)
            constant = of_tensor(tensor) if _data(tensor) is not None else None
            if constant is None:
                arguments[argument.name] = known[tensor.name]
            elif _is_table(call, argument):
                arguments[argument.name] = constant
            else:  # the same for all channels
                one = constant.flat()
                arguments[argument.name] = one.spread((1,)) if _is_parameter(argument) else one
        results = ELEMENTWISE[call.spec.name](call, facts, **arguments)
        known[call.operator.outputs[0]] = results
    proved = {f.label: _joined(f) for f in facts.findings if f.verdict == PROVED}
    return results, proved


def _joined(finding: Finding) -> Finding:
    """A finding on many values as one on all channels."""
    low, high = (np.asarray(end) for end in finding.value)
    return finding if not low.size else replace(finding, value=(low.min(), high.max()))
