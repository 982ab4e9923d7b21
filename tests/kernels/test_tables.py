"""TABLE in vectors: alone, as an epilogue, with the RESCALE behind it; and the instructions that it is made of."""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nets import Net
from vector_units import VECTOR_CODE

from tosa_engine import oracle
from tosa_engine.kernels._jit import JIT, has, variants
from tosa_engine.runtime.session import Session
from tosa_engine.types import DType, i8, i16, i32

from .test_emission import PROCESSORS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tosa_engine.types import Array

RNG = np.random.default_rng(11)
BYTES = RNG.integers(-128, 128, 256)
# entries at both ends, slopes of both signs as steep as they may be, and anything
TABLES = {
    "ends": np.repeat([-32768, -1, 32766, -2], 129)[:513],
    "steep": np.tile([-16384, 16383], 257)[:513],
    "any": RNG.integers(-16000, 16000, 513),
    "line": np.arange(513) * 64 - 16384,
}


def check(net: Net, feeds: dict[str, Array], fused: Sequence[str], threads: int = 2) -> None:
    graph = net.done("y")
    session = Session(graph, threads)
    assert [step.operators for step in session.plan().steps if step.work is not None] == list(fused)
    np.testing.assert_array_equal(session.run(None, feeds)[0], oracle.run(graph, feeds)["y"])


