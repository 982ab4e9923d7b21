"""64-bit integers in int32: what arithmetic on them can reach is proved from the ranges of its operands.

TOSA computes with int32. A result is right where no step on the way to it leaves int32. Where intervals don't prove
that, the model is refused with the tensor and its range, and a user who knows more tells it
(`within`).

What is known of values that are data: their types, what `within` says, and that places are in their axis, which GATHER
and SCATTER test in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ... import types
from ...errors import Unsupported, UsageError
from ...graph import Composite
from ...lower.integers import tested
from ...ranges import PROVED, Analysis
from ...ranges.interval import Interval, corners, mul
from ...spec import bind_operator
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...graph import Block, Graph, Operator
    from .elements import Element
    from .writer import Narrowed, OnnxWriter

    Reach = tuple[int, int]

FREE: Final = (types.i32.minimum, types.i32.maximum)
# what the result of an operator must be for its value to be that of the operands
FITS: Final = {
    "ABS": "ABS.R1", "ADD": "ADD.R1", "INTDIV": "INTDIV.R2", "NEGATE": "NEGATE.R1", "REDUCE_SUM": "REDUCE_SUM.R1",
    "SUB": "SUB.R1",
}  # fmt: skip


def is_wide(element: Element) -> bool:
    """Whether an element type of integers has values that int32 lacks."""
    return element.maximum > types.i32.maximum


def within(g: OnnxWriter, name: str, value: Value, reach: Reach) -> Value:
    """A value that every run tests to lie in its range: REQUIREs of sums that go to the ends of int32 and back.

    What is known before the graph runs is left alone. Raises UsageError for what isn't int32, and for an empty range.
    """
    if value.is_known:
        return value
    least, most, (low, high) = types.i32.minimum, types.i32.maximum, reach
    x = g.tensor_of(value)
    if x.dtype is not types.i32 or not least <= low <= high <= most:
        raise UsageError(f"--within {name}={low},{high}: '{name}' is {value.element}, a range is LOW,HIGH of int32")
    g.bound(x, low, high)
    g.begin(f"{name}/within")
    x = tested(g, x, low, high)
    return Value(value.element, value.shape, None, x)


def problems(g: OnnxWriter) -> list[Unsupported]:
    """What isn't proved: a problem for each result, with its range and what it is made of."""
    found = []
    for _, block in g.graph.blocks():
        noted = [one for one in g.narrowed if one.block is block]
        if noted:
            found += _of_block(g, block, noted)
    return found


def _of_block(g: OnnxWriter, block: Block, noted: list[Narrowed]) -> list[Unsupported]:
    makers = {name: op for op in block.operators for name in op.outputs}
    bounds: dict[str, Reach] = {}
    for tensor, low, high in g.bounds:
        if block.tensors.get(tensor.name) is tensor:
            before = bounds.get(tensor.name, (low, high))
            bounds[tensor.name] = max(low, before[0]), min(high, before[1])
    users = {id(op): one for one in noted for op in one.operators}
    wanted = {id(op) for one in noted for op in _sources(block, makers, one)}
    reached: dict[int, Reach] = {}
    analysis = Analysis()
    for name in block.inputs:
        analysis.start(block.tensors[name])
        _bound(analysis, name, bounds)
    for op in block.operators:
        if id(op) not in wanted or isinstance(op, Composite):
            continue
        if id(op) in users:
            one = users[id(op)]
            reach = _beyond(g.graph, block, op, analysis)
            _widen(reached, id(one), None if one.in_loop and op.op in FITS else reach)
        else:
            analysis.step(bind_operator(op, block, g.graph))
        for name in op.outputs:
            _bound(analysis, name, bounds)
    for one in noted:
        if id(one) not in reached:
            _widen(reached, id(one), _below(one, analysis))
    wrong = [one for one in noted if id(one) in reached]
    return [_refused(g, one, _free(g, block, makers, bounds, one), reached[id(one)]) for one in wrong]


