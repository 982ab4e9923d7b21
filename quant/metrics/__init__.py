"""What a network is good for, in one number: accuracy, top-k, R², RMSE, PSNR, or a function of the user's.

`parse` makes a `Metric` of its name, `find_targets` and `read_targets` the right answers, and a `Judge` runs networks
on samples and compares them with the float network: noise of the outputs, and the metric.
"""

from __future__ import annotations

from .judge import Judge, Score
from .metric import BUILT_IN, Metric, Reading, parse
from .targets import Targets, find_targets, read_targets

__all__ = ["BUILT_IN", "Judge", "Metric", "Reading", "Score", "Targets", "find_targets", "parse", "read_targets"]
