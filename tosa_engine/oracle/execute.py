"""Running operators and graphs through the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ..errors import Unsupported
from ..feeds import check_feeds
from ..graph import Composite
from ..infer import bind_values, infer, waits
from ..spec import bind_operator
from ..state import Variables
from . import (
    activation_funcs,
    comparison,
    control_flow,
    custom,
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
    variable,
)
from .around import Context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Block, Graph
    from ..spec.table import Call
    from ..target import Level
    from ..types import Array
    from .around import Observer

    Oracle = Callable[..., Array | list[Array]]
    Probe = Callable[[str, str, Array], object]

FAMILIES: Final = (
    tensor_ops, activation_funcs, ewise_binary, ewise_unary, ewise_ternary, comparison, reduction, data_layout,
    scatter_gather, image, type_conversion, data_nodes, custom, control_flow, variable, shape,
)  # fmt: skip
ORACLES: Final[Mapping[str, Oracle]] = {name: oracle for family in FAMILIES for name, oracle in family.ORACLES.items()}


def run_operator(call: Call, inputs: Mapping[str, Array | list[Array]], around: Context | None = None) -> list[Array]:
    """The outputs of one operator; `inputs` are by argument name, in the storage of their formats.

    `around` holds the variables that the operator finds; None: there are none yet.

    Raises:
        RequireViolation: a REQUIRE doesn't hold: its label, and the first output element for which it doesn't.
        Unsupported: the oracle has no such operator.
    """
    if call.spec.name not in ORACLES:
        raise Unsupported(f"the oracle has no operator {call.spec.name}", node=call.operator.name)
    if waits(call):
        given = {a.name: inputs[a.name] for a in call.spec.inputs if a.ctc}
        values = {call.tensor(name).name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        call = bind_values(call, values, around.level if around is not None else None)
    oracle = ORACLES[call.spec.name]
    if call.spec.pure:
        found = oracle(call, **inputs)
    else:
        found = oracle(call, around or context(call.graph, Variables()), **inputs)
    outputs = found if isinstance(found, list) else [found]
    listed = [t for a in call.spec.outputs for t in (call.tensors[a.name] if a.is_list else [call.tensor(a.name)])]
    for output, wanted in zip(outputs, listed, strict=True):
        name = call.spec.name
        assert output.dtype == wanted.dtype.storage, f"{name} gave {output.dtype}, wanted {wanted.dtype.storage}"
        assert wanted.shape in (None, output.shape), f"{name} gave {output.shape}, wanted {wanted.shape}"
    return outputs


def context(graph: Graph | None, variables: Variables, level: Level | None = None) -> Context:
    """What `run_operator` needs of operators that run regions or touch variables."""
    return Context(graph, _run_region, variables, level)


def run(
    graph: Graph,
    feeds: Mapping[str, Array],
    probe: Probe | None = None,
    *,
    variables: Variables | None = None,
    level: Level | None = None,
    observe: Observer | None = None,
) -> dict[str, Array]:
    """The graph outputs, by name. The graph must be legal (`check.validate`) and isn't changed.

    Args:
        graph: its main block runs; of composites the body.
        feeds: one array per graph input, by tensor name, in the storage and shape of the tensor.
        probe: called with (node name, tensor name, array) for every operator output of the main block, in execution
            order.
        variables: what earlier runs left in variables; updated in place, also by a run that fails.
        level: what compile-time constants that are known only now (EXT-DYNAMIC) are checked against.
        observe: called with (call, inputs by argument, outputs) behind every operator, those of regions included.

    Raises:
        DataError: inputs are missing, unknown, or of the wrong dtype, shape or range (all of them, as `Problems`).
        RequireViolation: a REQUIRE doesn't hold for these inputs.
        GraphError: an operator doesn't fit its entry of the op table.
    """
    graph = graph.copy()
    infer(graph)
    check_feeds(graph.inputs, feeds)
    around = context(graph, variables if variables is not None else Variables(), level)
    around.observe = observe
    around.variables.begin_run()
    values = _run_block(graph.main, {name: np.array(feeds[name]) for name in graph.main.inputs}, probe, around)
    return {name: values[name] for name in graph.main.outputs}


def _run_region(block: Block, inputs: list[Array], around: Context) -> list[Array]:
    values = _run_block(block, dict(zip(block.inputs, inputs, strict=True)), None, around)
    return [values[name] for name in block.outputs]


def _run_block(block: Block, values: dict[str, Array], probe: Probe | None, around: Context) -> dict[str, Array]:
    """Run the operators in their order; `values` holds the block's inputs and receives every other tensor."""
    for op in block.operators:
        if isinstance(op, Composite):
            inner = {name: values[outer] for name, outer in zip(op.body.inputs, op.inputs, strict=True)}
            inner = _run_block(op.body, inner, probe, around)
            outputs = [inner[name] for name in op.body.outputs]
        else:
            call = bind_operator(op, block, around.graph)
            inputs = _arguments(call, values)
            outputs = run_operator(call, inputs, around)
            if around.observe is not None:
                around.observe(call, inputs, outputs)
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
