"""Random tests for any implementation: graphs of one operator or of several, with the arrays of their inputs.

`cases`, `graphs`, `single` and `damaged` are Hypothesis strategies (extra `cases`), so that what fails is made small by
Hypothesis:

    @given(cases("RESCALE"))
    def test_my_engine(case):
        graph, feeds = case
        ...  # run `graph` on the engine under test, and compare with `tosa_engine.oracle.run(graph, feeds)`

A case may violate a REQUIRE; the oracle then raises RequireViolation, and an engine may do anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .strategies import cases, damaged, graphs, single

__all__ = ["cases", "damaged", "graphs", "single"]

if not TYPE_CHECKING:  # Hypothesis is imported by those who use it

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
        from . import strategies

        return getattr(strategies, name)
