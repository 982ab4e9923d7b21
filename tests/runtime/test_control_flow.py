"""COND_IF and WHILE_LOOP: regions in regions, verdicts from inside, both voices, endless loops that can be stopped."""

from __future__ import annotations

import _thread
import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import Session, oracle, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.check import check
from tosa_engine.errors import RequireViolation, Unsupported, UsageError
from tosa_engine.graph import Region
from tosa_engine.plan.describe import describe
from tosa_engine.probe import Probe
from tosa_engine.spec import TABLE
from tosa_engine.spec.control_flow import pass_on
from tosa_engine.target import LEVEL_NONE, Target

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.probe import Selection
    from tosa_engine.types import Array


def run(graph: Graph, **feeds: Array) -> list[Array]:
    """By kernels, by kernels with the oracle behind each operator, and by the oracle: all the same."""
    wanted = list(oracle.run(graph, feeds).values())
    for threads, checked in ((1, False), (2, False), (1, True)):
        session = Session(graph, threads, checked=checked)
        for _ in range(2):
            for found, array in zip(session.run(None, feeds), wanted, strict=True):
                np.testing.assert_array_equal(found, array)
    return wanted


def factorial() -> Graph:
    """n, 1 -> 0, n! by a loop."""
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    n, _ = (cond.input(types.i32, (), name) for name in ("n", "f"))
    cond.output(cond.op("GREATER", n, 0))
    n, f = (body.input(types.i32, (), name) for name in ("n", "f"))
    body.output(body.op("SUB", n, 1), body.op("MUL", f, n, 0))
    x = b.input(types.i32, (), "x")
    one = b.const(np.int32(1).reshape(()), types.i32)
    b.output(*b.op("WHILE_LOOP", [x, one], cond_graph="cond", body_graph="body"))
    return b.graph()


@pytest.mark.parametrize("n", [0, 1, 5, 10])
def test_while_loop(n: int) -> None:
    found = run(factorial(), x=np.array(n, np.int32))
    assert [int(v) for v in found] == [0, int(np.prod(range(1, n + 1)))]


def seen_by(graph: Graph, tensors: Selection, **feeds: Array) -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    probe = Probe(lambda node, tensor, array: found.append((node, tensor, array.tolist())), tensors)
    plain = Session(graph, 1).run(None, feeds)
    session = Session(graph, 2)
    for _ in range(2):  # the memory of a run is used again
        found.clear()
        for array, wanted in zip(session.run(None, feeds, [probe]), plain, strict=True):
            np.testing.assert_array_equal(array, wanted)
        session.run(None, feeds)
    return found


def test_probes_look_into_regions() -> None:
    """Each time that one runs, in order; inputs at its start."""
    graph, x = factorial(), np.array(3, np.int32)
    product = graph.regions[2].blocks[0].outputs[1]
    assert seen_by(graph, [f"body/{product}", "body/f", "x"], x=x) == [
        ("", "x", 3), ("", "body/f", 1), (product, f"body/{product}", 3), ("", "body/f", 3),
        (product, f"body/{product}", 6), ("", "body/f", 6), (product, f"body/{product}", 6),
    ]  # fmt: skip
    tested = [
        value for _, name, value in seen_by(graph, lambda name: name.startswith("cond/"), x=x) if name == "cond/n"
    ]
    assert tested == [3, 2, 1, 0]
    names = {name.split("/")[0] for _, name, _ in seen_by(graph, None, x=x)}
    assert names == {"cond", "body", *graph.main.outputs}


def test_probes_of_regions_that_run_in_regions() -> None:
    graph = collatz()
    found = seen_by(graph, lambda name: "/" in name, **{graph.main.inputs[0]: np.array([6], np.int32)})
    assert {name.split("/")[0] for _, name, _ in found} == {region.name for region in graph.regions[1:]}


def test_a_tensor_that_is_called_like_one_of_a_region() -> None:
    """Nodes may have a slash in their names: the main block's tensor is meant."""
    graph = factorial()
    main = graph.main
    main.tensors["body/f"] = replace(main.tensors.pop("x"), name="body/f")
    main.inputs = ["body/f"]
    main.operators[-1].inputs[0] = "body/f"
    assert seen_by(graph, ["body/f"], **{"body/f": np.array(2, np.int32)}) == [("", "body/f", 2)]
    with pytest.raises(UsageError, match=r"^the probe names tensors that the graph doesn't have: body/g, f$"):
        Session(graph).run(None, {"body/f": np.array(2, np.int32)}, [Probe(print, ["f", "body/g", "cond/n"])])


