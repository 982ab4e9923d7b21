"""Runs of graphs without compiled code: the oracle, but convolutions and matrix products by BLAS.

Integers are exact in both, and floats are computed in the order of the kernels (`plain_floats`), so that the bytes are
those of the kernels. Such a run needs no compiler, and takes a
hundred times as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..oracle import run_operator
from ..oracle.spatial import taps
from ..spec import TABLE, bind_operator
from ..types import fp32
from . import plain_floats
from .deadline import AT_ONCE, check

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Graph, Tensor
    from ..spec.table import Call
    from ..types import Array

    Form = Callable[..., Array | None]

EXACT: Final = {"f4": 1 << 24, "f8": 1 << 53}  # up to here all integers are numbers of these formats
# nanoseconds, of one core: of a product in a form, of one in the oracle, of an element of other operators
PRODUCT: Final = 0.1
SLOW_PRODUCT: Final = 6.0
ELEMENT: Final = 30.0
BYTES: Final = 40  # of an element while it is computed


def _format_for(reach: float, call: Call) -> str | None:
    """The format in which sums of products are exact in any order, whose absolute values sum up to `reach`; None where
    the accumulator could overflow on the way.
    """
    if reach > call.out_t.maximum:
        return None
    return next((kind for kind, limit in EXACT.items() if reach < limit), None)


def _values(array: Array, zero_point: Array) -> Array:
    return array.astype(np.int64) - int(zero_point[0])


def _product(call: Call, rows: Array, columns: Array) -> Array:
    """rows @ columns, in parts between which Python sees signals and the clock."""
    size = max(1, int(AT_ONCE / PRODUCT) // max(1, columns.size))
    if len(rows) <= size:
        return rows @ columns
    found = np.empty((len(rows), columns.shape[1]), rows.dtype)
    for low in range(0, len(rows), size):
        check((call,))
        found[low : low + size] = rows[low : low + size] @ columns
    return found


def conv2d(call: Call, input: Array, weight: Array, bias: Array, input_zp: Array, weight_zp: Array) -> Array | None:
    values, weights = _values(input, input_zp), _values(weight, weight_zp)
    most = int(np.abs(weights).sum(axis=(1, 2, 3)).max(initial=0))
    reach = most * int(np.abs(values).max(initial=0)) + int(np.abs(bias.astype(np.int64)).max(initial=0))
    kind = _format_for(reach, call)
    if kind is None:
        return None
    places = list(taps(call, weight.shape[1:-1], call.dilation))
    source, columns = values.astype(kind), weights.astype(kind).reshape(len(weights), -1).T
    shape = call.shape_of("output")
    out = np.empty(shape, call.out_t.storage)
    for image in range(shape[0]):
        rows = np.zeros((*shape[1:3], len(places), input.shape[-1]), kind)
        for i, (_, to, read) in enumerate(places):
            rows[to[1], to[2], i] = source[image, read[1], read[2]]
        sums = _product(call, rows.reshape(-1, len(columns)), columns)
        out[image] = (sums.astype(np.int64) + bias).reshape(shape[1:])
    return out


def matmul(call: Call, A: Array, B: Array, A_zp: Array, B_zp: Array) -> Array | None:
    first, second = _values(A, A_zp), _values(B, B_zp)
    reach = call.C * int(np.abs(first).max(initial=0)) * int(np.abs(second).max(initial=0))
    kind = _format_for(reach, call)
    if kind is None:
        return None
    found = np.empty(call.shape_of("output"), call.out_t.storage)
    for i, (rows, columns) in enumerate(zip(first.astype(kind), second.astype(kind), strict=True)):
        found[i] = _product(call, rows, columns)
    return found


FORMS: Final[Mapping[str, Form]] = {"CONV2D": conv2d, "MATMUL": matmul}


class PlainRuns:
    """A graph of pure operators in one block, to be run without compiled code."""

    def __init__(self, graph: Graph) -> None:
        block = graph.main
        self._calls = [bind_operator(op, block, graph) for op in block.operators]
        self._last = {name: i for i, op in enumerate(block.operators) for name in op.inputs}
        self._outputs = frozenset(block.outputs)
        sizes = [sum(block.tensors[name].size for name in op.outputs) for op in block.operators]
        products = sum(call.macs * _per_product(call) for call in self._calls)
        self.seconds = (products + ELEMENT * sum(sizes)) * 1e-9  # that a run takes, about
        self.most_bytes = BYTES * sum(sizes) + max(map(_columns, self._calls), default=0)  # that it takes, at most

    def run(self, feeds: Mapping[str, Array], wanted: Sequence[str]) -> list[Array]:
        """The outputs as new arrays.

        Raises:
            RequireViolation: a REQUIRE doesn't hold.
        """
        values = dict(feeds)
        for i, call in enumerate(self._calls):
            check((call,))
            outputs = _run(call, _arguments(call, values))
            values.update(zip(call.operator.outputs, outputs, strict=True))
            for name in call.operator.inputs:
                if self._last[name] == i and name not in self._outputs:
                    values.pop(name, None)
        return [values[name].copy() for name in wanted]


def _run(call: Call, arguments: dict[str, Any]) -> list[Array]:
    floats = any(t.dtype.is_float for t in _tensors(call))
    form = (plain_floats.FORMS if floats else FORMS).get(call.spec.name)
    found = None if form is None else form(call, **arguments)
    return run_operator(call, arguments) if found is None else [found]


def _tensors(call: Call) -> list[Tensor]:
    found: list[Tensor] = []
    for tensors in call.tensors.values():
        found += tensors if isinstance(tensors, list) else [tensors]
    return found


def _has_form(call: Call) -> bool:
    """Whether an operator has the same bytes here as in its kernel."""
    floats = {t.dtype for t in _tensors(call) if t.dtype.is_float}
    if not floats:
        return True
    if floats != {fp32}:
        return call.spec.name in ("CAST", "CONST")
    return call.spec.name in plain_floats.EXACT or call.spec.name in plain_floats.FORMS


def _per_product(call: Call) -> float:
    floats = any(t.dtype.is_float for t in _tensors(call))
    return PRODUCT if call.spec.name in FORMS and not floats else SLOW_PRODUCT


def can_run(graph: Graph) -> bool:
    """Whether there is a plain run of a graph, with the same bytes."""
    block = graph.main
    return (
        len(graph.regions) == 1
        and len(block.operators) > 0
        and all(op.op in TABLE and TABLE[op.op].pure and op.op != "CUSTOM" for op in block.operators)
        and all(t.shape is not None for t in block.tensors.values())
        and all(_has_form(bind_operator(op, block, graph)) for op in block.operators)
    )


def _arguments(call: Call, values: Mapping[str, Array]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for argument in call.spec.inputs:
        tensors = call.tensors[argument.name]
        found[argument.name] = [values[t.name] for t in tensors] if isinstance(tensors, list) else values[tensors.name]
    return found


def _columns(call: Call) -> int:
    """Bytes of what a product of matrices reads."""
    if call.spec.name != "CONV2D":
        return 0
    _, height, width, _ = call.shape_of("output")
    return 8 * height * width * int(np.prod(call.shape_of("weight")[1:]))
