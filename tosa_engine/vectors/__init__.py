"""Golden vectors: every tensor of a run in a file of its own, for testbenches, with an index that says what is what.

`elements.py` writes one tensor in each of the formats, `index.py` says what there is to know of tensors and operators,
`record.py` is the probe that writes while a graph runs.
"""

from __future__ import annotations

from .elements import FORMATS
from .record import Recorder

__all__ = ["FORMATS", "Recorder"]
