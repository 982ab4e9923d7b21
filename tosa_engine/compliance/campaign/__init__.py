"""A run of many tests on an implementation: workers, budget, resuming, shrinking, results."""

from __future__ import annotations

from .campaign import Campaign, run
from .record import Failure, Record, Results
from .settings import Budget, Settings

__all__ = ["Budget", "Campaign", "Failure", "Record", "Results", "Settings", "run"]
