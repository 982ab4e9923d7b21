"""Tensors of another width than the layers that read them: an IDENTITY with other QParams comes between."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tosa_engine.graph import Operator, QParams

from ..legalize import wider
from ..legalize.layers import FLOAT, INT16, layers_of, moved_from
from ..legalize.weights import accumulates

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from tosa_engine.graph import Block, Graph

MORE: Final = 128  # steps of 16 bits for one of 8: the farthest step from the zero point, 255 of them, is one still


def narrow(block: Block, precisions: Mapping[str, str], qparams: Callable[[str], QParams]) -> None:
    """Operators of layers of 8 bits that multiply a 16-bit activation read it in 8 bits."""
    made = dict[str, str]()
    for layer in layers_of(block):
        if precisions[layer.name] in (INT16, FLOAT) or not (accumulates(layer.op) or layer.op.op == "softmax"):
            continue
        for i, name in enumerate(layer.op.inputs):
            tensor = block.tensors[name]
            if tensor.data is not None or tensor.quant is None or tensor.quant.bits == 8:
                continue
            if name not in made:
                made[name] = _copied(block, layer.op, name, "int8", qparams(name))
            layer.op.inputs[i] = made[name]


def kept(ready: Graph, precisions: Mapping[str, str]) -> set[str]:
    """Tensors of 8 bits with a scale of the model's own that nobody reads in 16 bits but for want of a scale."""
    missing = set(wider.without_scale(ready))
    if not missing:
        return set()
    block = ready.main
    layers, consumers = layers_of(block), block.consumers()
    names = {id(layer.op): layer.name for layer in layers}
    of_layers = {name for layer in layers for name in layer.tensors}
    groups = [layer.tensors for layer in layers if precisions[layer.name] != INT16]
    groups += [[name, *moved_from(block, name, of_layers)] for name in block.inputs]
    found: set[str] = set()
    for group in groups:
        readers = [names[id(op)] for name in group for op in consumers.get(name, []) if id(op) in names]
        if missing.issuperset(reader for reader in readers if precisions[reader] == INT16):
            quants = {name: block.tensors[name].quant for name in group}
            found.update(name for name, quant in quants.items() if quant is not None and quant.bits == 8)
    return found


def widen(block: Block, precisions: Mapping[str, str], own: Container[str]) -> None:
    """Layers of 16 bits read what is `kept` in 16 bits, without a loss."""
    made = dict[str, str]()
    for layer in layers_of(block):
        for i, name in enumerate(layer.op.inputs):
            quant = block.tensors[name].quant
            if precisions[layer.name] != INT16 or name not in own or quant is None:
                continue
            if name not in made:
                made[name] = _copied(block, layer.op, name, "int16", QParams((quant.scale[0] / MORE,), (0,), 16))
            layer.op.inputs[i] = made[name]


def _copied(block: Block, reader: Operator, name: str, kind: str, quant: QParams) -> str:
    """A tensor with other QParams, made in front of an operator."""
    copy = block.add(replace(block.tensors[name], name=block.fresh(f"{name}_{kind}"), quant=quant))
    made = Operator("IDENTITY", [name], [copy.name], location=reader.location)
    block.operators.insert(block.operators.index(reader), made)
    return copy.name
