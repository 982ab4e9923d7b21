"""The flags that say by which metric networks are judged, and what the right answers are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from tosa_engine.samples.arrays import Samples

    from ..metrics import Metric, Targets


def add_metric(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("metric")
    group.add_argument(
        "--metric", metavar="NAME",
        help="accuracy, top5 (any number), r2, rmse, psnr, or module:function, called with all targets and all outputs "
        "(module:function:lower where less is better); default with labels: accuracy",
    )  # fmt: skip
    add_targets(group)


def add_targets(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--targets", "--labels", dest="targets", metavar="FILE",
        help="the right answers, one per sample: an .npy or FILE.npz:NAME; default: y, targets or labels next to the "
        "samples, or the class folders of pictures",
    )  # fmt: skip


def metric_of(args: argparse.Namespace, samples: Samples) -> tuple[Metric | None, Targets | None]:
    """What the flags of `add_metric` say: both or neither."""
    from ..metrics import parse

    if args.metric is None and args.targets is None:
        return None, None
    metric = None if args.metric is None else parse(args.metric)
    targets = targets_of(args, samples)
    if metric is None and not targets.are_labels:
        raise UsageError(f"{args.targets} has no labels (one integer per sample): say which --metric")
    return metric or parse("accuracy"), targets


def targets_of(args: argparse.Namespace, samples: Samples) -> Targets:
    from ..metrics import find_targets, read_targets

    return find_targets(samples) if args.targets is None else read_targets(args.targets)
