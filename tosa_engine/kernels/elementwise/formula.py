"""The words that elementwise formulas are written in.

A formula is a function of numbers. It is called with numpy arrays where the JIT is off, and with `formula_emit.Value`s
to emit code. Both know Python's operators, and compute in the operands' own kind (numpy's dtype), which must be the
same; a Python number takes the kind of the other operand. Integers wrap around. Booleans are what comparisons return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Formula:
    """`compute(*inputs, *parameters)` is the result; where it `tests`, that and whether a REQUIRE is violated."""

    name: str
    compute: Callable[..., Any]
    inputs: int
    parameters: int = 0
    tests: bool = False

    def untested(self) -> Formula:
        """The same where it is proved that no REQUIRE is violated."""
        return Formula(self.name, without_test(self.compute), self.inputs, self.parameters) if self.tests else self


def without_test(compute: Callable[..., Any]) -> Callable[..., Any]:
    def computed(*numbers: Any) -> Any:
        return compute(*numbers)[0]

    return computed


def where(condition: Any, first: Any, second: Any) -> Any:
    """The first number where the condition holds, else the second."""
    return np.where(condition, first, second) if is_numpy(condition) else condition.choose(first, second)


def cast(x: Any, kind: Any) -> Any:
    """As a number of another kind: integers keep their low bits, floats are rounded to the nearest, ties to even. A
    float that becomes an integer is cut, and must be within the kind.
    """
    return x.astype(kind) if is_numpy(x) else x.cast(np.dtype(kind))


def view(x: Any, kind: Any) -> Any:
    """The same bits as a kind of the same size."""
    return x.view(kind) if is_numpy(x) else x.view(np.dtype(kind))


def floor(x: Any) -> Any:
    return np.floor(x) if is_numpy(x) else x.call("floor")


def ceil(x: Any) -> Any:
    return np.ceil(x) if is_numpy(x) else x.call("ceil")


def nearest(x: Any) -> Any:
    """The nearest integer, ties to even, as a float."""
    return np.rint(x) if is_numpy(x) else x.call("roundeven")


def magnitude(x: Any) -> Any:
    """A float without its sign bit."""
    return np.abs(x) if is_numpy(x) else x.call("fabs")


def root(x: Any) -> Any:
    return np.sqrt(x) if is_numpy(x) else x.call("sqrt")


def leading_zeros(x: Any) -> Any:
    """Of 32 bits; 32 for 0."""
    if is_numpy(x):
        return np.int32(32) - np.frexp(x.view(np.uint32).astype(np.float64))[1].astype(np.int32)
    return x.call("ctlz", False)


def is_nan(x: Any) -> Any:
    return x != x


def larger(x: Any, y: Any) -> Any:
    """Of integers."""
    return where(x > y, x, y)


def smaller(x: Any, y: Any) -> Any:
    """Of integers."""
    return where(x < y, x, y)


def like(x: Any, number: float) -> Any:
    """A Python number in the kind of x."""
    return x.dtype.type(number) if is_numpy(x) else x.constant(number)


def is_numpy(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic))
