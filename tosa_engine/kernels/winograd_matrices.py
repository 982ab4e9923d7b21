"""The matrices of F(4 x 4, 3 x 3) with integer entries: A^T [(G g G^T) .* (B^T d B)] A = 576 times the correlation."""

from __future__ import annotations

from typing import Final

import numpy as np

# Points 0, 1, -1, 2, -2 and infinity, in this order.
B_T: Final = np.array([
    [4, 0, -5, 0, 1, 0],
    [0, -4, -4, 1, 1, 0],
    [0, 4, -4, -1, 1, 0],
    [0, -2, -1, 2, 1, 0],
    [0, 2, -1, -2, 1, 0],
    [0, 4, 0, -5, 0, 1],
], np.int64)  # fmt: skip
G: Final = np.array([[1, 0, 0], [-1, -1, -1], [-1, 1, -1], [1, 2, 4], [1, -2, 4], [0, 0, 1]], np.int64)
A_T: Final = np.array([
    [6, 4, 4, 1, 1, 0],
    [0, 4, -4, 2, -2, 0],
    [0, 4, 4, 4, 4, 0],
    [0, 4, -4, 8, -8, 24],
], np.int64)  # fmt: skip
