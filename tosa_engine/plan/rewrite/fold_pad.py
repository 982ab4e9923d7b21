"""PAD and SLICE in front of a window: the operator pads, or leaves out the rest, by itself.

CONV2D, DEPTHWISE_CONV2D and CONV3D of integers take what lies outside their input as the input's zero point, so that a
PAD with this value can be part of their `pad`. MAX_POOL2D leaves out what lies outside, and so does the least value of
a type, but for a window that sees nothing else, which the operator's ERROR_IFs exclude. AVG_POOL2D counts the elements
of a PAD and not those outside: it takes none.

Convolutions of floats may multiply zeros outside their input, or leave them out (`tosa_extra_multiplies`), and kernels
do either. Their products with finite weights are zeros of either sign, which change a sum in the sign of a zero at
most; the bias ends that, unless it is -0.0. So a PAD of zeros is taken where weights are finite and no bias is -0.0.

The operator with the larger `pad` has to be legal at the level that the graph runs at.

A SLICE that cuts off the last rows and columns, which front ends write because TOSA's strides must come out even, is
padding of less than nothing: kernels end their windows where their output does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph import Operator
from ...infer import levels, violations
from ...spec.bind import bind
from ...spec.traits import Outside
from ...target import Target

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ...graph import Block
    from ...spec.table import Call
    from ...target import Level

CUT = ("CONV2D", "DEPTHWISE_CONV2D", "MAX_POOL2D")  # whose kernels end their windows where the output does


class Padding:
    """Takes PADs and SLICEs out of a block's operators. `taken` are those that another operator does by itself, by its
    id.
    """

    def __init__(self, calls: list[Call], block: Block, keep: Collection[str], level: Level | None) -> None:
        self.calls, self.block = list(calls), block
        self.fixed = {*keep, *block.outputs}
        self.level = level or Target().level
        self.taken: dict[int, tuple[Call, ...]] = {}

    def run(self) -> list[Call]:
        """The operators without those PADs and SLICEs that all of their readers can do."""
        for pad in [call for call in self.calls if call.spec.name in ("PAD", "SLICE")]:
            name = pad.operator.outputs[0]
            readers = [call for call in self.calls if name in call.operator.inputs]
            merged = [] if name in self.fixed else [self.merged(pad, reader) for reader in readers]
            found = {id(old): new for old, new in zip(readers, merged, strict=False) if new is not None}
            if readers and len(found) == len(readers):
                for old in readers:
                    self.taken[id(found[id(old)])] = (pad, *self.taken.pop(id(old), ()))
                self.calls = [found.get(id(call), call) for call in self.calls if call is not pad]
        return self.calls

    def merged(self, pad: Call, reader: Call) -> Call | None:
        """The reader with the padding in its `pad`; None where this isn't the same or isn't legal."""
        if [i for i, name in enumerate(reader.operator.inputs) if name == pad.operator.outputs[0]] != [0]:
            return None  # a weight, or the input and the weight
        amounts = padding(pad, reader) if pad.spec.name == "PAD" else cut(pad, reader)
        if amounts is None or any(amounts[:2]) or any(amounts[-2:]):
            return None
        operator = reader.operator
        wider = tuple(a + b for a, b in zip(operator.attributes["pad"], amounts[2:-2], strict=True))
        inputs = [pad.operator.inputs[0], *operator.inputs[1:]]
        attributes = {**operator.attributes, "pad": wider}
        changed = Operator(operator.op, inputs, operator.outputs, attributes, operator.location)
        binding = bind(reader.spec, changed, self.block.tensors, reader.graph)
        illegal = binding.problems or levels(binding.call, self.level)
        if illegal or (pad.spec.name == "PAD" and violations(binding.call)):
            return None
        return binding.call


def padding(pad: Call, reader: Call) -> list[int] | None:
    """What a PAD adds at both ends of each axis; None where the reader wouldn't do the same."""
    value, amounts = pad.constant("pad_const"), pad.constant("padding")
    if value is None or amounts is None or outside_of(reader) not in (Outside.ZERO, Outside.LEAST):
        return None
    return [int(n) for n in amounts] if is_outside(reader, value.reshape(-1)[0]) else None


def outside_of(call: Call) -> Outside | None:
    """What an operator's windows see outside of its input; None where it has no windows."""
    window = call.spec.traits.window
    return None if window is None else window.outside


def cut(part: Call, reader: Call) -> list[int] | None:
    """What a SLICE cuts off at the end of each axis, as padding; None where the reader would look there."""
    start, size = part.constant("start"), part.constant("size")
    if start is None or size is None or start.any() or reader.spec.name not in CUT:
        return None
    gone = [int(n) for n in part.shape1 - size]
    if any(n and end for n, end in zip(gone[1:-1], reader.pad[1::2], strict=True)):
        return None
    return [n for amount in gone for n in (0, -amount)]


def is_outside(call: Call, value: Any) -> bool:
    """Whether a value in the input means the same as nothing being there."""
    dtype = call.tensor("input").dtype
    if dtype.is_float:
        return is_outside_of_floats(call, float(value))
    if not dtype.is_int:
        return False
    if outside_of(call) is Outside.LEAST:
        return int(value) == dtype.minimum
    zero = call.constant("input_zp") if "input_zp" in call.tensors else np.zeros(1)
    return zero is not None and int(zero.reshape(-1)[0]) == int(value)


def is_outside_of_floats(call: Call, value: float) -> bool:
    if outside_of(call) is Outside.LEAST:
        return value == -math.inf and call.nan_mode == "PROPAGATE"
    trait = call.spec.traits.weight
    if trait is None or value != 0.0:
        return False
    weight, bias = call.constant(trait.argument), call.constant(trait.bias)
    if weight is None or bias is None:
        return False
    weight, bias = weight.astype(np.float32), bias.astype(np.float32)
    return bool(np.isfinite(weight).all() and not np.signbit(bias[bias == 0.0]).any())


def with_padding(calls: tuple[Call, ...], taken: Mapping[int, tuple[Call, ...]]) -> tuple[Call, ...]:
    """The operators of a step with the PADs that are done by them, in order."""
    return tuple(found for call in calls for found in (*taken.get(id(call), ()), call))
