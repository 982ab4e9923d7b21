"""Matrix products (sections 4.7, 4.9.2): MATMUL, and CONV2D with a 1x1 kernel where the filter is constant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .... import types
from ....types import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ....types import Shape
    from ..build import NnefWriter
    from ..document import Operation
    from ..mapping import Mapper

MAX_BATCH: Final = 1 << 16


def bias_of(b: NnefWriter, argument: Any, outputs: int, *, axis: int, rank: int, constant: bool) -> Tensor:
    """The bias as TOSA's [BC]: one entry per output, or a single one.

    It may differ from 1 along `axis` only. A constant is spread over all outputs, as quantization per channel needs.
    """
    given = b.value(argument)
    if b.shape_of(given) == (outputs,) and axis and outputs > 1:
        b.bend(f"bias of shape [{outputs}]; the standard has [1, {outputs}]")
        given = b.reshape(given, (1,) * axis + (outputs,))
    bias = b.trailing(given, rank)
    shape = b.shape_of(bias)
    if len(shape) > rank or any(n != 1 and (i != axis or n != outputs) for i, n in enumerate(shape)):
        raise b.error(f"bias of shape {list(shape)} doesn't fit {outputs} outputs on axis {axis}")
    flat = b.reshape(bias, (count(shape),))
    if flat.data is not None and constant and flat.data.size < outputs:
        return b.const(np.repeat(flat.data, outputs), flat.dtype, "bias", flat.quant)
    return flat


def linear(b: NnefWriter, operation: Operation) -> Tensor:
    """matmul(input, filter, transposeB = true) + bias."""
    arguments = operation.arguments
    x, weight = b.value(arguments["input"]), b.value(arguments["filter"])
    shape, filter_shape = b.shape_of(x), b.shape_of(weight)
    if len(shape) < 2 or len(shape) != len(filter_shape) or shape[-1] != filter_shape[-1]:
        raise b.error(f"input of shape {list(shape)} doesn't fit a filter of shape {list(filter_shape)}")
    outputs, last = filter_shape[-2], len(shape) - 1
    if weight.data is None or count(filter_shape[:-2]) != 1:
        product = matmul_of(b, x, b.transpose(weight, (*range(last - 1), last, last - 1)))
        bias = b.trailing(b.value(arguments["bias"]), len(shape))
        return b.binary("ADD", product, bias)
    bias = bias_of(b, arguments["bias"], outputs, axis=last, rank=len(shape), constant=True)
    zero = b.scalar(0.0)
    rows = b.reshape(x, (count(shape[:-1]), 1, 1, shape[-1]))
    kernel = b.reshape(weight, (outputs, 1, 1, shape[-1]))
    product = b.operator(
        "CONV2D", [rows, kernel, bias, zero, zero], (count(shape[:-1]), 1, 1, outputs), types.fp32,
        pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1), acc_type=types.fp32, local_bound=False,
    )  # fmt: skip
    return b.reshape(product, (*shape[:-1], outputs))


def matmul(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    left, right = b.value(arguments["A"], 2), b.value(arguments["B"], 2)
    sides = []
    for x, turned in ((left, arguments["transposeA"]), (right, arguments["transposeB"])):
        rank = len(b.shape_of(x))
        if rank < 2:
            raise b.error(f"needs tensors of rank 2 or more, got shape {list(b.shape_of(x))}")
        sides.append(b.transpose(x, (*range(rank - 2), rank - 1, rank - 2)) if turned else x)
    return matmul_of(b, *sides)


def matmul_of(b: NnefWriter, x: Tensor, y: Tensor) -> Tensor:
    """The product over the last two axes as MATMUL of rank 3; leading axes broadcast."""
    left, right = b.shape_of(x), b.shape_of(y)
    if len(left) != len(right) or left[-1] != right[-2]:
        raise b.error(f"shapes {list(left)} and {list(right)} don't multiply")
    if any(m != n and 1 not in (m, n) for m, n in zip(left[:-2], right[:-2], strict=True)):
        raise b.error(f"leading axes of {list(left)} and {list(right)} don't agree")
    batch = tuple(max(m, n) for m, n in zip(left[:-2], right[:-2], strict=True))
    if count(right[:-2]) == 1:  # one matrix for all rows
        x3, y3 = b.reshape(x, (1, count(left[:-1]), left[-1])), b.reshape(y, (1, *right[-2:]))
    else:
        x3, y3 = _spread(b, x, batch), _spread(b, y, batch)
    zero = b.scalar(0.0)
    shape = (b.shape_of(x3)[0], b.shape_of(x3)[1], right[-1])
    product = b.operator("MATMUL", [x3, y3, zero, zero], shape, types.fp32)
    return b.reshape(product, (*batch, left[-2], right[-1]))


def _spread(b: NnefWriter, x: Tensor, batch: Shape) -> Tensor:
    """Rank 3 with all of `batch` in front: MUL by ones repeats what broadcasts."""
    shape = b.shape_of(x)
    if shape[:-2] != batch:
        if count(batch) > MAX_BATCH:
            raise b.unsupported(f"a batch of {count(batch)} matrices that broadcast")
        x = b.binary("MUL", x, b.const(np.ones((*batch, 1, 1)), types.fp32, "ones"))
    return b.reshape(x, (count(batch), *shape[-2:]))


MAPPERS: Final[Mapping[str, Mapper]] = {"linear": linear, "matmul": matmul}
