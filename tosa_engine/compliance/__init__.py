"""Running implementations against conformance tests: descriptions, engines, verdicts, totals.

A test is a folder with a description (`desc.json`), a graph and its inputs. Nothing here needs Arm's tools: whoever has
the folders can run them.
"""

from __future__ import annotations

from .description import Description
from .engines import ENGINES
from .report import Totals
from .runner import Outcome, compare_with, run_test

__all__ = ["ENGINES", "Description", "Outcome", "Totals", "compare_with", "run_test"]
