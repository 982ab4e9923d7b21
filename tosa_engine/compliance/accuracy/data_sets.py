"""The data sets S0 to S5 for operators that compute dot products (specification, Appendix A)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...numerics.float_formats import round_to
from ...types import bf16, fp8e4m3, fp8e5m2, fp16, fp32
from .dot_product import kernel_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...spec.table import Call
    from ...types import Array, DType, Shape

DATA_SETS: Final = (0, 1, 2, 3, 4, 5)
# B: the largest value of the input format whose square the output format can hold
LARGE_VALUES: Final[Mapping[tuple[DType, DType], float]] = {
    (fp8e4m3, fp16): 240.0,
    (fp8e4m3, fp32): 448.0,
    (fp8e4m3, fp8e4m3): 20.0,
    (fp8e5m2, fp16): 224.0,
    (fp8e5m2, fp32): 57344.0,
    (fp8e5m2, fp8e5m2): 224.0,
    (fp16, fp16): 255.875,
    (fp16, fp32): 65504.0,
    (bf16, bf16): 2.0**64 - 2.0**56,
    (bf16, fp32): 2.0**64 - 2.0**56,
    (fp32, fp32): 2.0**64 - 2.0**40,
}


def set_data(set_: int, count: int) -> Array:
    """The first `count` values of a set: float32 from -1 to 1, of a sequence modulo 2^32 ("Random Data Generation")."""
    multiplier = np.uint32((8 * set_ + 1) * 0x705A5E75 & 0xFFFFFFFF)
    states = np.array([(int(multiplier) + 1) & 0xFFFFFFFF], np.uint32)
    power, sum_ = int(multiplier), 1  # of as many steps as there are states
    while len(states) < count:
        states = np.concatenate([states, states * np.uint32(power) + np.uint32(sum_)])
        power, sum_ = power * power & 0xFFFFFFFF, sum_ * (power + 1) & 0xFFFFFFFF
    states = states[:count]
    magnitude = (states & np.uint32(0x7FFFFFFF)).astype(np.float32) / np.float32(0x7FFFFFFF)
    return np.where(states >> 31 == 0, magnitude, -magnitude)


def pro_fp_data(S: int, KS: int, p: int, k: Array, B: float) -> Array:
    """`tosa_pro_fp_data` for all elements i = 0, 1, ... of a tensor, in fp64.

    Args:
        S: the data set.
        KS: the kernel size.
        p: 0 for the first input, 1 for the second (weights), 2 for the bias.
        k: the index of each element within the kernel, in the order of the elements.
        B: see `LARGE_VALUES`.
    """
    count = k.size
    zeros = np.zeros(count)
    if p == 2 and S != 1:
        return zeros
    if S == 1:
        pairs = set_data(3 + p, 2 * count).astype(np.float64)
        large = B * B / (KS + 1) if p == 2 else B / np.sqrt(KS + 1)
        return np.asarray(large * (np.where(pairs[0::2] < 0, -0.75, 0.75) + 0.25 * pairs[1::2]))
    if S in (0, 4):  # of a product, one factor is zero
        choice, values = (set_data(3 * S + one, count).astype(np.float64) for one in (0, 1))
        chosen = (choice < 0) == (p == 1)
        if S == 0:
            return np.where(chosen, values, 0.0)
        middle = np.where(choice < 0, -0.5, 0.5) * (1 if p == 0 else -1)
        return np.where(k == KS // 2, middle, np.where(chosen, B / np.sqrt(KS) * values, 0.0))
    if S == 2:
        return np.where(k == 0, 1.0, set_data(6 + p, count).astype(np.float64) / np.sqrt(KS))
    if S == 3:
        pairs = set_data(9 + p, 2 * count).astype(np.float64)
        small = np.exp(2 * pairs[0::2]) * pairs[1::2]
        return np.where(k == 0, np.where(pairs[0::2] < 0, -16.0, 16.0), small)
    assert S == 5, f"there is no data set {S}"
    return np.asarray(B / np.sqrt(KS) * set_data(15 + p, count))


def data_set(call: Call, S: int) -> dict[str, Array]:
    """The inputs of data set S for an operator ("Floating-Point Operator Test Data"), by argument name; zero points are
    0. They count for compliance where the operator computes at least `MIN_DOT_PRODUCTS` dot products.
    """
    KS, large = kernel_size(call), _large(call)
    first = next(a.name for a in call.spec.inputs)
    out_t = call.dtype(call.spec.outputs[0])
    found = {}
    for argument in call.spec.inputs:
        shape, dtype = call.shape_of(argument.name), call.dtype(argument)
        if argument.name.endswith("_zp"):
            found[argument.name] = np.zeros(shape, dtype.storage)
            continue
        p = {"weight": 1, "B": 1, "bias": 2}.get(argument.name, 0)
        k = np.broadcast_to(_place(call, argument.name, shape, first), shape).reshape(-1)
        if argument.name == "input_imag":  # goes on where the real part ends
            values = pro_fp_data(S, KS, p, np.concatenate([k, k]), large)[k.size :]
        else:
            values = pro_fp_data(S, KS, p, k, large)
        found[argument.name] = round_to(values.reshape(shape), dtype if p < 2 else out_t)
    return found


def _large(call: Call) -> float:
    formats = [call.dtype(a) for a in call.spec.inputs if a.name != "bias" and not a.name.endswith("_zp")]
    return min(LARGE_VALUES[dtype, call.dtype(call.spec.outputs[0])] for dtype in formats)


def _place(call: Call, argument: str, shape: Shape, first: str) -> Any:
    """k: where each element stands within the kernel; an array that broadcasts to the tensor's shape."""
    at = np.ogrid[tuple(slice(n) for n in shape)]
    name = call.spec.name
    if argument == "bias":
        return np.zeros(shape, np.int64)
    if name == "MATMUL":
        return at[2] if argument == first else at[1]
    if name == "REDUCE_SUM":
        return at[call.axis]
    if name in ("FFT2D", "RFFT2D"):
        return at[1] * call.W + at[2]
    if name == "CONV3D":
        z, y, x, c = at[1:]
        return ((z % call.KD * call.KH + y % call.KH) * call.KW + x % call.KW) * call.IC + c
    if name == "DEPTHWISE_CONV2D":
        y, x = (at[1], at[2]) if argument == first else (at[0], at[1])
        return y % call.KH * call.KW + x % call.KW
    y, x, c = at[1:]
    if name == "AVG_POOL2D":
        return (y % call.kernel_y * call.kernel_x + x % call.kernel_x) * call.C + c
    return (y % call.KH * call.KW + x % call.KW) * call.IC + c
