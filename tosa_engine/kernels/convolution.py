"""The kernels of CONV3D and TRANSPOSE_CONV2D: uses of CONV2D (`as_conv2d`).

Sums are added up in another order than the specification's: only where a bound proves that no REQUIRE can fail. Where
it doesn't, loops of `wide` test every partial sum in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import tensor_ops
from .as_conv2d.stacked import conv3d_sums
from .as_conv2d.transposed import in_groups
from .bounds import fits_output
from .floats.tensor_ops import CONV_SUMS
from .floats.through_float32 import in_fp32
from .tile.trim import trimmed
from .wide.prepare import conv3d_wide, transpose_conv2d_wide
from .work import Epilogue, Kernel, Work

if TYPE_CHECKING:
    from ..spec.table import Call


def unproved(call: Call) -> bool:
    """Whether a REQUIRE on the sums could fail."""
    return bool(call.acc_t.is_int) and not fits_output(call)


def conv3d(call: Call, epilogue: Epilogue | None = None) -> Work:
    if not unproved(call):
        return conv3d_sums(call, epilogue)
    assert epilogue is None
    return conv3d_wide(call)


def transpose_conv2d(call: Call, epilogue: Epilogue | None = None) -> Work:
    if not unproved(call):
        return in_groups(call, epilogue)
    assert epilogue is None
    return transpose_conv2d_wide(call)


KERNELS = {
    (op, key): Kernel(prepare, tensor_ops.CONV, epilogue=not key.startswith("fp32"))
    for op, prepare in (("CONV3D", trimmed(conv3d)), ("TRANSPOSE_CONV2D", transpose_conv2d))
    for key in ("i8_i8_i32_acci32", "i8_i4_i32_acci32", "i16_i8_i48_acci48", "fp32_fp32_fp32_accfp32")
}
KERNELS |= {
    (op, key): Kernel(in_fp32(prepare), tensor_ops.CONV, clips=True)
    for op, prepare in (("CONV3D", trimmed(conv3d)), ("TRANSPOSE_CONV2D", transpose_conv2d))
    for key in CONV_SUMS
}
