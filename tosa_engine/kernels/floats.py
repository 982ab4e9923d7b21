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
from .work import DONE, Chain, Kernel, Loop, Work, bits, blocks, flat

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


def in_fp32(prepare: Callable[..., Work], result: type[np.floating[Any]] = np.float32) -> Callable[..., Work]:
    """The work that `prepare` gives for the operator's row of fp32, on widened inputs; `result` is the type of what it
    writes, before that is rounded.
    """

    @wraps(prepare)
    def prepare_narrow(call: Call, *more: Any) -> Work:
        inner = prepare(_as_fp32(call), *more)
        output = call.tensor(call.spec.outputs[0].name).dtype
        is_constant = [call.tensors[a.name].data is not None for a in call.spec.inputs]
        rounds = output.is_float and output.storage != result

        def bind_narrow(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
            apart = [types.holds_floats(x) and x.dtype != np.float32 for x in inputs]
            moving = [i for i, x in enumerate(inputs) if apart[i] and not is_constant[i]]
            wide = [np.empty(x.shape, np.float32) if i in moving else widened(x) for i, x in enumerate(inputs)]
            found = np.empty(outputs[0].shape, result) if rounds else outputs[0]
            run_inner = inner.bind(wide, [found])
            between = [(inputs[i], wide[i]) for i in moving]
            behind = [(found, outputs[0])] if rounds else []
            return chained(between, run_inner, inner.units, behind) or apart_from(between, run_inner, inner, behind)

        widest = max(inner.units, inner.widest)
        return Work(1, inner.cost, bind_narrow, inner.scratch, widest=widest)

    return prepare_narrow


Pairs = list[tuple["Array", "Array"]]


def chained(before: Pairs, run: Run, units: int, behind: Pairs) -> Chain | None:
    """Compiled loops around compiled loops; None where one of them isn't compiled."""
    from ._jit import JIT

    inner = run.loops if isinstance(run, Chain) else ((run, units),)
    loops = [*(widening(*pair) for pair in before), *inner, *(narrowing(*pair) for pair in behind)]
    if not JIT or not all(found is not None and isinstance(found[0], Loop) for found in loops):
        return None
    return Chain(*loops)


def apart_from(before: Pairs, run_inner: Run, inner: Work, behind: Pairs) -> Run:
    """The same by numpy."""

    def run(low: int, high: int, scratch: Sequence[Array]) -> int:
        with np.errstate(all="ignore"):
            for source, target in before:
                np.copyto(target, source)
            status = run_inner(0, inner.units, scratch)
            for source, target in behind if status == DONE else []:
                np.copyto(target, round_to(source, types.from_numpy(target.dtype) or types.fp32))
        return status

    return run


def widening(source: Array, target: Array) -> tuple[Loop, int]:
    """The loop, and its units, that copies floats to float32."""
    from . import float_format_loops as loops

    x, out, count = flat(bits(source)), target.reshape(-1), target.size
    if source.itemsize == 1:
        with np.errstate(invalid="ignore"):
            values = np.arange(256, dtype=np.uint8).view(source.dtype).astype(np.float32)
        return Loop(loops.widen_byte, x, values, out, count=count).taking(0, 0), blocks(count)
    loop = loops.widen_half if source.dtype == np.float16 else loops.widen_bf16
    return Loop(loop, x, out, count=count).taking(0, 0), blocks(count)


def narrowing(source: Array, target: Array) -> tuple[Loop, int] | None:
    """The loop, and its units, that rounds float32 to floats of 16 bits."""
    from . import float_format_loops as loops

    if source.dtype != np.float32 or target.itemsize != 2:
        return None
    loop = loops.narrow_half if target.dtype == np.float16 else loops.narrow_bf16
    out = bits(target).reshape(-1)
    return Loop(loop, source.reshape(-1), out, count=out.size).taking(0, 0), blocks(out.size)


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
