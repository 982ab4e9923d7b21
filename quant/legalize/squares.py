"""Squares that are added up: they stay int32, with all their bits, until the sum is taken.

A square has twice the bits of what it is made of. Rounded to those of an activation it loses the smaller half of the
numbers, which a root or a logarithm of the sum (magnitudes of a spectrum, deviations) makes large again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine import types

if TYPE_CHECKING:
    from tosa_engine.graph import Block, Operator

SUMS = frozenset({"ADD", "REDUCE_SUM", "mean", "RESHAPE"})


def find(block: Block) -> frozenset[str]:
    """Squares, and sums of them, that nothing but sums of squares reads."""
    consumers, made = block.consumers(), set[str]()
    for op in block.operators:
        if _is_square(block, op) or (op.op in SUMS and made.issuperset(_operands(op))):
            made.update(op.outputs)
    kept = {n for n in made if n not in block.outputs and consumers.get(n)}
    return frozenset(n for n in kept if all(op.op in SUMS and op.outputs[0] in made for op in consumers[n]))


def ends(block: Block, squares: frozenset[str]) -> frozenset[str]:
    """The sums that are made of `squares` and aren't such themselves."""
    return frozenset(op.outputs[0] for op in block.operators if not squares.isdisjoint(op.inputs)) - squares


def _is_square(block: Block, op: Operator) -> bool:
    if op.op != "MUL" or op.inputs[0] != op.inputs[1]:
        return False
    tensor = block.tensors[op.inputs[0]]
    return tensor.data is None and tensor.dtype is types.fp32


def _operands(op: Operator) -> list[str]:
    return op.inputs[:2] if op.op == "ADD" else op.inputs[:1]
