"""A convolution whose sums two RESCALEs read, and nobody else: one step with two outputs.

Residual networks of int16 have it: one RESCALE makes int16 for the next convolution, the other int32 for an ADD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernels import KERNELS
from ...kernels.bounds import fits_output
from ..steps import Step
from .dynamic_constants import unknown

if TYPE_CHECKING:
    from ...spec.table import Call
    from .fuse import Fusion


def scaled_twice(fusion: Fusion, call: Call) -> Step | None:
    """The step of a producer of int48 with two RESCALEs, and the CLAMPs behind them."""
    assert call.row is not None
    kernel = KERNELS[call.spec.name, call.row.key]
    if kernel.twice is None or unknown(kernel, call) or not fits_output(call):
        return None
    name = call.operator.outputs[0]
    readers = fusion.readers.get(name, [])
    if name in fusion.fixed or len(readers) != 2 or not all(fusion.scales(reader) for reader in readers):
        return None
    found = [fusion.finish(reader) for reader in readers]
    work = kernel.twice(call, *(after for after, _ in found))
    if work is None:
        return None
    outputs = tuple(calls[-1].operator.outputs[0] for _, calls in found)
    return Step((call, *found[0][1], *found[1][1]), tuple(call.operator.inputs), outputs, work)
