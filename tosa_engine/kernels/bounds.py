"""What a plan has proved of an operator for all inputs (`Call.proved`), in the words of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array


def holds(call: Call, *rules: str) -> bool:
    """Whether these REQUIREs (R1, ...) of the operator hold for all inputs."""
    return all(f"{call.spec.name}.{rule}" in call.proved for rule in rules)


def fits_output(call: Call) -> bool:
    """Whether no partial sum of a convolution or MATMUL, nor the result with its bias, can leave its format."""
    return all(require.label in call.proved for require in call.spec.requires)


def accumulator_range(call: Call) -> tuple[Array, Array]:
    """The least and the greatest of all partial sums and of the result with its bias, per output channel (or one for
    all), where `fits_output`.
    """
    ends = [call.proved[require.label] for require in call.spec.requires]
    low, high = (np.broadcast_arrays(*side) for side in zip(*ends, strict=True))
    return np.minimum.reduce(low), np.maximum.reduce(high)


def accumulator_bound(call: Call) -> Array:
    """The larger magnitude of `accumulator_range`."""
    low, high = accumulator_range(call)
    return np.maximum(-low, high)


def sums_range(call: Call) -> tuple[Array, Array]:
    """The least and the greatest of all partial sums of products, without the bias, where `fits_output`."""
    return call.proved[call.spec.requires[0].label]


def in_int32(low: Array, high: Array) -> bool:
    return bool(low.min() >= -(1 << 31) and high.max() < 1 << 31)
