"""Variables: state that outlives runs, every REQUIRE in both voices, saving and restoring, files."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import Session, oracle, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.check import check
from tosa_engine.errors import DataError, Problems, RequireViolation, UsageError
from tosa_engine.graph import Operator
from tosa_engine.passes import dead_code
from tosa_engine.probe import Probe
from tosa_engine.spec import TABLE
from tosa_engine.state import Variables
from tosa_engine.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

ONES = np.ones((2, 3), np.int8)
LABELS = [r.label for name in ("VARIABLE", "VARIABLE_WRITE", "VARIABLE_READ") for r in TABLE[name].requires]


def declare(b: Builder, initial: Array | None = ONES, shape: tuple[int, ...] = (2, 3), name: str = "v") -> None:
    b.op("VARIABLE", name=name, var_shape=shape, type=types.i8, initial_value=initial)


def exchange(initial: Array | None = ONES) -> Graph:
    """Gives what the last run was given; the first one the initial value."""
    b = Builder()
    declare(b, initial)
    b.output(b.op("VARIABLE_READ", name="v", dtype=types.i8, output="old"))
    b.op("VARIABLE_WRITE", b.input(types.i8, (2, 3), "new"), name="v")
    return b.graph()


def feed(value: int) -> dict[str, Array]:
    return {"new": np.full((2, 3), value, np.int8)}


def test_values_persist_between_runs() -> None:
    for graph in (exchange(), dead_code.run(exchange())):
        session, variables = Session(graph), Variables()
        for old, new in ((1, 5), (5, 7), (7, -3)):
            (found,) = session.run(None, feed(new))
            np.testing.assert_array_equal(found, np.full((2, 3), old))
            np.testing.assert_array_equal(oracle.run(graph, feed(new), variables=variables)["old"], found)
    np.testing.assert_array_equal(Session(graph, checked=True).run(None, feed(9))[0], ONES)


def test_several_runs_follow_each_other() -> None:
    session = Session(exchange(), 2)
    (found,) = session.run_each(None, {"new": np.stack([feed(value)["new"] for value in (5, 7, -3)])})
    np.testing.assert_array_equal(found, np.stack([ONES, feed(5)["new"], feed(7)["new"]]))
    np.testing.assert_array_equal(session.state()["v"], feed(-3)["new"])


def test_save_restore_reset() -> None:
    session = Session(exchange())
    assert session.state() == {}
    session.run(None, feed(5))
    state = session.state()
    assert {name: array.tolist() for name, array in state.items()} == {"v": [[5] * 3] * 2}
    session.run(None, feed(6))
    assert state["v"][0, 0] == 5
    other = Session(exchange())
    other.restore(state)
    state["v"][:] = 0
    assert other.run(None, feed(0))[0][0, 0] == 5
    other.reset()
    assert other.run(None, feed(0))[0][0, 0] == 1
    other.restore({})
    assert other.state() == {}


@pytest.mark.parametrize(("name", "array", "message"), [
    ("w", ONES, "unknown variable 'w'; the graph's variables: v"),
    ("v", ONES.astype(np.int16), "variable 'v': wanted int8[2, 3], got int16[2, 3]"),
    ("v", ONES[0], "variable 'v': wanted int8[2, 3], got int8[3]"),
])  # fmt: skip
def test_a_state_that_does_not_fit(name: str, array: Array, message: str) -> None:
    session = Session(exchange())
    session.run(None, feed(5))
    with pytest.raises(DataError) as caught:
        session.restore({name: array})
    assert str(caught.value) == message
    assert session.state()["v"][0, 0] == 5
    with pytest.raises(Problems):
        session.restore({"a": ONES, "b": ONES})


def test_a_run_that_fails_leaves_variables_alone() -> None:
    b = Builder()
    declare(b)
    x = b.input(types.i8, (2, 3), "x")
    b.op("VARIABLE_WRITE", x, name="v")
    wide = b.op("CAST", x, dtype=types.i32)
    b.output(b.op("ADD", wide, b.const([[2**31 - 1]], types.i32)))
    session = Session(b.graph())
    session.run(None, {"x": -ONES})
    with pytest.raises(RequireViolation, match=r"ADD\.R1"):
        session.run(None, {"x": ONES})
    np.testing.assert_array_equal(session.state()["v"], -ONES)


def test_runs_wait_for_each_other() -> None:
    """Each run gives the next number, however many threads ask."""
    b = Builder()
    declare(b, np.zeros(1, np.int8), (1,))
    old = b.op("VARIABLE_READ", name="v", dtype=types.i8)
    one = b.op("CAST", b.op("SUB", b.op("CAST", old, dtype=types.i32), [-1]), dtype=types.i8)
    b.op("VARIABLE_WRITE", one, name="v")
    b.output(one)
    session = Session(b.graph(), threads=2)
    found: list[int] = []

    def count() -> None:
        found.extend(int(session.run(None, {})[0][0]) for _ in range(25))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 101))


def test_a_probe_cannot_run_the_same_session() -> None:
    session = Session(exchange())
    with pytest.raises(UsageError, match="inside of a run of the same session"):
        session.run(None, feed(1), probes=[Probe(lambda *_: session.run(None, feed(2)))])
    assert session.run(None, feed(3))[0][0, 0] == 1


# the REQUIREs: a run on each graph ends with the label


def read(b: Builder, shape: tuple[int, ...] = (2, 3), dtype: types.DType = types.i8) -> None:
    """A read whose form may contradict the declaration."""
    tensor = b._writer.tensor("read", dtype, shape)
    b._block.operators.append(Operator("VARIABLE_READ", [], [tensor.name], {"name": "v"}))
    b.output(tensor)


def write(b: Builder, shape: tuple[int, ...] = (2, 3), dtype: types.DType = types.i8) -> None:
    b.op("VARIABLE_WRITE", b.const(np.zeros(shape, dtype.storage)), name="v")


def twice(b: Builder) -> None:
    declare(b)
    declare(b)


BROKEN: dict[str, list[Callable[[Builder], object]]] = {
    "VARIABLE.R1": [lambda b: declare(b, ONES.astype(np.float32))],
    "VARIABLE.R2": [lambda b: declare(b, ONES[0])],
    "VARIABLE.R3": [twice],
    "VARIABLE_WRITE.R1": [write, declare],
    "VARIABLE_WRITE.R3": [declare, lambda b: write(b, (3, 2))],
    "VARIABLE_WRITE.R4": [declare, lambda b: write(b, (2, 3), types.fp32)],
    "VARIABLE_READ.R1": [read],
    "VARIABLE_READ.R2": [lambda b: declare(b, None), read],
    "VARIABLE_READ.R3": [declare, lambda b: read(b, (6,))],
    "VARIABLE_READ.R4": [declare, lambda b: read(b, (2, 3), types.fp32)],
}


def test_every_require_has_a_violation() -> None:
    assert {*BROKEN, "VARIABLE_WRITE.R2"} == set(LABELS)


@pytest.mark.parametrize("label", BROKEN)
def test_requires(label: str) -> None:
    b = Builder()
    for part in BROKEN[label]:
        part(b)
    graph = b.graph()
    for run in (lambda: oracle.run(graph, {}), lambda: Session(graph).run(None, {})):
        with pytest.raises(RequireViolation) as caught:
            run()
        assert caught.value.label == label
        assert caught.value.message.startswith("variable 'v': ")


def test_written_in_a_run_that_does_not_declare_it() -> None:
    """WRITE stands before VARIABLE: the first run finds nothing (R1), a later one what isn't declared yet (R2)."""
    b = Builder()
    write(b)
    declare(b)
    session = Session(b.graph())
    with pytest.raises(RequireViolation, match=r"VARIABLE_WRITE\.R1"):
        session.run(None, {})
    session.restore({"v": ONES})
    with pytest.raises(RequireViolation) as caught:
        session.run(None, {})
    assert caught.value.label == "VARIABLE_WRITE.R2"


