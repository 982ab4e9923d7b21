"""The matrices of F(4 x 4, 3 x 3) and F(3 x 3, 3 x 3) with integer entries, for the same transformed weights:
A^T [(G g G^T) .* (B^T d B)] A = 576 times the correlation.
"""

from __future__ import annotations

from typing import Final

import numpy as np

# Points 0, 1, -1, 2, infinity, -2, in this order.
FACTORS: Final = (6, 4, 4, 1, 3, 1)  # of the rows of G
REDUCED: Final = np.array([[1, 0, 0], [1, 1, 1], [1, -1, 1], [1, 2, 4], [0, 0, 1], [1, -2, 4]], np.int64)
G: Final = REDUCED * np.array(FACTORS)[:, np.newaxis]
B_T: Final = np.array([
    [4, 0, -5, 0, 1, 0],
    [0, 4, 4, -1, -1, 0],
    [0, -4, 4, 1, -1, 0],
    [0, -2, -1, 2, 1, 0],
    [0, 4, 0, -5, 0, 1],
    [0, 2, -1, -2, 1, 0],
], np.int64)  # fmt: skip
A_T: Final = np.array([
    [1, 1, 1, 1, 0, 1],
    [0, 1, -1, 2, 0, -2],
    [0, 1, 1, 4, 0, 4],
    [0, 1, -1, 8, 8, -8],
], np.int64)  # fmt: skip
# Three outputs from five inputs do without the last point.
B_T_SHORT: Final = np.array([
    [4, -2, -4, 2, 0],
    [0, 6, 3, -3, 0],
    [0, -2, 3, -1, 0],
    [0, -4, 0, 4, 0],
    [0, 4, -2, -4, 2],
], np.int64)  # fmt: skip
A_T_SHORT: Final = np.array([[1, 1, 1, 1, 0], [0, 1, -1, 2, 0], [0, 1, 1, 4, 4]], np.int64)
