"""The precision requirements: what is at a bound passes, what is one step beyond doesn't; NaN, infinities, flushing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import oracle
from tosa_engine.compliance import accuracy
from tosa_engine.compliance.accuracy import abs_error_bound, reference_ulp, within_bound, within_ulp
from tosa_engine.compliance.accuracy.data_sets import LARGE_VALUES, pro_fp_data
from tosa_engine.infer import infer
from tosa_engine.numerics.float_formats import FORMATS, round_to
from tosa_engine.oracle.reference import bound_fp64, reference_fp64
from tosa_engine.runtime.session import Session
from tosa_engine.spec import TABLE, bind_operator
from tosa_engine.spec.case import Case
from tosa_engine.types import bf16, fp8e4m3, fp8e5m2, fp16, fp32, i16

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.spec import OpSpec, Row
    from tosa_engine.spec.table import Call
    from tosa_engine.types import Array, DType

INF, NAN = math.inf, math.nan
FLOATS = (fp32, fp16, bf16, fp8e4m3, fp8e5m2)


def one(check: Any, tested: float, reference: float, bound: float, dtype: DType) -> bool:
    found = check(np.array([tested], np.float64).astype(dtype.storage), np.array([reference]), bound, dtype)
    return bool(found[0])


@pytest.mark.parametrize(
    ("value", "dtype", "unit"),
    [
        (1.0, fp32, 2.0**-23), (1.99, fp32, 2.0**-23), (-2.0, fp32, 2.0**-22), (2.0**-130, fp32, 2.0**-149),
        (1.0, fp16, 2.0**-10), (1.0, bf16, 2.0**-7), (1.0, fp8e4m3, 0.125), (3.0, fp8e5m2, 0.5), (0.0, fp32, 0.0),
        (INF, fp32, 0.0), (NAN, fp32, 0.0), (2.0**-7, fp8e4m3, 2.0**-9),
    ],
)  # fmt: skip
def test_units_in_the_last_place(value: float, dtype: DType, unit: float) -> None:
    assert reference_ulp(np.array([value]), dtype).tolist() == [unit]


@pytest.mark.parametrize("dtype", FLOATS)
def test_at_the_bound_passes_and_one_step_beyond_fails(dtype: DType) -> None:
    unit = 2.0 ** -FORMATS[dtype].fraction_bits
    for sign in (1.0, -1.0):
        for steps in (0, 1, -1):
            assert one(within_ulp, sign * (1.25 + steps * unit), sign * 1.25, 1.0, dtype)
        for steps in (2, -2):
            assert not one(within_ulp, sign * (1.25 + steps * unit), sign * 1.25, 1.0, dtype)
    assert one(within_ulp, 1.25, 1.25 + unit / 2, 0.5, dtype)
    assert not one(within_ulp, 1.25, 1.25 + unit * 0.51, 0.5, dtype)
    assert not one(within_ulp, -1.25, 1.25, 1.0, dtype)


def test_values_that_are_not_finite() -> None:
    top = FORMATS[fp32].largest
    assert one(within_bound, NAN, NAN, 0.0, fp32)
    assert not one(within_bound, 1.0, NAN, 1e9, fp32)
    assert not one(within_bound, NAN, 1.0, 1e9, fp32)
    assert one(within_bound, 5.0, 1.0, INF, fp32)
    assert one(within_bound, 5.0, 1.0, NAN, fp32)
    assert one(within_bound, INF, INF, 0.0, fp32)
    assert not one(within_bound, -INF, INF, 0.0, fp32)
    assert not one(within_bound, top, INF, 0.0, fp32)
    assert one(within_bound, INF, top, 1e31, fp32)  # in reach of an overflow
    assert not one(within_bound, INF, top, 0.0, fp32)
    assert one(within_bound, -INF, -top, 1e31, fp32)
    assert one(within_bound, NAN, 448.0, 1.0, fp8e4m3)  # its overflow
    assert not one(within_bound, NAN, 440.0, 1.0, fp8e4m3)
    assert one(within_bound, NAN, 1000.0, 0.0, fp8e4m3)
    assert not one(within_bound, 448.0, 1000.0, 0.0, fp8e4m3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_subnormal_results_may_be_zero_but_for_fp8(dtype: DType) -> None:
    form = FORMATS[dtype]
    below = form.least_normal - form.least_subnormal
    assert one(within_bound, 0.0, below, 0.0, dtype) == (dtype in (fp32, fp16, bf16))
    assert one(within_bound, -0.0, -below, 0.0, dtype) == (dtype in (fp32, fp16, bf16))
    assert not one(within_bound, 0.0, form.least_normal, 0.0, dtype)
    assert one(within_bound, below, below, 0.0, dtype)


def test_absolute_error_bounds() -> None:
    """Literal values of calcAbsErrorBound."""

    def bound(*arguments: Any) -> float:
        return float(abs_error_bound(fp32, *arguments))

    assert bound(np.array(4.0), 3.0, 0, 1) == 12.0 * 2.0**-23
    assert bound(np.array(-4.0), 3.0, 0, 1) == 12.0 * 2.0**-23
    assert bound(np.array(0.0), 3.0, 0, 1) == 3.0 * 2.0**-149
    assert bound(np.array(0.01), 5.0, 0.5, 1) == pytest.approx(0.5 * 2.0**-23)
    assert bound(np.array(1.0), 1.0, 0, 2) == 2.0**-11.5
    assert bound(np.array(0.0), INF, 0, 1) == 0.0
    assert bound(np.array(1.0), INF, 0, 1) == INF


def call_of(graph: Graph) -> Call:
    infer(graph)
    return bind_operator(graph.main.operators[-1], graph.main)


def unary(op: str, dtype: DType, values: Any) -> tuple[Call, dict[str, Array]]:
    array = round_to(np.asarray(values, np.float64), dtype)
    name = TABLE[op].inputs[0].name
    case = Case(op).input(name, dtype, array.shape).output("output", dtype, None)
    for argument in TABLE[op].inputs[1:]:
        case.const(argument.name, dtype, [0])
    return call_of(case.graph()), {name: array, **{a.name: np.zeros(1, dtype.storage) for a in TABLE[op].inputs[1:]}}


def bounds_of(op: str, dtype: DType, x: float) -> float:
    """The text's bounds with Python's own floats."""
    frac, least = FORMATS[dtype].fraction_bits, FORMATS[dtype].least_normal
    base = 3 if dtype is fp32 else 1
    functions = {"COS": math.cos, "SIN": math.sin, "EXP": math.exp, "LOG": math.log, "TANH": math.tanh}
    y = functions[op](x) if op in functions else 1 / (1 + math.exp(-x))
    if op == "COS":
        return 2.0 ** (-frac / 2) * (1 + abs(x))
    if op == "SIN":
        return max(2.0 ** (-frac / 2) * 2 * abs(x), math.pi * least)
    if op == "LOG":
        return 2.0**-frac * max(5 * abs(y), 0.5)
    if op == "EXP":
        return 2.0**-frac * y * (base + 2 * abs(x))
    if op == "TANH":
        return 2.0**-frac * max(abs(y) * 4 * (base + 2 * abs(x)), 0.5)
    return 2.0**-frac * y * 2 * (1 + abs(x))


def neighbour(values: Array, steps: int) -> Array:
    """The values of the format `steps` above; none of them crosses zero."""
    bits = values.view(f"i{values.itemsize}")
    away = np.where(values.astype(np.float64) > 0, steps, -steps)
    return (bits + away.astype(bits.dtype)).view(values.dtype)


@pytest.mark.parametrize("dtype", [fp32, fp16, bf16])
@pytest.mark.parametrize("op", ["COS", "SIN", "EXP", "LOG", "SIGMOID", "TANH"])
def test_functions_at_their_bounds(op: str, dtype: DType) -> None:
    """Planted errors: the last value inside the bound passes, the first one outside doesn't."""
    for x in (0.875, 2.5, 0.01171875):
        call, inputs = unary(op, dtype, [x])
        (reference,) = reference_fp64(call, inputs)
        end = float(reference[0]) + bounds_of(op, dtype, x)
        last = round_to(np.array([end]), dtype)
        last = neighbour(last, -1) if float(last[0]) > end else last
        beyond = neighbour(last, 1)
        assert accuracy.check_operator(call, inputs, [last])[0].good
        (found,) = accuracy.check_operator(call, inputs, [beyond])
        assert (found.good, found.wrong, found.index) == (False, 1, (0,))
        assert str(found).startswith(f"{op}: 1 elements out of bounds, first at [0]: got ")


