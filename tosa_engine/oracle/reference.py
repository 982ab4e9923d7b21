"""The oracle in fp64: results before they are rounded to their format, and what bounds the error of dot products.

An operator's oracle computes in fp64 and rounds once, to the formats that its call names. A call whose floating-point
formats are all fp64 gives `reference_fp64()` of the specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..spec import Call
from ..types import DType
from .arith import IEEE, wide
from .execute import ORACLES
from .fft import turns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..types import Array

FP64: Final = DType("fp64", "", 0, 64, np.dtype(np.float64), "float")


def in_fp64(call: Call) -> Call:
    """The call with fp64 in place of every floating-point format."""
    found = Call(call.spec, call.operator, call.tensors, call.row, call.graph)
    found.names = {
        name: FP64 if isinstance(value, DType) and value.is_float else value for name, value in call.names.items()
    }
    return found


def reference_fp64(call: Call, inputs: Mapping[str, Array | list[Array]]) -> list[Array]:
    """The outputs in fp64 (float formats) or int64; `inputs` are by argument name, lists for arguments that are lists.

    Raises:
        RequireViolation: a REQUIRE doesn't hold.
    """
    with np.errstate(**IEEE):
        values = {n: [wide(one) for one in a] if isinstance(a, list) else wide(a) for n, a in inputs.items()}
        found = ORACLES[call.spec.name](in_fp64(call), **values)
    return [wide(one) for one in (found if isinstance(found, list) else [found])]


def bound_fp64(call: Call, inputs: Mapping[str, Array], local_bound: bool, normal_min: float) -> list[Array]:
    """`output_bnd` of the dot-product rule: the operator on magnitudes, none below `normal_min`, with the products of
    padding. Without `local_bound` all elements of the input count as the greatest of them.
    """
    magnitudes = {n: np.maximum(np.abs(wide(a)), normal_min) for n, a in inputs.items() if not n.endswith("_zp")}
    if not local_bound:
        for name in [name for name in magnitudes if name.startswith("input")]:
            magnitudes[name] = np.full_like(magnitudes[name], magnitudes[name].max())
    if call.spec.name in ("FFT2D", "RFFT2D"):
        return _transform_bound(call, magnitudes, normal_min)
    zeros = {name: np.zeros(1) for name in inputs if name.endswith("_zp")}
    (found,) = reference_fp64(call, {**magnitudes, **zeros})
    return [_with_padding(call, found, magnitudes)]


def _with_padding(call: Call, found: Array, magnitudes: Mapping[str, Array]) -> Array:
    """Zeros of padding times weights that aren't finite are NaN: where a convolution has padding, all outputs that such
    a weight belongs to count as having met it.
    """
    weight = magnitudes.get("weight")
    if weight is None or np.isfinite(weight).all():
        return found
    depthwise = call.spec.name == "DEPTHWISE_CONV2D"
    bad = ~np.isfinite(weight.reshape(-1, call.C * call.M).T if depthwise else weight.reshape(call.OC, -1))
    padded = call.spec.name == "TRANSPOSE_CONV2D" or any(call.pad)
    return np.where(bad.any(axis=1) & padded, np.nan, found)


def _transform_bound(call: Call, magnitudes: Mapping[str, Array], normal_min: float) -> list[Array]:
    real = magnitudes["input_real"]
    imag = magnitudes.get("input_imag")
    columns = call.W if imag is not None else call.W // 2 + 1
    bounds = [np.zeros((call.N, call.H, columns)) for _ in range(2)]
    with np.errstate(**IEEE):
        for iy, ix, cosine, sine, half_turns in turns(call, columns):
            c, s = (np.maximum(np.abs(w), normal_min) for w in (cosine, sine))
            re = real[:, iy, ix, None, None]
            if imag is None:
                bounds[0] += re * c
                bounds[1] += re * np.where(half_turns, 0.0, s)
            else:
                im = imag[:, iy, ix, None, None]
                bounds[0] += re * c + im * s
                bounds[1] += re * s + im * c
    return bounds
