"""Matrix products: MATMUL, and CONV2D with a 1x1 kernel where the filter is constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from .. import types
from ..types import count
from .axes import FLAT
from .problems import Misfit, Unlowered
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from ..types import DType, Shape
    from .writer import Writer

MAX_BATCH: Final = 1 << 16


def bias_vector(g: Writer, bias: Tensor, outputs: int, *, spread: bool) -> Tensor:
    """A bias of one entry, or one per output, in the shape that TOSA wants: [outputs] or [1].

    `spread`: a constant has one per output, as quantization per channel of a constant filter needs.
    """
    flat = g.reshape(bias, (count(shape_of(bias)),))
    if flat.data is not None and spread and flat.data.size < outputs:
        return g.const(np.repeat(flat.data, outputs), flat.dtype, "bias", flat.quant)
    return flat


def is_one_constant(weight: Tensor) -> bool:
    """Whether a filter is one constant matrix, as `fully_connected` wants it."""
    return weight.data is not None and count(shape_of(weight)[:-2]) == 1


def sums_of(x: Tensor) -> tuple[DType, DType]:
    """The formats of the results and of the accumulator of products with `x`."""
    if x.dtype is types.i8:
        return types.i32, types.i32
    if x.dtype is types.i16:
        return types.i48, types.i48
    return x.dtype, types.fp32


def fully_connected(g: Writer, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The rows of `x` [..., inputs] times one constant filter [outputs, inputs], plus a bias as of `bias_vector`."""
    shape, outputs = shape_of(x), shape_of(weight)[-2]
    zero, dtype = g.scalar(0, x.dtype), x.dtype
    rows = g.reshape(x, (count(shape[:-1]), 1, 1, shape[-1]))
    kernel = g.reshape(weight, (outputs, 1, 1, shape[-1]))
    product = g.operator("CONV2D", [rows, kernel, bias, zero, zero], (count(shape[:-1]), 1, 1, outputs), dtype, **FLAT)
    return g.reshape(product, (*shape[:-1], outputs))


def turned(g: Writer, x: Tensor) -> Tensor:
    """The last two axes change places."""
    rank = len(shape_of(x))
    return g.transpose(x, (*range(rank - 2), rank - 1, rank - 2))


def matmul(g: Writer, x: Tensor, y: Tensor) -> Tensor:
    """The product over the last two axes as MATMUL of rank 3; leading axes broadcast."""
    left, right = shape_of(x), shape_of(y)
    if len(left) != len(right) or left[-1] != right[-2]:
        raise Misfit(f"shapes {list(left)} and {list(right)} don't multiply")
    if any(m != n and 1 not in (m, n) for m, n in zip(left[:-2], right[:-2], strict=True)):
        raise Misfit(f"leading axes of {list(left)} and {list(right)} don't agree")
    batch = tuple(max(m, n) for m, n in zip(left[:-2], right[:-2], strict=True))
    if count(right[:-2]) == 1:  # one matrix for all rows
        x3, y3 = g.reshape(x, (1, count(left[:-1]), left[-1])), g.reshape(y, (1, *right[-2:]))
    else:
        x3, y3 = _spread(g, x, batch), _spread(g, y, batch)
    zero = g.scalar(0, x.dtype)
    shape = (shape_of(x3)[0], shape_of(x3)[1], right[-1])
    output = types.fp32 if x.dtype is types.bf16 else sums_of(x)[0]  # MATMUL has no bf16 results
    product = g.operator("MATMUL", [x3, y3, zero, zero], shape, output)
    if x.dtype is types.bf16:
        product = g.operator("CAST", [product], shape, types.bf16)
    return g.reshape(product, (*batch, left[-2], right[-1]))


def _spread(g: Writer, x: Tensor, batch: Shape) -> Tensor:
    """Rank 3 with all of `batch` in front: MUL by ones repeats what broadcasts."""
    shape = shape_of(x)
    if shape[:-2] != batch:
        if count(batch) > MAX_BATCH:
            raise Unlowered(f"a batch of {count(batch)} matrices that broadcast")
        x = g.binary("MUL", x, g.const(np.ones((*batch, 1, 1)), x.dtype, "ones"))
    return g.reshape(x, (count(batch), *shape[-2:]))