@pytest.mark.parametrize(("op", "units"), [("RECIPROCAL", 1), ("RSQRT", 2), ("ERF", 5), ("CEIL", 0), ("FLOOR", 0)])
def test_rules_in_units(op: str, units: int) -> None:
    call, inputs = unary(op, fp32, [1.0 if units == 0 else 0.25])
    (exact,) = oracle.run_operator(call, inputs)
    inside = units - (op == "ERF")  # whose result is rounded
    for steps, good in ((inside, True), (-inside, True), (units + 1, False), (-units - 1, False)):
        tested = exact + np.float32(steps) * np.spacing(exact)
        assert accuracy.check_operator(call, inputs, [tested.astype(np.float32)])[0].good == good


def binary(op: str, dtype: DType, a: Any, b: Any) -> tuple[Call, dict[str, Array]]:
    arrays = [round_to(np.asarray(v, np.float64), dtype) for v in (a, b)]
    case = Case(op).input("input1", dtype, arrays[0].shape).input("input2", dtype, arrays[1].shape)
    return call_of(case.output("output", dtype, None).graph()), dict(zip(("input1", "input2"), arrays, strict=True))


def test_powers() -> None:
    call, inputs = binary("POW", fp32, [0.0, 7.0, 2.0], [3.0, 0.0, 3.5])
    (exact,) = oracle.run_operator(call, inputs)
    assert accuracy.check_operator(call, inputs, [exact])[0].good
    for place, off in ((0, 1e-30), (1, 2.0**-22)):  # exact by the text
        wrong = exact.copy()
        wrong[place] += np.float32(off)
        assert accuracy.check_operator(call, inputs, [wrong])[0].index == (place,)
    # y log x = 2.426, its error 13.3 units, and 3 + 2 * 2.426 units of EXP
    steps = 2.0**3.5 * (5.5 * 3.5 * math.log(2.0) + 3 + 7 * math.log(2.0)) * 2.0**-23
    near, far = exact.copy(), exact.copy()
    near[2] += np.float32(steps * 0.999)
    far[2] += np.float32(steps * 1.05)
    assert accuracy.check_operator(call, inputs, [near])[0].good
    assert not accuracy.check_operator(call, inputs, [far])[0].good
    call, inputs = binary("POW", fp32, [-1.0], [2.0])
    assert accuracy.check_operator(call, inputs, [exact[:1]]) == []  # unpredictable


