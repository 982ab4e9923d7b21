"""The integer Winograd convolution: its matrices from polynomials, exactness at the bounds, the oracle's bytes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nets import Net
from vector_units import BEST

from tosa_engine import oracle, types
from tosa_engine.kernels import work
from tosa_engine.kernels._jit import JIT, variants
from tosa_engine.kernels.winograd import prepare as winograd
from tosa_engine.kernels.winograd.matrices import A_T, A_T_SHORT, B_T, B_T_SHORT, FACTORS, REDUCED, G
from tosa_engine.kernels.winograd.places import AT_FEW, IN_26_BITS, block_rows, columns_of
from tosa_engine.plan import prepare
from tosa_engine.runtime.session import Session
from tosa_engine.spec import bind_operator
from tosa_engine.spec.case import Case

from .test_emission import PROCESSORS, WANTED

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.kernels.work import Work
    from tosa_engine.spec.table import Call
    from tosa_engine.types import Array, DType

ROOT = Path(__file__).parents[2]
POINTS = [Fraction(p) for p in (0, 1, -1, 2, -2)]
Polynomial = list[Fraction]  # from the constant term on


def roots(points: list[Fraction]) -> Polynomial:
    """The product of x - p over the points."""
    found = [Fraction(1)]
    for p in points:
        found = [a - p * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found


def rows_at(points: list[Fraction]) -> tuple[list[Polynomial], list[int], list[Polynomial]]:
    """The rows of B^T, the denominators, and the rows of G for points and, behind the fourth, infinity: Toom and Cook.
    A product of polynomials comes from its values at the points and its leading coefficient; transposed, it gives
    correlations.
    """
    others = [[q for q in points if q != p] for p in points]
    down = [[*roots(some), Fraction(0)] for some in others]
    denominators = [int(np.prod([p - q for q in some])) for p, some in zip(points, others, strict=True)]
    taps = [[p**k for k in range(3)] for p in points]
    last = [Fraction(0), Fraction(0), Fraction(1)]
    return (
        [*down[:4], roots(points), *down[4:]], [*denominators[:4], 1, *denominators[4:]], [*taps[:4], last, *taps[4:]]
    )  # fmt: skip


@pytest.mark.parametrize(("outputs", "points"), [(4, POINTS), (3, POINTS[:4])])
def test_the_matrices_are_those_of_the_points(outputs: int, points: list[Fraction]) -> None:
    """G, A^T and B^T carry, together, 24 / denominator; G is the same for both numbers of outputs."""
    down, across = (B_T, A_T) if outputs == 4 else (B_T_SHORT, A_T_SHORT)
    for i, (row, denominator, taps) in enumerate(zip(*rows_at(points), strict=True)):
        place = 4 if i == 4 else points.index(taps[1])
        powers = [0] * (outputs - 1) + [1] if i == 4 else [points[place] ** j for j in range(outputs)]
        in_b, in_g, in_a = (
            next(Fraction(int(n)) / d for n, d in zip(found, wanted, strict=True) if d)
            for found, wanted in ((down[i], row), (G[i], taps), (across[:, i], powers))
        )  # fmt: skip
        assert in_b * in_g * in_a == Fraction(24, denominator)
        assert down[i].tolist() == [in_b * value for value in row]
        assert G[i].tolist() == [in_g * value for value in taps]
        assert across[:, i].tolist() == [in_a * value for value in powers]


@pytest.mark.parametrize(("down", "across"), [(B_T, A_T), (B_T_SHORT, A_T_SHORT)])
def test_the_transform_is_24_correlations(down: Array, across: Array) -> None:
    """sum over i of A^T[j, i] G[i, k] B^T[i, n] is 24 where n = j + k, and otherwise 0."""
    for j, k, n in product(range(len(across)), range(3), range(len(down))):
        assert sum(across[j] * G[: len(down), k] * down[:, n]) == (24 if n == j + k else 0)


def test_factors_fit_int16_and_a_sum_is_moved_at_one_point() -> None:
    assert 128 * max(np.abs(down).sum(axis=1).max() for down in (B_T, B_T_SHORT)) ** 2 == 18_432
    assert winograd.LARGEST * np.abs(G).sum(axis=1).max() ** 2 == 32_688
    assert (winograd.LARGEST + 1) * np.abs(G).sum(axis=1).max() ** 2 >= 1 << 15
    assert (REDUCED * np.reshape(FACTORS, (6, 1)) == G).all()
    assert 128 * np.abs(REDUCED).sum(axis=1).max() ** 2 < 1 << 15
    assert A_T[:, 1].tolist() == [1] * 4
    assert A_T_SHORT[:, 1].tolist() == [1] * 3
    assert 9 * pow(9, -1, 1 << 32) % (1 << 32) == 1


@pytest.mark.slow("two transformations are compiled")
def test_weights_beyond_int16_are_refused_because_they_would_be_wrong() -> None:
    weight = np.full((16, 3, 3, 32), 127, np.int8)
    x = np.random.default_rng(0).integers(-128, 128, (1, 6, 6, 32)).astype(np.int8)
    for weight_zp, suits in ((-100, True), (-101, False)):
        call = convolution(weight, (1, 6, 6), weight_zp=weight_zp)
        assert winograd.suits(call) == suits
        assert (transformed(call, x) == wanted(call, x)).all() == suits


def convolution(
    weight: Array, size: tuple[int, int, int], input_zp: int = 0, weight_zp: int = 0,
    pad: tuple[int, ...] = (0, 0, 0, 0), weight_t: DType = types.i8,
) -> Call:  # fmt: skip
    OC, KH, KW, IC = weight.shape
    N, IH, IW = size
    bias = np.random.default_rng(OC).integers(-5000, 5000, OC)
    case = Case("CONV2D").input("input", types.i8, (*size, IC)).const("weight", weight_t, weight)
    case.const("bias", types.i32, bias).const("input_zp", types.i8, [input_zp])
    case.const("weight_zp", weight_t, [weight_zp]).set(pad=pad, stride=(1, 1), dilation=(1, 1))
    case.set(acc_type=types.i32, local_bound=False)
    shape = N, IH + pad[0] + pad[1] - KH + 1, IW + pad[2] + pad[3] - KW + 1, OC
    main = case.output("output", types.i32, shape).graph().main
    return bind_operator(main.operators[-1], main)


def wanted(call: Call, x: Array) -> Array:
    names = ("weight", "bias", "input_zp", "weight_zp")
    (found,) = oracle.run_operator(call, {"input": x, **{name: call.constant(name) for name in names}})
    return found


BEHIND = 1 << 14  # bytes behind scratch that are looked at


def run_in_parts(prepared: Work, x: Array, out: Array, parts: int) -> None:
    """The units in `parts` ranges, each with scratch of its own in which nothing may be relied on, and nothing written
    behind it.
    """
    run = prepared.bind([x], [out])
    for part in range(parts):
        low, high = prepared.units * part // parts, prepared.units * (part + 1) // parts
        memory = work.aligned(prepared.scratch_bytes + BEHIND, np.uint8)
        memory[:] = 0x55
        if low < high:
            assert run(low, high, prepared.carve(memory)) == work.DONE
        assert (memory[prepared.scratch_bytes :] == 0x55).all()


def transformed(call: Call, x: Array, parts: int = 1) -> Array:
    out = np.full(call.shape_of("output"), 1, np.int32)
    run_in_parts(winograd.conv2d(call), x, out, parts)
    return out


FULLEST = ((1 << 26) - 1) // 255  # of sums of magnitudes of weights


def weights_of_sum(total: int, signs: Array) -> Array:
    """[1, 3, 3, IC] with the sum of magnitudes, int8; the sign depends on the input channel."""
    IC = len(signs)
    values = np.full(9 * IC, total // (9 * IC), np.int64)
    values[: total - values.sum()] += 1
    assert values.max() <= 127
    return (values.reshape(1, 3, 3, IC) * signs).astype(np.int8)


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("input_zp", [-128, 0, 127])
def test_both_ends_of_the_widest_bounds(variant: str, input_zp: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of the least and the greatest inputs: the ends of an interval of 67,108,860 < 2^26."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    for pattern in ([1, 1], [-1, -1], [1, -1]):
        signs = np.resize(pattern, 260)
        call = convolution(weights_of_sum(FULLEST, signs), (2, 6, 6), input_zp)
        assert winograd.suits(call)
        x = np.empty((2, 6, 6, 260), np.int8)
        x[0], x[1] = np.where(signs > 0, 127, -128), np.where(signs > 0, -128, 127)
        want = wanted(call, x)
        assert want.max() - want.min() == 255 * FULLEST
        np.testing.assert_array_equal(transformed(call, x), want)
        x[:, ::2, 1::2], x[:, 1::2, ::2] = x[::-1, ::2, 1::2], x[::-1, 1::2, ::2]
        np.testing.assert_array_equal(transformed(call, x), wanted(call, x))


def test_bounds_that_are_proved_of_narrow_inputs_suit_where_those_of_all_inputs_are_too_wide() -> None:
    signs = np.resize([1, -1], 520)
    call = convolution(weights_of_sum(2 * FULLEST, signs), (2, 6, 6))
    assert not winograd.suits(call)
    low, high = -60, 60
    call.proved = {"CONV2D.R1": (np.array([low * 2 * FULLEST]), np.array(high * 2 * FULLEST))}
    assert winograd.suits(call)
    x = np.empty((2, 6, 6, 520), np.int8)
    x[0], x[1] = np.where(signs > 0, high, low), np.where(signs > 0, low, high)
    x[:, ::2, 1::2], x[:, 1::2, ::2] = x[::-1, ::2, 1::2], x[::-1, 1::2, ::2]
    np.testing.assert_array_equal(transformed(call, x), wanted(call, x))


def test_wider_bounds_are_refused_because_they_would_be_wrong() -> None:
    call = convolution(weights_of_sum(FULLEST + 1, np.ones(260, np.int64)), (2, 6, 6))
    assert not winograd.suits(call)
    assert not winograd.chosen(call)
    x = np.full((2, 6, 6, 260), 127, np.int8)
    x[1] = -128
    want = wanted(call, x)
    assert want.max() - want.min() == 255 * (FULLEST + 1)
    assert (transformed(call, x) != want).any()
    out = np.zeros_like(want)
    run_in_parts(prepare(call), x, out, 1)
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("settings", [{"stride": (2, 1)}, {"dilation": (1, 2)}, {"kernel": (3, 2)}, {"kernel": (5, 3)}])
def test_other_windows_are_refused(settings: dict[str, tuple[int, int]]) -> None:
    KH, KW = settings.get("kernel", (3, 3))
    case = Case("CONV2D").input("input", types.i8, (1, 9, 9, 64)).const("weight", types.i8, np.ones((64, KH, KW, 64)))
    case.const("bias", types.i32, [0]).const("input_zp", types.i8, [0]).const("weight_zp", types.i8, [0])
    case.set(pad=(0, 0, 0, 0), stride=settings.get("stride", (1, 1)), dilation=settings.get("dilation", (1, 1)))
    main = case.set(acc_type=types.i32, local_bound=False).output("output", types.i32, None).graph().main
    assert not winograd.suits(bind_operator(main.operators[-1], main))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Call, Array, int]:
    weight_t = draw(st.sampled_from([types.i8, types.i8, types.i4]))
    OC, IC, N = draw(st.integers(1, 70)), draw(st.integers(1, 70)), draw(st.integers(1, 2))
    pad = tuple(draw(st.sampled_from([0, 1, 2, 0, 1, 9])) for _ in range(4))
    IH, IW = (draw(st.integers(max(1, 3 - sum(p)), 15)) for p in (pad[:2], pad[2:]))
    input_zp = draw(st.sampled_from([-128, -7, 0, 127]))
    weight_zp = 0 if weight_t is types.i4 else draw(st.sampled_from([0, 0, -128, 3, 127]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    ends = draw(st.booleans())  # only the least and greatest values
    x, weight = (
        rng.choice([t.minimum, t.maximum], shape) if ends else rng.integers(t.minimum, t.maximum + 1, shape)
        for t, shape in ((types.i8, (N, IH, IW, IC)), (weight_t, (OC, 3, 3, IC)))
    )  # fmt: skip
    return (
        convolution(weight, (N, IH, IW), input_zp, weight_zp, pad, weight_t),
        x.astype(np.int8),
        draw(st.integers(1, 3)),
    )


@pytest.mark.parametrize("variant", BEST)
def test_every_variant_equals_the_oracle(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @settings(max_examples=60)
    @given(problems(), st.sampled_from([0, winograd.KEPT]), st.sampled_from([0, winograd.CACHED]))
    def run(problem: tuple[Call, Array, int], kept: int, cached: int) -> None:
        call, x, parts = problem
        assume(winograd.suits(call))
        with mock.patch.multiple(winograd, KEPT=kept, CACHED=cached, AT_ONCE=1):
            np.testing.assert_array_equal(transformed(call, x, parts), wanted(call, x))

    run()


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize("size", [(1, 7, 7), (1, 7, 4), (1, 4, 7), (1, 8, 8), (1, 6, 5), (2, 7, 4), (1, 2, 3)])
def test_a_few_tiles_and_weights_that_are_transformed_in_a_run(
    variant: str, size: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Extreme bytes, of which no sum may saturate; and each tap alone, which tells them apart."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    monkeypatch.setattr(winograd, "KEPT", 0)
    rng = np.random.default_rng(size[1])
    N, OH, OW = size
    weight = rng.choice([-128, 127], (45, 3, 3, 38))
    weight[:9] = 0
    for tap in range(9):
        weight[tap, tap // 3, tap % 3] = rng.integers(-128, 128, 38)
    weight[9:11] = -128
    call = convolution(weight.astype(np.int8), (N, OH, OW), input_zp=-128, pad=(1, 1, 1, 1))
    assert winograd.sizes(call, variants.variant())[AT_FEW] == (variants.variant().lanes == 16)
    x = rng.choice([-128, 127], (N, OH, OW, 38)).astype(np.int8)
    np.testing.assert_array_equal(transformed(call, x, 2), wanted(call, x))


def rescaled(channels: tuple[int, int], shifts: Array, out_t: DType, zero: int, table: bool, double: bool) -> Graph:
    IC, OC = channels
    net = Net(OC)
    x = net.input("x", types.i8, 2, 9, 7, IC)
    y = net.conv("y", x, net.weights(OC, 3, 3, IC), OC, pad=(1, 1, 1, 0))
    multiplier = net.rng.integers(1 << 30, 1 << 31, len(shifts))
    mode = "DOUBLE_ROUND" if double else "SINGLE_ROUND"
    name = net.rescale("z", y, types.i32, out_t, shifts, zero=(0, zero), multiplier=multiplier, rounding_mode=mode)
    if out_t is types.i8:
        name = net.op("CLAMP", "clamped", types.i8, name, min_val=-100, max_val=127, nan_mode="PROPAGATE")
    if table:
        name = net.op("TABLE", "looked", types.i8, name, net.const(types.i8, net.rng.integers(-128, 128, 256)))
    return net.done(name)


EPILOGUES = [
    (types.i8, -128, False, False), (types.i8, 127, True, False), (types.i8, 5, False, True),
    (types.i16, 0, False, False), (types.i32, 0, False, False),
]  # fmt: skip


@pytest.mark.parametrize("variant", BEST)
@pytest.mark.parametrize(("out_t", "zero", "table", "double"), EPILOGUES)
@pytest.mark.parametrize("channels", [(32, 64), (40, 33), (3, 15), (64, 48)])
@pytest.mark.parametrize("least", [31, 33])
def test_a_rescale_behind_it_is_fused(
    variant: str, out_t: DType, zero: int, table: bool, double: bool, channels: tuple[int, int], least: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """In high words (no shift below 33), in words, with partial panels, clamps and tables."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    monkeypatch.setattr(winograd, "worth", lambda call, simd: True)
    used: list[Call] = []
    original = winograd.conv2d
    monkeypatch.setattr(winograd, "conv2d", lambda call, epilogue: used.append(call) or original(call, epilogue))
    graph = rescaled(channels, least + np.arange(channels[1]) % 12, out_t, zero, table, double)
    (step,) = Session(graph, threads=1).plan().steps
    assert step.operators.startswith("CONV2D+RESCALE")
    assert len(used) == 1
    tensor = graph.main.tensors[step.outputs[0]]
    x = np.random.default_rng(3).integers(-128, 128, (2, 9, 7, channels[0])).astype(np.int8)
    want = oracle.run(graph, {"x": x})[step.outputs[0]]
    for parts in (1, 3):
        out = np.full(want.shape, 1, tensor.dtype.storage)
        assert step.work is not None
        run_in_parts(step.work, x, out, parts)
        np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize("op", ["CONV3D", "TRANSPOSE_CONV2D"])
