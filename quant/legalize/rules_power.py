"""POW of two tensors: x^y = exp(y * log(x)), with a TABLE on each side of the product.

The logarithm keeps 16 bits; of the product only that range matters in which the output isn't 0 or saturated: there the
second TABLE has its entries, 256 of them from int8 and 513 where an operand or the output has 16 bits.
Where x isn't positive, log(x) has its value at the smallest positive x: POW is unpredictable there (POW.R1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types

from ..ranges import activation_qparams
from .integer_writer import Quantized, Wide, stored_type
from .rules import Context, rule
from .tables import fine

if TYPE_CHECKING:
    from tosa_engine.graph import Operator, QParams


@rule("POW")
def power(ctx: Context, op: Operator) -> None:
    out, e = op.outputs[0], ctx.writer
    quant = ctx.qparams(out)
    x, y = ctx.pair(op.inputs)
    log = fine(ctx, x, lambda real: np.log(np.maximum(real, x.scale)), f"{out}_log", 15)
    wide, reach = e.widen(y, f"{out}_y")
    bound = e.bounded(log.bound * reach, "the product", ctx.source_name(out))
    product = Wide(e.binary("MUL", (log.name, wide), f"{out}_exponent"), (log.scale[0] * y.scale,), bound)
    index = _index(ctx, product, quant, 16 if types.i16 in (x.dtype, y.dtype, stored_type(quant)) else 8, out)
    centre = _ends(quant)[0]
    found = fine(ctx, index, lambda real: np.exp(np.minimum(real + centre, 80.0)), f"{out}_exp", 22, _ends(quant)[2])
    ctx.finish(out, found)


def _ends(quant: QParams) -> tuple[float, float, float]:
    """Of the exponents that matter the middle and half of the range; and the largest result."""
    high = quant.scale[0] * (quant.high - quant.zero_point[0])
    low = quant.scale[0] / 8
    return (math.log(high) + math.log(low)) / 2, (math.log(high) - math.log(low)) / 2, high


def _index(ctx: Context, product: Wide, quant: QParams, bits: int, out: str) -> Quantized:
    """The exponent less the middle of its range, saturated to 8 or 16 bits."""
    e = ctx.writer
    centre, half, _ = _ends(quant)
    own = activation_qparams(-half, half, bits=bits, symmetric=True)
    step, rank = product.scale[0], len(ctx.shape(out))
    middle = round(centre / step)
    reach = e.bounded(product.bound + abs(middle), "the exponent", ctx.source_name(out))
    offset = e.constant(f"{out}_middle", types.i32, np.full((1,) * rank, middle))
    around = e.binary("SUB", (product.name, offset), f"{out}_around")
    why = f"{step!r} (product) / {own.scale[0]!r} (index)"
    return Quantized(e.rescale(around, f"{out}_index", stored_type(own), step / own.scale[0], reach, why=why), own)