def warnings(g: OnnxWriter) -> list[str]:
    """Floats that were made wide integers, and of which nothing says that int32 has them; doubles."""
    known = {id(tensor) for tensor, *_ in g.bounds}
    found = [
        f"{g.file}: '{name}' is {element} made of floats: beyond int32 it is the end of int32"
        for name, element, tensor in g.of_floats
        if id(tensor) not in known
    ]
    if g.doubles:
        more = f" and {len(g.doubles) - 1} more" if len(g.doubles) > 1 else ""
        found.append(f"{g.file}: '{g.doubles[0]}'{more} are double in the model and computed as float")
    return found


def _sources(block: Block, makers: Mapping[str, Operator], one: Narrowed) -> Iterator[Operator]:
    """The operators that a result depends on through integers; those of floats tell no range."""
    seen: set[int] = set()
    left = list(one.operators)
    while left:
        op = left.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        yield op
        names = [name for name in op.inputs if name in makers and not block.tensors[name].dtype.is_float]
        left += [makers[name] for name in names if not isinstance(op, Composite)]


def _bound(analysis: Analysis, name: str, bounds: Mapping[str, Reach]) -> None:
    if name in bounds and name in analysis.intervals:
        analysis.intervals[name] = analysis.intervals[name].clip(*bounds[name])


def _beyond(graph: Graph, block: Block, op: Operator, analysis: Analysis) -> Reach | None:
    """The ends of what an operator computes, where int32 lacks one of them; the operator is a step of the analysis."""
    call = bind_operator(op, block, graph)
    given = [analysis.intervals.get(name) for name in op.inputs]
    analysis.step(call)
    exact: Interval | None = None
    if op.op in ("MUL", "LOGICAL_LEFT_SHIFT") and given[0] is not None and given[1] is not None:
        x, y = given[0].flat(), given[1].flat()
        exact = mul(x, y) if op.op == "MUL" else corners(*(a << b for a in (x.low, x.high) for b in _amounts(y)))
    elif op.op in FITS:
        finding = next((one for one in analysis.findings[id(op)] if one.label == FITS[op.op]), None)
        if finding is not None and finding.verdict != PROVED and finding.value[0].size:
            exact = Interval(*finding.value).flat()
    if exact is None or (exact.low >= types.i32.minimum and exact.high <= types.i32.maximum):
        return None
    return int(exact.low), int(exact.high)


def _amounts(y: Interval) -> tuple[int, int]:
    return max(int(y.low), 0), min(max(int(y.high), 0), types.i32.bits - 1)


def _below(one: Narrowed, analysis: Analysis) -> Reach | None:
    """The ends of a result that is negative, where its element type isn't."""
    interval = analysis.intervals.get(one.tensor.name)
    if interval is None or one.element.minimum < 0 or interval.low.min() >= 0:
        return None
    return int(interval.low.min()), int(interval.high.max())


def _widen(reached: dict[int, Reach], key: int, more: Reach | None) -> None:
    if more is not None:
        low, high = reached.get(key, more)
        reached[key] = min(low, more[0]), max(high, more[1])


def _refused(g: OnnxWriter, one: Narrowed, free: Sequence[str], reach: Reach) -> Unsupported:
    told = f": --within {free[0]}=LOW,HIGH tells the range of what it is made of" if free else ""
    others = f", as for {', '.join(free[1:])}" if len(free) > 1 else ""
    return Unsupported(
        f"{g.file}: '{one.name}' is {one.element} from {reach[0]} to {reach[1]}, "
        f"int32 goes from {max(one.element.minimum, FREE[0])} to {FREE[1]}{told}{others}"
    )


def _free(
    g: OnnxWriter, block: Block, makers: Mapping[str, Operator], bounds: Mapping[str, Reach], one: Narrowed
) -> list[str]:
    """The values of the model that a result is made of, and that may have any value of int32."""
    names = dict.fromkeys(name for op in _sources(block, makers, one) for name in (*op.inputs, *op.outputs))
    return [
        name
        for name in names
        if name in g.named and bounds.get(name, FREE)[1] == FREE[1] and _is_free(block, makers, name)
    ]


def _is_free(block: Block, makers: Mapping[str, Operator], name: str) -> bool:
    """Whether a tensor is an input, or floats that were made integers."""
    maker = makers.get(name)
    made = maker is not None and maker.op == "CAST" and block.tensors[maker.inputs[0]].dtype.is_float
    return block.tensors[name].dtype is types.i32 and (name in block.inputs or made)