def test_a_variable_without_initial_value_is_read_once_written() -> None:
    session = Session(exchange(None))
    with pytest.raises(RequireViolation, match=r"VARIABLE_READ\.R2: variable 'v': is read before it was written"):
        session.run(None, feed(1))
    session.restore({"v": ONES})
    assert session.run(None, feed(4))[0][0, 0] == 1
    assert session.run(None, feed(4))[0][0, 0] == 4


def test_regions_share_the_variables() -> None:
    """A loop whose body adds up in a variable of the main block. Declared in the region, too, it is the same one."""
    b = Builder()
    declare(b, np.zeros(1, np.int8), (1,))
    cond, body = b.region("cond"), b.region("body")
    cond.output(cond.op("GREATER", cond.input(types.i32, (1,)), cond.const([0], types.i32)))
    n = body.input(types.i32, (1,))
    declare(body, np.zeros(1, np.int8), (1,))
    total = body.op("CAST", body.op("VARIABLE_READ", name="v", dtype=types.i8), dtype=types.i32)
    body.op("VARIABLE_WRITE", body.op("CAST", body.op("ADD", total, n), dtype=types.i8), name="v")
    body.output(body.op("SUB", n, [1]))
    b.op("WHILE_LOOP", [b.input(types.i32, (1,), "n")], cond_graph="cond", body_graph="body")
    b.op("VARIABLE_WRITE", b.op("VARIABLE_READ", name="v", dtype=types.i8), name="v")
    b.output(b.op("VARIABLE_READ", name="v", dtype=types.i8, output="sum"))
    graph, feeds = b.graph(), {"n": np.array([4], np.int32)}
    session, variables = Session(graph), Variables()
    for wanted in (10, 20):
        assert int(session.run(None, feeds)[0][0]) == wanted
        assert int(oracle.run(graph, feeds, variables=variables)["sum"][0]) == wanted


