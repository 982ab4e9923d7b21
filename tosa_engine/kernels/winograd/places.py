"""Sizes of the integer Winograd convolution, and the places in its geometry array."""

from __future__ import annotations

from typing import Final

TILE: Final = 4  # output pixels of a tile in each direction; the last ones of a line may have one less
WINDOW: Final = 6  # input pixels of a tile, and points of its transform, in each direction
POINTS: Final = WINDOW * WINDOW
TAPS: Final = 9
CHUNK: Final = 32  # input channels that lie side by side for each tile of a block
PAIRS: Final = CHUNK // 2
FEW: Final = 4  # tiles at most for which weights are transformed in registers
FEWEST_LANES: Final = 16  # of vectors, of which there are registers enough for this
GROUP: Final = 16  # output channels that the epilogue takes at once
# what makes the transformed product 64 times the sum modulo 2^32
INVERSE_OF_9: Final = pow(9, -1, 1 << 32)
SHIFT: Final = 6  # and takes away the 64
ROUNDED: Final = 1 << (30 + SHIFT - 32)  # what DOUBLE_ROUND adds to the high word of 64 times a product
# rows of the epilogue's parameters that `transform_and_scale` reads, after those of `scale.places`: for values times 64
RIGHT_64: Final = 5
HALF_64: Final = 6

IN_HEIGHT: Final = 0
IN_WIDTH: Final = 1
DEPTH: Final = 2  # input channels
CHUNKS: Final = 3  # of input channels
ZERO: Final = 4  # input zero point
PAD_TOP: Final = 5
PAD_LEFT: Final = 6
HEIGHT: Final = 7  # of the output
WIDTH: Final = 8
CHANNELS: Final = 9  # of the output
BATCH: Final = 10
TILES_Y: Final = 11  # of an image
TILES_X: Final = 12
TALL: Final = 13  # how many of TILES_Y have TILE outputs; the rest, which are the last, have one less
WIDE: Final = 14  # how many of TILES_X
TILES: Final = 15  # of all images
ROWS: Final = 16  # tiles of a block, which are the rows of a product
COLUMNS: Final = 17  # output channels of a panel
PANELS: Final = 18
UNIT: Final = 19  # tiles of a unit
POINT: Final = 20  # elements from one point of the transformed inputs to the next
LATE: Final = 21  # chunks of input channels whose weights are transformed at once in a run; 0: all were, before
WEIGHT_POINT: Final = 22  # elements from one point of the transformed weights to the next
IN_26_BITS: Final = 23  # 1: 64 times a sum with its bias fits int32, and so do the epilogue's parameters for it
LANES: Final = 24  # columns of a vector
AT_FEW: Final = 25  # 1: weights are transformed in registers
FETCHED: Final = 26  # elements of transformed weights that are fetched ahead: more than a second-level cache keeps
SIZE: Final = 27


def block_rows(lanes: int) -> range:
    """The numbers of tiles that products are emitted for: the sums of COLUMNS each, and a few registers to spare."""
    return range(1, 15) if lanes == 16 else range(1, 7)


def columns_of(lanes: int) -> int:
    """Output channels of a panel: two vectors at least."""
    return max(GROUP, 2 * lanes)
