"""Fusion: what follows a producer and can be done to its results before they are stored.

Four patterns. A producer of int32 or int48 (a convolution, MATMUL) takes RESCALE and CLAMP as its epilogue, or two
RESCALEs (`fuse_twice`).
ADD, SUB and MUL of two RESCALEs take these and the RESCALE and CLAMP behind. TABLE of int16 takes the RESCALE and CLAMP
behind it, another RESCALE the CLAMP. Each is done only where it is proved that no REQUIRE of a fused operator can fail,
when nobody else reads the tensors in between, and none of them is kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ... import types
from ...kernels import KERNELS, Epilogue
from ...kernels.bounds import fits_output
from ...kernels.scale.fused import rescale_by_one
from ...kernels.table.prepare import table_rescaled
from ...kernels.type_conversion import output_range, rescale_numbers, zero_points
from ..steps import Step
from .dynamic_constants import unknown
from .fuse_float import clipped
from .fuse_rescaled import between_scales, scale_of
from .fuse_sums import fused_sum
from .fuse_two_outputs import scaled_twice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...ranges import Analysis
    from ...spec.table import Call


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
        """The producer of a tensor that only one operator reads."""
        call = self.producer.get(name)
        if call is None or call.spec.name != op or name in self.fixed or len({id(c) for c in self.readers[name]}) != 1:
            return None
        assert call.row is not None
        return None if unknown(KERNELS[op, call.row.key], call) else call

    def epilogue(self, call: Call) -> Step | None:
        """The step of a producer of int32 or int48 with what follows it."""
        assert call.row is not None
        kernel = KERNELS[call.spec.name, call.row.key]
        if not kernel.epilogue or unknown(kernel, call) or not fits_output(call):
            return None
        found = self.next(call.operator.outputs[0], "RESCALE")
        if found is None or not self.proved_rescale(found):
            return scaled_twice(self, call)
        after, calls = self.finish(found)
        work = kernel.prepare(call, after)
        return Step((call, *calls), tuple(call.operator.inputs), (calls[-1].operator.outputs[0],), work)

    def proved_rescale(self, call: Call) -> bool:
        """Whether no REQUIRE of a RESCALE from i32 or i48 can fail for the values that reach it."""
        return call.in_t in (types.i32, types.i48) and self.analysis.proved(call)

    def scales(self, call: Call) -> bool:
        """Whether an operator is a RESCALE whose numbers are known and whose REQUIREs hold."""
        assert call.row is not None
        known = call.spec.name == "RESCALE" and not unknown(KERNELS["RESCALE", call.row.key], call)
        return known and self.proved_rescale(call)

    def finish(self, rescale: Call) -> tuple[Epilogue, list[Call]]:
        """RESCALE with the CLAMP behind it, as an epilogue."""
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
        return after, calls

    def rescale(self, call: Call) -> Step | None:
        """RESCALE by one scale whose REQUIREs hold for all inputs, and a CLAMP behind it."""
        plain = not (call.per_channel or call.input_unsigned or call.output_unsigned)
        if not plain or call.in_t not in (types.i8, types.i16, types.i32) or not self.analysis.proved(call):
            return None
        after, calls = self.finish(call)
        work = rescale_by_one(call, scale_of(call), zero_points(call), (after.low, after.high))
        return Step(tuple(calls), (call.operator.inputs[0],), (calls[-1].operator.outputs[0],), work)

    def table(self, call: Call) -> Step | None:
        """TABLE of int16 with the RESCALE by one scale, and the CLAMP, behind it."""
        assert call.row is not None
        if (
            call.in_t is not types.i16
            or unknown(KERNELS["TABLE", call.row.key], call)
            or not self.analysis.proved(call)
        ):
            return None
        last = self.next(call.operator.outputs[0], "RESCALE")
        if last is None or last.per_channel or last.output_unsigned or not self.proved_rescale(last):
            return None
        after, calls = self.finish(last)
        work = table_rescaled(call, scale_of(last), after.output_zp, (after.low, after.high))
        return Step((call, *calls), (call.operator.inputs[0],), (calls[-1].operator.outputs[0],), work)

    def step(self, call: Call) -> Step | None:
        if call.spec.name == "TABLE":
            return self.table(call)
        if call.spec.name in ("ADD", "SUB", "MUL"):
            return clipped(self, call) or between_scales(self, call)
        if call.spec.name == "REDUCE_SUM":
            return fused_sum(self, call)
        return clipped(self, call) or self.epilogue(call)


def fuse(calls: list[Call], outputs: list[str], keep: frozenset[str], analysis: Analysis) -> Mapping[int, Step]:
    """Steps by the position of the operator that ends them, or that begins them where they have several outputs. The
    operators in them get no step of their own.
    """
    fusion = Fusion(calls, outputs, keep, analysis)
    position = {id(call): i for i, call in enumerate(calls)}
    found: dict[int, Step] = {}
    taken: set[int] = set()

    def take(step: Step | None) -> None:
        if step is not None and not any(id(c) in taken for c in step.calls):
            taken.update(id(c) for c in step.calls)
            # readers of one of several outputs may come before the operators that make the others
            which = max if len(step.outputs) == 1 else min
            found[which(position[id(c)] for c in step.calls)] = step

    for call in calls:
        take(fusion.step(call))
    for call in calls:  # what no larger pattern has taken
        if call.spec.name == "RESCALE" and id(call) not in taken:
            take(fusion.rescale(call))
    return found
