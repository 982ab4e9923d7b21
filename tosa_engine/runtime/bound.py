"""A step of a plan bound to the memory of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .deadline import AT_ONCE

if TYPE_CHECKING:
    from ..kernels.work import Run
    from ..plan.steps import Step
    from ..types import Array


@dataclass(frozen=True)
class Bound:
    """A step bound to memory: what runs, in how many units, on which scratch of each worker; `cost` as in `Work`."""

    step: Step
    run: Run | None
    units: int
    shared: bool
    scratch: tuple[tuple[Array, ...], ...]
    cost: float = 0.0

    @property
    def is_long(self) -> bool:
        """Whether it is run in pieces, between which Python sees signals and the clock."""
        return self.cost > AT_ONCE
