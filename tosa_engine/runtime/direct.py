"""Runs that nobody looks at, in memory whose steps are one walk: inputs in, the walk, outputs out.

What such a run costs besides its steps counts for small networks, so that nothing is looked up or called twice: arrays
are tested as they are copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .verdict import violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..feeds import Form
    from ..types import Array
    from .workspace import Workspace


class Direct:
    """Runs in one workspace, whose program is one span that one worker walks. `inputs` are the forms of all inputs."""

    __slots__ = ("_arguments", "_copies", "_count", "_inputs", "_walk", "_workspace")

    def __init__(self, workspace: Workspace, inputs: Sequence[Form], outputs: Sequence[str]) -> None:
        program = workspace.program
        assert program.walk is not None
        self._walk, self._arguments = program.walk, program.alone
        self._inputs = [(*form, workspace.view(form[0])) for form in inputs]
        self._count = len(inputs)
        self._copies = [workspace.view(name).copy for name in outputs]
        self._workspace = workspace

    @staticmethod
    def suits(workspace: Workspace) -> bool:
        whole = workspace.plan.parts == 1 and not workspace.plan.parts_in_parallel
        return whole and workspace.program.is_span and not workspace.program.shared

    def run(self, feeds: object) -> list[Array] | None:
        """The outputs as new arrays; None where the feeds may not be what the inputs need."""
        if type(feeds) is not dict or len(feeds) != self._count:
            return None
        for name, dtype, shape, view in self._inputs:
            array = feeds.get(name)
            if (
                type(array) is not np.ndarray
                or array.shape != shape
                or (array.dtype is not dtype and array.dtype != dtype)
            ):
                return None
            view[...] = array
        row = self._walk(*self._arguments)
        if row >= 0:
            violation(self._workspace, self._workspace.program.origin[row].step)
        return [copy() for copy in self._copies]
