"""What a layer of an integer graph takes: multiplications, and bytes of weights and of what it writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tosa_engine.spec import macs_of

from ..legalize.sharing import moves_values
from ..legalize.weights import is_weighted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.graph import Block, Operator


class Sizes(NamedTuple):
    """`weights` and `written` in bytes."""

    macs: int = 0
    weights: int = 0
    written: int = 0


NO_SIZES: Final = Sizes()


def sizes_of(block: Block, producers: Mapping[str, Operator], name: str) -> Sizes:
    """Of the integer operators behind a tensor, up to the weights: its RESCALE, its CLAMP, the sums themselves."""
    tensor = block.tensors[name]
    op = producers.get(name)
    written = tensor.size * tensor.dtype.bits // 8 if op is not None else 0
    if op is None or moves_values(op):
        return Sizes(written=written)
    while op is not None and not is_weighted(op) and op.op in ("RESCALE", "CLAMP"):
        op = producers.get(op.inputs[0])
    if op is None or not is_weighted(op):
        return Sizes(written=written)
    weights = block.tensors[op.inputs[1]]
    return Sizes(macs_of(op, block), weights.size * weights.dtype.bits // 8 if weights.data is not None else 0, written)
