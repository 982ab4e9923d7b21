"""a * b + c of float32 with one rounding, in compiled loops: one instruction where the vector unit has it."""

from __future__ import annotations

from typing import Any

from ...numerics.fma import fma32
from .._jit import JIT, inline, jit, native

exact = jit(fma32)

if JIT:
    from .._jit import intrinsic, ir, numba_types
    from .._jit import llvm as e

    def _make_fused() -> Any:
        @intrinsic
        def fused(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                kind = ir.FunctionType(e.FLOAT, [e.FLOAT] * 3)
                return builder.call(e.declare(builder, kind, "llvm.fma.f32"), list(args))

            return numba_types.float32(numba_types.float32, numba_types.float32, numba_types.float32), codegen

        return fused

    fused = _make_fused()

    @inline
    def fma(simd: Any, a: Any, b: Any, c: Any) -> Any:
        return fused(a, b, c) if native(simd) else exact(a, b, c)

else:

    def fma(simd: Any, a: Any, b: Any, c: Any) -> Any:
        return exact(a, b, c)
