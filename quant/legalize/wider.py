"""The layers that have int16 in a network of int8 unless a rule says otherwise, and what to tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tosa_engine import types

from . import recurrent, uneven
from .layers import INT16, layers_of
from .rules import TAKES_WIDE
from .weights import accumulates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tosa_engine.graph import Block, Graph

    from .layers import Layer

SHOWN: Final = 4


def usual(ready: Graph, weight_bits: int = 8) -> dict[str, str]:
    """Layer name -> int16, of a prepared float graph. Layers that get weights of 4 bits keep these."""
    block = ready.main
    four = {layer.name for layer in layers_of(block) if layer.takes_int4} if weight_bits == 4 else set()
    found = [*(name for one in uneven.find(block) for name in one.layers)]
    found += [name for name in (*recurrent.find(block), *without_scale(ready)) if name not in four]
    return dict.fromkeys(found, INT16)


def without_scale(ready: Graph) -> list[str]:
    """The layers of a quantized model for which it has no scale: who made it left them in floats, for a reason.

    Sums that all readers take as they are get none.
    """
    if not ready.quantized:
        return []
    block = ready.main
    consumers = block.consumers()

    def stored(layer: Layer) -> bool:
        readers = consumers.get(layer.op.outputs[0], [])
        return not (accumulates(layer.op) and readers and all(op.op in TAKES_WIDE for op in readers))

    layers = layers_of(block)
    scaled = {layer.name for layer in layers if not _has_none(block, layer)}  # operators of one node have one name
    return [layer.name for layer in layers if layer.name not in scaled and stored(layer)]


def _has_none(block: Block, layer: Layer) -> bool:
    tensors = [block.tensors[name] for name in layer.tensors]
    return all(tensor.quant is None and tensor.dtype is types.fp32 for tensor in tensors)


def told(ready: Graph, precisions: Mapping[str, str]) -> Iterator[str]:
    """A line for each reason, with the precisions that the layers have."""
    told = [found.described(precisions) for found in uneven.find(ready.main)]
    wide = list(dict.fromkeys(name for name in without_scale(ready) if precisions[name] == INT16))
    if wide:
        more = f" and {len(wide) - SHOWN} more" if len(wide) > SHOWN else ""
        shown = ", ".join(wide[:SHOWN])
        told.append(f"the model has no scale for {shown}{more}: int16 (--layer {wide[0]}=int8: not so)")
    yield from filter(None, [*told, recurrent.described(recurrent.find(ready.main), precisions)])
