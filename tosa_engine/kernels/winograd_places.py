"""Sizes of the integer Winograd convolution, and the places in its geometry array."""

from __future__ import annotations

from typing import Final

TILE: Final = 4  # output pixels of a tile in each direction
WINDOW: Final = 6  # input pixels of a tile, and points of its transform, in each direction
POINTS: Final = WINDOW * WINDOW
CHUNK: Final = 32  # input channels that lie side by side for each tile of a block
PAIRS: Final = CHUNK // 2
GROUP: Final = 16  # output channels that the epilogue takes at once
# what makes the transformed product 64 times the sum modulo 2^32
INVERSE_OF_9: Final = pow(9, -1, 1 << 32)

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
TILES_Y: Final = 10  # of an image
TILES_X: Final = 11
TILES: Final = 12  # of all images
ROWS: Final = 13  # tiles of a block, which are the rows of a product
COLUMNS: Final = 14  # output channels of a panel
PANELS: Final = 15
UNIT: Final = 16  # tiles of a unit
POINT: Final = 17  # elements from one point of the transformed inputs to the next
STEP: Final = 18  # what the rows of a block are a multiple of
SIZE: Final = 19


def block_rows(lanes: int) -> range:
    """The numbers of tiles that products are emitted for: the sums of COLUMNS each, and a few registers to spare."""
    return range(2, 15, 2) if lanes == 16 else range(1, 7)


def columns_of(lanes: int) -> int:
    """Output channels of a panel: two vectors at least."""
    return max(GROUP, 2 * lanes)