def test_operators_made_of_convolutions_use_it(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    three = op == "CONV3D"
    monkeypatch.setattr(winograd, "worth", lambda call, simd: True)
    used: list[Call] = []
    original = winograd.conv2d
    monkeypatch.setattr(winograd, "conv2d", lambda *arguments: used.append(arguments[0]) or original(*arguments))
    rng = np.random.default_rng(0)
    shape, kernel = ((1, 4, 11, 9, 6), (20, 2, 3, 3, 6)) if three else ((1, 9, 9, 6), (20, 6, 6, 6))
    case = Case(op).input("input", types.i8, shape).const("weight", types.i8, rng.integers(-128, 128, kernel))
    case.const("bias", types.i32, rng.integers(-99, 99, 20)).const("input_zp", types.i8, [-3])
    case.const("weight_zp", types.i8, [0]).set(acc_type=types.i32, local_bound=False)
    if three:
        case.set(pad=(0, 0, 1, 1, 1, 1), stride=(1, 1, 1), dilation=(1, 1, 1))
    else:
        case.set(out_pad=(0, 0, 0, 0), stride=(2, 2))
    graph = case.output("output", types.i32, None).graph()
    session = Session(graph, threads=1)
    x = rng.integers(-128, 128, shape).astype(np.int8)
    np.testing.assert_array_equal(session.run(None, {"input": x})[0], oracle.run(graph, {"input": x})["output"])
    assert used


@pytest.mark.parametrize(
    ("size", "channels", "vnni", "pairs"), [(56, 64, True, True), (28, 128, True, True), (14, 256, True, True),
    (7, 512, True, True), (4, 32, False, False), (1, 64, False, False), (56, 3, False, False)],
)  # fmt: skip
def test_where_it_is_worth_it(size: int, channels: int, vnni: bool, pairs: bool) -> None:
    """The layers of ResNet-18, and small ones: padded tiles and channels cost too much."""
    case = Case("CONV2D").input("input", types.i8, (1, size, size, channels))
    case.const("weight", types.i8, np.ones((channels, 3, 3, channels))).const("bias", types.i32, [0])
    case.const("input_zp", types.i8, [0]).const("weight_zp", types.i8, [0])
    case.set(pad=(1, 1, 1, 1), stride=(1, 1), dilation=(1, 1), acc_type=types.i32, local_bound=False)
    main = case.output("output", types.i32, (1, size, size, channels)).graph().main
    call = bind_operator(main.operators[-1], main)
    found = {v.name: winograd.worth(call, v) for v in variants.VARIANTS}
    narrow = vnni and size > 7  # for a few tiles, weights are transformed in registers, if there are 32
    known = {"avx512vnni": vnni, "avx512": pairs, "avxvnni": narrow, "avx2": pairs}
    assert found == {v.name: known.get(v.name, False) for v in variants.VARIANTS}


@pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")
@pytest.mark.parametrize("name", PROCESSORS)
def test_products_use_the_instructions_of_each_variant(name: str) -> None:
    """Compiled to assembly for processors that this one needn't be."""
    import llvmlite.binding as llvm
    from llvmlite import ir

    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.winograd.product import emit_product

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, processor = PROCESSORS[name]
    (simd,) = [v for v in variants.VARIANTS if v.name == name]
    module, word = ir.Module(), e.I32.as_pointer()
    module.triple = triple
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [word, word, word, e.I64]), "product")
    builder = ir.IRBuilder(function.append_basic_block())
    rows = max(block_rows(simd.lanes))
    pitch, again = e.I64(rows), ir.Constant(ir.IntType(1), 0)
    emit_product(builder, simd, rows, pitch, *function.args, again, e.I64(1), e.I64(0))
    builder.ret_void()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=3)
    text = machine.emit_assembly(llvm.parse_assembly(str(module)))
    assert len(re.findall(WANTED[name, "pairs"], text)) >= rows * columns_of(simd.lanes) // simd.lanes