def test_flushed_inputs_all_or_none() -> None:
    """2^-140 + 2^-126 with the first one flushed is 2^-126; a result that flushes only one of two is neither."""
    small = [2.0**-140, 2.0**-141]
    call, inputs = binary("ADD", fp32, small, [2.0**-126] * 2)
    whole = np.array([2.0**-126 + s for s in small], np.float32)
    zeros = np.full(2, 2.0**-126, np.float32)
    assert accuracy.check_operator(call, inputs, [whole])[0].good
    assert accuracy.check_operator(call, inputs, [zeros])[0].good
    assert not accuracy.check_operator(call, inputs, [np.array([whole[0], zeros[1]])])[0].good


def test_exact_rules_and_the_sign_of_zeros() -> None:
    call, inputs = unary("NEGATE", fp32, [0.0, 1.0, NAN])
    assert accuracy.check_operator(call, inputs, [np.array([-0.0, -1.0, NAN], np.float32)])[0].good
    assert accuracy.check_operator(call, inputs, [np.array([0.0, -1.0, NAN], np.float32)])[0].index == (0,)
    assert accuracy.check_operator(call, inputs, [np.array([-0.0, -1.0, 0.0], np.float32)])[0].index == (2,)
    call, inputs = binary("MAXIMUM", fp32, [0.0, 3.0], [-0.0, 2.0])
    for zero in (0.0, -0.0):  # either sign
        assert accuracy.check_operator(call, inputs, [np.array([zero, 3.0], np.float32)])[0].good
    assert not accuracy.check_operator(call, inputs, [np.array([0.0, 2.0], np.float32)])[0].good


