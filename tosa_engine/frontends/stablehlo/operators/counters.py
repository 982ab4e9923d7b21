"""Counters of loops: what a loop starts with, adds a number to, and compares with a number before each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .... import types
from ..module import word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..module import Body, Operation
    from ..values import Value


@dataclass(frozen=True)
class Counter:
    """In the body it is `first` .. `most`, elsewhere `first` .. `last`."""

    first: int
    most: int
    last: int


def counted(condition: Body, body: Body, values: Sequence[Value]) -> dict[int, Counter]:
    """The counters of a loop by their places among its values."""
    found = {}
    ends = _Ends(condition, body, values)
    for i, value in enumerate(values):
        if value.data is None or value.data.size != 1 or not value.element.is_integer:
            continue
        step, most = ends.step(i), ends.most(i)
        first = int(value.data.reshape(-1)[0])
        if step is None or most is None or step < 1:
            continue
        most = max(most, first)
        low, high = max(value.element.minimum, types.i32.minimum), min(value.element.maximum, types.i32.maximum)
        if low <= first and most + step <= high:
            found[i] = Counter(first, most, most + step)
    return found


class _Ends:
    """What a loop's blocks say of its values; constants are known, and what a loop leaves as it is."""

    def __init__(self, condition: Body, body: Body, values: Sequence[Value]) -> None:
        self.blocks, self.values = (condition, body), values
        self.makers = [{number: op for op in block.operations for number, _ in op.results} for block in self.blocks]

    def step(self, i: int) -> int | None:
        """What a step adds to a value."""
        block, number = self.blocks[1], self.blocks[1].arguments[i][0]
        maker = self.makers[1].get(block.results[i])
        if maker is None or maker.name != "stablehlo.add" or number not in maker.operands:
            return None
        index = maker.operands.index(number)
        return self._number(1, maker.operands[1 - index])

    def most(self, i: int) -> int | None:
        """The largest value that the condition lets through."""
        number, found = self.blocks[0].arguments[i][0], []
        for op in self._conditions(self.blocks[0].results[0]):
            direction = word(op.attributes.get("comparison_direction"))
            one, other = op.operands
            if other == number:
                one, other, direction = other, one, direction.translate(str.maketrans("LG", "GL"))
            end = self._number(0, other)
            if one == number and end is not None and direction in ("LT", "LE"):
                found.append(end - (direction == "LT"))
        return min(found, default=None)

    def _conditions(self, number: int) -> list[Operation]:
        """The comparisons that all have to hold."""
        op = self.makers[0].get(number)
        if op is None:
            return []
        if op.name == "stablehlo.and":
            return [one for operand in op.operands for one in self._conditions(operand)]
        return [op] if op.name == "stablehlo.compare" else []

    def _number(self, block: int, number: int) -> int | None:
        op = self.makers[block].get(number)
        if op is not None:
            data = op.attributes.get("value") if op.name == "stablehlo.constant" else None
        else:
            places = [n for n, _ in self.blocks[block].arguments]
            i = places.index(number) if number in places else None
            kept = i is not None and self.blocks[1].results[i] == self.blocks[1].arguments[i][0]
            data = self.values[i].data if i is not None and kept else None
        return None if data is None or data.size != 1 or data.dtype.kind not in "iu" else int(data.reshape(-1)[0])
