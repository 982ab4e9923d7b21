"""A first estimate of what a graph costs on a processor: cycles by operator, from products, elements and bytes.

An operator takes the longest of what it computes and of what it moves, and something to begin with:

    cycles = START + max(units / macs_per_cycle, bytes / bytes_per_cycle, constants / constant_bytes_per_cycle)

A unit is the time of an 8-bit product at full speed. Channels are multiplied eight at a time, for 2 x 2 pixels; an
output of products takes `LEAST` units at least; 16-bit formats take twice as many. What needs no pass of its own costs
nothing: views, what scales or clamps where an operator writes, what scales in front of a sum. conformance/CYCLES.md has
the distance to Vela.
"""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from ..infer import callees_first, infer_block
from ..spec import is_constant
from .figures import OperatorCost
from .work import work_of_operator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Block, Graph, Operator
    from ..spec import Call
    from .rules import Npu

START: Final = 400
LEAST: Final = 64
LANES: Final = 8
ROWS: Final = 4  # elements of a depthwise kernel that are multiplied together
FOLLOWS: Final = frozenset({"RESCALE", "CLAMP", "CAST"})
SUMS: Final = frozenset({"ADD", "SUB", "MUL", "REDUCE_SUM"})
VIEWS: Final = frozenset({"RESHAPE", "IDENTITY", "SLICE"})
# units of a product; of an element in a window or of the input of a reduction; of any other element that is written
UNITS: Final[Mapping[str, int]] = {
    "MAX_POOL2D": 32, "AVG_POOL2D": 128, "REDUCE_MAX": 512, "REDUCE_MIN": 512, "REDUCE_SUM": 128, "ARGMAX": 128,
    "ADD": 192, "SUB": 192, "MUL": 96, "TABLE": 256, "RESCALE": 288, "CONCAT": 256, "PAD": 256, "TILE": 256,
}  # fmt: skip
USUAL: Final = 192


def estimate(graph: Graph, npu: Npu) -> list[OperatorCost]:
    """Of all operators that compute, in the order of execution; a region's once. The graph must be legal.

    Raises UsageError where the processor's speed isn't known.
    """
    if not npu.macs_per_cycle or not npu.bytes_per_cycle:
        raise UsageError(f"{npu.name} has no macs_per_cycle and bytes_per_cycle, so its cycles can't be estimated")
    graph, found = graph.copy(), []
    for _, block in callees_first(graph):
        bound, _ = infer_block(block, graph)
        producers, consumers = block.producers(), block.consumers()
        for one in bound:
            op = one.call.operator
            if not is_constant(op):
                found.append(_of(one.call, block, npu, free=is_free(op, producers, consumers)))
    return found


def is_free(op: Operator, producers: Mapping[str, Operator], consumers: Mapping[str, list[Operator]]) -> bool:
    """Whether the operator before or behind it does its work."""
    if op.op in VIEWS:
        return True
    if op.op not in FOLLOWS or not op.inputs:
        return False
    maker, readers = producers.get(op.inputs[0]), consumers.get(op.outputs[0], [])
    if maker is not None and not is_constant(maker) and len(consumers.get(op.inputs[0], [])) == 1:
        return True
    return len(readers) == 1 and readers[0].op in SUMS


def _of(call: Call, block: Block, npu: Npu, *, free: bool) -> OperatorCost:
    op, work = call.operator, work_of_operator(call.operator, block)
    if free:
        return OperatorCost(op.name, op.op, 0, 0, call.macs)
    compute = ceil(_units(call, npu) * (2 if _is_wide(call) else 1) / npu.macs_per_cycle)
    fixed = npu.constant_bytes_per_cycle or npu.bytes_per_cycle
    longest = max(compute, _moved(call) / npu.bytes_per_cycle, work.constant / fixed)
    return OperatorCost(op.name, op.op, START + ceil(longest), compute, call.macs)


def _is_wide(call: Call) -> bool:
    """Whether the first argument is of more than 8 bits, and isn't a sum."""
    first = call.spec.inputs[0].name if call.spec.inputs else ""
    tensor = call.tensors.get(first)
    tensor = tensor[0] if isinstance(tensor, list) and tensor else tensor
    return not isinstance(tensor, list) and tensor is not None and tensor.dtype.bits in (16, 48)


def _moved(call: Call) -> int:
    """Bytes of tensors that are read and written; those of sums are scaled to 8 bits where they are stored."""
    tensors = (t for found in call.tensors.values() for t in (found if isinstance(found, list) else [found]))
    return sum(t.size * (2 if t.dtype.bits == 16 else 1) for t in tensors if t.data is None)


def _units(call: Call, npu: Npu) -> int:
    op = call.operator.op
    each = npu.units.get(op, UNITS.get(op, USUAL))
    outputs = call.tensors[call.spec.outputs[0].name] if call.spec.outputs else []
    made = int(sum(t.size for t in (outputs if isinstance(outputs, list) else [outputs])))
    if call.spec.traits.weight is not None:
        return max(_products(call) * npu.units.get(op, 1), made * LEAST)
    if call.spec.traits.window is not None:
        return each * made * prod(int(call[name]) for name in call.spec.traits.window.kernel)
    if op.startswith("REDUCE_") or op == "ARGMAX":
        return int(each * call.tensor(call.spec.inputs[0].name).size)
    return each * made


def _products(call: Call) -> int:
    """Products, with those that are idle where channels, pixels or rows don't fill what is multiplied together."""
    weight = call.spec.traits.weight
    assert weight is not None
    full = float(call.macs)
    for letter, lanes in (("OH", 2), ("OW", 2)):
        if letter in weight.positions:
            full *= _filled(call[letter], lanes)
    if call.operator.op == "DEPTHWISE_CONV2D":
        return ceil(full * _filled(call["KH"] * call["KW"], ROWS) * LANES)
    return ceil(full * _filled(call[weight.channels], LANES))


def _filled(extent: int, lanes: int) -> float:
    """How much longer an extent takes where it doesn't fill the last lanes."""
    return ceil(extent / lanes) * lanes / extent
