"""What preparation and compiled code of int16 depthwise windows agree on."""

from __future__ import annotations

from typing import Final

MR: Final = 6  # pixels at a time
# how interleaving two vectors in their 128-bit halves orders the channels
LANE_ORDER: Final = (0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)
