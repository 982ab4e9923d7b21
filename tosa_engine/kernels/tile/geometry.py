"""Places in the geometry array of the loops over tiles; sizes are in elements unless said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from ...types import Array

Geometry = dict[int, int]  # values by their places, while an operator is prepared; the others are 0

BATCH: Final = 0  # images
IN_HEIGHT: Final = 1
IN_WIDTH: Final = 2
DEPTH: Final = 3  # input channels
REPEAT: Final = 4  # depthwise: outputs per input channel; MATMUL: zero point of the second matrix
ZERO: Final = 5  # input zero point
FIRST_Y: Final = 6  # input row and column of the first output's window
FIRST_X: Final = 7
STEP_Y: Final = 8  # input rows per packed row, input columns per packed column
STEP_X: Final = 9
HEIGHT: Final = 10  # of the output
WIDTH: Final = 11
CHANNELS: Final = 12
JUMP_Y: Final = 13  # packed rows per output row
JUMP_X: Final = 14  # packed elements per output column
PITCH: Final = 15  # elements of a packed row
TAIL: Final = 16  # packed rows that a window needs below its first
SEGMENTS: Final = 17  # taps of a depthwise window
STEPS: Final = 18  # of a tile along K
PANELS: Final = 19  # column panels of NR channels
GROUPS: Final = 20  # groups of panels, each a whole number of tiles wide
BLOCK: Final = 21  # output rows of a unit
BLOCKS: Final = 22  # units per image and group
PADDING: Final = 23  # what stands in the packed input where there is none
IN_PLACE: Final = 24  # 1: rows are read from the input itself; COPIED: from a copy of it
STRIPE: Final = 25  # MATMUL of floats: panels of the second matrix that are packed at once
PACKED: Final = 26  # MATMUL of floats: 0 where the second matrix is read in place
MERGE: Final = 27  # neighbouring blocks of an image that are done at once
CUT: Final = 28  # 1: groups are cut between any panels, not only where tiles are
CONSTANT: Final = 29  # MATMUL in quads: what is added to all sums
SIZE: Final = 30

COPIED: Final = 2
APART: Final = 3  # IN_PLACE with steps between pixels: PITCH to the next row of outputs, JUMP_X to the next column


def geometry(values: Geometry) -> Array:
    """The array: int64 [SIZE], places that aren't given are 0."""
    found = np.zeros(SIZE, np.int64)
    for place, value in values.items():
        found[place] = value
    return found
