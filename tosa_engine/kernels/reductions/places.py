"""What `folds` can do to floats, as numbers that compiled code reads."""

from __future__ import annotations

from typing import Final

SUM, MAX, MAX_IGNORE, MIN, MIN_IGNORE = KINDS = tuple(range(5))
MAXIMUM: Final = (MAX, MAX_IGNORE)
IGNORED: Final = (MAX_IGNORE, MIN_IGNORE)  # NaN
LANES: Final = 16  # of a vector; sums that run side by side along the last axis