def swap_loop() -> Graph:
    """The body passes its inputs on crosswise: results must not be overwritten while they become inputs."""
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    n, _, _ = (cond.input(*form) for form in ((types.i32, ()), (types.i8, (50,)), (types.i8, (50,))))
    cond.output(cond.op("GREATER", n, 0))
    n, u, v = (body.input(*form) for form in ((types.i32, ()), (types.i8, (50,)), (types.i8, (50,))))
    body.output(body.op("SUB", n, 1), v, u)
    inputs = [b.input(types.i32, (), "n"), b.input(types.i8, (50,), "u"), b.input(types.i8, (50,), "v")]
    b.output(*b.op("WHILE_LOOP", inputs, cond_graph="cond", body_graph="body")[1:])
    return b.graph()


@pytest.mark.parametrize("n", [3, 4])
def test_outputs_of_the_body_that_are_its_inputs(n: int) -> None:
    u, v = np.arange(50, dtype=np.int8), np.arange(50, 100, dtype=np.int8)
    first, second = run(swap_loop(), n=np.array(n, np.int32), u=u, v=v)
    np.testing.assert_array_equal(first, v if n % 2 else u)
    np.testing.assert_array_equal(second, u if n % 2 else v)


def collatz() -> Graph:
    """COND_IF in the body of WHILE_LOOP: the number of steps to 1."""
    b = Builder()
    cond, body, even, odd = (b.region(name) for name in ("cond", "body", "even", "odd"))
    n = even.input(types.i32, (1,))
    even.output(even.op("ARITHMETIC_RIGHT_SHIFT", n, even.const([1], types.i32), round=False))
    n = odd.input(types.i32, (1,))
    odd.output(odd.op("ADD", odd.op("MUL", n, odd.const([3], types.i32), 0), odd.const([1], types.i32)))
    n, _ = (cond.input(types.i32, (1,)) for _ in range(2))
    cond.output(cond.op("GREATER", n, cond.const([1], types.i32)))
    n, steps = (body.input(types.i32, (1,)) for _ in range(2))
    rest = body.op("BITWISE_AND", n, body.const([1], types.i32))
    is_even = body.op("EQUAL", rest, body.const([0], types.i32))
    (following,) = body.op("COND_IF", is_even, [n], then_graph="even", else_graph="odd")
    body.output(following, body.op("ADD", steps, body.const([1], types.i32)))
    x = b.input(types.i32, (1,), "x")
    b.output(b.op("WHILE_LOOP", [x, b.const([0], types.i32)], cond_graph="cond", body_graph="body")[1])
    return b.graph()


def test_nesting() -> None:
    assert int(run(collatz(), x=np.array([27], np.int32))[0][0]) == 111


@pytest.mark.parametrize("through", ["tosa", "json"])
def test_files(through: str) -> None:
    graph = collatz()
    if through == "tosa":
        content = serialize.tosa_to_bytes(graph)
        again = serialize.tosa_from_bytes(content)
        assert serialize.tosa_to_bytes(again) == content
    else:
        text = serialize.json_to_text(graph)
        again = serialize.json_from_text(text)
        assert serialize.json_to_text(again) == text
    assert int(run(again, x=np.array([27], np.int32))[0][0]) == 111


def test_a_verdict_from_inside_names_the_inner_operator() -> None:
    b = Builder()
    then, other = b.region("then"), b.region("else")
    x, y = (then.input(types.i32, (2,)) for _ in range(2))
    then.output(then.op("ADD", x, y, output="inner_sum"))
    x, y = (other.input(types.i32, (2,)) for _ in range(2))
    other.output(x)
    inputs = [b.input(types.i32, (2,), name) for name in ("x", "y")]
    yes = b.input(types.bool_, (1,), "yes")
    b.output(*b.op("COND_IF", yes, inputs, then_graph="then", else_graph="else"))
    graph = b.graph()
    x_, y_ = np.array([1, 2**31 - 1], np.int32), np.array([1, 1], np.int32)
    for checked in (False, True):
        session = Session(graph, checked=checked)
        with pytest.raises(RequireViolation) as caught:
            session.run(None, {"x": x_, "y": y_, "yes": np.array([True])})
        assert (caught.value.label, caught.value.node, caught.value.index) == ("ADD.R1", "inner_sum", (1,))
        (found,) = session.run(None, {"x": x_, "y": y_, "yes": np.array([False])})
        np.testing.assert_array_equal(found, x_)
    with pytest.raises(RequireViolation, match="inner_sum"):
        oracle.run(graph, {"x": x_, "y": y_, "yes": np.array([True])})


