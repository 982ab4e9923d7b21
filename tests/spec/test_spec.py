"""The op table: every example is legal, and every label has a case that fails with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import types
from tosa_engine.check import GRAPH_RULES, check, validate
from tosa_engine.errors import ErrorIf, GraphError, LevelError, Problems, ProfileError, TosaEngineError, Unsupported
from tosa_engine.graph import Graph, Operator, Region, Tensor, new_graph
from tosa_engine.infer import infer
from tosa_engine.spec import TABLE, bind_operator
from tosa_engine.target import EXTENSIONS, LEVEL_8K, LEVEL_NONE, Target

if TYPE_CHECKING:
    from tosa_engine.spec import Argument, Attribute, Check, Limit, OpSpec, Row
    from tosa_engine.spec.case import Case

ROWS = [(spec, row) for spec in TABLE.values() for row in spec.rows]
SPECS = list(TABLE.values())


def labels(problems: list[TosaEngineError]) -> set[str]:
    return {p.label for p in problems}


def first(spec: OpSpec) -> Case:
    return spec.example(spec.rows[0])


def named(items: list[tuple[OpSpec, object]]) -> list[str]:
    return [
        f"{spec.name}-{getattr(thing, 'label', getattr(thing, 'name', getattr(thing, 'key', thing)))}"
        for spec, thing in items
    ]


@pytest.mark.parametrize(("spec", "row"), ROWS, ids=named(ROWS))
def test_examples_are_legal_and_infer_their_own_shapes(spec: OpSpec, row: Row) -> None:
    graph = spec.example(row).graph()
    assert check(graph) == []
    wanted = [t.shape for t in graph.outputs]
    for tensor in graph.outputs:
        tensor.shape = None
    infer(graph)
    assert [t.shape for t in graph.outputs] == wanted
    operator = graph.main.operators[-1]
    assert bind_operator(operator, graph.main).row is row


def test_row_keys_and_codes_are_unique() -> None:
    for spec in SPECS:
        assert len({r.key for r in spec.rows}) == len(spec.rows)
        fields = [a.field for a in spec.attributes if a.field is not None]
        assert len(set(fields)) == len(fields)
    assert len({s.code for s in SPECS}) == len(SPECS)


CHECKS = [(spec, c) for spec in SPECS for c in spec.checks]


@pytest.mark.parametrize(("spec", "rule"), CHECKS, ids=named(CHECKS))
def test_every_error_if_is_found(spec: OpSpec, rule: Check) -> None:
    found = []
    for row in spec.rows:
        case = spec.example(row)
        try:
            rule.mutate(case)
        except AssertionError:
            continue  # this rule isn't for this row
        found += [p for p in check(case.graph()) if p.label == rule.label]
    assert found, f"no row's example breaks {rule.label}"
    assert all(isinstance(p, ErrorIf) and p.exit_code == 3 for p in found)
    assert all("{" not in str(p) and p.node for p in found)


ENDING_IN_TENSORS = [s for s in SPECS if s.arguments and not s.arguments[-1].is_list]


@pytest.mark.parametrize("spec", ENDING_IN_TENSORS, ids=lambda s: s.name)
def test_wrong_lists_of_inputs_and_outputs(spec: OpSpec) -> None:
    graph = first(spec).graph()
    extra = Tensor("extra", types.i8, (1,))
    graph.main.add(extra)
    graph.main.operators[-1].outputs.append("extra")
    assert f"{spec.name}.outputs" in labels(check(graph))
    graph = first(spec).graph()
    operator = graph.main.operators[-1]
    operator.inputs = operator.inputs[:-1] if spec.inputs and not spec.inputs[-1].is_list else ["nowhere"]
    assert f"{spec.name}.inputs" in labels(check(graph))


TYPED = [s for s in ENDING_IN_TENSORS if s.name != "CONST_SHAPE"]


@pytest.mark.parametrize("spec", TYPED, ids=lambda s: s.name)
def test_types_outside_every_row(spec: OpSpec) -> None:
    case = first(spec)
    case.retype(spec.arguments[-1].name, types.mxint8)
    assert f"{spec.name}.types" in labels(check(case.graph()))


ARGUMENTS = [(s, a) for s in SPECS for a in s.arguments if not a.is_list and not a.is_shape]


@pytest.mark.parametrize(("spec", "argument"), ARGUMENTS, ids=named(ARGUMENTS))
def test_ranks_outside_the_bounds(spec: OpSpec, argument: Argument) -> None:
    label = f"{spec.name}.rank.{argument.name}"
    low, high = argument.rank
    wrong = [low - 1] if low > 0 else []
    wrong.append(7 if high is None else high + 1)
    for rank in wrong:
        case = first(spec)
        case.reshape(argument.name, *[1] * rank)
        found = [p for p in check(case.graph()) if p.label == label]
        assert found
        assert isinstance(found[0], GraphError)
        if high is None and rank == 7:
            assert isinstance(found[0], LevelError)
            assert label not in labels(check(case.graph(), Target(level=LEVEL_NONE)))


def test_ranks_of_lists() -> None:
    case = first(TABLE["CONCAT"])
    tensors = case.inputs["input1"]
    assert isinstance(tensors, list)
    tensors[0].shape = ()
    assert "CONCAT.rank.input1" in labels(check(case.graph()))


SHAPED = [
    ("CONV2D", "weight", (3, 2, 2, 5)), ("CONV2D", "input_zp", (2,)), ("DEPTHWISE_CONV2D", "weight", (2, 2, 5, 2)),
    ("DEPTHWISE_CONV2D", "output", (1, 5, 4, 5)), ("MATMUL", "B", (3, 4, 5)), ("MATMUL", "output", (2, 3, 6)),
    ("MAX_POOL2D", "output", (1, 3, 3, 5)), ("AVG_POOL2D", "output", (2, 3, 3, 2)), ("CLAMP", "output", (2, 4)),
    ("ABS", "output", (3, 2)), ("TABLE", "table", (255,)), ("RESCALE", "shift", (3,)), ("CAST", "output", (2, 4)),
    ("IDENTITY", "output", (6,)), ("PAD", "padding", (3,)), ("PAD", "pad_const", (2,)),
    ("NEGATE", "input1_zp", (2,)), ("MUL", "shift", (2,)), ("EXP", "output", (2,)), ("RECIPROCAL", "output", (2,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "argument", "dims"), SHAPED)
def test_shapes_that_contradict_their_letters(name: str, argument: str, dims: tuple[int, ...]) -> None:
    case = first(TABLE[name])
    case.reshape(argument, *dims)
    assert f"{name}.shape.{argument}" in labels(check(case.graph()))


ATTRIBUTES = [(s, a) for s in SPECS for a in s.attributes]


@pytest.mark.parametrize(("spec", "attribute"), ATTRIBUTES, ids=named(ATTRIBUTES))
def test_attributes_that_are_missing_or_of_the_wrong_kind(spec: OpSpec, attribute: Attribute) -> None:
    label = f"{spec.name}.attribute.{attribute.name}"
    case = first(spec)
    case.attributes[attribute.name] = object()
    assert label in labels(check(case.graph()))
    case = first(spec)
    del case.attributes[attribute.name]
    assert (label in labels(check(case.graph()))) == (not attribute.optional)


CONSTANTS = [(s, a) for s in SPECS for a in s.inputs if a.ctc]


@pytest.mark.parametrize(("spec", "argument"), CONSTANTS, ids=named(CONSTANTS))
def test_compile_time_constants(spec: OpSpec, argument: Argument) -> None:
    case = first(spec)
    case.tensor(argument.name).data = None
    static = Target(extensions=frozenset(EXTENSIONS) - {"EXT-DYNAMIC"})
    label = f"{spec.name}.ctc.{argument.name}"
    assert label in labels(check(case.graph(), static))
    assert label not in labels(check(case.graph(), Target()))


LIMITS = [(s, limit) for s in SPECS for limit in s.limits]


@pytest.mark.parametrize(("spec", "limit"), LIMITS, ids=[f"{s.name}-{lim.value}" for s, lim in LIMITS])
def test_level_limits(spec: OpSpec, limit: Limit) -> None:
    case = first(spec)
    attribute = next((name for name in case.attributes if limit.value.startswith(name)), None)
    if spec.inputs[-1].is_list and "output" not in limit.value:
        case.list_input(spec.inputs[-1].name, types.bool_, *[(2, 1)] * 65)
    elif spec.inputs[-1].is_list:
        case.outputs |= {f"more_{i}": Tensor(f"more_{i}", types.bool_, (1,)) for i in range(64)}
    elif spec.name == "RESIZE":
        case.const("scale", types.shape, [2000, 2, 2000, 2])
    elif limit.value in ("H", "W"):
        for name in (*case.inputs, *case.outputs):
            half = spec.name == "RFFT2D" and name in case.outputs
            case.reshape(name, 1, 16384, 8193 if half else 16384)
    elif attribute is None:
        case.reshape("weight", 3, 9000, 9000, 2)
    else:
        case.attributes[attribute] = tuple(9000 for _ in case.attributes[attribute])
    label = f"{spec.name}.L{spec.limits.index(limit) + 1}"
    found = [p for p in check(case.graph()) if p.label == label]
    assert found
    assert isinstance(found[0], LevelError)
    assert "level 8K" in str(found[0])
    assert label not in labels(check(case.graph(), Target(level=LEVEL_NONE)))


@pytest.mark.parametrize(("spec", "row"), ROWS, ids=named(ROWS))
def test_profiles_and_extensions(spec: OpSpec, row: Row) -> None:
    graph = spec.example(row).graph()
    nothing = Target(frozenset(), frozenset())
    assert f"{spec.name}.profile" in labels(check(graph, nothing))
    for needs in row.needs:
        enough = Target(frozenset(needs) | {"PRO-INT", "PRO-FP"}, frozenset(needs) | {"EXT-DYNAMIC"})
        assert f"{spec.name}.profile" not in labels(check(graph, enough))


@pytest.mark.parametrize("mode", ["DOUBLE_ROUND", "INEXACT_ROUND"])
def test_rounding_modes_need_their_extensions(mode: str) -> None:
    case = first(TABLE["RESCALE"]).set(rounding_mode=mode)
    assert check(case.graph()) == []
    found = check(case.graph(), Target(extensions=frozenset()))
    assert labels(found) == {"RESCALE.profile.rounding_mode"}
    assert isinstance(found[0], ProfileError)


def test_the_message_form() -> None:
    case = TABLE["RESCALE"].example(TABLE["RESCALE"].row("i16_i16"))
    case.const("input_zp", types.i16, [7]).set(input_unsigned=True)
    assert [str(p) for p in check(case.graph())] == [
        "RESCALE.E3: unsigned 16-bit input needs zero point 0 or 32768, got 7 (node 'output', tensor 'input_zp')"
    ]


@pytest.mark.parametrize(("type_", "value", "unsigned", "good"), [
    (types.i8, -128, False, True), (types.i8, 127, False, True), (types.i8, -1, True, True),
    (types.i16, -32768, True, True), (types.i16, -32768, False, False), (types.i16, 128, True, False),
    (types.i16, 0, True, True), (types.i32, 1, False, False),
])  # fmt: skip
def test_zero_points_of_rescale(type_: types.DType, value: int, unsigned: bool, good: bool) -> None:
    """255 of an unsigned 8-bit tensor is stored as -1, 32768 of an unsigned 16-bit one as -32768."""
    case = TABLE["RESCALE"].example(TABLE["RESCALE"].row(f"{type_}_i8"))
    case.const("input_zp", type_, [value]).set(input_unsigned=unsigned)
    assert (check(case.graph()) == []) == good


# the rules of graphs


def chain() -> Graph:
    graph = new_graph()
    block = graph.main
    for name in ("a", "b", "c"):
        block.add(Tensor(name, types.i32, (2,)))
    block.inputs, block.outputs = ["a"], ["c"]
    block.operators = [Operator("ABS", ["a"], ["b"]), Operator("ABS", ["b"], ["c"])]
    return graph


def broken(rule: str) -> Graph:
    graph = chain()
    block = graph.main
    if rule == "GRAPH.E1":
        block.operators.append(Operator("ABS", ["a"], ["b"]))
    elif rule == "GRAPH.E2":
        block.operators[0].inputs = ["c"]
    elif rule == "GRAPH.E3":
        block.outputs = ["c", "nowhere"]
    elif rule == "GRAPH.E4":
        block.add(Tensor("s", types.shape, (2,)))
        block.inputs.append("s")
    elif rule == "GRAPH.E5":
        block.tensors["a"].shape = (0,)
    elif rule == "GRAPH.E6":
        graph.regions.clear()
    elif rule == "GRAPH.E7":
        block.add(Tensor("k", types.i48, (1,), np.array([1 << 47])))
        block.operators.append(Operator("CONST", [], ["k"]))
    elif rule == "GRAPH.E8":
        inner = TABLE["COND_IF"].example(TABLE["COND_IF"].rows[0]).graph()
        graph.regions += [Region("then", inner.regions[0].blocks), inner.regions[2]]
    elif rule == "GRAPH.L1":
        for name in "abc":
            block.tensors[name].shape = (1 << 15, 1 << 15)
    elif rule == "GRAPH.L2":
        for name in "abc":
            block.tensors[name].shape = (1 << 31,)
    return graph


@pytest.mark.parametrize("rule", GRAPH_RULES)
def test_rules_of_graphs(rule: str) -> None:
    assert check(chain()) == []
    assert rule in labels(check(broken(rule)))


def test_a_tensor_read_but_never_written() -> None:
    graph = chain()
    graph.main.operators.pop(0)
    assert [str(p) for p in check(graph)] == ["GRAPH.E2: the tensor is read but never written (node 'c', tensor 'b')"]


def test_operators_are_put_in_order() -> None:
    graph = chain()
    graph.main.operators.reverse()
    assert check(graph) == []
    infer(graph)
    assert [op.outputs for op in graph.main.operators] == [["b"], ["c"]]


def test_all_problems_are_reported_at_once() -> None:
    graph = chain()
    graph.main.operators[0].op = "FOO"
    graph.main.operators[1].op = "BAR"
    graph.main.tensors["a"].shape = (0,)
    found = check(graph)
    assert labels(found) == {"GRAPH.op", "GRAPH.E5"}
    assert len(found) == 3
    assert sum(isinstance(p, Unsupported) for p in found) == 2
    with pytest.raises(Problems) as raised:
        validate(graph)
    assert raised.value.exit_code == 3
    assert "operator FOO is not implemented" in str(raised.value)
    assert "operator BAR" in str(raised.value)


def test_the_level_counts_sub_byte_elements_as_bytes() -> None:
    graph = new_graph()
    size = LEVEL_8K.max_tensor_bytes // 4
    for name in ("a", "b"):
        graph.main.add(Tensor(name, types.i4, (4, size)))
    graph.main.inputs, graph.main.outputs = ["a"], ["b"]
    graph.main.operators = [Operator("IDENTITY", ["a"], ["b"])]
    assert check(graph) == []
    for name in ("a", "b"):
        graph.main.tensors[name].shape = (4, size + 1)
    assert labels(check(graph)) == {"GRAPH.L1"}


def test_check_leaves_the_graph_alone() -> None:
    graph = chain()
    graph.main.operators.reverse()
    graph.main.tensors["b"].shape = None
    before = replace(graph, regions=graph.copy().regions)
    assert check(graph) == []
    assert graph == before


def test_copies_of_number_formats_are_the_formats() -> None:
    """They are compared by identity, also where a graph was copied deeply or sent to another process."""
    import copy
    import pickle

    for dtype in types.ALL:
        assert copy.deepcopy(dtype) is dtype
        assert pickle.loads(pickle.dumps(dtype)) is dtype
