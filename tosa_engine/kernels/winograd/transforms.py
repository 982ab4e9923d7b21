"""The transforms of the integer Winograd convolution along one direction, as LLVM IR on vectors.

All of them add and multiply by small integers, and wrap like int16 or int32. Only imported when the JIT is on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._jit import llvm as e
from .places import WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._jit.typed import Builder, Value


def times(builder: Builder, value: Value, factor: int) -> Value:
    return value if factor == 1 else builder.mul(value, e.constant(value.type.count, value.type.element, factor))


def to_points(builder: Builder, d: Sequence[Value]) -> list[Value]:
    """B^T d for six vectors, or for five."""
    add, sub = builder.add, builder.sub

    a, b = sub(d[3], d[1]), sub(d[4], d[2])
    if len(d) == WINDOW:
        c, f, double = sub(times(builder, d[2], 4), d[4]), sub(times(builder, d[1], 4), d[3]), add(a, a)
        first = add(times(builder, sub(d[0], d[2]), 4), b)
        last = sub(sub(d[5], d[3]), times(builder, a, 4))
        return [first, add(c, f), sub(c, f), add(b, double), last, sub(b, double)]
    first = times(builder, sub(a, times(builder, sub(d[2], d[0]), 2)), 2)
    one = times(builder, sub(add(d[1], d[2]), a), 3)
    other = sub(times(builder, sub(d[2], d[1]), 2), sub(d[3], d[2]))
    return [first, one, other, times(builder, a, 4), times(builder, sub(b, times(builder, a, 2)), 2)]


def to_reduced(builder: Builder, g: Sequence[Value]) -> list[Value]:
    """REDUCED g for three vectors."""
    add, sub = builder.add, builder.sub
    ends, even, double = add(g[0], g[2]), add(g[0], times(builder, g[2], 4)), add(g[1], g[1])
    return [g[0], add(ends, g[1]), sub(ends, g[1]), add(even, double), g[2], sub(even, double)]


def to_outputs(builder: Builder, m: Sequence[Value]) -> list[Value]:
    """A^T m for six vectors, or for five."""
    add, sub = builder.add, builder.sub
    s, d = add(m[1], m[2]), sub(m[1], m[2])
    if len(m) < WINDOW:
        return [
            add(m[0], add(s, m[3])), add(d, add(m[3], m[3])), add(s, times(builder, add(m[3], m[4]), 4)),
        ]  # fmt: skip
    t, u = add(m[3], m[5]), sub(m[3], m[5])
    last = add(d, times(builder, add(u, m[4]), 8))
    return [add(m[0], add(s, t)), add(d, add(u, u)), add(s, times(builder, t, 4)), last]


def twice(
    builder: Builder, values: Sequence[Sequence[Value]], transform: Callable[..., list[Value]]
) -> list[list[Value]]:
    """The transform of the columns, then of the rows, of values[row][column]."""
    columns = [transform(builder, column) for column in zip(*values, strict=True)]
    return [transform(builder, row) for row in zip(*columns, strict=True)]


def widened(builder: Builder, data: Value, at: Value, lanes: int) -> Value:
    """int16 from bytes."""
    return builder.sext(e.load(builder, data, at, e.vector(e.I8, lanes), 1), e.vector(e.I16, lanes))
