"""The layers that have int16 in a network of int8 unless a rule says otherwise, and what to tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import recurrent, uneven
from .layers import INT16, layers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tosa_engine.graph import Block


def usual(block: Block, weight_bits: int = 8) -> dict[str, str]:
    """Layer name -> int16, of a prepared float graph. Layers that get weights of 4 bits keep these."""
    four = {layer.name for layer in layers_of(block) if layer.takes_int4} if weight_bits == 4 else set()
    states = [name for name in recurrent.find(block) if name not in four]
    return dict.fromkeys([*(name for found in uneven.find(block) for name in found.layers), *states], INT16)


def told(block: Block, precisions: Mapping[str, str]) -> Iterator[str]:
    """A line for each reason, with the precisions that the layers have."""
    told = [found.described(precisions) for found in uneven.find(block)]
    yield from filter(None, [*told, recurrent.described(recurrent.find(block), precisions)])
