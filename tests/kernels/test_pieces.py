"""CONV3D and TRANSPOSE_CONV2D are cut into uses of CONV2D: long strides, phases without weights, epilogues, order."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosa_engine import oracle, types
from tosa_engine.errors import RequireViolation
from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels.work import Chain
from tosa_engine.runtime.blocks import Blocks
from tosa_engine.runtime.program import Span
from tosa_engine.runtime.session import Session
from tosa_engine.spec.case import Case
from tosa_engine.types import fp32, i4, i8, i16, i32, i48

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType, Shape

ROWS = {"i8": (i8, i8, i32), "i8 i4": (i8, i4, i32), "i16": (i16, i8, i48), "fp32": (fp32, fp32, fp32)}


def convolve(
    op: str, row: str, input: Shape, weight: Array, bias: list[int], input_zp: int = 0, **sizes: object
) -> Case:
    in_t, weight_t, out_t = ROWS[row]
    case = Case(op).input("input", in_t, input).const("weight", weight_t, weight).const("bias", out_t, bias)
    case.const("input_zp", in_t, [input_zp]).const("weight_zp", weight_t, [0])
    case.set(acc_type=out_t, local_bound=False, **sizes)
    return case.output("output", out_t, None)


def some(dtype: DType, shape: Shape, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(max(dtype.minimum, -99), min(dtype.maximum, 99) + 1, shape)


def numbers(row: str, shape: Shape, which: int) -> Array:
    """Integers, of which float sums are exact."""
    dtype = ROWS[row][which]
    return some(i4 if dtype is fp32 else dtype, shape).astype(dtype.storage)


def check(graph: Graph, feeds: dict[str, Array], threads: int = 1) -> None:
    (name,) = graph.main.outputs
    (got,) = Session(graph, threads=threads).run(None, feeds)
    np.testing.assert_array_equal(got, oracle.run(graph, feeds)[name])


@pytest.mark.parametrize("row", ROWS)
def test_transposed_strides_longer_than_the_kernel(row: str) -> None:
    """Most phases have no weights."""

    @settings(max_examples=20)
    @given(st.tuples(*[st.integers(1, 9)] * 2), st.tuples(*[st.integers(1, 4)] * 2), st.data())
    def run(stride: tuple[int, int], kernel: tuple[int, int], data: st.DataObject) -> None:
        KH, KW = kernel
        pad = tuple(data.draw(st.integers(1 - k, 3)) for k in (KH, KH, KW, KW))
        size = tuple(data.draw(st.integers(4, 6)) for _ in range(2))
        weight = numbers(row, (3, KH, KW, 2), 1)
        zero = 5 if row == "i8" else 0
        case = convolve(
            "TRANSPOSE_CONV2D", row, (2, *size, 2), weight, [1, -2, 3], zero, out_pad=pad, stride=stride
        )  # fmt: skip
        check(case.graph(), {"input": numbers(row, (2, *size, 2), 0)}, data.draw(st.integers(1, 3)))

    run()


@pytest.mark.parametrize("row", ["i8", "i16"])
def test_a_stride_of_thousands_is_quick(row: str) -> None:
    """A phase for each of 8192 rows would take minutes to prepare."""
    case = convolve(
        "TRANSPOSE_CONV2D",
        row,
        (1, 2, 2, 2),
        numbers(row, (3, 5, 3, 2), 1),
        [7],
        out_pad=(0, 0, -2, 1),
        stride=(8192, 1),
    )
    check(case.graph(), {"input": numbers(row, (1, 2, 2, 2), 0)})


@pytest.mark.parametrize("stride", [(64, 64), (31, 57)])
def test_thousands_of_phases_are_prepared_at_once(stride: tuple[int, int]) -> None:
    weight = numbers("i8", (2, 60, 60, 3), 1)
    graph = convolve("TRANSPOSE_CONV2D", "i8", (1, 2, 3, 3), weight, [7], 4, out_pad=(0,) * 4, stride=stride).graph()
    session = Session(graph, threads=1)
    start = time.process_time()
    plan = session.plan()
    assert time.process_time() - start < 1.5
    assert sum(len(run.loops) for b in Blocks(plan, 1).main.steps if isinstance(run := b.run, Chain)) <= 18
    check(graph, {"input": numbers("i8", (1, 2, 3, 3), 0)})


@pytest.mark.skipif(not JIT, reason="walks are compiled")
def test_loops_of_one_step_are_walked_and_shared() -> None:
    """Copies of several chunks and their convolutions, each shared by three workers."""
    sizes = {"pad": (1, 1, 1, 1, 2, 0), "stride": (1, 1, 1), "dilation": (1, 1, 1)}
    case = convolve("CONV3D", "i8", (2, 6, 40, 41, 32), numbers("i8", (18, 3, 3, 3, 32), 1), [5], 3, **sizes)
    graph, feeds = case.graph(), {"input": numbers("i8", (2, 6, 40, 41, 32), 0)}
    alone, several = Session(graph, threads=1), Session(graph, threads=3)
    np.testing.assert_array_equal(alone.run(None, feeds)[0], several.run(None, feeds)[0])
    bound = Blocks(several.plan(), 3).main
    assert [bool(b.shared) for b in bound.steps] == [True]
    assert [type(part) for part in bound.program.parts] == [Span]
    assert len(bound.program.origin) == 8  # four chunks


def test_padding_of_a_phase_without_weights_never_meets_infinities() -> None:
    weight = np.full((1, 1, 1, 1), np.inf, np.float32)
    case = convolve("TRANSPOSE_CONV2D", "fp32", (1, 2, 1, 1), weight, [3], out_pad=(0, 0, 0, 0), stride=(2, 1))
    (got,) = Session(case.graph(), threads=1).run(None, {"input": np.ones((1, 2, 1, 1), np.float32)})
    assert got.ravel().tolist() == [np.inf, 3.0, np.inf]


CASES = {
    "CONV3D": {"weight": (18, 3, 2, 3, 5), "pad": (1, 1, 1, 1, 2, 0), "stride": (1, 2, 1), "dilation": (1, 1, 1)},
    "TRANSPOSE_CONV2D": {"weight": (18, 4, 3, 5), "out_pad": (-1, 0, 0, 1), "stride": (3, 2)},
}


@pytest.mark.parametrize("out_t", [i8, i16, i32])
@pytest.mark.parametrize("op", CASES)
def test_a_rescale_behind_it_is_fused(op: str, out_t: DType) -> None:
    sizes = dict(CASES[op])
    shape = (2, 3, 6, 5, 5) if op == "CONV3D" else (2, 6, 5, 5)
    weight = some(i8, sizes.pop("weight"))
    graph = convolve(op, "i8", shape, weight, some(i8, (18,)).tolist(), 3, **sizes).graph()
    scale = Case("RESCALE").input("output", i32, None).const("multiplier", i32, some(i32, (18,)) + (1 << 30))
    scale.const("shift", i8, np.arange(18) + 34).const("in_zp", i32, [0]).const("out_zp", out_t, [out_t is i8])
    scale.set(scale32=True, rounding_mode="SINGLE_ROUND", per_channel=True, input_unsigned=False, output_unsigned=False)
    second = scale.output("scaled", out_t, None).graph().main
    for name, tensor in second.tensors.items():
        if name != "output":
            graph.main.add(tensor)
    graph.main.operators += second.operators
    graph.main.outputs[:] = ["scaled"]
    session = Session(graph, threads=2)
    assert [step.operators for step in session.plan().steps] == [f"{op}+RESCALE"]
    check(graph, {"input": some(i8, shape).astype(np.int8)}, 3)


@pytest.mark.parametrize("op", CASES)
def test_a_partial_sum_that_overflows_is_seen_though_the_result_would_fit(op: str) -> None:
    """The first half of the terms adds up to 255 * 127 * 70,000, beyond int32; the second half takes it back."""
    ones = (1, 1, 1) if op == "CONV3D" else (1, 1)
    IC = 140_000
    weight = np.full((1, *ones, IC), 127)
    weight[..., IC // 2 :] = -127
    more = {"pad": (0,) * 6, "dilation": ones} if op == "CONV3D" else {"out_pad": (0,) * 4}
    values = np.full((1, *ones, IC), 127, np.int8)
    for zero, wrong in ((0, False), (-128, True)):
        graph = convolve(op, "i8", (1, *ones, IC), weight, [0], zero, stride=ones, **more).graph()
        session = Session(graph, threads=1)
        if wrong:
            with pytest.raises(RequireViolation) as caught:
                session.run(None, {"input": values})
            assert caught.value.label == f"{op}.R1"
        else:
            assert session.run(None, {"input": values})[0].ravel().tolist() == [0]


def test_constants_of_every_new_layout_operator_are_folded() -> None:
    """SCATTER's output has a name of its own."""
    case = Case("SCATTER").const("values_in", i8, np.zeros((1, 3, 2))).const("indices", i32, [[2]])
    graph = case.const("input", i8, [[[4, 5]]]).output("values_out", i8, None).graph()
    session = Session(graph, threads=1)
    assert session.plan().steps == ()
    assert session.run(None, {})[0].tolist() == [[[0, 0], [0, 0], [4, 5]]]


