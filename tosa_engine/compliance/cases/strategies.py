"""The cases as Hypothesis strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import UsageError

try:
    from hypothesis import strategies as st
except ImportError:
    raise UsageError("random tests need Hypothesis; try: pip install 'tosa-engine[cases]'") from None

from .choices import by_hypothesis
from .grown import draw_damaged, draw_graph, draw_single
from .operators import draw_case

if TYPE_CHECKING:
    from ...graph import Graph
    from ...types import Array


@st.composite
def cases(draw: Any, op: str | None = None, row: str | None = None) -> tuple[Graph, dict[str, Array]]:
    """A legal graph of one operator with its feeds."""
    return draw_case(by_hypothesis(draw), op, row)


@st.composite
def graphs(draw: Any, *, floats: bool = False) -> tuple[Graph, dict[str, Array]]:
    """A legal graph of 2 to 12 operators (constants not counted) with arrays for its inputs."""
    return draw_graph(by_hypothesis(draw), floats=floats)


@st.composite
def single(draw: Any, *, floats: bool = False) -> tuple[Graph, dict[str, Array]]:
    """One operator."""
    return draw_single(by_hypothesis(draw), floats=floats)


@st.composite
def damaged(draw: Any, *, floats: bool = False) -> tuple[Graph, dict[str, Array]]:
    """One operator with one thing changed: mostly an error, sometimes another legal use."""
    return draw_damaged(by_hypothesis(draw), floats=floats)