def test_types_that_variables_cannot_have() -> None:
    graph = exchange()
    graph.main.operators[0].attributes["type"] = types.i16
    assert [str(p) for p in check(graph)] == [
        "VARIABLE.types: no row of supported data types has type: i16; rows: i8; fp16; fp32 (node 'VARIABLE')"
    ]
    labels = {p.label for p in check(exchange(), Target(extensions=frozenset({"EXT-DYNAMIC"})))}
    assert labels == {"VARIABLE.profile", "VARIABLE_READ.profile", "VARIABLE_WRITE.profile"}


# files


def test_files_hold_variables_in_tensors() -> None:
    graph = exchange()
    text = serialize.json_to_text(graph)
    assert '"variable_name": "v"' in text.replace('":"', '": "')
    again = serialize.json_from_text(text)
    assert serialize.json_to_text(again) == text
    content = serialize.tosa_to_bytes(again)
    again = serialize.tosa_from_bytes(content)
    assert serialize.tosa_to_bytes(again) == content
    assert [(op.op, op.inputs, op.outputs) for op in again.main.operators] == [
        ("VARIABLE", [], []), ("VARIABLE_READ", [], ["old"]), ("VARIABLE_WRITE", ["new"], []),
    ]  # fmt: skip
    session = Session(again)
    assert [int(session.run(None, feed(n))[0][0, 0]) for n in (5, 6)] == [1, 5]