PLAIN = """
import sys
import numpy as np
from tosa_engine import oracle, types
from tosa_engine.kernels.winograd import prepare as winograd
from tosa_engine.runtime.session import Session
from tosa_engine.spec.case import Case

winograd.worth = lambda call, simd: True
rng = np.random.default_rng(0)
for size, IC, OC, pad, zero_points, winograd.KEPT in [
    ((1, 5, 7), 3, 17, (1, 1, 0, 2), (-128, 0), 1 << 20), ((2, 3, 3), 33, 2, (0, 0, 0, 0), (127, -128), 1 << 20),
    ((1, 5, 7), 33, 2, (1, 1, 0, 2), (-128, 0), 0),
]:
    case = Case("CONV2D").input("input", types.i8, (*size, IC))
    case.const("weight", types.i8, rng.integers(-128, 128, (OC, 3, 3, IC)))
    case.const("bias", types.i32, rng.integers(-99, 99, OC)).const("input_zp", types.i8, zero_points[:1])
    case.const("weight_zp", types.i8, zero_points[1:]).set(pad=pad, stride=(1, 1), dilation=(1, 1))
    graph = case.set(acc_type=types.i32, local_bound=False).output("output", types.i32, None).graph()
    x = rng.choice([-128, 127], (*size, IC)).astype(np.int8)
    (got,) = Session(graph, threads=1).run(None, {"input": x})
    np.testing.assert_array_equal(got, oracle.run(graph, {"input": x})["output"])
print("tosa_engine.kernels.winograd.steps" in sys.modules, "numba" in sys.modules)
"""


def test_the_plain_twins_run_without_a_compiler() -> None:
    environment = {**os.environ, "TOSA_ENGINE_JIT": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PLAIN], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "False"]


def test_sums_of_ordinary_layers_are_scaled_in_26_bits() -> None:
    """The bias decides, too: it moves the bounds."""
    weight = np.random.default_rng(1).integers(-60, 61, (32, 3, 3, 64))
    call = convolution(weight, (1, 8, 8), input_zp=-128)
    epilogue = work.Epilogue(np.full(32, 1 << 30, np.int32), np.full(32, 40, np.int8), False, -128, -128, 127)
    g = winograd.sizes(call, variants.GENERIC)
    winograd.scaling(call, epilogue, g)
    assert g[IN_26_BITS] == 1
    far = convolution(weight, (1, 8, 8), input_zp=-128)
    far.tensor("bias").data = np.full(32, 1 << 25, np.int32)
    winograd.scaling(far, epilogue, g)
    assert g[IN_26_BITS] == 0
