"""Kernels of floats through float32, which holds all values of fp16, bf16 and fp8: inputs are widened, the result is
rounded once.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from ..errors import raise_all
from ..graph import Operator
from ..numerics.float_formats import round_to
from ..spec.bind import bind
from ..types import fp32
from .work import DONE, Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Tensor
    from ..spec.table import Call
    from ..types import Array
    from .work import Run

FP8 = ("fp8e4m3", "fp8e5m2")
HALVES = ("fp16", "bf16")
NARROW = (*FP8, *HALVES)  # those that go through float32


def widened(array: Array) -> Array:
    """Floats as float32, which is exact; other arrays as they are."""
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return array.astype(np.float32) if types.holds_floats(array) else array


def in_fp32(prepare: Callable[[Call], Work], result: type[np.floating[Any]] = np.float32) -> Callable[[Call], Work]:
    """The work that `prepare` gives for the operator's row of fp32, on widened inputs; `result` is the type of what it
    writes, before that is rounded.
    """

    @wraps(prepare)
    def prepare_narrow(call: Call) -> Work:
        inner = prepare(_as_fp32(call))
        output = call.tensor(call.spec.outputs[0].name)
        is_constant = [call.tensors[a.name].data is not None for a in call.spec.inputs]

        def bind_narrow(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
            moving = [i for i, x in enumerate(inputs) if types.holds_floats(x) and not is_constant[i]]
            wide = [np.empty(x.shape, np.float32) if i in moving else widened(x) for i, x in enumerate(inputs)]
            found = np.empty(outputs[0].shape, result) if output.dtype.is_float else outputs[0]
            run_inner = inner.bind(wide, [found])

            def run(low: int, high: int, scratch: Sequence[Array]) -> int:
                with np.errstate(all="ignore"):
                    for i in moving:
                        np.copyto(wide[i], inputs[i])
                    status = run_inner(0, inner.units, inner.carve(scratch[0]))
                    if status == DONE and output.dtype.is_float:
                        np.copyto(outputs[0], round_to(found, output.dtype))
                return status

            return run

        return Work(1, inner.cost, bind_narrow, ((np.dtype(np.uint8), inner.scratch_bytes),))

    return prepare_narrow


def _as_fp32(call: Call) -> Call:
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
    return {(op, key): Kernel(in_fp32(inner.prepare), inner.constants) for key in keys}