@pytest.mark.parametrize(
    ("indices", "rule", "wrong"), [([0, 1, 3, 1], "R1", 2), ([0, -1, 1, 2], "R1", 1), ([2, 0, 0, 1], "R2", 2)]
)
def test_scatter_and_gather_say_where_an_index_is_wrong(indices: list[int], rule: str, wrong: int) -> None:
    values, more = np.arange(6, dtype=np.int16).reshape(1, 3, 2), np.ones((1, 4, 2), np.int16)
    case = Case("SCATTER").input("values_in", i16, (1, 3, 2)).input("indices", i32, (1, 4))
    scatter = case.input("input", i16, (1, 4, 2)).output("values_out", i16, None).graph()
    feeds = {"indices": np.array([indices], np.int32)}
    with pytest.raises(RequireViolation) as caught:
        Session(scatter, threads=1).run(None, {**feeds, "values_in": values, "input": more})
    assert (caught.value.label, caught.value.index) == (f"SCATTER.{rule}", (0, wrong, 0))
    case = Case("GATHER").input("values", i16, (1, 3, 2)).input("indices", i32, (1, 4)).output("output", i16, None)
    session = Session(case.graph(), threads=1)
    if rule == "R2":  # GATHER may read a row twice
        assert session.run(None, {**feeds, "values": values})[0].tolist() == values[:, indices].tolist()
        return
    with pytest.raises(RequireViolation) as caught:
        session.run(None, {**feeds, "values": values})
    assert (caught.value.label, caught.value.index) == ("GATHER.R1", (0, wrong, 0))


@pytest.mark.parametrize("times", [(1, 1, 1, 1), (3, 1, 2, 1), (1, 4, 1, 3), (2, 2, 2, 2)])
def test_tile_repeats_in_any_axis(times: tuple[int, ...]) -> None:
    values = some(i32, (2, 1, 3, 4)).astype(np.int32)
    case = Case("TILE").input("input1", i32, values.shape).const("multiples", types.shape, times)
    (got,) = Session(case.output("output", i32, None).graph(), threads=1).run(None, {"input1": values})
    np.testing.assert_array_equal(got, np.tile(values, times))
