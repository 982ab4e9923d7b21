"""The emitted tiles, compiled to assembly for processors that this one needn't be: do they use the instructions?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels._jit.variants import VARIANTS

if TYPE_CHECKING:
    from tosa_engine.kernels._jit.variants import Variant

pytestmark = pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")

# a processor that has what each variant needs
PROCESSORS = {
    "avx512vnni": ("x86_64-unknown-linux-gnu", "icelake-server"),
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512"),
    "avxvnni": ("x86_64-unknown-linux-gnu", "alderlake"),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell"),
    "neondot": ("aarch64-unknown-linux-gnu", "neoverse-n1"),
    "neon": ("aarch64-unknown-linux-gnu", "cortex-a72"),
}
WANTED = {
    ("avx512vnni", "quads"): r"vpdpbusd\s.*%zmm",
    ("avx512vnni", "pairs"): r"vpdpwssd\s.*%zmm",
    ("avx512", "pairs"): r"vpmaddwd\s.*%zmm",
    ("avxvnni", "quads"): r"vpdpbusd\s.*%ymm",
    ("avxvnni", "pairs"): r"vpdpwssd\s.*%ymm",
    ("avx2", "pairs"): r"vpmaddwd\s.*%ymm",
    ("neondot", "quads"): r"sdot\s+v\d+\.4s, v\d+\.16b",
    ("neondot", "pairs"): r"smull2?\s+v\d+\.4s",
    ("neon", "pairs"): r"smull2?\s+v\d+\.4s",
}


def compiled(module: Any, processor: str) -> str:
    """The assembly of a module of LLVM IR."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    machine = llvm.Target.from_triple(module.triple).create_target_machine(cpu=processor, opt=3)
    return str(machine.emit_assembly(parsed))


def assembly(simd: Variant, kind: str, full: bool) -> str:
    from llvmlite import ir

    from tosa_engine.kernels._jit import llvm as e
    from tosa_engine.kernels.tile.micro_kernel_emit import tile_of

    triple, processor = PROCESSORS[simd.name]
    made = tile_of(kind, simd, full, simd.panels == 2)
    module = ir.Module()
    module.triple = triple
    element, words = made.kind.element.as_pointer(), e.I64.as_pointer()
    arguments = [element, words, element, e.I64, words, e.I64, made.kind.total.as_pointer()]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), "tile")
    builder = ir.IRBuilder(function.append_basic_block())
    a, rows, b, size, offsets, steps, c = function.args
    made.store_sums(builder, made.sums(builder, a, rows, b, size, offsets, steps), c)
    builder.ret_void()
    return compiled(module, processor)


@pytest.mark.parametrize(("name", "kind"), WANTED)
@pytest.mark.parametrize("full", [True, False])
def test_each_variant_has_its_instruction(name: str, kind: str, full: bool) -> None:
    (simd,) = [v for v in VARIANTS if v.name == name]
    found = re.findall(WANTED[name, kind], assembly(simd, kind, full))
    least = (simd.rows if full else simd.few) * simd.panels * 16 // simd.lanes
    assert len(found) >= least, f"{len(found)} of {least}"


def test_every_native_variant_is_looked_at() -> None:
    assert {v.name for v in VARIANTS if v.native} == set(PROCESSORS)
    assert {(v.name, "pairs") for v in VARIANTS if v.native} <= set(WANTED)
    assert {(v.name, "quads") for v in VARIANTS if v.quads or v.signed} <= set(WANTED)
