"""The record of the REQUIREs that an operator tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RequireViolation
from .overflow import assumed

if TYPE_CHECKING:
    from types import TracebackType

    from ..spec.table import Call
    from ..types import Array, DType


class Requires:
    """The REQUIREs of one operator, tested on all output elements together.

    The specification computes one output element after the other. Here every test looks at all of them, so the one
    that counts is that of the first element in row-major order and, for this element, the first test that fails. Use as
    a context: on leaving it, `RequireViolation` is raised if any test failed. `argument` is the tensor whose elements
    the operator goes through: its output, as a rule. The violation counts those for which any test failed.
    """

    def __init__(self, call: Call, argument: str = "output") -> None:
        self.call = call
        self.shape, self.tensor = call.shape_of(argument), call.tensor_name(argument)
        self.first: int | None = None
        self.bad: Array | None = None  # elements for which a test failed
        self.lost: Array | None = None  # elements that were computed under an assumption
        self.label = self.message = ""

    def __enter__(self) -> Requires:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assumption = assumed()
        if assumption is not None and self.lost is not None:
            node = self.call.operator.name
            assumption[1][node] = assumption[1].get(node, 0) + int(np.count_nonzero(self.lost))
        if kind is None and self.first is not None:
            index = tuple(int(i) for i in np.unravel_index(self.first, self.shape))
            assert self.bad is not None
            count = int(np.count_nonzero(self.bad))
            more = f"; {count} of {self.bad.size} elements violate a REQUIRE" if count > 1 else ""
            raise RequireViolation(
                f"{self.message} at {list(index)}{more}",
                label=self.label,
                node=self.call.operator.name,
                tensor=self.tensor,
                index=index,
                count=count,
            )

    def holds(self, rule: str, good: Array, message: str, **values: Any) -> None:
        """Test one REQUIRE. `good` and `values` broadcast to the tensor's shape; `message` shows the values."""
        if good.all():
            return
        everywhere = np.broadcast_to(good, self.shape)
        self.bad = ~everywhere if self.bad is None else self.bad | ~everywhere
        first = int(np.argmin(everywhere))
        if self.first is None or first < self.first:
            index = np.unravel_index(first, self.shape)
            shown = {name: np.broadcast_to(value, self.shape)[index] for name, value in values.items()}
            self.first, self.label = first, f"{self.call.spec.name}.{rule}"
            self.message = message.format(**shown)

    def fits(self, rule: str, value: Array, dtype: DType, what: str, *, accumulator: bool = False) -> Array:
        """Test that a value is in the range of a format. The value, or what is left of it where that is `assumed`."""
        assumption = assumed()
        if assumption is not None:
            kept = assumption[0].kept(value, dtype, accumulator=accumulator)
            if kept is not value:
                lost = np.broadcast_to(kept != value, self.shape)
                self.lost = lost if self.lost is None else self.lost | lost
            return kept
        if value.size and (value.min() < dtype.minimum or value.max() > dtype.maximum):
            message = f"{what} {{value}} is beyond {dtype.minimum} .. {dtype.maximum}"
            self.holds(rule, within(value, dtype), message, value=value)
        return value


def within(value: Array, dtype: DType) -> Array:
    good: Array = (value >= dtype.minimum) & (value <= dtype.maximum)
    return good
