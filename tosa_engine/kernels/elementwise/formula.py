"""The words that elementwise formulas are written in.

A formula is a function of numbers. It is called with numpy arrays where the JIT is off, and with `formula_emit.Value`s
to emit code. Both know Python's operators, and compute in the operands' own kind (numpy's dtype), which must be the
same; a Python number takes the kind of the other operand. Integers wrap around. Booleans are what comparisons return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from typing import TypeGuard

    from numpy.typing import DTypeLike


class Operand(Protocol):
    """A number as formulas see it. Without the JIT, it is an array of numpy, which the type checker isn't told: those
    have others in the place of the last five methods, between which the words below choose.
    """

    __hash__: None  # type: ignore[assignment]

    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __add__(self, other: Operand | float, /) -> Operand: ...
    def __radd__(self, other: Operand | float, /) -> Operand: ...
    def __sub__(self, other: Operand | float, /) -> Operand: ...
    def __rsub__(self, other: Operand | float, /) -> Operand: ...
    def __mul__(self, other: Operand | float, /) -> Operand: ...
    def __rmul__(self, other: Operand | float, /) -> Operand: ...
    def __truediv__(self, other: Operand | float, /) -> Operand: ...
    def __rtruediv__(self, other: Operand | float, /) -> Operand: ...
    def __and__(self, other: Operand | float, /) -> Operand: ...
    def __rand__(self, other: Operand | float, /) -> Operand: ...
    def __or__(self, other: Operand | float, /) -> Operand: ...
    def __xor__(self, other: Operand | float, /) -> Operand: ...
    def __lshift__(self, other: Operand | float, /) -> Operand: ...
    def __rlshift__(self, other: Operand | float, /) -> Operand: ...
    def __rshift__(self, other: Operand | float, /) -> Operand: ...
    def __mod__(self, other: Operand | float, /) -> Operand: ...
    def __floordiv__(self, other: Operand | float, /) -> Operand: ...
    def __lt__(self, other: Operand | float, /) -> Operand: ...
    def __le__(self, other: Operand | float, /) -> Operand: ...
    def __gt__(self, other: Operand | float, /) -> Operand: ...
    def __ge__(self, other: Operand | float, /) -> Operand: ...
    def __neg__(self) -> Operand: ...
    def __invert__(self) -> Operand: ...
    def __eq__(self, other: object, /) -> Operand: ...  # type: ignore[override]
    def __ne__(self, other: object, /) -> Operand: ...  # type: ignore[override]
    def choose(self, first: Operand | float, second: Operand | float, /) -> Operand: ...
    def cast(self, kind: np.dtype[Any], /) -> Operand: ...
    def view(self, kind: np.dtype[Any], /) -> Operand: ...
    def call(self, name: str, /, *more: object) -> Operand: ...
    def constant(self, number: float, /) -> Operand: ...


Tested = tuple[Operand, Operand]  # a result, and whether a REQUIRE is violated
Compute = Callable[..., "Operand | Tested"]  # from inputs, then parameters


@dataclass(frozen=True)
class Formula:
    """`compute(*inputs, *parameters)` is the result; where it `tests`, that and whether a REQUIRE is violated."""

    name: str
    compute: Compute
    inputs: int
    parameters: int = 0
    tests: bool = False

    def untested(self) -> Formula:
        """The same where it is proved that no REQUIRE is violated."""
        return Formula(self.name, without_test(self.compute), self.inputs, self.parameters) if self.tests else self


def without_test(compute: Compute) -> Compute:
    def computed(*numbers: Operand) -> Operand:
        found = compute(*numbers)
        assert isinstance(found, tuple)
        return found[0]

    return computed


def where(condition: Operand, first: Operand | float, second: Operand | float) -> Operand:
    """The first number where the condition holds, else the second."""
    if is_numpy(condition):
        first_of_each: Callable[..., Any] = np.where
        found: Operand = first_of_each(condition, first, second)
        return found
    return condition.choose(first, second)


def cast(x: Operand, kind: DTypeLike) -> Operand:
    """As a number of another kind: integers keep their low bits, floats are rounded to the nearest, ties to even. A
    float that becomes an integer is cut, and must be within the kind.
    """
    return x.astype(kind) if is_numpy(x) else x.cast(np.dtype(kind))


def view(x: Operand, kind: DTypeLike) -> Operand:
    """The same bits as a kind of the same size."""
    return x.view(kind) if is_numpy(x) else x.view(np.dtype(kind))


def floor(x: Operand) -> Operand:
    return np.floor(x) if is_numpy(x) else x.call("floor")


def ceil(x: Operand) -> Operand:
    return np.ceil(x) if is_numpy(x) else x.call("ceil")


def nearest(x: Operand) -> Operand:
    """The nearest integer, ties to even, as a float."""
    return np.rint(x) if is_numpy(x) else x.call("roundeven")


def magnitude(x: Operand) -> Operand:
    """A float without its sign bit."""
    return np.abs(x) if is_numpy(x) else x.call("fabs")


def root(x: Operand) -> Operand:
    return np.sqrt(x) if is_numpy(x) else x.call("sqrt")


def leading_zeros(x: Operand) -> Operand:
    """Of 32 bits; 32 for 0."""
    if is_numpy(x):
        found: Operand = np.int32(32) - np.frexp(x.view(np.uint32).astype(np.float64))[1].astype(np.int32)
        return found
    return x.call("ctlz", False)


def is_nan(x: Operand) -> Operand:
    return x != x


def larger(x: Operand, y: Operand | float) -> Operand:
    """Of integers."""
    return where(x > y, x, y)


def smaller(x: Operand, y: Operand) -> Operand:
    """Of integers."""
    return where(x < y, x, y)


def like(x: Operand, number: float) -> Operand:
    """A Python number in the kind of x."""
    return x.dtype.type(number) if is_numpy(x) else x.constant(number)


def is_numpy(x: Operand) -> TypeGuard[Any]:
    return isinstance(x, (np.ndarray, np.generic))
