"""What `program` writes and `loops` reads: the words of an operation, and which operations there are, in groups that
end before the places BEHIND them.
"""

from __future__ import annotations

from typing import Final

MOST: Final = 64  # elements of a tensor

# words of an operation: what it does, how many elements, where they and those of its operands lie, and the steps from
# one element of an operand to the next, 1 or 0; then numbers that depend on the operation
OPERATION: Final = 0
COUNT: Final = 1
TO: Final = 2
FIRST: Final = 3
FIRST_STEP: Final = 4
SECOND: Final = 5
SECOND_STEP: Final = 6
NUMBERS: Final = 7
WORDS: Final = NUMBERS + 7

LOAD: Final = 0
STORE: Final = 1
# of two operands
ADD: Final = 2
SUB: Final = 3
MUL: Final = 4  # number: the shift
MAXIMUM: Final = 5
MINIMUM: Final = 6
SHIFT_LEFT: Final = 7
SHIFT_RIGHT: Final = 8  # number: 1 where it rounds
SHIFT_BITS_RIGHT: Final = 9
BEHIND_TWO: Final = 10
# of one
CLZ: Final = 10
CLAMP: Final = 11  # numbers: the bounds
CUT: Final = 12  # number: the bits that are kept, with their sign
RESCALE: Final = 13  # numbers: multiplier, shift, what DOUBLE_ROUND adds, zero points, bounds
LOOK_UP: Final = 14  # number: where the table begins
INTERPOLATE: Final = 15  # number: where the table begins
BEHIND_ONE: Final = 16
# of COUNT elements to one
REDUCE_SUM: Final = 16
REDUCE_MAX: Final = 17
REDUCE_MIN: Final = 18
