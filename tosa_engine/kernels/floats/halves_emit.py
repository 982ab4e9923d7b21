"""fp16 and bf16 in emitted code. Their arrays are int16 and uint16, which says of their bits which format they are.

The bits are those of `codes`. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._jit import intrinsic, ir, numba_types
from .._jit import llvm as e

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._jit.typed import Builder, Compiled, Context, Kind, Signature, Type, Typing, Value

FORMATS: Final = {"float32": "fp32", "uint16": "bf16", "int16": "fp16"}
QUIET: Final = 0x7FC0  # of a NaN of bf16
HALF: Final = ir.HalfType()


def format_of(kind: Kind) -> str:
    """The format of an array's elements by its numba type."""
    return FORMATS[kind.dtype.name]


def pointer(context: Context, builder: Builder, kind: Kind, value: Value) -> Value:
    """The data of an array of floats."""
    return e.pointer(context, builder, kind, value, e.FLOAT if format_of(kind) == "fp32" else e.I16)


def like(kind: Type, element: Type) -> Type:
    """Scalars or vectors of `element`, as many as of `kind`."""
    return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element


def widen(builder: Builder, found: Value, format: str) -> Value:
    """Bits as float32."""
    if format == "fp32":
        return found
    if format == "fp16":
        return builder.fpext(builder.bitcast(found, like(found.type, HALF)), like(found.type, e.FLOAT))
    word = builder.zext(found, like(found.type, e.I32))
    sixteen = [16] * word.type.count if isinstance(word.type, ir.VectorType) else 16
    return builder.bitcast(builder.shl(word, ir.Constant(word.type, sixteen)), like(found.type, e.FLOAT))


def load_wide(builder: Builder, data: Value, at: Value, lanes: int, format: str) -> Value:
    """A vector of float32 from an array of floats."""
    element, size = (e.FLOAT, 4) if format == "fp32" else (e.I16, 2)
    return widen(builder, e.load(builder, data, at, e.vector(element, lanes), size), format)


def narrow(builder: Builder, value: Value, format: str, *, exact: bool) -> Value:
    """The bits of a vector of float32, rounded to nearest even; `exact`: they are numbers and NaNs of the format."""
    lanes = value.type.count
    short = e.vector(e.I16, lanes)
    if format == "fp16":
        return builder.bitcast(builder.fptrunc(value, e.vector(HALF, lanes)), short)

    def number(n: int) -> Value:
        return e.constant(lanes, e.I32, n)

    bits = builder.bitcast(value, e.vector(e.I32, lanes))
    upper = builder.lshr(bits, number(16))
    if exact:
        return builder.trunc(upper, short)
    half = builder.add(builder.and_(upper, number(1)), number(0x7FFF))
    near = builder.lshr(builder.add(bits, half), number(16))
    nan = builder.fcmp_unordered("uno", value, value)
    return builder.trunc(builder.select(nan, builder.or_(upper, number(QUIET)), near), short)


def masked_store(builder: Builder, value: Value, data: Value, index: Value, mask: Value) -> None:
    """The lanes that the mask has, of floats or of the bits of narrow ones."""
    target = builder.bitcast(builder.gep(data, [index]), value.type.as_pointer())
    wide = isinstance(value.type.element, ir.FloatType)
    name = f"llvm.masked.store.v{value.type.count}{'f32' if wide else 'i16'}.p0"
    kind = ir.FunctionType(ir.VoidType(), [value.type, target.type, e.I32, mask.type])
    builder.call(e.declare(builder, kind, name), [value, target, e.I32(4 if wide else 2), mask])


def store(builder: Builder, value: Value, data: Value, index: Value, mask: Value | None) -> None:
    """Floats, or the bits of narrow ones; the lanes that the mask has, where there is one."""
    if mask is None:
        e.store(builder, value, data, index, 4 if isinstance(value.type.element, ir.FloatType) else 2)
    else:
        masked_store(builder, value, data, index, mask)


def clip(builder: Builder, value: Value, low: Value, high: Value) -> Value:
    """CLAMP with PROPAGATE: NaN stays, and so does a zero of either sign that equals `low`.

    `high` is no zero, so that nothing else equals it without having its bits.
    """
    value = builder.select(builder.fcmp_ordered(">", low, value), low, value)
    return builder.select(builder.fcmp_ordered("<", high, value), high, value)


def finished(builder: Builder, value: Value, low: Value, high: Value, format: str) -> Value:
    """What is stored of sums: rounded, then clipped."""
    if format == "fp32":
        return clip(builder, value, low, high)
    rounded = widen(builder, narrow(builder, value, format, exact=False), format)
    return narrow(builder, clip(builder, rounded, low, high), format, exact=True)


def make_widened() -> Compiled:
    @intrinsic
    def widened(typingctx: Context, x: Kind) -> Typing:
        """A number of an array of floats as float32."""

        def codegen(context: Context, builder: Builder, signature: Signature, args: Sequence[Value]) -> Value:
            return widen(builder, args[0], FORMATS[signature.args[0].name])

        return numba_types.float32(x), codegen

    return widened
