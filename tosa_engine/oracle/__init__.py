"""The oracle: what every operator computes, slowly and plainly, written from the specification's text alone.

Kernels are compared with it; it shares no arithmetic with them.
"""

from __future__ import annotations

from .execute import ORACLES, context, run, run_operator
from .overflow import Overflow, assumed, assuming

__all__ = ["ORACLES", "Overflow", "assumed", "assuming", "context", "run", "run_operator"]
