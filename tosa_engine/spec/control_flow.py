"""Control flow operators (specification 2.16).

Their attributes name regions of the graph, which they run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import graph as g
from ..types import bool_, count, i8
from .case import Case
from .table import Attribute, Check, Limit, OpSpec, Row, row, tensor, tensor_list
from .traits import OPAQUE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..types import DType
    from .table import Call

ROWS = (row("all", "EXT-CONTROLFLOW"),)
LIMITS = tuple(
    Limit(f"tensor_list_shape({name})", "max_tensor_list_size", lambda c, name=name: len(c.tensors[name]))  # type: ignore[misc]
    for name in ("input_list", "output_list")
)


def form(tensors: Iterable[g.Tensor]) -> str:
    """What has to agree where lists of tensors are connected, types and shapes, as text."""
    shown = [f"{t.dtype}{'[?]' if t.shape is None else list(t.shape)}" for t in tensors]
    return ", ".join(shown) or "none"


def agree(first: Sequence[g.Tensor], second: Sequence[g.Tensor]) -> bool:
    """Whether lists of tensors can be connected. A shape that isn't known yet agrees with all."""
    return len(first) == len(second) and all(
        a.dtype is b.dtype and (a.shape == b.shape or a.shape is None or b.shape is None)
        for a, b in zip(first, second, strict=True)
    )


def inputs_of(block: g.Block) -> list[g.Tensor]:
    return [block.tensors[name] for name in block.inputs if name in block.tensors]


def outputs_of(block: g.Block) -> list[g.Tensor]:
    return [block.tensors[name] for name in block.outputs if name in block.tensors]


def _same(label: str, argument: str, attribute: str, side: str, mutate: Callable[[Case], object]) -> Check:
    """A list of the operator has the form of a region's inputs or outputs."""
    get = inputs_of if side == "inputs" else outputs_of

    def violated(c: Call) -> bool:
        block = c.region(attribute)
        return block is not None and not agree(get(block), c.tensors[argument])

    message = f"the {side} of {attribute} must have the types and shapes of {argument}: {{{argument}_form}}"
    return Check(label, violated, f"{message}; they are {{{attribute}_{side}}}", mutate, argument)


def _nesting(label: str, mutate: Callable[[Case], object]) -> Check:
    """`nesting_depth` and `max_nesting` are known where a graph is checked for a target."""
    return Check(
        label,
        lambda c: c.has("nesting_depth") and c.nesting_depth >= c.max_nesting,
        "control flow inside of {nesting_depth} others; the level allows fewer than {max_nesting} (MAX_NESTING)",
        mutate,
    )


def forms(attributes: tuple[str, ...]) -> Callable[[Call], dict[str, str]]:
    """The forms of the operator's lists and of its regions, for messages."""

    def sizes(c: Call) -> dict[str, str]:
        found = {f"{name}_form": form(c.tensors[name]) for name in ("input_list", "output_list")}
        for name in attributes:
            block = c.region(name)
            if block is not None:
                found |= {f"{name}_inputs": form(inputs_of(block)), f"{name}_outputs": form(outputs_of(block))}
        return found

    return sizes


def result_shapes(attribute: str) -> Callable[[Call], list[tuple[int, ...]]]:
    def shapes(c: Call) -> list[tuple[int, ...]]:
        block = c.region(attribute)
        return [] if block is None else [t.shape for t in outputs_of(block) if t.shape is not None]

    return shapes


def pass_on(name: str, dtype: DType = i8, shape: tuple[int, ...] = (2, 3)) -> g.Block:
    """A block that gives its input back."""
    block = g.Block(name, ["a"], ["b"])
    for tensor_name in ("a", "b"):
        block.add(g.Tensor(tensor_name, dtype, shape))
    block.operators.append(g.Operator("IDENTITY", ["a"], ["b"]))
    return block


def stop(name: str, shape: tuple[int, ...] = (1,)) -> g.Block:
    """A block that gives false."""
    block = g.Block(name, ["a"], ["c"])
    block.add(g.Tensor("a", i8, (2, 3)))
    block.add(g.Tensor("c", bool_, shape, bool_.storage.type(0).repeat(count(shape)).reshape(shape)))
    block.operators.append(g.Operator("CONST", [], ["c"]))
    return block


def _cond_if_example(r: Row) -> Case:
    case = Case("COND_IF").input("condition", bool_, (1,)).list_input("input_list", i8, (2, 3))
    case.region(pass_on("then")).region(pass_on("else")).set(then_graph="then", else_graph="else")
    return case.output("output_list", i8, (2, 3))


def _while_loop_example(r: Row) -> Case:
    case = Case("WHILE_LOOP").list_input("input_list", i8, (2, 3)).region(stop("cond")).region(pass_on("body"))
    return case.set(cond_graph="cond", body_graph="body").output("output_list", i8, (2, 3))


