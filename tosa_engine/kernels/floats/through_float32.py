"""Kernels of floats through float32, which holds all values of fp16, bf16 and fp8: inputs are widened, the result is
rounded once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import types
from ...errors import raise_all
from ...graph import Operator
from ...numerics.float_formats import round_to
from ...spec.bind import bind
from ...types import fp32
from ..elementwise.prepare import converting
from ..work import Chain, Kernel, Work, flat, loops_of
from .codes import clipped_formula, formula_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...graph import Tensor
    from ...spec.table import Call
    from ...types import Array
    from ..elementwise.formula import Operand
    from ..work import Limits, Loop, Run

FP8 = ("fp8e4m3", "fp8e5m2")
HALVES = ("fp16", "bf16")
NARROW = (*FP8, *HALVES)  # those that go through float32
CODES = {types.fp16.storage: np.int16, types.bf16.storage: np.uint16}


def widened(array: Array) -> Array:
    """Floats as float32, which is exact; other arrays as they are."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return array.astype(np.float32) if types.holds_floats(array) else array


def in_fp32(prepare: Callable[..., Work], result: type[np.floating[Any]] = np.float32) -> Callable[..., Work]:
    """The work that `prepare` gives for the operator's row of fp32, on widened inputs; `result` is the type of what it
    writes, before that is rounded. A CLAMP that follows is done to the rounded result.
    """

    @wraps(prepare)
    def prepare_narrow(call: Call, limits: Limits | None = None) -> Work:
        output = call.tensor(call.spec.outputs[0].name).dtype
        rounds = output.is_float and output.storage != result
        inner = prepare(as_fp32(call), *([] if limits is None or rounds else [limits]))
        is_constant = [call.tensors[a.name].data is not None for a in call.spec.inputs]

        def bind_narrow(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
            apart = [types.holds_floats(x) and x.dtype != np.float32 for x in inputs]
            moving = [i for i, x in enumerate(inputs) if apart[i] and not is_constant[i]]
            wide = [np.empty(x.shape, np.float32) if i in moving else widened(x) for i, x in enumerate(inputs)]
            found = np.empty(outputs[0].shape, result) if rounds else outputs[0]
            run_inner = inner.bind(wide, [found])
            before = [converted(inputs[i], wide[i]) for i in moving]
            behind = [converted(found, outputs[0], limits)] if rounds else []
            return Chain(*before, *loops_of(run_inner, inner.units, 0, len(inner.scratch)), *behind)

        return Work(1, inner.cost, bind_narrow, inner.scratch, most_units=max(inner.units, inner.most_units))

    return prepare_narrow


def coded(array: Array) -> Array:
    """An array of floats in one dimension as `halves_emit` knows it: of fp16 and bf16, the bits."""
    code = CODES.get(array.dtype)
    line = flat(array)
    return line if code is None else line.view(code)


def value(x: Operand) -> Operand:
    return x


def converted(source: Array, target: Array, limits: Limits | None = None) -> tuple[Loop, int]:
    """The loop, and its units, that copies floats to another format, clamped there; from float64, too."""
    read, written = (types.from_numpy(x.dtype) or fp32 for x in (source, target))
    if limits is None:
        return converting(formula_of("cast", value, 1, read.name, written.name), source, target)
    formula = clipped_formula("cast", value, 1, read.name, written.name)
    return converting(formula, source, target, np.array(limits, np.float32))


def as_fp32(call: Call) -> Call:
    """The operator in fp32; attributes that are floats keep the value that they have in their own format."""

    def wide(tensor: Tensor) -> Tensor:
        if not tensor.dtype.is_float:
            return tensor
        return replace(tensor, dtype=fp32, data=None if tensor.data is None else widened(tensor.data))

    operator = call.operator
    attributes = {k: fp32 if k == "acc_type" else v for k, v in operator.attributes.items()}
    for attribute in call.spec.attributes:
        if attribute.kind == "value":
            value = np.asarray(attributes[attribute.name], np.float64)
            attributes[attribute.name] = float(round_to(value, call[attribute.type]))
    tensors = {t.name: wide(t) for t in call.tensors.values()}
    found = bind(call.spec, Operator(operator.op, operator.inputs, operator.outputs, attributes), tensors, call.graph)
    raise_all(found.problems)
    return found.call


def through_fp32(
    kernels: Mapping[tuple[str, str], Kernel], op: str, wide: str, *keys: str
) -> dict[tuple[str, str], Kernel]:
    """Kernels for rows of narrower floats by that of the row `wide`."""
    inner = kernels[op, wide]
    return {(op, key): Kernel(in_fp32(inner.prepare), inner.constants, clips=True) for key in keys}
