"""The emitted tile and windows of float32, compiled to assembly: are all products fused with their additions?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tosa_engine.kernels._jit import JIT
from tosa_engine.kernels._jit.variants import VARIANTS
from tosa_engine.kernels.floats.depthwise_places import KNOWN, PIXELS

from ..test_emission import PROCESSORS, compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.kernels._jit.variants import Variant

pytestmark = pytest.mark.skipif(not JIT, reason="without the JIT nothing is emitted")

FUSED = {16: r"vfmadd\w+ps\s.*%[yz]mm", 8: r"vfmadd\w+ps\s.*%ymm", 4: r"fmla\s+v\d+\.4s"}
APART = {16: r"vmulps\s", 8: r"vmulps\s", 4: r"fmul\s+v"}
SPILLED = r"vmovups\s+%[xyz]mm\d+, -?\d*\(%rsp\)"
NATIVE = [v for v in VARIANTS if v.native]


def assembly(simd: Variant, words: int, emit: Callable[[Any, list[Any], list[Any]], None]) -> str:
    """Of a function that `emit` writes from four arrays of floats, one of words, and `words` numbers."""
    from llvmlite import ir

    from tosa_engine.kernels._jit import llvm as e

    triple, processor = PROCESSORS[simd.name]
    module = ir.Module()
    module.triple = triple
    data = [e.FLOAT.as_pointer()] * 5 + [e.I64.as_pointer()]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [*data, *[e.I64] * words]), "emitted")
    builder = ir.IRBuilder(function.append_basic_block())
    emit(builder, list(function.args[:6]), list(function.args[6:]))
    builder.ret_void()
    return compiled(module, processor)


def count(simd: Variant, text: str, least: int) -> None:
    assert len(re.findall(FUSED[simd.lanes], text)) >= least
    assert not re.findall(APART[simd.lanes], text)


@pytest.mark.parametrize("simd", NATIVE, ids=lambda v: v.name)
def test_the_tile_is_made_of_fused_operations(simd: Variant) -> None:
    from tosa_engine.kernels._jit import llvm as emitting
    from tosa_engine.kernels.floats.tile_emit import FloatTile, Target, shapes

    packed = emitting.I64(16)
    for rows, panels, half in shapes(simd):
        made = FloatTile(simd, rows, panels, half)

        def emit(builder: Any, data: list[Any], numbers: list[Any], made: FloatTile = made) -> None:
            a, b, bias, limits, out, starts = data
            sums = made.sums(builder, a, starts, b, numbers[0], packed, starts, numbers[1], numbers[2])
            made.store(builder, sums, Target(bias, numbers[3], limits, out, *numbers[4:8]))

        text = assembly(simd, 8, emit)
        count(simd, text, rows * made.vectors * 4)
        sums = text[: [found.end() for found in re.finditer(FUSED[simd.lanes], text)][-1]]
        assert not (simd.x86 and re.findall(SPILLED, sums)), "accumulators are to stay in registers"


@pytest.mark.parametrize("simd", NATIVE, ids=lambda v: v.name)
@pytest.mark.parametrize("known", [(0, 0), *KNOWN])
def test_windows_are_made_of_fused_operations(simd: Variant, known: tuple[int, int]) -> None:
    from tosa_engine.kernels.floats.depthwise_emit import Windows

    made = Windows(simd, PIXELS, 2, *known)

    def emit(builder: Any, data: list[Any], numbers: list[Any]) -> None:
        a, w, bias, limits, out, _ = data
        made.emit(builder, a, *numbers[:6], w, *numbers[6:9], bias, numbers[9], limits, out, *numbers[10:13])

    count(simd, assembly(simd, 13, emit), PIXELS * 2 * max(1, known[0]))