CASTS = [
    (fp32, fp16, 1.0 + 2.0**-11, [1.0, 1.0 + 2.0**-10], [1.0 - 2.0**-10, 1.0 + 2.0**-9]),  # a tie: both neighbours
    (fp32, fp16, 1.0 + 2.0**-10 * 0.75, [1.0 + 2.0**-10, 1.0], [1.0 + 2.0**-9]),  # to nearest, towards zero
    (fp32, fp16, -(1.0 + 2.0**-10 * 0.25), [-1.0], [-1.0 - 2.0**-10, 1.0]),  # not away from zero
    (fp32, fp16, 65520.0, [INF], [65504.0, -INF, NAN]),
    (fp32, fp16, 65519.0, [65504.0], [INF]),
    (fp32, fp16, 2.0**-15, [2.0**-15, 0.0], [-0.0, 2.0**-14]),  # subnormal: itself or zero
    (fp32, bf16, NAN, [NAN], [0.0, INF]),
    (fp32, fp16, -INF, [-INF], [INF, -65504.0]),
    (fp32, fp8e4m3, 465.0, [NAN], [448.0]),
    (fp32, fp8e4m3, 460.0, [448.0], [NAN]),
    (fp32, fp8e4m3, INF, [NAN], [448.0]),
    (fp32, fp8e5m2, 61440.0, [INF], [57344.0]),
    (fp32, fp8e5m2, 2.0**-15, [2.0**-15], [0.0]),  # no flushing
    (fp16, fp32, -0.0, [-0.0], [0.0]),
    (i16, bf16, 257.0, [256.0, 258.0], [254.0, 260.0]),
]


@pytest.mark.parametrize(("source", "target", "value", "good", "bad"), CASTS)
def test_casts(source: DType, target: DType, value: float, good: list[float], bad: list[float]) -> None:
    array = np.array([value]).astype(source.storage) if source.is_int else round_to(np.array([value]), source)
    call = call_of(Case("CAST").input("input", source, (1,)).output("output", target, (1,)).graph())
    for outputs, wanted in ((good, True), (bad, False)):
        for output in outputs:
            (found,) = accuracy.check_operator(call, {"input": array}, [round_to(np.array([output]), target)])
            assert found.good == wanted, output


def test_products_of_an_axis() -> None:
    case = Case("REDUCE_PRODUCT").input("input", fp32, (8,)).set(axis=0).output("output", fp32, None)
    call, inputs = call_of(case.graph()), {"input": np.full(8, 1.5, np.float32)}
    (reference,) = reference_fp64(call, inputs)
    room = reference[0] * ((1 + 2.0**-24) ** 8 - 1)
    for share, good in ((0.99, True), (1.2, False), (-0.99, True), (-1.2, False)):
        tested = np.array([reference[0] + share * room], np.float32)
        assert accuracy.check_operator(call, inputs, [tested])[0].good == good


def test_resize() -> None:
    shapes = {"scale": [4, 2, 4, 2], "offset": [0, 0], "border": [0, 0]}
    case = Case("RESIZE").input("input", fp32, (1, 2, 2, 1))
    from tosa_engine import types

    for name, values in shapes.items():
        case.const(name, types.shape, values)
    call = call_of(case.set(mode="BILINEAR").output("output", fp32, None).graph())
    inputs = {"input": np.array([[[[1.0], [2.0]], [[3.0], [-8.0]]]], np.float32)}
    inputs |= {name: np.array(values) for name, values in shapes.items()}
    (exact,) = oracle.run_operator(call, inputs)
    for error, good in ((0.0479, True), (0.0481, False)):  # 0.006 times 8
        assert accuracy.check_operator(call, inputs, [exact + np.float32(error)])[0].good == good


# Dot products


def matmul(shape: tuple[int, int, int, int], in_t: DType = fp32, out_t: DType = fp32) -> Call:
    N, H, C, W = shape
    case = Case("MATMUL").input("A", in_t, (N, H, C)).input("B", in_t, (N, C, W))
    case.const("A_zp", in_t, [0]).const("B_zp", in_t, [0])
    return call_of(case.output("output", out_t, (N, H, W)).graph())


