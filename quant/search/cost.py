"""What a choice of precisions costs: bit operations and bytes, beside the network in int8.

Bit operations: of each multiplication of a convolution or a MATMUL the bits of both factors, multiplied, over 64: 1 for
int8, 1/2 with 4-bit weights, 2 with 16-bit activations (4 for a MATMUL of 16 by 16 bits), 16 for fp32. Bytes: weights,
and once every activation that a layer writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tosa_engine.spec import macs_of

from ..legalize.layers import FLOAT, INT4, INT8, INT16, layers_of
from ..legalize.weights import is_weighted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.graph import Block, Operator

WHAT: Final = ("both", "macs", "bytes")
WEIGHT_BITS: Final = {INT4: 4, INT8: 8, INT16: 8, FLOAT: 32}


@dataclass(frozen=True)
class Cost:
    """`macs`: multiplications as if of int8 by int8; `bytes`: of weights and activations."""

    macs: float
    bytes: float

    def relative(self, usual: Cost, what: str) -> float:
        """To that of int8: of multiplications, of bytes, or the mean of both."""
        macs = self.macs / usual.macs if usual.macs else 1.0
        size = self.bytes / usual.bytes if usual.bytes else 1.0
        return {"macs": macs, "bytes": size, "both": (macs + size) / 2}[what]


class Costs:
    """The costs of one network, prepared for quantization. What is written has the bits that `activation_bits` says."""

    def __init__(self, block: Block) -> None:
        self.block, self.layers = block, layers_of(block)
        self._macs = {id(layer.op): macs_of(layer.op, block) for layer in self.layers}
        computing, consumers = {id(layer.op): layer.name for layer in self.layers}, block.consumers()
        self._readers = [
            {computing[id(op)] for name in layer.tensors for op in consumers.get(name, []) if id(op) in computing}
            for layer in self.layers
        ]
        self.usual = self.of(dict.fromkeys((layer.name for layer in self.layers), INT8))

    def of(self, precisions: Mapping[str, str]) -> Cost:
        macs = size = 0.0
        for layer, readers in zip(self.layers, self._readers, strict=True):
            precision = precisions[layer.name]
            wide = precision == INT16 or any(precisions[name] == INT16 for name in readers)
            written = 32 if precision == FLOAT else 16 if wide else 8
            size += self.block.tensors[layer.tensors[0]].size * written / 8
            if is_weighted(layer.op):
                weight_bits = WEIGHT_BITS[precision]
                if layer.op.op == "MATMUL":  # TOSA multiplies matrices of one type
                    weight_bits = {INT16: 16, FLOAT: 32}.get(precision, 8)
                activation = {INT16: 16, FLOAT: 32}.get(precision, 8)
                macs += self._macs[id(layer.op)] * activation * weight_bits / 64
                size += self._weight(layer.op) * weight_bits / 8
        return Cost(macs, size)

    def _weight(self, op: Operator) -> int:
        """The number of constant weights."""
        data = self.block.tensors[op.inputs[1]].data
        return 0 if data is None else data.size
