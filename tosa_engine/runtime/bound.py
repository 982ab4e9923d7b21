"""A step of a plan bound to the memory of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..kernels.work import Run
    from ..plan.steps import Step
    from ..types import Array


@dataclass(frozen=True)
class Bound:
    """A step bound to memory: what runs, in how many units, on which scratch of each worker."""

    step: Step
    run: Run | None
    units: int
    shared: bool
    scratch: tuple[tuple[Array, ...], ...]