def test_a_dot_product_at_its_bound() -> None:
    """KS = 4 and no bias: 8 halves of a unit of the sum of magnitudes, which is 4 here: 8 * 4 * 2^-24."""
    call = matmul((1, 1, 4, 1))
    inputs = {"A": np.array([[[1.0, -1.0, 1.0, 1.0]]], np.float32), "B": np.ones((1, 4, 1), np.float32)}
    inputs |= {"A_zp": np.zeros(1, np.float32), "B_zp": np.zeros(1, np.float32)}
    room = 8 * 4 * 2.0**-24
    for error, good in ((room, True), (-room, True), (room * 1.2, False), (-room * 1.2, False)):
        tested = np.array([[[2.0 + error]]], np.float32)
        assert accuracy.check_operator(call, inputs, [tested])[0].good == good
    inputs["A"][0, 0, 1] = NAN
    assert accuracy.check_operator(call, inputs, [np.full((1, 1, 1), NAN, np.float32)])[0].good
    assert not accuracy.check_operator(call, inputs, [np.ones((1, 1, 1), np.float32)])[0].good
    inputs["A"][0, 0, 1] = 3e38
    inputs["B"][0, 1, 0] = 5.0  # overflows: no bound
    assert accuracy.check_operator(call, inputs, [np.ones((1, 1, 1), np.float32)])[0].good


def test_a_window_in_the_padding_may_multiply_zeros_by_infinity_or_not() -> None:
    """`tosa_extra_multiplies`: bias and pixel, or NaN; the channel with finite weights has no choice."""
    weight = np.array([[INF, 1.0], [1.0, 1.0]], np.float32).reshape(2, 1, 2, 1)
    case = Case("CONV2D").input("input", fp32, (1, 1, 2, 1)).const("weight", fp32, weight)
    case.const("bias", fp32, [0.5, 0.5]).const("input_zp", fp32, [0]).const("weight_zp", fp32, [0])
    case.set(pad=(0, 0, 1, 0), stride=(1, 1), dilation=(1, 1), acc_type=fp32, local_bound=True)
    call = call_of(case.output("output", fp32, (1, 1, 2, 2)).graph())
    zero = np.zeros(1, np.float32)
    inputs = {"input": np.array([2.0, 3.0], np.float32).reshape(1, 1, 2, 1), "weight": weight}
    inputs |= {"bias": np.array([0.5, 0.5], np.float32), "input_zp": zero, "weight_zp": zero}
    for first, second, good in ((2.5, 2.5, True), (NAN, 2.5, True), (2.5, NAN, False)):
        tested = np.array([first, second, INF, 5.5], np.float32).reshape(1, 1, 2, 2)
        assert accuracy.check_operator(call, inputs, [tested])[0].good == good, (first, second)


def test_roundings_that_are_allowed_for() -> None:
    assert accuracy.rounding_count(100, fp32, fp32, False) == 100
    assert accuracy.rounding_count(100, fp32, fp32, True) == 101
    assert accuracy.rounding_count(100, fp32, fp16, False) == 2  # 100 / 2^6
    assert accuracy.rounding_count(100, fp32, bf16, True) == 2  # 100 / 2^8, and the bias


@pytest.mark.parametrize("data_set", accuracy.DATA_SETS)
@pytest.mark.parametrize(("in_t", "out_t"), [(fp32, fp32), (fp16, fp32), (bf16, fp32), (fp8e4m3, fp16)])
def test_data_sets_and_sums_of_errors(data_set: int, in_t: DType, out_t: DType) -> None:
    """The oracle passes; one element a step beyond the bound doesn't; nor do errors that are all at half of it."""
    call = matmul((1, 32, 20, 32), in_t, out_t)
    inputs = accuracy.data_set(call, data_set)
    (exact,) = oracle.run_operator(call, inputs)
    assert accuracy.check_operator(call, inputs, [exact], data_set)[0].good
    bound = bound_fp64(call, inputs, True, FORMATS[in_t].least_normal)[0]
    unit = np.maximum(bound * 2.0 ** (-1 - FORMATS[out_t].fraction_bits), FORMATS[out_t].least_normal)
    (reference,) = reference_fp64(call, inputs)
    beyond = exact.copy()
    beyond[0, 3, 4] = round_to(np.array(reference[0, 3, 4] + 2 * 20 * unit[0, 3, 4] * 1.5), out_t)
    assert accuracy.check_operator(call, inputs, [beyond], data_set)[0].index == (0, 3, 4)
    biased = round_to(reference + 20 * unit, out_t)
    (found,) = accuracy.check_operator(call, inputs, [biased], data_set)
    assert (found.good, found.wrong) == (False, 0)
    assert ("sum of the errors" in found.sums) == (data_set in (3, 4, 5))
    assert accuracy.check_operator(call, inputs, [biased])[0].good  # each element alone is within its bound


