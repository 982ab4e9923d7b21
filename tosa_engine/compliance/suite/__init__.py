"""Our own conformance tests: of single operators, of every rule, and of random graphs.

`schedule` names the tests in their order, `finite` those that have everything once; `make` makes one of its name: the
same name and seed give the same test.
"""

from __future__ import annotations

from .schedule import Selection, finite, schedule
from .tests import Test, fits, make

__all__ = ["Selection", "Test", "finite", "fits", "make", "schedule"]
