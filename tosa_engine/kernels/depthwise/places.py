"""What `prepare`, the loops and the emitted code agree on: layouts, and places in arrays."""

from __future__ import annotations

from typing import Final

# the layout of quads, and of what goes with them
VECTORS: Final = 4  # of a column
ROWS: Final = 4  # of a quad
WIDTHS: Final = (16, 32, 64)
PIXELS: Final = 4  # of a tile
PARAMETERS: Final = 4  # vectors of int32 for each vector of channels: bias, multiplier, right shift, rounding term
PART: Final = (0, 2, 1, 3)  # how scaling leaves the lanes of a 128-bit part
# kernels that have code of their own: columns, step between windows, quads
UNROLLED: Final = ((3, 1, 1), (3, 2, 1), (5, 1, 2), (5, 2, 2))
COLUMNS_OF_CODE: Final = (0, *(columns for columns, _, _ in UNROLLED))  # by CODE

# the geometry
IN_HEIGHT: Final = 0
IN_WIDTH: Final = 1
DEPTH: Final = 2  # input channels
REPEAT: Final = 3  # outputs per input channel
HEIGHT: Final = 4  # of the output
WIDTH: Final = 5
CHANNELS: Final = 6
TOP: Final = 7  # padding
LEFT: Final = 8
STEP_Y: Final = 9  # input rows and columns from one output to the next
STEP_X: Final = 10
ROW_STEP: Final = 11  # input rows from one row of a quad to the next
REACH: Final = 12  # rows of a kernel, of its quads' rows
QUADS: Final = 13
COLUMNS: Final = 14  # that the windows of an output row cover
PLANE: Final = 15  # columns that leave the same rest on division by STEP_X
TAPS: Final = 16  # kernel columns of all quads
LINES: Final = 17  # output rows of a unit
BLOCKS: Final = 18  # of rows, of an image
CHUNKS: Final = 19  # units of a block of rows
GROUPS: Final = 20  # of channels
PITCH: Final = 21  # columns of the epilogue's parameters
STAGED: Final = 22  # where rows are copied to first, channels repeated or too few for a vector; 0 where they aren't
CODE: Final = 23  # which of UNROLLED the kernel is, counted from 1; 0: none
BY_CHUNKS: Final = 24  # 1: units go through the rows of a group of channels, then to the next group
MERGED: Final = 25  # few channels: pixels that become one, with as many times the channels
PHASE: Final = 26  # columns of a phase of a copied row
OUT_ROWS: Final = 27  # where rows of outputs are made; COLUMNS are the bytes of a copied row
APART: Final = 28  # of one row: columns from one row of a quad to the next; 0 where rows are rows
BEFORE: Final = 29  # padding in front of a copied row, whose columns are IN_WIDTH
LENGTH: Final = 30  # columns of the input in it
ROW_BYTES: Final = 31  # of an image of one row
SIZE: Final = 32
# fields of a group
CHANNEL: Final = 0
SPAN: Final = 1  # the width of its vectors
WEIGHTS: Final = 2  # where its weights and numbers start
NUMBERS: Final = 3
FIELDS: Final = 4
WIDE: Final = 64  # channels of a unit where there is one output pixel
