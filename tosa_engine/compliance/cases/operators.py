"""Graphs of a single operator, driven by the op table.

`draw_case` draws a legal graph (`check.check` finds nothing) with arrays for its inputs: any operator and any of its
rows, ranks from 0, dimensions of 1, odd sizes, asymmetrical padding, and values that are often the corners of their
format, so that some of them violate a REQUIRE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import check
from ...infer import infer
from ...spec import TABLE
from ...spec.case import Case
from . import choices
from .plans import PLANS, unary
from .values import Plan, draw_shape, draw_values, dtype_of

if TYPE_CHECKING:
    from ...graph import Graph
    from ...spec import OpSpec, Row
    from ...types import Array, DType, Shape
    from .values import Draw


def draw_case(draw: Draw, op: str | None = None, row: str | None = None) -> tuple[Graph, dict[str, Array]]:
    """A legal graph of one operator with its feeds. A case of CONST_SHAPE is one of RESHAPE, which reads it."""
    name = draw(choices.sampled_from(sorted(TABLE))) if op is None else op
    spec = TABLE["RESHAPE" if name == "CONST_SHAPE" else name]
    chosen = draw(choices.sampled_from(spec.rows)) if row is None or name == "CONST_SHAPE" else spec.row(row)
    plan = PLANS.get(spec.name, unary)(draw, spec, chosen) if spec.pure else Plan()
    return case_of(draw, spec, chosen, plan)


def case_of(draw: Draw, spec: OpSpec, row: Row, plan: Plan) -> tuple[Graph, dict[str, Array]]:
    """The graph of a plan, with its feeds; of an operator that isn't pure its example."""
    graph = (_case(draw, spec, row, plan) if spec.pure else spec.example(row)).graph()
    infer(graph)
    problems = check.check(graph)
    assert problems == [], problems
    feeds = {t.name: _values(draw, plan, t.name, t.dtype, t.shape or ()) for t in graph.inputs}
    return graph, feeds


def _values(draw: Draw, plan: Plan, argument: str, dtype: DType, shape: Shape) -> Array:
    return plan.values[argument] if argument in plan.values else draw_values(draw, dtype, shape)


def _case(draw: Draw, spec: OpSpec, row: Row, plan: Plan) -> Case:
    case = Case(spec.name).set(**plan.attributes)
    for i, argument in enumerate(spec.inputs):
        if argument.name in plan.constants:
            case.const(argument.name, *plan.constants[argument.name])
            continue
        dtype, shape = dtype_of(argument.type, row), plan.shapes[argument.name]
        if argument.is_list:
            case.list_input(argument.name, dtype, *shape)
        elif i > 0 and draw(choices.booleans()):  # weights and biases are mostly constants, but need not be
            case.const(argument.name, dtype, _values(draw, plan, argument.name, dtype, shape))
        else:
            case.input(argument.name, dtype, shape)
    for output in spec.outputs:
        dtype = dtype_of(output.type, row)
        if spec.inputs:
            case.output(output.name, dtype, None)  # inferred
        else:
            shape = draw_shape(draw)
            case.output(output.name, dtype, shape, draw_values(draw, dtype, shape))
    return case
