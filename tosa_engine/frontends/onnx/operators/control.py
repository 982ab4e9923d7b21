"""If, Loop and Scan: what is known before the graph runs is decided here.

A branch is chosen where its condition is known; where it is data, both are computed, or regions. Loops are unrolled as
far as they are known to go on; what is left is a region.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....errors import GraphError, Unsupported
from ....lower.layout import stacked
from ..values import Value, known
from ..writer import value_of
from . import regions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..call import Call

MOST_STEPS: Final = 4096  # that are unrolled


def choose(call: Call) -> list[Value]:
    """A branch that isn't taken is never looked at, and may be wrong."""
    condition = call.value(0)
    if condition.data is None:
        return regions.choice(call, condition)
    name = "then_branch" if _truth(condition.data) else "else_branch"
    return call.scope.branch(call.attributes[name], [], f"{call.outputs[0]}/{name}")


def _truth(condition: Any) -> bool:
    if condition.size != 1:
        raise GraphError(f"a condition of shape {list(condition.shape)}")
    return bool(condition.reshape(-1)[0])


def loop(call: Call) -> list[Value]:
    """Unrolled, step by step, as long as the condition is known to hold."""
    body = call.attributes["body"]
    states = [call.value(index) for index in range(2, len(call.inputs))]
    if len(body.output) < 1 + len(states):
        raise GraphError(f"a body of {len(body.output)} outputs for {len(states)} values that are carried on")
    most = call.value(0) if call.has(0) else None
    going = call.value(1) if call.has(1) else known(np.array(True))
    scanned: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(states))]
    step = 0
    while True:
        open_ended = next((one for one in (going, most) if one is not None and one.data is None), None)
        if open_ended is not None:
            if scanned:
                way = call.scope.way_to(open_ended)
                raise Unsupported(f"a loop whose steps are stacked, and whose number of steps depends on data: {way}")
            return regions.repeated(call, step, most, going, states)
        if not _truth(going.data) or (most is not None and step >= call.scalar(0, "the number of steps")):
            break
        if step == MOST_STEPS:
            raise Unsupported(f"a loop of more than {MOST_STEPS} steps; so many are unrolled")
        given = [known(np.array(step, np.int64)), known(np.array(True)), *states]
        found = call.scope.branch(body, given, f"{call.outputs[0]}/{step}")
        going, states = found[0], found[1 : 1 + len(states)]
        for one, value in zip(scanned, found[1 + len(states) :], strict=True):
            one.append(value)
        step += 1
    return [*states, *(_stacked(call, values, 0) for values in scanned)]


def _stacked(call: Call, values: Sequence[Value], axis: int) -> Value:
    """Values along a new axis."""
    if not values:
        raise Unsupported("a loop without steps gives nothing to stack")
    if all(value.is_known for value in values):
        return known(np.stack([np.asarray(value.data) for value in values], axis))
    tensors = [call.g.tensor_of(value) for value in values]
    return value_of(stacked(call.g, tensors, axis), values[0].element)


def scan(call: Call) -> list[Value]:
    """Steps along an axis of the scanned inputs."""
    if call.version < 9:
        return _scan_of_samples(call)
    body, count = call.attributes["body"], call.attributes["num_scan_inputs"]
    states, inputs = call.values()[: len(call.inputs) - count], call.values()[len(call.inputs) - count :]
    backwards = call.attribute("scan_input_directions") or [0] * count
    axes = [call.axis(axis, len(value.shape)) for axis, value in zip(
        call.attribute("scan_input_axes") or [0] * count, inputs, strict=True
    )]  # fmt: skip
    states, scanned = _steps(call, body, states, inputs, axes, backwards)
    results = len(scanned)
    turned = call.attribute("scan_output_directions") or [0] * results
    places = call.attribute("scan_output_axes") or [0] * results
    found = []
    for values, back, axis in zip(scanned, turned, places, strict=True):
        at = call.axis(axis, len(values[0].shape) + 1)
        found.append(_stacked(call, values[::-1] if back else values, at))
    return [*states, *found]


def _steps(
    call: Call, body: Any, states: list[Value], inputs: Sequence[Value], axes: Sequence[int], backwards: Sequence[int]
) -> tuple[list[Value], list[list[Value]]]:
    """The last states, and what each step gives."""
    lengths = {value.shape[axis] for value, axis in zip(inputs, axes, strict=True)}
    if len(lengths) != 1:
        raise GraphError(f"sequences of different lengths: {sorted(lengths)}")
    length = lengths.pop()
    if length > MOST_STEPS:
        raise Unsupported(f"a loop of {length} steps; {MOST_STEPS} at most are unrolled")
    scanned: list[list[Value]] = [[] for _ in range(len(body.output) - len(states))]
    for step in range(length):
        parts = [
            _part(call, value, axis, length - 1 - step if back else step)
            for value, axis, back in zip(inputs, axes, backwards, strict=True)
        ]
        found = call.scope.branch(body, [*states, *parts], f"{call.outputs[0]}/{step}")
        states = found[: len(states)]
        for one, value in zip(scanned, found[len(states) :], strict=True):
            one.append(value)
    return states, scanned


def _part(call: Call, value: Value, axis: int, index: int) -> Value:
    """One element of an axis, without it."""
    if value.data is not None:
        return known(np.take(value.data, index, axis))
    section = call.g.section(call.g.tensor_of(value), axis, index, 1)
    shape = value.shape[:axis] + value.shape[axis + 1 :]
    return value_of(call.g.reshape(section, shape), value.element)


def _scan_of_samples(call: Call) -> list[Value]:
    """Operator set 8: the first axis of everything is the sample, the second one is scanned."""
    body, count = call.attributes["body"], call.attributes["num_scan_inputs"]
    if call.has(0):
        raise Unsupported("lengths of sequences")
    given = [value for value in call.inputs[1:] if value is not None]
    states, inputs = given[: len(given) - count], given[len(given) - count :]
    backwards = call.attribute("directions") or [0] * count
    rows: list[list[Value]] = []
    for sample in range(inputs[0].shape[0]):
        own = [_part(call, value, 0, sample) for value in inputs]
        first = [_part(call, value, 0, sample) for value in states]
        last, scanned = _steps(call, body, first, own, [0] * count, backwards)
        rows.append([*last, *(_stacked(call, values, 0) for values in scanned)])
    return [_stacked(call, list(column), 0) for column in zip(*rows, strict=True)]


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"If": choose, "Loop": loop, "Scan": scan}
