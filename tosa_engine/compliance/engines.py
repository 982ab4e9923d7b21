"""The implementations that tests can be run on: the kernels, and the oracle that judges them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..graph import Graph
    from ..target import Target
    from ..types import Array

    Engine = Callable[[Graph, Mapping[str, Array], Target], dict[str, Array]]


def run_kernels(graph: Graph, feeds: Mapping[str, Array], target: Target) -> dict[str, Array]:
    """The outputs by name, from a Session with one thread."""
    from ..runtime.session import Session

    session = Session(graph, threads=1, target=target, compiled=True)
    names = [t.name for t in session.outputs]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def run_oracle(graph: Graph, feeds: Mapping[str, Array], target: Target) -> dict[str, Array]:
    """The outputs by name, from the oracle; minutes for large tensors."""
    from .. import check, oracle

    check.validate(graph, target)
    return oracle.run(graph, feeds, level=target.level)


ENGINES: Final[Mapping[str, Engine]] = {"kernels": run_kernels, "oracle": run_oracle}
