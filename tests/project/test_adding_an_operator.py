"""Adding an operator takes an entry of the op table, an oracle and a kernel for each row, and nothing else: two toys.

What CONTRIBUTING names is all that is registered here. SQUARE is elementwise, SUM_POOL2D has windows; the rest of the
project works with them, or refuses them by name.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from trait_checks import Use, is_elementwise, slides, splits

from quant.calibration import calibrate
from quant.calibration.observe import digest
from quant.calibration.records import Statistics
from quant.calibration.statistics import TensorStatistics
from quant.legalize import chains
from quant.legalize.quantize import float_tensors, quantize
from quant.search.cost import Costs
from tosa_engine import Session, check, oracle, types
from tosa_engine.commands.inspect import _text, summary
from tosa_engine.compare.causes import Search
from tosa_engine.compare.trial import Trial
from tosa_engine.errors import ErrorIf, TosaEngineError, Unsupported
from tosa_engine.graph import Graph, Operator, Tensor, new_graph
from tosa_engine.infer import infer
from tosa_engine.kernels import FORMS, KERNELS
from tosa_engine.kernels.work import DONE, Kernel, Work
from tosa_engine.numerics.float_formats import round_to
from tosa_engine.oracle import ORACLES
from tosa_engine.passes import dead_code, layout
from tosa_engine.plan.batch import batch_of
from tosa_engine.plan.describe import facts, text
from tosa_engine.ranges.analyse import TRANSFERS, analyse
from tosa_engine.ranges.interval import Interval
from tosa_engine.serialize import json_to_text, tosa_to_bytes
from tosa_engine.spec import TABLE, OpSpec, macs_of
from tosa_engine.spec.case import Case
from tosa_engine.spec.spatial import output_size, pad_check, pool_span, spatial_sizes
from tosa_engine.spec.table import Attribute, Require, row, tensor
from tosa_engine.spec.traits import Memory, Outside, Traits, Window, elementwise, sizes
from tosa_engine.types import fp32, i32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tosa_engine.graph import QParams
    from tosa_engine.spec import Call
    from tosa_engine.types import Array

ROWS = (row("signed 32", "PRO-INT", in_out_t=i32), row("fp32", "PRO-FP", in_out_t=fp32))
SQUARE = OpSpec(
    name="SQUARE",
    code=200,
    schema="Square",
    section="0.1",
    inputs=(tensor("input1", "in_out_t", "shape", (0, None)),),
    attributes=(),
    outputs=(tensor("output", "in_out_t", "shape", (0, None)),),
    rows=ROWS,
    traits=elementwise("input1"),
    shapes=lambda c: [c["shape"]],
    requires=(Require("SQUARE.R1", "the square is a value of in_out_t"),),
    example=lambda r: Case("SQUARE").input("input1", r.types["in_out_t"], (2, 3)).output(
        "output", r.types["in_out_t"], (2, 3)
    ),
)  # fmt: skip
SUM_POOL2D = OpSpec(
    name="SUM_POOL2D",
    code=201,
    schema="SumPool2d",
    section="0.2",
    inputs=(tensor("input", "in_out_t", "[N,IH,IW,C]", (4, 4)),),
    attributes=(Attribute("kernel", "i32[2]", 0), Attribute("stride", "i32[2]", 1), Attribute("pad", "i32[4]", 2)),
    outputs=(tensor("output", "in_out_t", "[N,OH,OW,C]", (4, 4)),),
    rows=ROWS,
    traits=Traits(
        elementwise=None,
        moves=None,
        axes=None,
        batch=("input",),
        terms=sizes("kernel_y", "kernel_x"),
        is_sum=True,
        weight=None,
        window=Window(("kernel_y", "kernel_x"), "stride", "pad", "", Outside.ZERO, transposed=False),
        memory=Memory.NONE,
    ),
    sizes=spatial_sizes,
    shapes=lambda c: [(c.N, output_size(c, "y", pool_span), output_size(c, "x", pool_span), c.C)],
    checks=(pad_check("SUM_POOL2D.E1"),),
    example=lambda r: Case("SUM_POOL2D").input("input", r.types["in_out_t"], (1, 5, 4, 2)).set(
        kernel=(2, 2), stride=(1, 2), pad=(0, 1, 0, 0)
    ).output("output", r.types["in_out_t"], (1, 5, 2, 2)),
)  # fmt: skip


def squared(call: Call, input1: Array) -> Array:
    return _stored(call, np.asarray(input1, np.float64) ** 2)


def summed(call: Call, input: Array) -> Array:
    (top, bottom, left, right), (sy, sx) = call.pad, call.stride
    wide = np.pad(np.asarray(input, np.float64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, call.kernel, (1, 2))
    return _stored(call, windows[:, ::sy, ::sx].sum(axis=(-2, -1)))


def _stored(call: Call, values: Array) -> Array:
    return round_to(values, fp32) if call.in_out_t is fp32 else values.astype(np.int32)


def kernel(compute: Callable[[Call, Array], Array], over: tuple[int, ...] = ()) -> Kernel:
    def prepare(call: Call) -> Work:
        def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Any:
            def run(low: int, high: int, scratch: Sequence[Array]) -> int:
                np.copyto(outputs[0], compute(call, inputs[0]))
                return DONE

            return run

        return Work(1, 1000.0, bind, overwritable=over)

    return Kernel(prepare)


def squares(call: Call, facts: Any, input1: Interval) -> Interval:
    ends = np.maximum(np.abs(input1.low), np.abs(input1.high))
    return facts.fits("R1", Interval(np.zeros_like(ends), ends * ends), call.in_out_t)


TOYS = [pytest.param(SQUARE, id="SQUARE"), pytest.param(SUM_POOL2D, id="SUM_POOL2D")]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an author writes: an entry, an oracle, a kernel for each row, and a range."""
    for spec, compute, over in ((SQUARE, squared, (0,)), (SUM_POOL2D, summed, ())):
        monkeypatch.setitem(TABLE, spec.name, spec)
        monkeypatch.setitem(ORACLES, spec.name, compute)
        for one in spec.rows:
            monkeypatch.setitem(KERNELS, (spec.name, one.key), kernel(compute, over))
            monkeypatch.setitem(FORMS, (spec.name, one.key), ())  # which comes from KERNELS, on import
    monkeypatch.setitem(TRANSFERS, "SQUARE", squares)


