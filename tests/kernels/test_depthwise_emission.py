"""A row of depthwise outputs, compiled to assembly for processors that this one needn't be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels._jit.variants import VARIANTS
from tosa_engine.kernels.depthwise.places import PIXELS, UNROLLED, VECTORS

from .test_emission import PROCESSORS

if TYPE_CHECKING:
    from tosa_engine.kernels._jit.variants import Variant

pytestmark = pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")

# by variant and bytes of a weight: the instruction (or what the compiler makes of it), and how many multiply a quad
WANTED = {
    ("avx512vnni", 1): (r"vpdpbusd\s.*%zmm", 1),
    ("avx512vnni", 2): (r"vp(?:dpwssd|maddwd)\s.*%zmm", 2),
    ("avx512", 2): (r"vpmaddwd\s.*%zmm", 2),
    ("avxvnni", 1): (r"vpdpbusd\s.*%ymm", 1),
    ("avxvnni", 2): (r"vp(?:dpwssd|maddwd)\s.*%ymm", 2),
    ("avx2", 2): (r"vpmaddwd\s.*%ymm", 2),
    ("neondot", 1): (r"sdot\s+v\d+\.4s, v\d+\.16b", 1),
    ("neondot", 2): (r"sm(?:ul|la)l2?\s+v\d+\.4s", 2),
    ("neon", 2): (r"sm(?:ul|la)l2?\s+v\d+\.4s", 2),
}


def assembly(simd: Variant, parts: int, code: int, *, double: bool = False) -> str:
    import llvmlite.binding as llvm
    from llvmlite import ir

    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.depthwise.quad_tiles import Tile, emit_row
    from tosa_engine.kernels.depthwise.quads import emit_interleave

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple, processor = PROCESSORS[simd.name]
    width = VECTORS * simd.lanes
    module = ir.Module()
    module.triple = triple
    bytes_, words, numbers = e.I8.as_pointer(), e.I64.as_pointer(), e.I32.as_pointer()
    row = ir.Function(module, ir.FunctionType(ir.VoidType(), [bytes_, words, bytes_, numbers, words, bytes_]), "row")
    builder = ir.IRBuilder(row.append_basic_block())
    a, offsets, w, scales, limits, out = row.args
    tile = Tile(builder, simd, width, parts, (a, offsets, w), e.I64(UNROLLED[code][0] * UNROLLED[code][2]))
    emit_row(tile, tile.unrolled(*UNROLLED[code]), scales, limits, out, (e.I64(64), e.I64(28)), double=double)
    builder.ret_void()
    kinds = [bytes_, bytes_, words, bytes_, e.I64, e.I64, *[e.I64] * 5]
    pack = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), "interleave")
    builder = ir.IRBuilder(pack.append_basic_block())
    emit_interleave(builder, simd, width, pack.args[:4], pack.args[4], pack.args[5], pack.args[6:])
    builder.ret_void()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=processor, opt=3)
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    llvm.create_pass_builder(machine, tuning).getModulePassManager().run(
        parsed, llvm.create_pass_builder(machine, tuning)
    )
    return str(machine.emit_assembly(parsed))


@pytest.mark.parametrize(("name", "parts"), WANTED)
@pytest.mark.parametrize("code", range(len(UNROLLED)))
def test_each_variant_has_its_instruction(name: str, parts: int, code: int) -> None:
    (simd,) = [v for v in VARIANTS if v.name == name]
    pattern, each = WANTED[name, parts]
    found, taps = re.findall(pattern, assembly(simd, parts, code)), UNROLLED[code][0] * UNROLLED[code][2]
    assert len(found) >= each * taps * VECTORS * PIXELS


def test_sums_stay_in_registers() -> None:
    for code in range(len(UNROLLED)):
        text = assembly(VARIANTS[0], 1, code) + assembly(VARIANTS[0], 1, code, double=True)
        assert not re.findall(r"vmov\w+\s+%zmm\d+, -?\d*\(%rsp\)", text), UNROLLED[code]


def test_every_native_variant_is_looked_at() -> None:
    in_bytes = {(v.name, 1) for v in VARIANTS if v.quads or v.signed}
    assert {(v.name, 2) for v in VARIANTS if v.native} | in_bytes == set(WANTED)
