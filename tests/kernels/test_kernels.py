"""Every kernel computes what the oracle does, however its work is split and whichever vector unit does it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from float_tools import ROUNDED, steps
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nets import Net
from vector_units import UNITS

from tosa_engine import oracle, types
from tosa_engine.compliance.cases import cases
from tosa_engine.errors import RequireViolation, Unsupported, UsageError
from tosa_engine.kernels import KERNELS, work
from tosa_engine.kernels._jit import has, variants
from tosa_engine.numerics import fma, lookup, scale
from tosa_engine.numerics.float_formats import FORMATS
from tosa_engine.plan import prepare
from tosa_engine.spec import TABLE, bind_operator

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.spec.table import Call
    from tosa_engine.types import Array

ROOT = Path(__file__).parents[2]
ROWS = sorted(
    key for key in KERNELS if key[0] != "CONST_SHAPE" and TABLE[key[0]].pure and len(TABLE[key[0]].outputs) == 1
)
CONVOLUTIONS = {"CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"}
SUMS = {*CONVOLUTIONS, "MATMUL", "AVG_POOL2D", "REDUCE_SUM"}
TILED = [key for key in ROWS if key[0] in {*CONVOLUTIONS, "MATMUL"}]


def values_of(graph: Graph, feeds: dict[str, Array]) -> dict[str, Array]:
    constants = {t.name: t.data for t in graph.main.tensors.values() if t.data is not None}
    return {**constants, **feeds}


def arguments(call: Call, values: dict[str, Array]) -> dict[str, Array | list[Array]]:
    found = {a.name: call.tensors[a.name] for a in call.spec.inputs}
    return {n: [values[i.name] for i in t] if isinstance(t, list) else values[t.name] for n, t in found.items()}


def split(call: Call, values: dict[str, Array], threads: int) -> tuple[Array, int]:
    """The kernel's output and status, its units split among threads with scratch of their own."""
    prepared = prepare(call)
    result = call.tensor(call.spec.outputs[0].name)
    assert result.shape is not None
    out = np.full(result.shape, 1, result.dtype.storage)
    run = prepared.bind([values[n] for n in call.operator.inputs], [out])
    statuses: list[int] = []

    def part(worker: int) -> None:
        low, high = prepared.units * worker // threads, prepared.units * (worker + 1) // threads
        scratch = [work.aligned(count, dtype) for dtype, count in prepared.scratch]
        for memory in scratch:
            memory.view(np.uint8)[:] = 0x55  # a kernel must not depend on what it finds there
        if low < high:
            statuses.append(run(low, high, scratch))

    workers = [threading.Thread(target=part, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(statuses) == min(threads, prepared.units)
    return out, max(statuses)


def check_case(case: tuple[Graph, dict[str, Array]], threads: int) -> None:
    graph, feeds = case
    call, values = bind_operator(graph.main.operators[-1], graph.main), values_of(graph, feeds)
    got, status = split(call, values, threads)
    try:
        (wanted,) = oracle.run_operator(call, arguments(call, values))
    except RequireViolation:
        assert status != work.DONE
        return
    assert status == work.DONE
    if not types.holds_floats(got):
        np.testing.assert_array_equal(got, wanted)
        return
    wide = got.astype(np.float64), wanted.astype(np.float64)
    if call.spec.name in SUMS:
        check_sums(call, values, *wide)
    else:
        numbers = ~np.isnan(wide[1])
        if call.spec.name in ROUNDED:
            np.testing.assert_array_equal(np.isnan(wide[0]), ~numbers)
            assert (np.abs(steps(got)[numbers] - steps(wanted)[numbers]) <= 1).all()
        else:
            np.testing.assert_array_equal(*wide)
        # 0.0 and -0.0 are equal, but not the same
        np.testing.assert_array_equal(np.signbit(wide[0][numbers]), np.signbit(wide[1][numbers]))


def check_sums(call: Call, values: dict[str, Array], got: Array, wanted: Array) -> None:
    """Float32 sums differ from the oracle's float64 ones by rounding: some units of the sum of magnitudes, and the last
    bit of the output's format.

    Where padding meets weights that aren't finite, the specification lets a kernel multiply zeros with them.
    """
    if "weight" in values and not np.isfinite(values["weight"].astype(np.float32)).all():
        return
    form = FORMATS[call.tensor("output").dtype]
    magnitudes = {n: np.abs(a) for n, a in values.items()}
    (room,) = oracle.run_operator(call, arguments(call, magnitudes))
    room = room.astype(np.float64)
    known = room < form.largest / 16
    with np.errstate(invalid="ignore"):
        error = np.abs(got - wanted)
    unit = 2.0**-18 + (0.0 if form.fraction_bits == 23 else 2.0**-form.fraction_bits)
    assert (error[known] <= unit * room[known] + max(1e-36, form.least_subnormal)).all()


@pytest.mark.parametrize(("op", "row"), ROWS)
def test_kernel_equals_oracle(op: str, row: str) -> None:
    @settings(max_examples=25)
    @given(cases(op, row), st.integers(1, 3))
    def run(case: tuple[Graph, dict[str, Array]], threads: int) -> None:
        check_case(case, threads)

    run()


@pytest.mark.parametrize("variant", UNITS)
@pytest.mark.parametrize(
    ("op", "row"),
    [
        key if "i8_i8" in key[1] else pytest.param(*key, marks=pytest.mark.slow("every row is compiled for each unit"))
        for key in TILED
    ],
)
def test_each_vector_unit_equals_oracle(op: str, row: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)

    @settings(max_examples=15)
    @given(cases(op, row), st.integers(1, 3))
    def run(case: tuple[Graph, dict[str, Array]], threads: int) -> None:
        check_case(case, threads)

    run()


@pytest.mark.slow("every unit compiles every loop of floats")
@pytest.mark.skipif(not has("avx2", "fma"), reason="no AVX2 here")
@pytest.mark.parametrize(("op", "row"), [k for k in TILED if "fp32" in k[1]])
def test_float_bytes_are_the_same_on_every_vector_unit(op: str, row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @settings(max_examples=15)
    @given(cases(op, row))
    def run(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        call, values = bind_operator(graph.main.operators[-1], graph.main), values_of(graph, feeds)
        found = []
        for variant in [v.name for v in variants.VARIANTS if has(*v.needs)]:
            monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
            found.append(split(call, values, 1)[0])
        for one in found[1:]:
            check_bytes(found[0], one)

    run()


def check_bytes(got: Array, wanted: Array) -> None:
    """The same bytes, but for a NaN's. (numpy's own comparison takes two NaN of bf16 or fp8 for different ones.)"""
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(got), nan)
    np.testing.assert_array_equal(got[~nan].view(np.uint8), wanted[~nan].view(np.uint8))


@pytest.mark.parametrize("form", [types.fp32, types.fp16, types.bf16])
def test_differences_of_bytes_are_seen(form: types.DType) -> None:
    one = np.array([1.5, np.nan, 0.0], form.storage)
    check_bytes(one, one.copy())
    beside = np.nextafter(one[0], one[2])
    for other in ([1.5, np.nan, -0.0], [1.5, 1.0, 0.0], [np.nan, np.nan, 0.0], [beside, np.nan, 0.0]):
        with pytest.raises(AssertionError):
            check_bytes(np.array(other, form.storage), one)


def test_an_unknown_variant_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", "mmx")
    with pytest.raises(UsageError, match=r"^TOSA_ENGINE_KERNELS: unknown variant 'mmx'; choose from: avx512vnni, "):
        variants.variant()


def test_a_variant_that_the_processor_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", "avx2")
    monkeypatch.setattr("tosa_engine.kernels._jit.host.features", frozenset)
    with pytest.raises(Unsupported, match="has no avx2"):
        variants.variant()


@pytest.mark.parametrize("simd", [v for v in variants.VARIANTS if has(*v.needs)], ids=lambda v: v.name)
@pytest.mark.parametrize("depth", [2, 10, 1152])
def test_the_int16_tile_is_exact(simd: variants.Variant, depth: int) -> None:
    from tosa_engine.kernels._jit import jit
    from tosa_engine.kernels.scale.places import NR
    from tosa_engine.kernels.tile.micro_kernel import sums_pairs

    rng = np.random.default_rng(depth)
    a = rng.choice(np.array([-255, 255, 1], np.int16), simd.rows * depth)
    columns = rng.choice(np.array([-128, 127], np.int16), (depth, NR))
    b = work.aligned(depth * NR, np.int16)
    b[:] = columns.reshape(depth // 2, 2, NR).transpose(0, 2, 1).reshape(-1)
    rows, offsets = np.arange(simd.rows, dtype=np.int64) * depth, np.arange(0, depth, 2)
    for count in (simd.rows, simd.few):
        c = np.zeros(simd.rows * NR, np.int32)
        jit(sums_pairs.py_func)(simd, a, rows, 0, count, b, 0, 0, 1, c, offsets, depth // 2)
        wanted = a.reshape(simd.rows, depth)[:count].astype(np.int64) @ columns.astype(np.int64)
        np.testing.assert_array_equal(c.reshape(simd.rows, NR)[:count], wanted)


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(FLOATS, FLOATS, FLOATS)
def test_fma32_rounds_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assume(abs(exact) < Fraction(2) ** 127)
    with np.errstate(all="ignore"):
        got = float(fma.fma32(np.float32(a), np.float32(b), np.float32(c)))
        below, above = (float(np.nextafter(np.float32(got), np.float32(end))) for end in (-np.inf, np.inf))
    assert all(abs(exact - Fraction(got)) <= abs(exact - Fraction(other)) for other in (below, above))


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, (1 << 31) - 1), st.integers(2, 62))
def test_scales_in_words_equal_apply_scale_32(value: int, multiplier: int, shift: int) -> None:
    assume(-(1 << (shift - 1)) <= value < 1 << (shift - 1))
    wanted = scale.apply_scale_32(value, multiplier, shift, double_round=False)
    rounding, left, right = scale.scale_in_words(multiplier, shift)
    assert ((value * multiplier + rounding) << left) >> 32 >> right == wanted
    assert -(1 << 63) <= (value * multiplier + rounding) << left < 1 << 63
    if shift >= 33:
        assert scale.scale_in_high_words(value, multiplier, shift) == wanted


@given(st.integers(1, 1 << 26), st.integers(-(1 << 20), 1 << 20))
def test_reciprocal_scale_divides_multiples_exactly(count: int, mean: int) -> None:
    multiplier, shift = scale.reciprocal_scale(count)
    assert 1 << 30 <= multiplier < 1 << 31
    assume(abs(mean * count) < 1 << 31)
    assert scale.apply_scale_32(mean * count, multiplier, shift, double_round=False) == mean


def test_lookup_meets_its_entries_and_interpolates() -> None:
    table = (np.arange(513) * 100 - 25600).astype(np.int16)
    assert lookup.slopes_fit(table)
    assert [lookup.apply_lookup_s(table, v) for v in (-32768, 0, 1, 32767)] == [-3276800, 0, 100, 3276700]
    table[256:] = -32768
    table[255] = 32767
    assert not lookup.slopes_fit(table)


EVERY_EXAMPLE = """
import sys
import numpy as np
from tosa_engine import oracle, types
from tosa_engine.numerics.float_formats import FORMATS
from tosa_engine.runtime.session import Session
from tosa_engine.spec import TABLE

rng = np.random.default_rng(0)
done = 0
for spec in TABLE.values():
    for row in spec.rows:
        graph = spec.example(row).graph()
        if not graph.main.outputs:
            continue
        feeds = {}
        for t in graph.inputs:
            if t.dtype.is_float:
                feeds[t.name] = np.abs(rng.standard_normal(t.shape)).astype(t.dtype.storage)  # bases of POW
            elif spec.requires:  # divisors, shifts, and indices of which none comes twice
                feeds[t.name] = (1 + np.arange(t.size) % 3).reshape(t.shape).astype(t.dtype.storage)
            else:
                feeds[t.name] = rng.integers(0, min(t.dtype.maximum, 99) + 1, t.shape).astype(t.dtype.storage)
        wanted = oracle.run(graph, feeds)
        got, *_ = Session(graph, threads=2).run(None, feeds)
        dtype = types.from_numpy(got.dtype)  # sums of some values of about 1, rounded at each step
        room = 8 * 2.0**-FORMATS[dtype].fraction_bits if dtype in FORMATS else 0
        expected = wanted[graph.main.outputs[0]]
        np.testing.assert_allclose(got.astype(float), expected.astype(float), rtol=10 * room, atol=room)
        done += 1
print(done, "numba" in sys.modules)
"""


def test_every_kernel_runs_as_plain_python() -> None:
    environment = {**os.environ, "TOSA_ENGINE_JIT": "0", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", EVERY_EXAMPLE],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    count, numba = done.stdout.split()
    silent = {key for key in KERNELS if not TABLE[key[0]].example(TABLE[key[0]].row(key[1])).graph().main.outputs}
    assert all(op == "CONST_SHAPE" or not TABLE[op].pure for op, _ in silent)  # constants of shape, writes to variables
    assert int(count) == len(KERNELS) - len(silent)
    assert numba == "False"


CACHE = """
import os, pathlib, numpy as np
from tosa_engine.kernels import _jit
from tosa_engine.kernels.elementwise import formula, loops as elementwise_loops
print(_jit.cache_folder())
out = np.zeros(4, np.int32)
one = np.ones(4, np.int32)
g = np.array([1, 4, 0, 1, 0, 1, 0, 0])
add = elementwise_loops.loop_of(formula.Formula("add", lambda a, b: a + b, 2))
assert add(one, one, one, g, g, out, 0, 4) == -1
assert out.tolist() == [2, 2, 2, 2]
"""


def test_compiled_code_is_kept_on_disk_or_a_warning_says_why(tmp_path: Path) -> None:
    def run(folder: Path) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "TOSA_ENGINE_CACHE_DIR": str(folder),
            "PYTHONPATH": str(ROOT),
            "TOSA_ENGINE_JIT": "1",
        }
        return subprocess.run(
            [sys.executable, "-c", CACHE], capture_output=True, text=True, check=False, env=environment
        )

    first = run(tmp_path)
    assert first.returncode == 0, first.stderr
    kept = list(tmp_path.rglob("tosa_*"))
    assert kept
    assert all(Path(first.stdout.strip()) in path.parents for path in kept)
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    second = run(blocked)
    assert second.returncode == 0, second.stderr
    assert "compiled kernels can't be kept" in second.stderr
    assert second.stdout.strip() == "None"


@pytest.mark.parametrize("variant", UNITS)
@pytest.mark.parametrize(("kernel", "depth", "dilation"), [(1, 700, 1), (3, 300, 1), (3, 90, 2), (2, 513, 1)])
def test_int16_convolutions_cut_k_into_chunks_that_fit_int32(
    kernel: int, depth: int, dilation: int, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full-scale values of one sign, whose sums leave int32 many times over; weights of -255 too."""
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    size = (kernel - 1) * dilation + 2
    for weight_value, weight_zp in ((-127, 0), (-128, 127)):
        net = Net()
        x = net.input("x", types.i16, 1, size, size, depth)
        weight = net.const(types.i8, np.full((17, kernel, kernel, depth), weight_value))
        bias = net.const(types.i48, np.arange(17) * (1 << 40))
        zero = net.const(types.i16, [0]), net.const(types.i8, [weight_zp])
        net.op(
            "CONV2D", "y", types.i48, x, weight, bias, *zero, pad=(1, 0, 0, 1), stride=(1, 1),
            dilation=(dilation, dilation), acc_type=types.i48, local_bound=False,
        )  # fmt: skip
        graph = net.done("y")
        check_case((graph, {"x": np.full((1, size, size, depth), -32768, np.int16)}), 2)
