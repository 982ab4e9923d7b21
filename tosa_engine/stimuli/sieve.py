"""Which of many values may be those that somebody waits for? A table of cells for each channel says no to most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from ..types import Array

CELLS: Final = 1 << 10  # of each channel
CHUNK: Final = 1 << 16  # elements that are looked at together


class Sieve:
    """Of channels with values low .. high: spans of values of a channel that are waited for, both ends included."""

    def __init__(self, low: Array, high: Array, channel: Array, first: Array, last: Array) -> None:
        channels = len(low)
        self._type = np.dtype(np.int32 if int(high.max()) - int(low.min()) < 1 << 30 else np.int64)
        bits = [int(n).bit_length() for n in high - low]
        self._shift = np.array([max(0, n - CELLS.bit_length() + 1) for n in bits], self._type)
        self._low = low.astype(self._type)
        self._start = (np.arange(channels) * CELLS).astype(self._type)
        edges = np.zeros((channels, CELLS + 1), np.int32)
        np.add.at(edges, (channel, (first - low[channel]) >> self._shift[channel]), 1)
        np.add.at(edges, (channel, ((last - low[channel]) >> self._shift[channel]) + 1), -1)
        self._cells = np.cumsum(edges[:, :CELLS], 1, dtype=np.int32).reshape(-1) > 0

    def through(self, columns: Array) -> Array:
        """The flat indices of those [place, channel] that may be in a span of their channel."""
        channels, found = columns.shape[1], []
        rows = max(1, CHUNK // channels)
        for start in range(0, len(columns), rows):
            cell = columns[start : start + rows].astype(self._type)
            cell -= self._low
            cell >>= self._shift
            cell += self._start
            found.append(np.flatnonzero(self._cells.take(cell.reshape(-1), mode="clip")) + start * channels)
        return np.concatenate(found) if found else np.zeros(0, np.int64)
