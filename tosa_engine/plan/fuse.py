"""Fusion: what follows a producer and can be done to its results before they are stored.

Two patterns. An int32 producer (CONV2D, DEPTHWISE_CONV2D, MATMUL) takes RESCALE, CLAMP and TABLE as its epilogue.
ADD and SUB of two RESCALEs from int8 take these and the RESCALE and CLAMP behind. Either is done only where it is
proved that no REQUIRE of a fused operator can fail, when nobody else reads the tensors in between, and none of them is
kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .. import types
from ..kernels import KERNELS, Epilogue
from ..kernels.bounds import fits_output
from ..kernels.ewise_binary import rescaled_add
from ..kernels.type_conversion import output_range, rescale_numbers, zero_points
from .late import unknown
from .steps import Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..ranges import Analysis
    from ..spec.table import Call


class Fusion:
    """Looks for patterns around one operator. `readers` counts how often a tensor is read, `only` finds its reader."""

    def __init__(self, calls: list[Call], outputs: list[str], keep: frozenset[str], analysis: Analysis) -> None:
        self.calls, self.analysis = calls, analysis
        self.producer = {n: c for c in calls for n in c.operator.outputs}
        self.readers: dict[str, list[Call]] = {}
        for call in calls:
            for name in call.operator.inputs:
                self.readers.setdefault(name, []).append(call)
        self.fixed = keep | set(outputs)

    def next(self, name: str, op: str) -> Call | None:
        """The only reader of a tensor that needn't be stored, if it is this operator reading it as its first input."""
        found = self.readers.get(name, [])
        if name in self.fixed or len(found) != 1 or found[0].spec.name != op or found[0].operator.inputs[0] != name:
            return None
        call = found[0]
        assert call.row is not None
        return None if unknown(KERNELS[op, call.row.key], call) else call

    def before(self, name: str, op: str) -> Call | None:
        """The producer of a tensor that only one operator reads once."""
        call = self.producer.get(name)
        if call is None or call.spec.name != op or name in self.fixed or len(self.readers.get(name, [])) != 1:
            return None
        assert call.row is not None
        return None if unknown(KERNELS[op, call.row.key], call) else call

    def epilogue(self, call: Call) -> Step | None:
        """The step of an int32 producer with what follows it."""
        assert call.row is not None
        kernel = KERNELS[call.spec.name, call.row.key]
        if not kernel.epilogue or unknown(kernel, call) or not fits_output(call):
            return None
        found = self.next(call.operator.outputs[0], "RESCALE")
        if found is None or not self.proved_rescale(found):
            return None
        after, calls = self.finish(found)
        work = kernel.prepare(call, after)
        return Step((call, *calls), tuple(call.operator.inputs), (calls[-1].operator.outputs[0],), work)

    def proved_rescale(self, call: Call) -> bool:
        """Whether no REQUIRE of a RESCALE from i32 can fail for the values that reach it."""
        return call.in_t is types.i32 and self.analysis.proved(call)

    def finish(self, rescale: Call) -> tuple[Epilogue, list[Call]]:
        """RESCALE with the CLAMP and the TABLE behind it, as an epilogue."""
        multiplier, shift, _ = rescale_numbers(rescale)
        low, high = output_range(rescale)
        double = rescale.rounding_mode == "DOUBLE_ROUND"
        after = Epilogue(multiplier, shift, double, zero_points(rescale)[1], low, high)
        calls = [rescale]
        clamp = None if rescale.output_unsigned else self.next(rescale.operator.outputs[0], "CLAMP")
        if clamp is not None:
            least, most = clamp.min_val, clamp.max_val
            after = replace(after, low=min(max(low, least), most), high=min(max(high, least), most))
            calls.append(clamp)
        table = self.next(calls[-1].operator.outputs[0], "TABLE")
        if table is not None and table.in_t is types.i8:
            after = replace(after, table=table.constant("table"))
            calls.append(table)
        return after, calls

    def rescaled_add(self, call: Call) -> Step | None:
        """ADD or SUB between RESCALEs, all of int8."""
        if call.in_out_t is not types.i32 or call.shape1 != call.shape2:
            return None
        sides = [self.before(name, "RESCALE") for name in call.operator.inputs]
        last = self.next(call.operator.outputs[0], "RESCALE")
        if last is None or any(s is None for s in sides) or last.per_channel or last.out_t is not types.i8:
            return None
        before = [side for side in sides if side is not None]
        if not all(_widens_int8(side) and self.analysis.proved(side) for side in before):
            return None
        if not (self.analysis.proved(call) and self.proved_rescale(last)):
            return None
        after, behind = self.finish(last)
        if after.table is not None:
            behind = behind[:-1]
        scales = [(int(m[0]), int(s[0]), int(d[0])) for m, s, d in map(rescale_numbers, (*before, last))]
        zeros = [zero_points(c)[0] for c in before] + [after.output_zp]
        work = rescaled_add(call, scales, zeros, (after.low, after.high))
        inputs = tuple(side.operator.inputs[0] for side in before)
        return Step((*before, call, *behind), inputs, (behind[-1].operator.outputs[0],), work)


def _widens_int8(call: Call) -> bool:
    """Whether a RESCALE is one from int8 to int32, the same for all channels."""
    return call.in_t is types.i8 and call.out_t is types.i32 and not call.per_channel and not call.input_unsigned


def fuse(calls: list[Call], outputs: list[str], keep: frozenset[str], analysis: Analysis) -> Mapping[int, Step]:
    """Steps by the position of the operator that ends them. The operators in them get no step of their own."""
    fusion = Fusion(calls, outputs, keep, analysis)
    position = {id(call): i for i, call in enumerate(calls)}
    found: dict[int, Step] = {}
    taken: set[int] = set()
    for call in calls:
        step = fusion.rescaled_add(call) if call.spec.name in ("ADD", "SUB") else fusion.epilogue(call)
        if step is None or any(id(c) in taken for c in step.calls):
            continue
        taken.update(id(c) for c in step.calls)
        found[max(position[id(c)] for c in step.calls)] = step
    return found