def _nest(case: Case) -> None:
    """Seven operators inside each other, beyond the six of level 8K: regions of which each runs the next one."""
    names = [f"deep_{i}" for i in range(6)]
    outer, inner = names, [*names[1:], next(n for n in case.regions if n not in ("cond", "else"))]
    for name, deeper in zip(outer, inner, strict=True):
        block = pass_on(name)
        attributes = {"cond_graph": "cond", "body_graph": deeper}
        if case.op == "COND_IF":
            block.add(g.Tensor("yes", bool_, (1,), bool_.storage.type(1).repeat(1)))
            block.operators.append(g.Operator("CONST", [], ["yes"]))
            attributes = {"then_graph": deeper, "else_graph": "else"}
        block.operators[0] = g.Operator(case.op, ["yes", "a"] if case.op == "COND_IF" else ["a"], ["b"], attributes)
        case.region(block)
    case.set(**{"then_graph" if case.op == "COND_IF" else "body_graph": names[0]})


def _swap(name: str, block: g.Block) -> Callable[[Case], object]:
    return lambda case: case.regions.update({name: block})


def _narrow_output(name: str) -> Callable[[Case], object]:
    """The region's output gets another shape than its input."""

    def mutate(case: Case) -> None:
        block = case.regions[name]
        block.outputs = ["zero"]
        block.add(g.Tensor("zero", i8, (4,), i8.storage.type(0).repeat(4)))
        block.operators.append(g.Operator("CONST", [], ["zero"]))

    return mutate


COND_IF = OpSpec(
    name="COND_IF",
    code=70,
    schema="CondIf",
    section="2.16.1",
    inputs=(tensor("condition", "bool_t", "shape", (0, None)), tensor_list("input_list", "input_shapes")),
    attributes=(Attribute("then_graph", "graph", 0), Attribute("else_graph", "graph", 1)),
    outputs=(tensor_list("output_list", "output_shapes"),),
    rows=ROWS,
    traits=OPAQUE,
    shapes=result_shapes("then_graph"),
    sizes=forms(("then_graph", "else_graph")),
    formats=lambda c: [t.dtype for t in outputs_of(block)] if (block := c.region("then_graph")) is not None else [],
    limits=LIMITS,
    checks=(
        _nesting("COND_IF.E1", _nest),
        _same("COND_IF.E2", "input_list", "then_graph", "inputs", _swap("then", pass_on("then", shape=(3, 2)))),
        _same("COND_IF.E3", "input_list", "else_graph", "inputs", _swap("else", pass_on("else", shape=(3, 2)))),
        _same("COND_IF.E4", "output_list", "then_graph", "outputs", _narrow_output("then")),
        _same("COND_IF.E5", "output_list", "else_graph", "outputs", _narrow_output("else")),
        Check(
            "COND_IF.E6",
            lambda c: count(c["shape"]) != 1,
            "the condition must have one element, got shape {shape}",
            lambda case: case.reshape("condition", 2),
            "condition",
        ),
    ),
    example=_cond_if_example,
    pure=False,
)


def _conditions(c: Call) -> list[g.Tensor] | None:
    block = c.region("cond_graph")
    return None if block is None else outputs_of(block)


def _not_one(c: Call) -> bool:
    found = _conditions(c)
    return found is not None and (len(found) != 1 or count(found[0].shape or ()) != 1)


WHILE_LOOP = OpSpec(
    name="WHILE_LOOP",
    code=71,
    schema="WhileLoop",
    section="2.16.2",
    inputs=(tensor_list("input_list", "input_shapes"),),
    attributes=(Attribute("cond_graph", "graph", 0), Attribute("body_graph", "graph", 1)),
    outputs=(tensor_list("output_list", "output_shapes"),),
    rows=ROWS,
    traits=OPAQUE,
    shapes=lambda c: c["input_shapes"],
    sizes=forms(("cond_graph", "body_graph")),
    formats=lambda c: [t.dtype for t in c.tensors["input_list"]],
    limits=LIMITS,
    checks=(
        _nesting("WHILE_LOOP.E1", _nest),
        Check(
            "WHILE_LOOP.E2",
            lambda c: not agree(c.tensors["input_list"], c.tensors["output_list"]),
            "output_list must have the types and shapes of input_list: {input_list_form}; they are {output_list_form}",
            lambda case: case.reshape("output_list", 3, 2),
            "output_list",
        ),
        _same("WHILE_LOOP.E3", "input_list", "cond_graph", "inputs",
              lambda case: setattr(case.regions["cond"].tensors["a"], "shape", (6,))),
        _same("WHILE_LOOP.E4", "input_list", "body_graph", "inputs", _swap("body", pass_on("body", shape=(3, 2)))),
        _same("WHILE_LOOP.E5", "input_list", "body_graph", "outputs", _narrow_output("body")),
        Check(
            "WHILE_LOOP.E6",
            _not_one,
            "cond_graph must give one tensor of one element, it gives {cond_graph_outputs}",
            _swap("cond", stop("cond", (2,))),
        ),
        Check(
            "WHILE_LOOP.E7",
            lambda c: any(t.dtype is not bool_ for t in _conditions(c) or ()),
            "cond_graph must give a bool, it gives {cond_graph_outputs}",
            _swap("cond", pass_on("cond")),
        ),
    ),
    example=_while_loop_example,
    pure=False,
)  # fmt: skip

OPERATORS = (COND_IF, WHILE_LOOP)
