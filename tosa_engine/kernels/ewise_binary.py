"""Kernels of the elementwise binary operators and TABLE.

Arithmetic and extrema of integers and TABLE are compiled. Those of floats, bits and shifts are numpy's: bound by
memory, exact by IEEE 754 or by being a choice, and nothing has to be compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from .bounds import holds
from .data_layout import strip
from .work import DONE, Kernel, Loop, Work, blocks, constant, flat, violating

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array, Shape
    from .work import Run


def collapse(shape: Shape, first: Shape, second: Shape) -> tuple[list[int], list[int], list[int]]:
    """The fewest axes that broadcasting needs, with the strides of both inputs (0 along axes that repeat)."""
    dims: list[int] = []
    kinds: list[tuple[bool, bool]] = []
    for size, a, b in zip(shape, first, second, strict=True):
        kind = (a == size, b == size)
        if size == 1:
            continue
        if kinds and kinds[-1] == kind:
            dims[-1] *= size
        else:
            dims.append(size)
            kinds.append(kind)
    if not dims:
        return [1], [1], [1]

    def strides(which: int) -> list[int]:
        found, step = [0] * len(dims), 1
        for axis in range(len(dims) - 1, -1, -1):
            if kinds[axis][which]:
                found[axis] = step
                step *= dims[axis]
        return found

    return dims, strides(0), strides(1)


def arithmetic_int(code: int) -> Callable[[Call], Work]:
    """ADD, SUB, MUL, MAXIMUM and MINIMUM of integers; results are int32."""

    def prepare(call: Call) -> Work:
        from . import ewise_loops

        shift = call["shift"] if call.spec.name == "MUL" else 0
        if not 0 <= shift <= 63 or (shift and call.in_t is not types.i32):
            return violating(0)
        shape = call.shape_of("output")
        dims, sa, sb = (np.array(v, np.int64) for v in collapse(shape, call.shape1, call.shape2))
        count = types.count(shape)
        wrap = call.spec.name == "MUL" and shift == 0
        untested = call.shape1 == call.shape2 and (wrap or (call.spec.name != "MUL" and holds(call, "R1")))

        def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
            a, b, out = flat(inputs[0]), flat(inputs[1]), outputs[0].reshape(-1)

            if untested:
                return Loop(ewise_loops.low_bits, code, a, b, out, count=count)
            return Loop(ewise_loops.arithmetic, code, shift, wrap, a, b, dims, sa, sb, out, count=count)

        return Work(blocks(count), 0.3 * count, bind)

    return prepare


def by_numpy(shape: Shape, cost: float, function: Callable[..., Any]) -> Work:
    """function(*inputs, out) on slices along the first axis longer than 1; inputs broadcast to `shape`.

    `function` returns None, or an array of flags of elements that violate a REQUIRE.
    """
    lead = strip(shape)
    inner = types.count(shape[lead + 1 :])

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        views = [np.atleast_1d(np.broadcast_to(x, shape))[(0,) * lead] for x in inputs]
        out = np.atleast_1d(outputs[0])[(0,) * lead]

        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            with np.errstate(all="ignore"):
                bad = function(*(v[low:high] for v in views), out[low:high])
            if bad is None or not bad.any():
                return DONE
            return low * inner + int(np.argmax(bad))

        return run

    return Work(shape[lead] if shape else 1, cost * types.count(shape), bind)


def _two(ufunc: Callable[..., Any]) -> Callable[[Call], Work]:
    def function(a: Array, b: Array, out: Array) -> None:
        ufunc(a, b, out=out)

    def prepare(call: Call) -> Work:
        work = by_numpy(call.shape_of("output"), 0.8, function)
        return Work(work.units, work.cost, lambda inputs, outputs: work.bind(inputs[:2], outputs))

    return prepare


def mul_fp32(call: Call) -> Work:
    return _two(np.multiply)(call) if call["shift"] == 0 else violating(0)


def choose(a: Array, b: Array, first: Array, ignore: bool, out: Array) -> None:
    """`first` says where a is chosen; a NaN is passed on, or ignored for the other value."""
    np.copyto(out, b)
    np.copyto(out, a, where=first)
    if ignore:
        np.copyto(out, b, where=np.isnan(a))
        np.copyto(out, a, where=np.isnan(b))
    else:
        np.copyto(out, b, where=np.isnan(b))
        np.copyto(out, a, where=np.isnan(a))


def extremum_float(compare: Callable[..., Any]) -> Callable[[Call], Work]:
    """MAXIMUM (a >= b) and MINIMUM (a < b) of floats: which of equal zeros is taken follows the comparison."""

    def prepare(call: Call) -> Work:
        ignore = call.nan_mode == "IGNORE"

        def function(a: Array, b: Array, out: Array) -> None:
            choose(a, b, compare(a, b), ignore, out)

        return by_numpy(call.shape_of("output"), 2, function)

    return prepare


def table_i8(call: Call) -> Work:
    from . import ewise_loops

    entries, count = constant(call, "table").copy(), types.count(call.shape_of("output"))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        return Loop(ewise_loops.table_int8, flat(inputs[0]), entries, outputs[0].reshape(-1), count=count)

    return Work(blocks(count), 0.3 * count, bind)


def table_i16(call: Call) -> Work:
    from . import ewise_loops

    entries, count = constant(call, "table").copy(), types.count(call.shape_of("output"))

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        x, out = flat(inputs[0]), outputs[0].reshape(-1)

        return Loop(ewise_loops.table_int16, x, entries, out, count=count)

    return Work(blocks(count), 1.3 * count, bind)


def beyond(shift: Array, bits: int) -> Array:
    """Where a shift is negative or not less than the bits; read as unsigned, negative ones are large."""
    return np.asarray(shift.view(f"u{shift.dtype}") >= bits)


def arithmetic_right_shift(call: Call) -> Work:
    """Towards minus infinity; with `round`, plus the last bit that was shifted out."""
    bits, rounds, untested = call.in_out_t.bits, call.round, holds(call, "R1")

    def function(a: Array, b: Array, out: Array) -> Array | None:
        np.right_shift(a, b, out=out)
        if rounds:
            one = a.dtype.type(1)
            last = np.right_shift(a, np.maximum(b, one) - one) & one
            np.add(out, last, out=out, where=b > 0)
        return None if untested else beyond(b, bits)

    return by_numpy(call.shape_of("output"), 2.0 if rounds else 0.8, function)


def logical_shift(ufunc: Callable[..., Any]) -> Callable[[Call], Work]:
    """Shifts of the bits, read as unsigned."""

    def prepare(call: Call) -> Work:
        bits, unsigned, untested = call.in_out_t.bits, f"u{call.in_out_t.storage}", holds(call, "R1")

        def function(a: Array, b: Array, out: Array) -> Array | None:
            ufunc(a.view(unsigned), b.view(unsigned), out=out.view(unsigned))
            return None if untested else beyond(b, bits)

        return by_numpy(call.shape_of("output"), 0.8, function)

    return prepare


def intdiv(call: Call) -> Work:
    """In float64, cut to integers: a quotient of two int32 that isn't an integer is 2^-31 away from the next one, far
    more than float64 rounds.
    """
    least, untested = call.in_out_t.minimum, holds(call, "R1", "R2")

    def function(a: Array, b: Array, out: Array) -> Array | None:
        np.divide(a, b, out=out, dtype=np.float64, casting="unsafe")
        return None if untested else np.asarray((b == 0) | ((b == -1) & (a == least)))

    return by_numpy(call.shape_of("output"), 3.0, function)


INTEGERS = ("i8", "i16", "i32")
KERNELS = {
    ("ADD", "i32"): Kernel(arithmetic_int(0)),
    ("ADD", "fp32"): Kernel(_two(np.add)),
    ("SUB", "i32"): Kernel(arithmetic_int(1)),
    ("SUB", "fp32"): Kernel(_two(np.subtract)),
    ("MUL", "i8_i32"): Kernel(arithmetic_int(2), ("shift",)),
    ("MUL", "i16_i32"): Kernel(arithmetic_int(2), ("shift",)),
    ("MUL", "i32_i32"): Kernel(arithmetic_int(2), ("shift",)),
    ("MUL", "fp32_fp32"): Kernel(mul_fp32, ("shift",)),
    ("MAXIMUM", "i32"): Kernel(arithmetic_int(3)),
    ("MAXIMUM", "fp32"): Kernel(extremum_float(np.greater_equal)),
    ("MINIMUM", "i32"): Kernel(arithmetic_int(4)),
    ("MINIMUM", "fp32"): Kernel(extremum_float(np.less)),
    ("TABLE", "i8_i8_i8"): Kernel(table_i8, ("table",)),
    ("TABLE", "i16_i16_i32"): Kernel(table_i16, ("table",)),
    ("INTDIV", "i32"): Kernel(intdiv),
    ("LOGICAL_AND", "bool"): Kernel(_two(np.logical_and)),
    ("LOGICAL_OR", "bool"): Kernel(_two(np.logical_or)),
    ("LOGICAL_XOR", "bool"): Kernel(_two(np.logical_xor)),
    **{("ARITHMETIC_RIGHT_SHIFT", t): Kernel(arithmetic_right_shift) for t in INTEGERS},
    **{("LOGICAL_LEFT_SHIFT", t): Kernel(logical_shift(np.left_shift)) for t in INTEGERS},
    **{("LOGICAL_RIGHT_SHIFT", t): Kernel(logical_shift(np.right_shift)) for t in INTEGERS},
    **{("BITWISE_AND", t): Kernel(_two(np.bitwise_and)) for t in INTEGERS},
    **{("BITWISE_OR", t): Kernel(_two(np.bitwise_or)) for t in INTEGERS},
    **{("BITWISE_XOR", t): Kernel(_two(np.bitwise_xor)) for t in INTEGERS},
}
