"""Real numbers at the borders of an integer network: stored integers for its inputs, floats from its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import DataError, raise_all
from ..qparams.arrays import dequantize_array, quantize_array
from ..types import holds_floats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Array
    from .ports import Port

NO_SCALE: Final = (
    "no scale is known, so real numbers can't become its integers; `quantize` writes scales into the .tosa file, and "
    "into the .qparams.json beside a .json file"
)


def stored(ports: Sequence[Port], feeds: Mapping[str, Any]) -> dict[str, Any]:
    """The feeds as the inputs hold them. Floats become integers by the port's scale, or floats of the port's type;
    other arrays stay as they are.

    Raises DataError (all of them at once) for floats where no scale is known, and for NaN.
    """
    found, problems = dict(feeds), []
    for port in ports:
        array = feeds.get(port.name)
        if not isinstance(array, np.ndarray) or not holds_floats(array):
            continue
        try:
            found[port.name] = _into(port, array)
        except DataError as problem:
            problems.append(DataError(problem.message, label="DATA.real", tensor=port.name))
    raise_all(problems)
    return found


def real(port: Port, array: Array) -> Array:
    """What an output's array stands for, as float32; the array itself where it isn't quantized."""
    if port.quant is None:
        return array
    numbers: Array = dequantize_array(array, port.quant).astype(np.float32)
    return numbers


def _into(port: Port, array: Array) -> Array:
    if port.tosa_type.is_float:
        return array.astype(port.dtype)
    if port.quant is None:
        raise DataError(NO_SCALE)
    integers = quantize_array(array.astype(np.float64), port.quant)
    return integers.view(port.dtype) if not port.quant.signed else integers.astype(port.dtype)
