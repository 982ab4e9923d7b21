"""An operator that ran, as corners look at it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ....types import holds_floats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ....spec.table import Call
    from ....types import Array, DType

    Test = Callable[["Seen"], bool]


class Seen:
    """`seen["input"]` are the values of an argument, in int64 or float64; of a list those of its first tensor."""

    def __init__(self, call: Call, inputs: Mapping[str, Any], outputs: list[Array]) -> None:
        self.call, self.inputs, self.outputs = call, inputs, outputs
        self.wide: dict[str, Array] = {}

    def __getitem__(self, argument: str) -> Array:
        if argument not in self.wide:
            found = self.inputs[argument]
            self.wide[argument] = wide(found[0] if isinstance(found, list) else found)
        return self.wide[argument]

    def dtype(self, argument: str) -> DType:
        return self.call.tensor(argument).dtype

    def zero_point(self, argument: str) -> int:
        return int(self[argument].reshape(-1)[0])

    def has(self, argument: str, value: float) -> bool:
        return bool((self[argument] == value).any())

    @cached_property
    def result(self) -> Array:
        """The first output."""
        return wide(self.outputs[0])

    def gives(self, value: float) -> bool:
        return bool((self.result == value).any())

    @cached_property
    def pair(self) -> tuple[Array, Array]:
        """Both operands, broadcast."""
        first, second = np.broadcast_arrays(self["input1"], self["input2"])
        return first, second


def wide(array: Array) -> Array:
    return array.astype(np.float64 if holds_floats(array) else np.int64)


def any_of(condition: Any) -> bool:
    return bool(np.any(condition))
