"""Our own conformance tests: of single operators, of every rule, and of random graphs.

`schedule` names the tests in their order, `make` makes one of its name: the same name and seed give the same test.
"""

from __future__ import annotations

from .schedule import Selection, schedule
from .tests import Test, fits, make

__all__ = ["Selection", "Test", "fits", "make", "schedule"]