@pytest.mark.parametrize("variant", VECTOR_CODE)
@pytest.mark.parametrize("count", [1, 15, 16, 17, 63, 64, 79, 130, 257, 4096 + 33])
def test_bytes(count: int, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    net = Net()
    net.op("TABLE", "y", i8, net.input("x", i8, count), net.const(i8, BYTES))
    values = np.roll(np.arange(-128, 128), count)
    check(net, {"x": np.resize(values, count).astype(np.int8)}, ["TABLE"])


@pytest.mark.parametrize("variant", VECTOR_CODE)
@pytest.mark.parametrize("case", ["conv", "grouped", "depthwise", "product"])
def test_bytes_as_an_epilogue(case: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    net, shape = Net(), (1, 5, 6, 20)
    if case == "product":
        x, y = net.input("x", i8, 2, 9, 20), net.input("z", i8, 2, 20, 37)
        net.op("MATMUL", "acc", i32, x, y, net.const(i8, [3]), net.const(i8, [-7]))
    elif case == "depthwise":
        net.conv("acc", net.input("x", i8, *shape), net.weights(3, 3, 20, 1), 20, op="DEPTHWISE_CONV2D")
    else:
        shape, channels = ((1, 5, 6, 20), 19) if case == "conv" else ((1, 1, 1, 20), 170)
        net.conv("acc", net.input("x", i8, *shape), net.weights(channels, 3, 3, 20), channels)
    net.rescale("scaled", "acc", i32, i8, 40, zero=(0, -5))
    net.op("TABLE", "y", i8, "scaled", net.const(i8, BYTES))
    feeds = {t.name: RNG.integers(-128, 128, t.shape).astype(np.int8) for t in net.graph.inputs}
    (producer,) = (op.op for op in net.block.operators if op.outputs == ["acc"])
    check(net, feeds, [f"{producer}+RESCALE+TABLE"])


@pytest.mark.parametrize("variant", VECTOR_CODE)
@pytest.mark.parametrize("table", TABLES)
def test_every_int16_is_interpolated(table: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    net = Net()
    net.op("TABLE", "y", i32, net.input("x", i16, 65536 + 21), net.const(i16, TABLES[table]))
    check(net, {"x": np.resize(np.arange(-32768, 32768), 65536 + 21).astype(np.int16)}, ["TABLE"])


SCALES: list[tuple[int, Any, DType, bool]] = [
    (1 << 30, 37, i16, False), (1 << 30, 37, i16, True), ((1 << 31) - 1, 46, i8, False), (1 << 30, 32, i32, False),
    (1 << 30, 31, i16, False), ((1 << 31) - 1, 33, i32, True), (1 << 30, 62, i8, False), (12345, 24, i32, False),
]  # fmt: skip


@pytest.mark.parametrize("variant", VECTOR_CODE)
@pytest.mark.parametrize(
    ("scale", "clamp"),
    [(scale, clamp) for scale in SCALES for clamp in (False, True) if not (clamp and scale[2] is i32)],
)
def test_a_rescale_behind_it_is_fused(
    scale: tuple[int, Any, DType, bool], clamp: bool, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSA_ENGINE_KERNELS", variant)
    multiplier, shift, to, double = scale
    net = Net()
    net.op("TABLE", "entry", i32, net.input("x", i16, 65536 + 37), net.const(i16, TABLES["any"]))
    mode = "DOUBLE_ROUND" if double else "SINGLE_ROUND"
    net.rescale("scaled" if clamp else "y", "entry", i32, to, shift, zero=(0, 9 if to is i8 else 0),
                multiplier=[multiplier], rounding_mode=mode)  # fmt: skip
    if clamp:
        net.op("CLAMP", "y", to, "scaled", min_val=-100, max_val=77, nan_mode="PROPAGATE")
    feeds = {"x": np.resize(np.arange(-32768, 32768), 65536 + 37).astype(np.int16)}
    check(net, feeds, ["TABLE+RESCALE" + ("+CLAMP" if clamp else "")])


@pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")
@pytest.mark.parametrize(
    ("name", "permutes", "wanted"),
    [
        ("avx512vnni", True, r"vperm[it]2b\s.*%zmm"), ("avx512", False, r"vpshufb\s.*%zmm"),
        ("avx2", False, r"vpshufb\s.*%ymm"), ("avx2", True, r"vpshufb\s.*%ymm"),
    ],
)  # fmt: skip
def test_each_variant_has_its_instruction(name: str, permutes: bool, wanted: str) -> None:
    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.table.emit import byte_tables, bytes_at_once, emit_bytes

    def emit(builder: Any, simd: variants.Variant, table: Any, x: Any) -> None:
        tables = byte_tables(builder, simd, table, permutes=permutes)
        index = e.load(builder, x, e.I64(0), e.vector(e.I8, bytes_at_once(simd)), 1)
        e.store(builder, emit_bytes(builder, tables, index), x, e.I64(0), 1)

    found = re.findall(wanted, assembly(name, emit))
    assert len(found) >= (2 if permutes and name.startswith("avx512") else 16)


@pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")
@pytest.mark.parametrize(
    ("permutes", "vectors", "wanted", "count"),
    [
        (True, 2, r"vperm[it]2b\s.*%zmm", 16),
        (True, 1, r"vperm[it]2b\s.*%zmm", 16),
        (False, 1, r"vperm[it]2w\s.*%zmm", 16),
    ],
)
def test_interpolation_has_its_instruction(permutes: bool, vectors: int, wanted: str, count: int) -> None:
    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.table.emit import emit_interpolated

    def emit(builder: Any, simd: variants.Variant, table: Any, x: Any) -> None:
        words = (builder.bitcast(data, e.I16.as_pointer()) for data in (table, x))
        entries, values = words
        loaded = [e.load(builder, values, e.I64(32 * i), e.vector(e.I16, 32), 2) for i in range(vectors)]
        for i, found in enumerate(emit_interpolated(builder, simd, entries, loaded, permutes=permutes)):
            e.store(builder, found, x, e.I64(64 * i), 4)

    name = "avx512vnni" if permutes else "avx512"
    assert len(re.findall(wanted, assembly(name, emit))) >= count


@pytest.mark.skipif(not JIT or not has("avx512bw"), reason="the host has no permutations of 512 bits")
def test_interpolation_without_permutations_of_bytes() -> None:
    """The code of a processor without VBMI gives the same on one that has it."""
    import llvmlite.binding as llvm

    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.table.emit import emit_interpolated
    from tosa_engine.kernels.table.prepare import entries_and_slopes

    def emit(builder: Any, simd: variants.Variant, table: Any, x: Any) -> None:
        entries, values = (builder.bitcast(data, e.I16.as_pointer()) for data in (table, x))
        loaded = e.load(builder, values, e.I64(0), e.vector(e.I16, 32), 2)
        for i, found in enumerate(emit_interpolated(builder, simd, entries, [loaded], permutes=False)):
            e.store(builder, found, x, e.I64(64 * (i + 1)), 4)

    parsed, machine = compiled("avx512", emit)
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    lookup = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(engine.get_function_address("lookup"))
    table = TABLES["any"].astype(np.int16)
    words, memory = entries_and_slopes(table), np.zeros(3 * 32, np.int16)
    for first in range(-32768, 32768, 32):
        values = np.arange(first, first + 32)
        memory[:32] = values
        lookup(words.ctypes.data, memory.ctypes.data)
        index, fraction = (values + 32768) >> 7, values & 127
        wanted = table[index].astype(np.int64) * (128 - fraction) + table[index + 1].astype(np.int64) * fraction
        np.testing.assert_array_equal(memory[32:].view(np.int32), wanted)


def assembly(name: str, emit: Callable[..., None]) -> str:
    """What a variant's processor gets of a function of two pointers to bytes."""
    parsed, machine = compiled(name, emit)
    return str(machine.emit_assembly(parsed))


def compiled(name: str, emit: Callable[..., None]) -> tuple[Any, Any]:
    import llvmlite.binding as llvm
    from llvmlite import ir

    from tosa_engine.kernels._jit import llvm as e

    (simd,) = [v for v in variants.VARIANTS if v.name == name]
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, processor = PROCESSORS[name]
    module = ir.Module()
    module.triple = triple
    data = e.I8.as_pointer()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [data, data]), "lookup")
    builder = ir.IRBuilder(function.append_basic_block())
    emit(builder, simd, *function.args)
    builder.ret_void()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=3)
    return parsed, machine
