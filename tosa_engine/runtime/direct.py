"""Runs that nobody looks at, in memory whose steps are one walk: inputs in, the walk, outputs out.

What such a run costs besides its steps counts for small networks, so that nothing is looked up twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .verdict import violation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..types import Array
    from .workspace import Workspace


class Direct:
    """Runs in one workspace, whose program is one span that one worker walks."""

    __slots__ = ("_arguments", "_inputs", "_outputs", "_walk", "_workspace")

    def __init__(self, workspace: Workspace, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        program = workspace.program
        assert program.walk is not None
        self._walk, self._arguments = program.walk, (program.address, 0, len(program.origin), 1, 0, 0)
        self._inputs = [(name, workspace.view(name)) for name in inputs]
        self._outputs = [workspace.view(name) for name in outputs]
        self._workspace = workspace

    @staticmethod
    def suits(workspace: Workspace) -> bool:
        whole = workspace.plan.parts == 1 and not workspace.plan.parts_in_parallel
        return whole and workspace.program.is_span and not workspace.program.shared

    def run(self, feeds: Mapping[str, Array]) -> list[Array]:
        """The outputs as new arrays; the feeds are what the inputs need."""
        for name, view in self._inputs:
            view[...] = feeds[name]
        row = self._walk(*self._arguments)
        if row >= 0:
            violation(self._workspace, self._workspace.program.origin[row].step)
        return [view.copy() for view in self._outputs]