def test_files_that_leave_the_declaration_out() -> None:
    """The tensor declares; in a region that uses a variable of the main block it doesn't declare it again."""
    b = Builder()
    declare(b)
    cond, body = b.region("cond"), b.region("body")
    cond.output(cond.op("GREATER", cond.input(types.i32, (1,)), cond.const([0], types.i32)))
    n = body.input(types.i32, (1,))
    declare(body, np.zeros(1, np.int8), (1,), "inner")
    body.op("VARIABLE_WRITE", body.op("VARIABLE_READ", name="v", dtype=types.i8), name="v")
    body.op("VARIABLE_WRITE", body.const([7], types.i8), name="inner")
    body.output(body.op("SUB", n, [1]))
    b.output(*b.op("WHILE_LOOP", [b.input(types.i32, (1,), "n")], cond_graph="cond", body_graph="body"))
    graph = b.graph()
    text = serialize.json_to_text(graph)
    assert '"op": "VARIABLE' not in text
    assert text.count('"op": "IDENTITY"') == 3
    again = serialize.json_from_text(text)
    assert serialize.json_to_text(again) == text
    for (_, block), (_, other) in zip(graph.blocks(), again.blocks(), strict=True):
        effects = [
            [(op.op, op.attributes["name"]) for op in one.operators if op.op.startswith("VARIABLE")]
            for one in (block, other)
        ]
        assert effects[0] == effects[1]


def late(b: Builder) -> None:
    b.op("VARIABLE_WRITE", b.input(types.i8, (2, 3)), name="v")
    declare(b)


def unused(b: Builder) -> None:
    declare(b)
    declare(b, name="w")
    read(b)


def again_in_a_region(b: Builder) -> None:
    declare(b)
    then, other = b.region("then"), b.region("other")
    declare(then)
    for region in (then, other):
        read(region)
    b.output(*b.op("COND_IF", b.input(types.bool_, (1,)), [], then_graph="then", else_graph="other"))


def of_another_region(b: Builder) -> None:
    then, other = b.region("then"), b.region("other")
    declare(then)
    for region in (then, other):
        read(region)
    b.output(*b.op("COND_IF", b.input(types.bool_, (1,)), [], then_graph="then", else_graph="other"))


@pytest.mark.parametrize("make", [late, unused, again_in_a_region, of_another_region, twice])
def test_declarations_that_tensors_cannot_say(make: Callable[[Builder], None]) -> None:
    """They keep VARIABLE in the file, and nothing else becomes one."""
    b = Builder()
    make(b)
    graph = b._graph
    text = serialize.json_to_text(graph)
    again = serialize.json_from_text(text)
    assert serialize.json_to_text(again) == text

    def shown(graph: Graph) -> list[tuple[str, str]]:
        return [(op.op, op.attributes.get("name", "")) for _, block in graph.blocks() for op in block.operators]

    assert shown(again) == shown(graph)


OTHERS = """{"version": {"_major": 1, "_minor": 0, "_patch": 0, "_draft": false},
 "regions": [{"name": "main", "blocks": [{"name": "main", "inputs": ["x"], "outputs": ["y"],
   "operators": [
     {"op": "IDENTITY", "attribute_type": "VariableReadAttribute", "inputs": ["V"], "outputs": ["y"], "attribute": {}},
     {"op": "IDENTITY", "attribute_type": "VariableWriteAttribute", "inputs": ["x"], "outputs": ["V"], "attribute": {}}
   ],
   "tensors": [
     {"name": "V", "shape": [2], "type": "INT8", "data": [3, 4], "variable": true, "variable_name": "counter"},
     {"name": "x", "shape": [2], "type": "INT8"}, {"name": "y", "shape": [2], "type": "INT8"}],
   "shapes": []}]}]}"""


def test_files_of_other_writers() -> None:
    """They leave VARIABLE out and number the other two as IDENTITY; the order of reading and writing is kept."""
    graph = serialize.json_from_text(OTHERS)
    assert [op.op for op in graph.main.operators] == ["VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE"]
    session = Session(graph)
    assert [session.run(None, {"x": np.array([n, n], np.int8)})[0].tolist() for n in (7, 8)] == [[3, 4], [7, 7]]
    assert list(session.state()) == ["counter"]
