"""The state of recurrent layers: what a step rounds away, all later steps take for true.

Sequences are unrolled, so that a recurrent layer is known by its weights: they multiply what was made of their own
product. What is computed element by element between these products (gates, cells, states) has int16 unless a rule says
otherwise; the products themselves keep int8.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from tosa_engine.spec import traits_of
from tosa_engine.spec.traits import How

from .chains import is_elementwise
from .layers import INT16, layers_of
from .sharing import moves_values
from .weights import accumulates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tosa_engine.graph import Block, Operator

SHOWN = 3


def find(block: Block) -> list[str]:
    """The layers of a prepared float graph that make states, by their names."""
    products = _recurrent(block)
    made = _around(block, products) if products else set()
    return list(dict.fromkeys(layer.name for layer in layers_of(block) if layer.op.outputs[0] in made))


def described(layers: Iterable[str], precisions: Mapping[str, str]) -> str:
    """What to tell of those that have int16; nothing where none has."""
    wide = [name for name in layers if precisions[name] == INT16]
    if not wide:
        return ""
    more = f" and {len(wide) - SHOWN} more" if len(wide) > SHOWN else ""
    shown = ", ".join(wide[:SHOWN])
    return f"recurrent layers add up what each step rounds: int16 for {shown}{more} (--layer {wide[0]}=int8: int8)"


def _recurrent(block: Block) -> list[Operator]:
    """The products with constant weights that a product with the same weights comes before."""
    number: dict[bytes, int] = {}
    behind: dict[str, int] = {}  # the weights in a tensor's past, a bit for each
    products: list[tuple[Operator, int]] = []
    again = 0
    for op in block.operators:
        past = 0
        for name in op.inputs:
            past |= behind.get(name, 0)
        if weights := _weights(block, op):
            own = 1 << number.setdefault(weights, len(number))
            products.append((op, own))
            again |= past & own
            past |= own
        behind |= dict.fromkeys(op.outputs, past)
    return [op for op, own in products if own & again]


def _weights(block: Block, op: Operator) -> bytes:
    """What stands for the values of the constant that an operator multiplies a tensor by; empty without one, and for
    values that are all equal: these add or average, as two averages of one size do.
    """
    constants = [data for name in op.inputs[:2] if (data := block.tensors[name].data) is not None]
    if not accumulates(op) or len(constants) != 1 or (constants[0] == constants[0].reshape(-1)[0]).all():
        return b""
    return sha256(constants[0].tobytes()).digest()


def _around(block: Block, products: Iterable[Operator]) -> set[str]:
    """What operators compute element by element of products, or for them."""
    producers, consumers = block.producers(), block.consumers()
    ends = {name for op in products for name in (*op.inputs[:2], *op.outputs) if block.tensors[name].data is None}
    seen, left = set[str](), list(ends)
    made: set[str] = set()
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        near = [*consumers.get(name, []), *([producers[name]] if name in producers else [])]
        for op in near:
            computes = _elementwise(op)
            if computes:
                made.update(op.outputs)
            if computes or _moves(op):
                left += [n for n in (*op.inputs, *op.outputs) if block.tensors[n].data is None]
    return made


def _moves(op: Operator) -> bool:
    moves = traits_of(op).moves
    return moves_values(op) and moves is not None and moves.how is How.MOVED


def _elementwise(op: Operator) -> bool:
    return traits_of(op).elementwise is not None or is_elementwise(op)