def graph_of(spec: OpSpec, key: str, *, between: bool = False) -> Graph:
    """x -> the operator -> y, of four samples; `between` identities of another layout."""
    graph, dtype = new_graph(), spec.row(key).types["in_out_t"]
    block = graph.main
    x = block.add(Tensor("x", dtype, (4, 5, 4, 2)))
    block.inputs, block.outputs = [x.name], ["y"]
    name = x.name
    if between:
        block.add(Tensor("turned", dtype, None))
        block.operators.append(Operator("TRANSPOSE", [name], ["turned"], {"perms": (0, 3, 1, 2)}))
        name = "turned"
    attributes = {} if spec is SQUARE else {"kernel": (2, 2), "stride": (1, 2), "pad": (0, 1, 0, 0)}
    block.add(Tensor("y" if not between else "inner", dtype, None))
    block.operators.append(Operator(spec.name, [name], ["y" if not between else "inner"], attributes))
    if between:
        block.add(Tensor("y", dtype, None))
        block.operators.append(Operator("TRANSPOSE", ["inner"], ["y"], {"perms": (0, 2, 3, 1)}))
    infer(graph)
    return graph


def feeds_of(graph: Graph) -> dict[str, Array]:
    (x,) = graph.inputs
    return {x.name: np.random.default_rng(0).integers(-50, 50, x.shape).astype(x.dtype.storage)}


@pytest.mark.parametrize("spec", TOYS)
@pytest.mark.parametrize("key", ["i32", "fp32"])
def test_it_is_checked_inferred_planned_and_run(spec: OpSpec, key: str) -> None:
    graph = graph_of(spec, key)
    assert check.check(graph) == []
    assert graph.main.tensors["y"].shape == ((4, 5, 4, 2) if spec is SQUARE else (4, 5, 2, 2))
    feeds = feeds_of(graph)
    session = Session(graph, 2)
    assert session.run(None, feeds)[0].tobytes() == oracle.run(graph, feeds)["y"].tobytes()
    plan = session.plan()
    assert [step.operators for step in plan.steps] == [spec.name]
    assert spec.name in text(facts(plan))
    graph.main.operators[0].inputs.append("x")
    with pytest.raises(ErrorIf, match=f"{spec.name}.inputs"):
        check.validate(graph)


def test_a_rule_of_its_own_is_checked() -> None:
    graph = graph_of(SUM_POOL2D, "i32")
    graph.main.operators[0].attributes["pad"] = (0, -1, 0, 0)
    assert "SUM_POOL2D.E1" in {problem.label for problem in check.check(graph)}


def test_its_traits_are_held_against_its_oracle() -> None:
    assert SQUARE.traits.elementwise is not None
    assert SUM_POOL2D.traits.window is not None
    assert is_elementwise(SQUARE, SQUARE.row("fp32"), SQUARE.traits.elementwise)
    assert splits(SQUARE, SQUARE.row("i32"), ("input1",))
    assert splits(SUM_POOL2D, SUM_POOL2D.row("i32"), ("input",))
    assert slides(SUM_POOL2D, SUM_POOL2D.row("i32"), SUM_POOL2D.traits.window)
    assert not slides(SUM_POOL2D, SUM_POOL2D.row("i32"), replace(SUM_POOL2D.traits.window, transposed=True))
    assert Use.of(SUM_POOL2D, SUM_POOL2D.row("i32")).call()["kernel_y"] == 2


