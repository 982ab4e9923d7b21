"""The blocks of a graph in one run: the main one, and the regions that control flow runs, each in memory of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..state import Variables
from .direct import Direct
from .held import HeldVariables
from .team import walk
from .workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..feeds import Form
    from ..plan.steps import Plan, Step
    from ..types import Array

    Failed = Callable[[Workspace, Step], None]
    After = Callable[[Workspace, Step], None]
    Look = Callable[[str, Workspace, Step | None], None]


class Blocks:
    """What one run at a time needs: the workspace of the `main` block, and what its operators find around them, which
    are its variables and the regions of its graph. These are walked by the thread that needs them.

    `direct` is how the whole runs where that is one walk, once `directly` has found that out.

    `failed` has to raise what a region's step that saw a REQUIRE fail stands for; `after` is called behind every step
    of a region that wrote a kept tensor, and so is `look`, with the region's name, and once at the region's start.
    """

    def __init__(self, plan: Plan, workers: int) -> None:
        self.plans = plan.regions
        self.variables = Variables()
        self.failed: Failed | None = None
        self.after: After | None = None
        self.look: Look | None = None
        self.main = Workspace(plan, workers, self)
        self.held = HeldVariables(plan, self.main.view)
        self.direct: Direct | None = None
        self._regions: dict[str, Workspace] = {}

    def directly(self, inputs: Sequence[Form], outputs: Sequence[str]) -> Direct | None:
        """How the graph runs with inputs of these forms where nothing is to be done but one walk."""
        if self.direct is None and Direct.suits(self.main):
            self.direct = Direct(self.main, inputs, outputs)
        return self.direct

    def workspace(self, region: str) -> Workspace:
        """The workspace of a region: no region runs itself."""
        if region not in self._regions:
            self._regions[region] = Workspace(self.plans[region], 1, self)
        return self._regions[region]

    def run(self, region: str, inputs: Sequence[Array]) -> list[Array]:
        """The outputs of a region. They stay as they are until the region runs again."""
        workspace = self.workspace(region)
        taken, given = workspace.ports
        for view, array in zip(taken, inputs, strict=True):
            view[...] = array
        self.variables.begin_region()
        if self.look is not None:
            self.look(region, workspace, None)
        step = walk(workspace.program, lambda done: self._behind(region, workspace, done))
        if step is not None and self.failed is not None:
            self.failed(workspace, step)
        assert step is None, "what a failed step stands for is raised"
        return list(given)

    def _behind(self, region: str, workspace: Workspace, step: Step) -> None:
        if self.after is not None:
            self.after(workspace, step)
        if self.look is not None:
            self.look(region, workspace, step)