def test_an_endless_loop_can_be_interrupted() -> None:
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    cond.input(types.i32, (1,))
    cond.output(cond.const(np.array([True])))
    body.output(body.input(types.i32, (1,)))
    b.output(*b.op("WHILE_LOOP", [b.input(types.i32, (1,), "x")], cond_graph="cond", body_graph="body"))
    session = Session(b.graph())
    feeds = {"x": np.zeros(1, np.int32)}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells start processes without it
    try:
        for _ in range(2):
            timer = threading.Timer(0.3, _thread.interrupt_main)
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                session.run(None, feeds)
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_nobody_reads_what_a_loop_gives_but_it_runs() -> None:
    """Dropping it would turn an unpredictable graph into a valid one."""
    b = Builder()
    then = b.region("then")
    then.output(then.op("ADD", then.input(types.i32, (1,)), then.const([1], types.i32)))
    x = b.input(types.i32, (1,), "x")
    b.op("COND_IF", b.const(np.array([True])), [x], then_graph="then", else_graph="then")
    b.output(b.op("ABS", x))
    with pytest.raises(RequireViolation, match=r"ADD\.R1"):
        Session(b.graph()).run(None, {"x": np.array([2**31 - 1], np.int32)})


# what is not legal


def test_a_region_that_does_not_exist() -> None:
    case = TABLE["COND_IF"].example(TABLE["COND_IF"].rows[0]).set(else_graph="nowhere")
    (problem,) = check(case.graph())
    assert problem.label == "COND_IF.attribute.else_graph"
    assert problem.message == "'else_graph': the graph has no region 'nowhere' with a block"


def test_the_form_of_regions_is_shown() -> None:
    case = TABLE["COND_IF"].example(TABLE["COND_IF"].rows[0]).region(pass_on("else", types.i16))
    inputs, outputs = check(case.graph())
    wanted = "the inputs of else_graph must have the types and shapes of input_list: i8[2, 3]; they are i16[2, 3]"
    assert (inputs.label, inputs.message, inputs.tensor) == ("COND_IF.E3", wanted, "input_list_0")
    wanted = "the outputs of else_graph must have the types and shapes of output_list: i8[2, 3]; they are i16[2, 3]"
    assert (outputs.label, outputs.message, outputs.tensor) == ("COND_IF.E5", wanted, "output_list")


def test_nesting_is_bound_by_the_level() -> None:
    spec = TABLE["WHILE_LOOP"]
    case = spec.example(spec.rows[0])
    spec.checks[0].mutate(case)
    graph = case.graph()
    assert [p.label for p in check(graph)] == ["WHILE_LOOP.E1"]
    assert "inside of 6 others" in str(check(graph)[0])
    assert check(graph, Target(level=LEVEL_NONE)) == []


def test_regions_that_run_themselves() -> None:
    graph = collatz()
    odd = graph.region("odd")
    assert odd is not None
    graph.regions = [Region("odd", graph.regions[2].blocks) if r is odd else r for r in graph.regions]
    assert [str(p) for p in check(graph) if p.label == "GRAPH.E8"] == ["GRAPH.E8: region 'odd' runs itself"]


def test_a_region_that_nobody_runs_is_fine_but_checked() -> None:
    graph = factorial()
    graph.regions.append(Region("alone", [pass_on("alone")]))
    assert check(graph) == []
    graph.regions[-1].blocks[0].tensors["b"].shape = (3, 2)
    assert [p.label for p in check(graph)] == ["IDENTITY.shape.output"]


def test_a_loop_needs_its_extension() -> None:
    (problem,) = check(factorial(), Target(extensions=frozenset()))
    assert problem.label == "WHILE_LOOP.profile"


def test_shapes_of_outputs_are_inferred_through_regions() -> None:
    graph = collatz()
    for _, block in graph.blocks():
        for name, tensor in block.tensors.items():
            if name not in block.inputs and tensor.data is None:
                tensor.shape = None
    assert check(graph) == []
    assert int(run(graph, x=np.array([6], np.int32))[0][0]) == 8


def test_problems_of_regions_are_raised_by_sessions() -> None:
    graph = factorial()
    graph.regions[1].blocks[0].operators[-1].op = "GREATEST"
    with pytest.raises(Unsupported, match="operator GREATEST is not implemented"):
        Session(graph)


def test_the_plan_shows_its_regions() -> None:
    text = describe(Session(collatz()).plan())
    assert "WHILE_LOOP -> " in text
    assert [line for line in text.splitlines() if line.startswith("region")] == [
        "region 'cond':", "region 'body':", "region 'even':", "region 'odd':",
    ]  # fmt: skip