@pytest.mark.parametrize("spec", TOYS)
def test_its_batch_is_split_and_pads_join_its_windows(spec: OpSpec) -> None:
    graph = graph_of(spec, "i32")
    assert batch_of(graph) == 4
    block = graph.main
    block.add(Tensor("amounts", types.shape, (8,), np.array([0, 0, 1, 0, 0, 2, 0, 0])))
    block.add(Tensor("zero", i32, (1,), np.zeros(1, np.int32)))
    block.add(Tensor("padded", i32, None))
    block.operators[:0] = [
        Operator("CONST_SHAPE", [], ["amounts"]),
        Operator("CONST", [], ["zero"]),
        Operator("PAD", ["x", "amounts", "zero"], ["padded"]),
    ]
    block.operators[-1].inputs[0] = "padded"
    block.tensors["y"].shape = None
    infer(graph)
    session, feeds = Session(graph, 1), feeds_of(graph)
    steps = [step.operators for step in session.plan().steps]
    assert steps == (["PAD", "SQUARE"] if spec is SQUARE else ["PAD+SUM_POOL2D"])
    assert session.run(None, feeds)[0].tobytes() == oracle.run(graph, feeds)["y"].tobytes()


@pytest.mark.parametrize(("spec", "transposes"), [(SQUARE, 0), (SUM_POOL2D, 2)])
def test_layouts_of_elementwise_operators_move(spec: OpSpec, transposes: int) -> None:
    graph = graph_of(spec, "fp32", between=True)
    moved = dead_code.run(layout.run(graph))
    assert [op.op for op in moved.main.operators].count("TRANSPOSE") == transposes
    feeds = feeds_of(graph)
    assert oracle.run(moved, feeds)["y"].tobytes() == oracle.run(graph, feeds)["y"].tobytes()


def test_it_is_ranged() -> None:
    found = analyse(graph_of(SQUARE, "i32"))
    assert (int(found.intervals["y"].low.min()), found.count("depends")) == (0, 1)
    whole = analyse(graph_of(SUM_POOL2D, "i32")).intervals["y"]
    assert (int(whole.low.min()), int(whole.high.max())) == (i32.minimum, i32.maximum)


def calibrated(graph: Graph) -> Graph:
    statistics, feeds = Statistics(digest(graph)), feeds_of(graph)
    statistics.mark(0, 1)
    seen = feeds | oracle.run(graph, feeds)
    for one in float_tensors(graph):
        statistics.tensors.setdefault(one.name, TensorStatistics()).see(seen[one.name])
    return calibrate.attach(graph, statistics)


def hints(graph: Graph) -> dict[str, QParams | None]:
    return {name: t.quant for name, t in graph.main.tensors.items() if t.data is None}


@pytest.mark.parametrize("spec", TOYS)
def test_it_is_calibrated_costed_and_refused_by_name(spec: OpSpec) -> None:
    ready = calibrated(graph_of(spec, "fp32"))
    assert None not in hints(ready).values()
    assert Costs(ready.main).usual.bytes > 0
    assert [macs_of(op, ready.main) for op in ready.main.operators] == [0]
    with pytest.raises(Unsupported) as refused:
        quantize(ready)
    assert refused.value.message == f"operator {spec.name} has no rule of quantization"


def test_with_a_formula_it_is_quantized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(chains.FORMULAS, "SQUARE", np.square)
    graph = graph_of(SQUARE, "fp32")
    integer = quantize(calibrated(graph))
    assert [op.op for op in integer.main.operators if not op.op.startswith("CONST")] == ["TABLE"]


@pytest.mark.parametrize(("spec", "fault", "found"), [(SQUARE, None, []), (SUM_POOL2D, (1, 0, 0, 0), ["padding"])])
def test_differences_are_compared(spec: OpSpec, fault: Any, found: list[str]) -> None:
    """The hypothesis on padding is about all windows that read what they cover."""
    graph = graph_of(spec, "i32")
    values = feeds_of(graph)
    values |= oracle.run(graph, values)
    other = graph_of(spec, "i32")
    if fault is not None:
        other.main.operators[0].attributes["pad"] = fault
    got = oracle.run(other, feeds_of(graph))["y"] if fault is not None else values["y"] + 1
    search = Search(Trial(graph, values, ["x"], "y", got))
    search.run()
    assert [cause.label for cause in search.best()] == found


@pytest.mark.parametrize("spec", TOYS)
def test_it_is_printed_and_refused_by_files(spec: OpSpec) -> None:
    graph = graph_of(spec, "i32")
    printed = _text(summary(graph) | {"problems": []})
    assert f"1 {spec.name}" in printed
    assert "MACs       0" in printed
    assert spec.name in json.dumps(summary(graph))
    for write in (tosa_to_bytes, json_to_text):
        with pytest.raises(TosaEngineError, match=spec.name):
            write(graph)


def test_an_entry_without_traits_is_none() -> None:
    with pytest.raises(TypeError, match="traits"):
        OpSpec(name="X", code=1, schema="", section="", inputs=(), attributes=(), outputs=(), rows=(),  # type: ignore[call-arg]
               shapes=lambda c: [], example=lambda r: Case("X"))  # fmt: skip
