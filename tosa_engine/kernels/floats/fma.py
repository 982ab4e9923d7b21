"""a * b + c of float32 with one rounding, in compiled loops: one instruction where the vector unit has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...numerics.fma import fma32
from .._jit import JIT, inline, jit, native

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...types import Array
    from .._jit.typed import Builder, Compiled, Context, Kind, Number, Signature, Typing, Value
    from .._jit.variants import Variant

exact = jit(fma32)

if JIT:
    from .._jit import intrinsic, ir, numba_types
    from .._jit import llvm as e

    def _make_fused() -> Compiled:
        @intrinsic
        def fused(typingctx: Context, a: Kind, b: Kind, c: Kind) -> Typing:
            def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
                kind = ir.FunctionType(e.FLOAT, [e.FLOAT] * 3)
                return builder.call(e.declare(builder, kind, "llvm.fma.f32"), list(args))

            return numba_types.float32(numba_types.float32, numba_types.float32, numba_types.float32), codegen

        return fused

    fused = _make_fused()

    @inline
    def fma(simd: Variant, a: Array, b: Array, c: Array) -> Number:
        return fused(a, b, c) if native(simd) else exact(a, b, c)

else:

    def fma(simd: Variant, a: Array, b: Array, c: Array) -> Number:
        return exact(a, b, c)
