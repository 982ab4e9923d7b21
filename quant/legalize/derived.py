"""QParams of tensors that the model has no name for, so that no file can give them any: from those of what is read.

The range is the one that the operator's operands can reach together. It is wider than what calibration sees inside
(which `attach` gives to these tensors, as `Graph.spare`), so a note tells it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.spec import bind_operator, traits_of

from ..ranges import activation_qparams
from .integer_writer import Wide
from .sharing import moves_values
from .weights import accumulates, row_axes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tosa_engine.graph import Operator, QParams
    from tosa_engine.types import Array

    from .rules import Context

    Range = tuple[float, float]

EXTREMES: Mapping[str, int] = {"REDUCE_MAX": -1, "REDUCE_MIN": 1}
ROOM = 16.0  # times what a full factor makes a full product of: other factors may be as much smaller


def derived(ctx: Context, name: str) -> QParams | None:
    """The QParams of a tensor without a name of the model's, or None where its operator's results have no bound."""
    op, source = ctx.producers.get(name), ctx.tensor(name).source
    if op is None or source is None or source.name:
        return None
    found = _range(ctx, op)
    if found is None or not np.isfinite(found).all():
        return None
    bits = max((ctx.quant[n].bits for n in op.inputs if n in ctx.quant), default=8)
    ctx.notes.append(
        f"{name}: its range {found[0]:.4g} .. {found[1]:.4g} is what its operands can reach; quantize --statistics or "
        f"--data has the range that was seen"
    )
    ctx.reachable[name] = found
    return activation_qparams(*found, bits=bits, symmetric=bits == 16)


def of_values(ctx: Context, name: str, base: str, inputs: Array, values: Array, bits: int) -> QParams | None:
    """The same of a function's results at all inputs that `base` may have (its QParams may hold more)."""
    low, high = ctx.reachable.get(base, (-np.inf, np.inf))
    source, finite = ctx.tensor(name).source, values[np.isfinite(values) & (inputs >= low) & (inputs <= high)]
    if source is None or source.name or not finite.size:
        return None
    most = _of_product(ctx, name)
    low, high = max(float(finite.min()), -most), min(float(finite.max()), most)
    return activation_qparams(min(low, high), high, bits=bits, symmetric=bits == 16)


def _of_product(ctx: Context, name: str) -> float:
    """Of a factor the magnitude that the product has a use for: reciprocals of small numbers have no other bound."""
    reader = ctx.sole_consumer(name)
    if reader is None or reader.op != "MUL" or reader.outputs[0] not in ctx.quant:
        return np.inf
    other = _operand(ctx, next((n for n in reader.inputs[:2] if n != name), name))
    product = _operand(ctx, reader.outputs[0])
    if other is None or product is None:
        return np.inf
    return ROOM * max(map(abs, product)) / (max(map(abs, other)) or 1.0)


def _range(ctx: Context, op: Operator) -> Range | None:
    operands = [_operand(ctx, name) for name in op.inputs]
    traits = traits_of(op)
    if traits.weight is not None and traits.weight.bias:
        return _convolved(ctx, op, operands[0])
    if accumulates(op) and traits.terms is not None:
        count = traits.terms(bind_operator(op, ctx.block))
        one = operands[0] if traits.weight is None else _product(operands[:2])
        return None if one is None else (min(one[0], 0.0) * count, max(one[1], 0.0) * count)
    if moves_values(op):
        return operands[0]
    if op.op == "CLAMP" and operands[0] is not None:
        low, high = np.clip(operands[0], op.attributes["min_val"], op.attributes["max_val"]).tolist()
        return low, high
    if op.op == "SUB" and (sign := _from_extreme(ctx, op)) and None not in operands[:2]:
        low, high = COMBINED["SUB"](operands[:2])  # type: ignore[arg-type, misc]
        return (low, min(high, 0.0)) if sign < 0 else (max(low, 0.0), high)
    combine = COMBINED.get(op.op)
    if combine is None:
        return None
    chosen = operands[1:] if op.op == "SELECT" else operands if op.op == "CONCAT" else operands[:2]
    known = [r for r in chosen if r is not None]
    return combine(known) if len(known) == len(chosen) else None


def _from_extreme(ctx: Context, op: Operator) -> int:
    """Of x - m: -1 where m is a maximum of x, so that nothing is above 0; 1 where it is a minimum; else 0."""
    name, kinds = op.inputs[1], set[str]()
    while name != op.inputs[0]:
        producer = ctx.producers.get(name)
        if producer is None or producer.op not in EXTREMES:
            return 0
        kinds.add(producer.op)
        name = producer.inputs[0]
    return EXTREMES[kinds.pop()] if len(kinds) == 1 else 0


def _operand(ctx: Context, name: str) -> Range | None:
    data = ctx.constant(name)
    if data is not None:
        data = data[np.isfinite(data)]
        return float(data.min(initial=0)), float(data.max(initial=0))
    if not ctx.tensor(name).dtype.is_float:
        return None
    if name not in ctx.quant:
        wide = ctx.values.get(name)
        reach = wide.bound * max(wide.scale) if isinstance(wide, Wide) else None
        return None if reach is None else (-reach, reach)
    q = ctx.quant[name]
    return q.scale[0] * (q.low - q.zero_point[0]), q.scale[0] * (q.high - q.zero_point[0])


def _product(ranges: Sequence[Range | None]) -> Range | None:
    a, b = ranges
    if a is None or b is None:
        return None
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _convolved(ctx: Context, op: Operator, x: Range | None) -> Range | None:
    weight, bias = ctx.constant(op.inputs[1]), ctx.constant(op.inputs[2])
    if x is None or weight is None or bias is None:
        return None
    rest = tuple(axis for axis in range(weight.ndim) if axis not in row_axes(op.op))
    above = np.maximum(weight, 0).sum(axis=rest, dtype=np.float64).reshape(-1)
    below = np.minimum(weight, 0).sum(axis=rest, dtype=np.float64).reshape(-1)
    low, high = above * min(x[0], 0.0) + below * max(x[1], 0.0), above * max(x[1], 0.0) + below * min(x[0], 0.0)
    return float((low + bias).min()), float((high + bias).max())


COMBINED: Mapping[str, Callable[[Sequence[Range]], Range | None]] = {
    "ADD": lambda r: (r[0][0] + r[1][0], r[0][1] + r[1][1]),
    "SUB": lambda r: (r[0][0] - r[1][1], r[0][1] - r[1][0]),
    "MUL": _product,
    "MAXIMUM": lambda r: (max(r[0][0], r[1][0]), max(r[0][1], r[1][1])),
    "MINIMUM": lambda r: (min(r[0][0], r[1][0]), min(r[0][1], r[1][1])),
    "FLOOR": lambda r: (r[0][0] - 1.0, r[0][1]),
    "CEIL": lambda r: (r[0][0], r[0][1] + 1.0),
    "CONCAT": lambda r: (min(a for a, _ in r), max(b for _, b in r)),
    "SELECT": lambda r: (min(a for a, _ in r), max(b for _, b in r)),
}
