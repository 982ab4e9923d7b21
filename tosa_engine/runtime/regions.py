"""The regions that control flow runs: each a plan with memory of its own, walked by the thread that needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..state import Variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..plan.steps import Plan, Step
    from ..types import Array
    from .workspace import Workspace

    Failed = Callable[[Workspace, Step], None]
    After = Callable[[Workspace, Step], None]
    Look = Callable[[str, Workspace, Step | None], None]


class Regions:
    """What the operators of one run find around them: its variables, and the regions of its graph.

    `failed` has to raise what a step that saw a REQUIRE fail stands for; `after` is called behind every step that wrote
    a kept tensor, and so is `look`, with the region's name, and once at the region's start.
    """

    def __init__(self, plan: Plan) -> None:
        self.plans = plan.regions
        self.variables = Variables()
        self.failed: Failed | None = None
        self.after: After | None = None
        self.look: Look | None = None
        self._workspaces: dict[str, Workspace] = {}

    def run(self, region: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a region. They stay as they are until the region runs again: no region runs itself."""
        from .team import walk
        from .workspace import Workspace

        if region not in self._workspaces:
            self._workspaces[region] = Workspace(self.plans[region], 1, self)
        workspace, block = self._workspaces[region], self.plans[region].block
        for name, array in zip(block.inputs, inputs, strict=True):
            np.copyto(workspace.view(name), array)
        self.variables.begin_region()
        if self.look is not None:
            self.look(region, workspace, None)
        step = walk(workspace.program, lambda done: self._behind(region, workspace, done))
        if step is not None and self.failed is not None:
            self.failed(workspace, step)
        assert step is None, "what a failed step stands for is raised"
        return [workspace.view(name) for name in block.outputs]

    def _behind(self, region: str, workspace: Workspace, step: Step) -> None:
        if self.after is not None:
            self.after(workspace, step)
        if self.look is not None:
            self.look(region, workspace, step)
