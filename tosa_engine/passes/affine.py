"""x * gain + offset, as operators with constants make it, in double precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..types import Array


@dataclass
class Affine:
    """For every channel, or for whatever the arrays broadcast to."""

    gain: Array
    offset: Array

    def take(self, op: str, values: Array, first: bool) -> None:
        """ADD, SUB or MUL by constants behind it; `first`: the constants are the second input."""
        if op == "MUL":
            self.gain, self.offset = self.gain * values, self.offset * values
        elif op == "ADD":
            self.offset = self.offset + values
        elif first:
            self.offset = self.offset - values
        else:
            self.gain, self.offset = -self.gain, values - self.offset
