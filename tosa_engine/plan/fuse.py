"""Fusion: what follows a producer and can be done to its results before they are stored.

Two patterns. An int32 producer (CONV2D, DEPTHWISE_CONV2D, MATMUL) takes RESCALE, CLAMP and TABLE as its epilogue.
ADD and SUB of two RESCALEs from int8 take these and the RESCALE and CLAMP behind. Either is done only when bounds prove
that no REQUIRE of a fused operator can fail, when nobody else reads the tensors in between, and none of them is kept.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import types
from ..kernels import KERNELS, Epilogue
from ..kernels.ewise_binary import rescaled_add
from ..kernels.matmul import matmul_bound
from ..kernels.tensor_ops import accumulator_bound
from ..kernels.type_conversion import output_range, rescale_numbers, zero_points
from ..kernels.work import I32_MAX
from ..numerics.scale import apply_scale_32
from ..ranges import Analysis, analyse_calls
from .late import unknown
from .steps import Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..spec.table import Call
    from ..types import Array


class Fusion:
    """Looks for patterns around one operator. `readers` counts how often a tensor is read, `only` finds its reader."""

    def __init__(self, calls: list[Call], outputs: list[str], keep: frozenset[str]) -> None:
        self.calls = calls
        self.producer = {n: c for c in calls for n in c.operator.outputs}
        self.readers: dict[str, list[Call]] = {}
        for call in calls:
            for name in call.operator.inputs:
                self.readers.setdefault(name, []).append(call)
        self.fixed = keep | set(outputs)

    @cached_property
    def analysis(self) -> Analysis:
        """What is known of all inputs; asked where a bound from the weights alone doesn't do."""
        return analyse_calls(self.calls)

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
        if not kernel.epilogue or unknown(kernel, call):
            return None
        bound = np.array(matmul_bound(call)) if call.spec.name == "MATMUL" else accumulator_bound(call)
        if bound.max() > I32_MAX:
            return None
        found = self.next(call.operator.outputs[0], "RESCALE")
        if found is None or not (rescale_is_safe(found, bound) or self.proved_rescale(found)):
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
        reaches = [_reach(side) for side in before]
        if any(r is None for r in reaches):
            return None
        reach = sum(r for r in reaches if r is not None)
        safe = reach <= I32_MAX and rescale_is_safe(last, np.array(reach))
        if not safe and not (self.analysis.proved(call) and self.proved_rescale(last)):
            return None
        after, behind = self.finish(last)
        if after.table is not None:
            behind = behind[:-1]
        scales = [(int(m[0]), int(s[0]), int(d[0])) for m, s, d in map(rescale_numbers, (*before, last))]
        zeros = [zero_points(c)[0] for c in before] + [after.output_zp]
        work = rescaled_add(call, scales, zeros, (after.low, after.high))
        inputs = tuple(side.operator.inputs[0] for side in before)
        return Step((*before, call, *behind), inputs, (behind[-1].operator.outputs[0],), work)


def rescale_is_safe(call: Call, bound: Array) -> bool:
    """Whether no REQUIRE of a RESCALE can fail for values of magnitude `bound` (per channel, or one for all).

    The results grow with the value, so that its two ends tell all.
    """
    multiplier, shift, _ = rescale_numbers(call)
    if call.in_t is not types.i32 or bool(((multiplier < 0) | (shift < 2) | (shift > 62)).any()):
        return False
    zero = zero_points(call)[1]
    double = call.rounding_mode == "DOUBLE_ROUND"
    channels = max(len(multiplier), bound.size)
    scales = zip(*(np.broadcast_to(v.reshape(-1), (channels,)) for v in (multiplier, shift, bound)), strict=True)
    for m, s, most in {(int(m), int(s), int(b)) for m, s, b in scales}:
        if call.scale32 and not most < 1 << (s - 1):
            return False
        for end in (-most, most):
            scaled = apply_scale_32(end, m, s, double)
            if max(abs(scaled), abs(scaled + zero)) > I32_MAX:
                return False
    return True


def _reach(call: Call) -> int | None:
    """The largest magnitude that a RESCALE from int8 to int32 gives; None when it isn't one, or a value is illegal."""
    if call.in_t is not types.i8 or call.out_t is not types.i32 or call.per_channel or call.input_unsigned:
        return None
    multiplier, shift, _ = rescale_numbers(call)
    m, s = int(multiplier[0]), int(shift[0])
    if m < 0 or not 2 <= s <= 62:
        return None
    ends = [value - zero_points(call)[0] for value in (-128, 127)]
    if call.scale32 and not all(-(1 << (s - 1)) <= v < 1 << (s - 1) for v in ends):
        return None
    reach = max(abs(apply_scale_32(v, m, s, call.rounding_mode == "DOUBLE_ROUND")) for v in ends)
    return reach if reach <= I32_MAX else None


def fuse(calls: list[Call], outputs: list[str], keep: frozenset[str]) -> Mapping[int, Step]:
    """Steps by the position of the operator that ends them. The operators in them get no step of their own."""
    fusion = Fusion(calls, outputs, keep)
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
