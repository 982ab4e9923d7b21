"""The oracle: what every operator computes, slowly and plainly, written from the specification's text alone.

Kernels are compared with it; it shares no arithmetic with them.
"""

from __future__ import annotations

from .execute import ORACLES, context, run, run_operator

__all__ = ["ORACLES", "context", "run", "run_operator"]
