"""Real numbers to stored integers and back, by the scales and zero points of QParams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import QParams
    from ..types import Array

STORAGE: Final[Mapping[tuple[int, bool], type[np.generic]]] = {
    (8, True): np.int8, (8, False): np.uint8, (16, True): np.int16, (16, False): np.uint16, (32, True): np.int32,
}  # fmt: skip


def quantize_array(values: Array, quant: QParams) -> Array:
    """The stored integers of real values: values / scale + zero point, halves away from zero, saturated.

    The result has the shape of `values`, in the numpy type of `bits` and `signed` (int64 where there is none). This
    is also what the border of an int8 network does to float inputs.

    Raises DataError when a value is NaN.
    """
    real = np.asarray(values, np.float64)
    if np.isnan(real).any():
        raise DataError("NaN can't be quantized")
    scale, zero_point = _broadcast(quant, real.ndim)
    steps = np.clip(real / scale, -1e15, 1e15)  # beyond every stored range, and infinities become numbers
    whole = np.floor(np.abs(steps))
    nearest = np.copysign(whole + (np.abs(steps) - whole >= 0.5), steps)
    dtype = STORAGE.get((quant.bits, quant.signed), np.int64)
    stored: Array = np.clip(nearest + zero_point, quant.low, quant.high).astype(dtype)
    return stored


def dequantize_array(stored: Array, quant: QParams) -> Array:
    """The real values (float64) that integers stand for. Of unsigned QParams, signed arrays hold the bits."""
    stored, (scale, zero_point) = np.asarray(stored), _broadcast(quant, np.ndim(stored))
    if not quant.signed and stored.dtype.kind == "i" and stored.dtype.itemsize * 8 == quant.bits:
        stored = stored.view(f"u{stored.dtype.itemsize}")
    result: Array = (stored.astype(np.float64) - zero_point) * scale
    return result


def _broadcast(quant: QParams, rank: int) -> tuple[Array, Array]:
    """Scales and zero points shaped to broadcast along the QParams' axis."""
    scale, zero_point = np.asarray(quant.scale), np.asarray(quant.zero_point, np.float64)
    if quant.axis is None:
        return scale.reshape(()), zero_point.reshape(())
    dims = [1] * rank
    dims[quant.axis] = len(scale)
    return scale.reshape(dims), zero_point.reshape(dims)
