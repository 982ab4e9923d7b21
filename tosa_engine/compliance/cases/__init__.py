"""Random tests for any implementation: graphs of one operator or of several, with the arrays of their inputs.

These are Hypothesis strategies (extra `cases`), so that what fails is made small by Hypothesis:

    @given(cases("RESCALE"))
    def test_my_engine(case):
        graph, feeds = case
        ...  # run `graph` on the engine under test, and compare with `tosa_engine.oracle.run(graph, feeds)`

A case may violate a REQUIRE; the oracle then raises RequireViolation, and an engine may do anything.
"""

from __future__ import annotations

from ...errors import UsageError

try:
    import hypothesis  # noqa: F401
except ImportError:
    raise UsageError("random tests need Hypothesis; try: pip install 'tosa-engine[cases]'") from None

from .graphs import damaged, graphs, single
from .operators import cases

__all__ = ["cases", "damaged", "graphs", "single"]
