"""Operators that look for values: the least, any, all, reversed, repeated, gathered, scattered, resized."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from oracle_tools import NAN, expected, outcome, run, use, values_of

from tosa_engine import oracle, types
from tosa_engine.compliance.cases import cases
from tosa_engine.numerics.float_formats import FORMATS
from tosa_engine.spec import TABLE
from tosa_engine.types import bool_, fp32, i8, i16, i32, i48

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.spec.case import Case
    from tosa_engine.types import Array

# Reductions


def test_all_and_any() -> None:
    data = [[True, True], [True, False], [False, False]]
    for op, rows, columns in (
        ("REDUCE_ALL", [[True], [False], [False]], [[False, False]]),
        ("REDUCE_ANY", [[True], [True], [False]], [[True, True]]),
    ):
        assert run(use(op, [bool_], bool_, axis=1), input=data) == rows
        assert run(use(op, [bool_], bool_, axis=0), input=data) == columns


def least(values: list[float], nan_mode: str) -> float:
    numbers = [v for v in values if v == v]
    if len(numbers) < len(values) and (nan_mode == "PROPAGATE" or not numbers):
        return NAN
    return min(numbers)


REDUCTIONS: dict[str, Callable[[list[Any], str], Any]] = {
    "REDUCE_ALL": lambda values, _: all(values),
    "REDUCE_ANY": lambda values, _: any(values),
    "REDUCE_MIN": least,
}


@pytest.mark.parametrize(("op", "row"), [(n, r.key) for n in REDUCTIONS for r in TABLE[n].rows])
def test_reductions_along_an_axis(op: str, row: str) -> None:
    @given(cases(op, row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        attributes, data = graph.main.operators[-1].attributes, feeds["input"]
        axis = attributes["axis"]
        output = oracle.run(graph, feeds)["output"]
        for index in np.ndindex(output.shape):
            line = [data[(*index[:axis], i, *index[axis + 1 :])].item() for i in range(data.shape[axis])]
            wanted = REDUCTIONS[op](line, attributes.get("nan_mode", ""))
            np.testing.assert_array_equal(output[index].item(), wanted)

    check()


def test_reduce_min_starts_from_no_value() -> None:
    case = use("REDUCE_MIN", [fp32], fp32, axis=0, nan_mode="IGNORE")
    assert str(run(case, input=[NAN, NAN])) == "[nan]"
    assert run(case, input=[NAN, 3.0, NAN, 2.0]) == [2.0]
    assert run(case, input=[float("inf")]) == [float("inf")]
    case = use("REDUCE_MIN", [fp32], fp32, axis=0, nan_mode="PROPAGATE")
    assert str(run(case, input=[1.0, NAN, 2.0])) == "[nan]"
    assert str(run(case, input=[0.0, -0.0])) == "[-0.0]"
    assert run(use("REDUCE_MIN", [i8], i8, axis=0, nan_mode="PROPAGATE"), input=[127, 127]) == [127]


# Places


def test_reverse_and_tile() -> None:
    data = [[1, 2, 3], [4, 5, 6]]
    assert run(use("REVERSE", [i8], i8, axis=0), input1=data) == [[4, 5, 6], [1, 2, 3]]
    assert run(use("REVERSE", [i8], i8, axis=1), input1=data) == [[3, 2, 1], [6, 5, 4]]
    case = use("TILE", [i8], i8).const("multiples", types.shape, [1, 2])
    assert run(case, input1=data) == [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]
    case = use("TILE", [i8], i8).const("multiples", types.shape, [2, 1])
    assert run(case, input1=data) == data + data


@given(cases("REVERSE"))
def test_reverse_moves_every_element(case: tuple[Graph, dict[str, Array]]) -> None:
    graph, feeds = case
    axis, data = graph.main.operators[-1].attributes["axis"], feeds["input1"]
    output = oracle.run(graph, feeds)["output"]
    for index in np.ndindex(data.shape):
        mirrored = (*index[:axis], data.shape[axis] - 1 - index[axis], *index[axis + 1 :])
        assert output[mirrored].tobytes() == data[index].tobytes()


@given(cases("TILE"))
def test_tile_repeats_every_element(case: tuple[Graph, dict[str, Array]]) -> None:
    graph, feeds = case
    data, multiples = feeds["input1"], values_of(graph, feeds, "multiples")
    output = oracle.run(graph, feeds)["output"]
    assert output.shape == tuple(n * times for n, times in zip(data.shape, multiples, strict=True))
    for copy in np.ndindex(*multiples):
        start = [i * n for i, n in zip(copy, data.shape, strict=True)]
        part = output[tuple(slice(a, a + n) for a, n in zip(start, data.shape, strict=True))]
        assert part.tobytes() == data.tobytes()


def test_gather_and_scatter() -> None:
    values = [[[1, 2], [3, 4], [5, 6]]]
    gathered = run(use("GATHER", [i16, i32], i16), values=values, indices=[[2, 0, 2, 1]])
    assert gathered == [[[5, 6], [1, 2], [5, 6], [3, 4]]]
    case = use("SCATTER", [i16, i32, i16], i16)
    assert run(case, values_in=values, indices=[[2, 0]], input=[[[7, 8], [9, 0]]]) == [[[9, 0], [3, 4], [7, 8]]]


@pytest.mark.parametrize("row", ["i8_i32", "i32_i32"])
def test_gather_is_its_loops(row: str) -> None:
    @given(cases("GATHER", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        values, indices = (values_of(graph, feeds, name) for name in ("values", "indices"))
        wanted: Any = []
        for n, line in enumerate(indices):
            bad = [w for w, k in enumerate(line) if not 0 <= k < len(values[n])]
            if bad:
                wanted = "GATHER.R1", (n, bad[0], 0)
                break
            wanted.append([values[n][k] for k in line])
        assert outcome(graph, feeds) == wanted

    check()


def scattered(values: Any, indices: Any, input: Any) -> Any:
    for n, line in enumerate(indices):
        for w, k in enumerate(line):
            if not 0 <= k < len(values[n]):
                return "SCATTER.R1", (n, w, 0)
            if k in line[:w]:
                return "SCATTER.R2", (n, w, 0)
            values[n][k] = input[n][w]
    return values


@pytest.mark.parametrize("row", ["i8_i32", "i32_i32"])
def test_scatter_is_its_loops(row: str) -> None:
    @given(cases("SCATTER", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        parts = (values_of(graph, feeds, name) for name in ("values_in", "indices", "input"))
        assert outcome(graph, feeds) == scattered(*parts)

    check()


# RESIZE


def row_of(in_t: types.DType, out_t: types.DType, mode: str, n: int, d: int, offset: int, border: int) -> Case:
    """RESIZE along x only."""
    case = use("RESIZE", [in_t], out_t, mode=mode).const("scale", types.shape, [1, 1, n, d])
    return case.const("offset", types.shape, [0, offset]).const("border", types.shape, [0, border])


@pytest.mark.parametrize(
    ("in_t", "out_t", "mode", "sampling", "values", "result"),
    [
        (i8, i32, "BILINEAR", (4, 2, -1, 1), [10, 20], [40, 50, 70, 80]),
        (i8, i8, "NEAREST", (4, 2, -1, 1), [10, 20], [10, 10, 20, 20]),
        (i8, i8, "NEAREST", (2, 1, 0, 0), [10, 20], [10, 20, 20]),  # half the way is the later one
        (i8, i8, "NEAREST", (3, 1, -3, 2), [10, 20], [10, 10, 10, 10, 10, 20, 20, 20, 20]),
        (i8, i32, "BILINEAR", (1, 1, 0, 0), [-128, 127], [-128, 127]),
        (i8, i32, "BILINEAR", (2, 1, 0, 0), [-128, 127], [-256, -1, 254]),
        (i16, i48, "BILINEAR", (2048, 8, -8, -6136), [-32768, 5, 9, 1], [-67108864, -67108864, -66846680]),
        (i16, i16, "NEAREST", (1, 2, 1, 0), [1, -2, 3, -4], [-2, -4]),
        (fp32, fp32, "BILINEAR", (4, 2, -1, 1), [1.0, 2.0], [1.0, 1.25, 1.75, 2.0]),
        (fp32, fp32, "NEAREST", (2, 1, 0, 0), [0.5, -0.5], [0.5, -0.5, -0.5]),
    ],
)
def test_resize(
    in_t: types.DType, out_t: types.DType, mode: str, sampling: tuple[int, int, int, int], values: Any, result: Any
) -> None:
    found = run(row_of(in_t, out_t, mode, *sampling), input=np.reshape(values, (1, 1, -1, 1)))
    assert np.ravel(found).tolist() == result


def sample(axis: tuple[int, int, int], size: int, place: int) -> tuple[int, int, Fraction]:
    """The neighbours of an output position, and how far it is from the first to the second."""
    n, d, offset = axis
    position = Fraction(place * d + offset, n)
    before = math.floor(position)
    return max(before, 0), min(before + 1, size - 1), position - before


@pytest.mark.parametrize("row", [r.key for r in TABLE["RESIZE"].rows])
def test_resize_is_its_definition_in_fractions(row: str) -> None:
    @given(cases("RESIZE", row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        data, nearest = feeds["input"], graph.main.operators[-1].attributes["mode"] == "NEAREST"
        assume(np.isfinite(data.astype(np.float64)).all())
        form = FORMATS.get(graph.outputs[0].dtype)
        scale, offset = (values_of(graph, feeds, name) for name in ("scale", "offset"))
        y, x = (scale[0], scale[1], offset[0]), (scale[2], scale[3], offset[1])
        unit = 1 if form else y[0] * x[0]

        def element(index: tuple[int, ...]) -> Any:
            n, oy, ox, c = index
            iy0, iy1, dy = sample(y, data.shape[1], oy)
            ix0, ix1, dx = sample(x, data.shape[2], ox)
            if nearest:
                return data[n, iy1 if dy >= Fraction(1, 2) else iy0, ix1 if dx >= Fraction(1, 2) else ix0, c].item()
            upper = Fraction(data[n, iy0, ix0, c].item()) * (1 - dx) + Fraction(data[n, iy0, ix1, c].item()) * dx
            lower = Fraction(data[n, iy1, ix0, c].item()) * (1 - dx) + Fraction(data[n, iy1, ix1, c].item()) * dx
            return (upper * (1 - dy) + lower * dy) * unit

        found, wanted = outcome(graph, feeds), expected(graph, element)
        if nearest or form is None:
            assert found == wanted
        else:  # fp64, rounded once
            room = form.least_subnormal + float(np.abs(data.astype(np.float64)).max()) * 2.0**-48
            unit_of = 2.0 ** (-1 - form.fraction_bits)
            np.testing.assert_allclose(found, np.array(wanted, np.float64), rtol=unit_of, atol=room)

    check()
