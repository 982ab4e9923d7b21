"""Places in the geometry array of depthwise convolutions of floats, and which windows have code of their own."""

from __future__ import annotations

from typing import Final

IN_HEIGHT: Final = 0
IN_WIDTH: Final = 1
DEPTH: Final = 2
REPEAT: Final = 3  # outputs per input channel
HEIGHT: Final = 4  # of the output
WIDTH: Final = 5
CHANNELS: Final = 6
TOP: Final = 7  # padding
LEFT: Final = 8
STEP_Y: Final = 9  # stride
STEP_X: Final = 10
KERNEL_Y: Final = 11
KERNEL_X: Final = 12
ROW_STEP: Final = 13  # dilation
COLUMN_STEP: Final = 14
BLOCK: Final = 15  # output rows of a unit
BLOCKS: Final = 16
PACKED: Final = 17  # 1: the input is packed first
COLUMNS: Final = 18  # of the packed input
PITCH: Final = 19  # elements from one tap's weights to the next one's
CODE: Final = 20  # which of KNOWN, counted from 1; 0: none
SIZE: Final = 21

PIXELS: Final = 4  # neighbours that are computed together
KNOWN: Final = ((3, 1), (3, 2), (5, 1), (5, 2))  # width of the kernel and stride, without dilation
