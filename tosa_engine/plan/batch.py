"""Large batches in parts: the plan of some samples runs several times, so that its buffers stay in the cache.

Steps over all samples at once read weights once, and are faster as long as the buffers of a run fit a cache; beyond, a
part of the batch at a time is (docs/kernels.md has the figures), and takes less memory. This needs a graph in which
every sample is computed from the same sample of the inputs alone, along axis 0 of every tensor that isn't constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..graph import Operator, Tensor
from ..infer import infer
from ..spec import (
    activation_funcs,
    bind_operator,
    comparison,
    ewise_binary,
    ewise_ternary,
    ewise_unary,
    reduction,
    type_conversion,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph
    from ..spec.table import Call
    from ..types import Array

IN_CACHE: Final = 16 << 20  # bytes of buffers that a run should do with

WINDOWS: Final = ("CONV2D", "DEPTHWISE_CONV2D", "CONV3D", "TRANSPOSE_CONV2D", "AVG_POOL2D", "MAX_POOL2D", "RESIZE")
ALONG_AXIS: Final = (*(entry.name for entry in reduction.OPERATORS), "ARGMAX", "REVERSE")
ELEMENTWISE: Final = tuple(
    entry.name
    for family in (activation_funcs, ewise_unary, ewise_binary, ewise_ternary, comparison, type_conversion)
    for entry in family.OPERATORS
)


def _broadcasts(call: Call) -> bool:
    """Whether constants that are read element by element are the same for all samples."""
    read = [call.tensors[name] for name in ("input1", "input2", "input3") if name in call.tensors]
    return all(tensor.data is None or tensor.shape[:1] == (1,) for tensor in read)


def _computed(call: Call) -> bool:
    """Whether the tensors of samples are no constants."""
    names = [argument.name for argument in call.spec.inputs if argument.name in ("input", "input1", "A", "B")]
    found = [call.tensors[name] for name in names]
    return all(t.data is None for one in found for t in (one if isinstance(one, list) else [one]))


def _window(call: Call) -> bool:
    weight = call.tensors.get("weight")
    return _computed(call) and (weight is None or weight.data is not None)


def _same(call: Call, argument: str, place: slice, value: int) -> bool:
    """Whether a constant says of axis 0 what leaves samples alone."""
    values = call.constant(argument)
    return _computed(call) and values is not None and bool((values.reshape(-1)[place] == value).all())


ALONE: Final[Mapping[str, Callable[[Call], bool]]] = {
    **dict.fromkeys(WINDOWS, _window),
    **dict.fromkeys((*ELEMENTWISE, "IDENTITY"), _broadcasts),
    **dict.fromkeys((*ALONG_AXIS, "CONCAT"), lambda call: bool(call.axis != 0) and _computed(call)),
    "MATMUL": _computed,
    "TRANSPOSE": lambda call: bool(call.perms[0] == 0) and _computed(call),
    "RESHAPE": lambda call: _same(call, "shape", slice(0, 0), 0),
    "SLICE": lambda call: _same(call, "start", slice(0, 1), 0) and call.constant("size") is not None,
    "PAD": lambda call: _same(call, "padding", slice(0, 2), 0),
    "TILE": lambda call: _same(call, "multiples", slice(0, 1), 1),
}
SIZES: Final = {"RESHAPE": 1, "SLICE": 2}  # the input that names the size of the output


def batch_of(graph: Graph) -> int:
    """The samples of a graph whose samples don't meet; 1 where they do, or where there is only one."""
    block = graph.main
    shapes = [t.shape or () for t in (*graph.inputs, *graph.outputs)]
    if len(graph.regions) != 1 or not graph.inputs or any(len(s) < 2 or s[0] != shapes[0][0] for s in shapes):
        return 1
    batch = shapes[0][0]
    for operator in block.operators:
        call = bind_operator(operator, block, graph)
        if call.spec.is_constant:
            continue
        rule = ALONE.get(operator.op)
        tensors = [block.tensors[n] for n in (*operator.inputs, *operator.outputs)]
        along = all(len(t.shape or ()) >= 2 and (t.shape or ())[0] == batch for t in tensors if t.data is None)
        if rule is None or not along or not rule(call):
            return 1
    return batch


def with_batch(graph: Graph, samples: int) -> Graph:
    """A graph whose samples don't meet for another number of them."""
    part = graph.copy()
    block = part.main
    for operator in block.operators:
        if operator.op in SIZES:
            _resize(part, operator, SIZES[operator.op], samples)
    for tensor in block.tensors.values():
        if tensor.data is None and tensor.shape is not None:
            tensor.shape = (samples, *tensor.shape[1:])
    infer(part)
    return part


def _resize(graph: Graph, operator: Operator, place: int, samples: int) -> None:
    block = graph.main
    old = block.tensors[operator.inputs[place]]
    assert old.data is not None
    values = np.array([samples, *old.data[1:]], old.data.dtype)
    new = block.add(Tensor(block.fresh(f"{old.name}_of_a_part"), old.dtype, values.shape, values))
    block.operators.append(Operator("CONST_SHAPE", [], [new.name]))
    operator.inputs[place] = new.name


def parts_for(graph: Graph, size: int) -> int:
    """In how many parts a graph whose buffers take `size` bytes should run."""
    if size <= IN_CACHE:
        return 1
    batch = batch_of(graph)
    return next((n for n in range(2, batch + 1) if batch % n == 0 and size // n <= IN_CACHE), batch)


def in_part(array: Array, part: int, parts: int) -> Array:
    """The samples of a part of the batch."""
    if parts == 1:
        return array
    count = len(array) // parts
    return array[part * count : (part + 1) * count]
