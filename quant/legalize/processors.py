"""Integer forms that a processor has: precisions of layers for it, and what a network has that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine.check import check
from tosa_engine.npu import violations
from tosa_engine.types import i8, i16

from .layers import INT8, INT16, LayerRule, layers_of

if TYPE_CHECKING:
    from tosa_engine.errors import TosaEngineError
    from tosa_engine.graph import Block, Graph
    from tosa_engine.npu import Npu


def rules_for(npu: Npu, block: Block, default: str) -> list[LayerRule]:
    """Rules that give int8 to the layers of a `prepared` network which would have int16 by `default`, where the
    processor has the operator for int8 only. Rules of the user's come after them.
    """
    if default != INT16:
        return []
    operators = {layer.op.op: None for layer in layers_of(block)}
    return [LayerRule(f"op:{op}", INT8) for op in operators if _narrow_only(npu.operators.get(op))]


def _narrow_only(formats: tuple[str, ...] | None) -> bool:
    return formats is not None and i8.name in formats and i16.name not in formats


def lacking(integer: Graph, npu: Npu) -> list[TosaEngineError]:
    """All that keeps an integer network from the processor: types that its profiles lack, operators, rules."""
    return [*check(integer, npu.target), *violations(integer, npu)]
