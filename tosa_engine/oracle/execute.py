"""Running operators and graphs through the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import Unsupported
from ..feeds import check_feeds
from ..graph import Composite
from ..infer import infer
from ..spec import bind_operator
from . import (
    activation_funcs,
    comparison,
    data_layout,
    data_nodes,
    ewise_binary,
    ewise_ternary,
    ewise_unary,
    image,
    reduction,
    scatter_gather,
    shape,
    tensor_ops,
    type_conversion,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Block, Graph
    from ..spec.table import Call
    from ..types import Array

    Oracle = Callable[..., Array]
    Probe = Callable[[str, str, Array], object]

FAMILIES: Final = (
    tensor_ops, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction, data_layout,
    scatter_gather, image, type_conversion, data_nodes, shape,
)  # fmt: skip
ORACLES: Final[Mapping[str, Oracle]] = {name: oracle for family in FAMILIES for name, oracle in family.ORACLES.items()}


def run_operator(call: Call, inputs: Mapping[str, Array | list[Array]]) -> list[Array]:
    """The outputs of one operator; `inputs` are by argument name, in the storage of their formats.

    Raises:
        RequireViolation: a REQUIRE doesn't hold: its label, and the first output element for which it doesn't.
        Unsupported: the oracle has no such operator.
    """
    if call.spec.name not in ORACLES:
        raise Unsupported(f"the oracle has no operator {call.spec.name}", node=call.operator.name)
    output = ORACLES[call.spec.name](call, **inputs)
    wanted = call.tensor(call.spec.outputs[0].name)
    assert output.dtype == wanted.dtype.storage, f"{call.spec.name} gave {output.dtype}, wanted {wanted.dtype.storage}"
    assert wanted.shape in (None, output.shape), f"{call.spec.name} gave {output.shape}, wanted {wanted.shape}"
    return [output]


def run(graph: Graph, feeds: Mapping[str, Array], probe: Probe | None = None) -> dict[str, Array]:
    """The graph outputs, by name. The graph must be legal (`check.validate`) and isn't changed.

    Args:
        graph: its main block runs; of composites the body.
        feeds: one array per graph input, by tensor name, in the storage and shape of the tensor.
        probe: called with (node name, tensor name, array) for every operator output, in execution order.

    Raises:
        DataError: inputs are missing, unknown, or of the wrong dtype, shape or range (all of them, as `Problems`).
        RequireViolation: a REQUIRE doesn't hold for these inputs.
        GraphError: an operator doesn't fit its entry of the op table.
    """
    graph = graph.copy()
    infer(graph)
    check_feeds(graph.inputs, feeds)
    values = _run_block(graph.main, {name: np.array(feeds[name]) for name in graph.main.inputs}, probe)
    return {name: values[name] for name in graph.main.outputs}


def _run_block(block: Block, values: dict[str, Array], probe: Probe | None) -> dict[str, Array]:
    """Run the operators in their order; `values` holds the block's inputs and receives every other tensor."""
    for op in block.operators:
        if isinstance(op, Composite):
            inner = {name: values[outer] for name, outer in zip(op.body.inputs, op.inputs, strict=True)}
            inner = _run_block(op.body, inner, probe)
            outputs = [inner[name] for name in op.body.outputs]
        else:
            call = bind_operator(op, block)
            outputs = run_operator(call, _arguments(call, values))
        for name, array in zip(op.outputs, outputs, strict=True):
            values[name] = array
            if probe is not None:
                probe(op.name, name, array.copy())
    return values


def _arguments(call: Call, values: Mapping[str, Array]) -> dict[str, Array | list[Array]]:
    arguments: dict[str, Array | list[Array]] = {}
    for argument in call.spec.inputs:
        found = call.tensors[argument.name]
        arguments[argument.name] = [values[t.name] for t in found] if isinstance(found, list) else values[found.name]
    return arguments