def test_pseudo_random_data() -> None:
    """By the recurrence, one step at a time."""
    for set_ in (0, 1, 17):
        multiplier = (8 * set_ + 1) * 0x705A5E75 % 2**32
        state, wanted = (multiplier + 1) % 2**32, []
        for _ in range(9):
            value = np.float32(state & 0x7FFFFFFF) / np.float32(0x7FFFFFFF)
            wanted.append(value if state < 2**31 else -value)
            state = (state * multiplier + 1) % 2**32
        assert accuracy.set_data(set_, 9).tolist() == [float(v) for v in wanted]
        assert accuracy.set_data(set_, 1).tolist() == [float(wanted[0])]


def test_data_set_values() -> None:
    """Literal corners of the generators."""
    k = np.arange(6) % 3
    assert pro_fp_data(2, 3, 0, k, 1.0)[[0, 3]].tolist() == [1.0, 1.0]
    assert set(np.abs(pro_fp_data(3, 3, 1, k, 1.0)[[0, 3]])) == {16.0}
    assert set(np.abs(pro_fp_data(4, 3, 0, k, 9.0)[[1, 4]])) == {0.5}
    first, second = (pro_fp_data(4, 3, p, k, 9.0) for p in (0, 1))
    assert ((first == 0) | (second == 0))[k != 1].all()
    assert (first * second)[k == 1].tolist() == [-0.25, -0.25]
    assert not pro_fp_data(5, 3, 2, k, 9.0).any()
    large = pro_fp_data(1, 3, 0, k, 8.0)
    assert (np.abs(large) <= 4.0).all()
    assert (np.abs(large) >= 2.0).all()
    for (in_t, out_t), value in LARGE_VALUES.items():
        assert float(round_to(np.array(value), in_t)) == value
        assert np.isfinite(float(round_to(np.array(value * value), out_t)))


DOT_PRODUCTS = sorted(name for name in TABLE if accuracy.rule_of(name).name == "dot product")
ROWS = [(TABLE[n], r) for n in DOT_PRODUCTS for r in TABLE[n].rows if next(iter(r.types.values())).is_float]


@pytest.mark.parametrize(("spec", "row"), ROWS, ids=[f"{s.name}-{r.key}" for s, r in ROWS])
def test_kernels_pass_on_all_data_sets(spec: OpSpec, row: Row) -> None:
    graph = spec.example(row).graph()
    call = call_of(graph)
    for S in accuracy.DATA_SETS:
        inputs = accuracy.data_set(call, S)
        for argument in spec.inputs:
            tensor = call.tensor(argument.name)
            if tensor.data is not None:
                tensor.data = inputs[argument.name]
        feeds = {t.name: inputs[t.name] for t in graph.inputs}
        outputs = Session(graph, threads=1).run(None, feeds)
        for found in accuracy.check_operator(call, inputs, outputs, S):
            assert found.good, (S, str(found))


def test_every_operator_with_floats_has_a_rule() -> None:
    names = {s.name for s in TABLE.values() for r in s.rows if any(t.is_float for t in r.types.values())}
    exact = {n for n in names if accuracy.rule_of(n).name == "exact"}
    assert set(accuracy.RULES) <= names
    assert exact == {
        "ABS", "ARGMAX", "CONCAT", "CONST", "EQUAL", "GATHER", "GREATER", "GREATER_EQUAL", "IDENTITY", "NEGATE", "PAD",
        "RESHAPE", "REVERSE", "SCATTER", "SELECT", "SLICE", "TILE", "TRANSPOSE", "VARIABLE", "VARIABLE_READ",
        "VARIABLE_WRITE",
    }  # fmt: skip
