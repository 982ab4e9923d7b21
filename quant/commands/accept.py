"""`quantize --accept`: an integer network that a metric finds too bad isn't written."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tosa_engine.commands.samples import samples_of
from tosa_engine.errors import UsageError
from tosa_engine.text import say

from .metric_flags import add_targets, targets_of

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

    from ..metrics import Metric


@dataclass(frozen=True)
class Limit:
    """`loss`: by how much the metric may be worse than in float, in its unit."""

    metric: Metric
    loss: float


def add_accept(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("acceptance")
    group.add_argument(
        "--accept", action="append", default=[], metavar="METRIC=LOSS",
        help="write nothing, with exit code 1, where accuracy, top5, r2, rmse, psnr or module:function is worse than "
        "in float by more than LOSS in its unit: accuracy=1 allows one point of per cent",
    )  # fmt: skip
    group.add_argument("--accept-data", metavar="FILE|DIR", help="samples to judge by; default: those of --data")
    add_targets(group)


def limits_of(args: argparse.Namespace) -> list[Limit]:
    """What the flags of `add_accept` say. Raises UsageError."""
    from ..metrics import parse

    if not args.accept:
        lost = {"--accept-data": args.accept_data, "--targets": args.targets}
        if used := [flag for flag, value in lost.items() if value]:
            raise UsageError(f"{' and '.join(used)}: for --accept METRIC=LOSS, which isn't given")
        return []
    if not (args.data or args.accept_data):
        raise UsageError("--accept needs samples to judge by: give --accept-data")
    found = []
    for text in args.accept:
        name, equals, number = text.rpartition("=")
        try:
            loss = float(number)
        except ValueError:
            loss = math.nan
        if not equals or not 0 <= loss < math.inf:
            raise UsageError(f"--accept '{text}': wanted METRIC=LOSS with a loss of 0 or more, such as accuracy=1")
        found.append(Limit(parse(name), loss))
    return found


def accepted(args: argparse.Namespace, limits: list[Limit], real: Graph, integer: Graph) -> bool:
    """Whether the integer network keeps all limits; what was measured is printed."""
    from ..metrics import Judge

    if not limits:
        return True
    of_data = args.accept_data is None
    place = argparse.Namespace(**vars(args) | ({} if of_data else {"data": args.accept_data, "random": None}))
    samples = samples_of(place, real)
    targets, kept = targets_of(args, samples), True
    for limit in limits:
        judge = Judge(real, samples, args.samples if of_data else None, limit.metric, targets)
        before, after = judge.real, judge.score(integer).reading
        assert before is not None
        assert after is not None
        loss = limit.metric.loss(before.value, after.value)
        good = loss <= limit.loss + 1e-9 * max(abs(before.value), 1.0)  # shares of whole samples aren't exact
        say(
            f"{'accepted' if good else 'refused'}: {after} on {judge.count} samples, {before} in float; "
            f"a loss of {limit.loss:g} is allowed"
        )
        kept = kept and good
    return kept
