"""The verb `evaluate` of the command `tosa-engine`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tosa_engine.cluster import add_workers
from tosa_engine.commands.common import add_memory, add_model, add_options, at_least, load_model
from tosa_engine.errors import UsageError
from tosa_engine.text import say

from .metric_flags import add_metric
from .resume import add_resume, bar, finished, journal_path, kept

if TYPE_CHECKING:
    import argparse

    from tosa_engine.samples.arrays import Samples

    from ..evaluation import Evaluation
    from ..metrics import Metric, Targets


class _Evaluate:
    """`evaluate MODEL --data FILE|DIR [--labels FILE] [-o result.json] [--resume]`."""

    name = "evaluate"
    help = "run a model on a whole data set: accuracy or another metric, and a hash of all outputs"
    example = "evaluate net.tosa --data test.npz --metric top5 -o result.json"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from tosa_engine.commands.samples import add_data

        add_model(parser)
        add_data(parser)
        add_metric(parser)
        parser.add_argument("-o", "--output", metavar="FILE.json", help="write the result here")
        parser.add_argument("--threads", type=at_least(1), metavar="N", help="workers; default: one per processor")
        add_memory(parser)
        add_resume(parser, "outputs of samples")
        work = parser.add_argument_group("who runs the samples")
        add_workers(work, "samples")
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine.commands.samples import check_data, samples_of
        from tosa_engine.files import write_atomically
        from tosa_engine.journal import Journal

        from ..evaluation import Evaluator

        _check(args)
        check_data(args)
        graph = load_model(args)
        samples = samples_of(args, graph, integers=True)
        metric, targets = _metric(args, samples)
        numbers = range(min(samples.total, args.samples or samples.total))
        evaluator = Evaluator(graph, samples, numbers, metric, targets, args.threads)
        belongs = {"work": "evaluate", "model": _digest(args.model), "data": samples.describe()}
        journal = Journal(journal_path(args), belongs, resume=args.resume)
        with kept(journal), bar("evaluate", len(numbers), "sample") as progress:
            progress.update(len(numbers) - len(evaluator.missing(journal)))
            steps = evaluator.run_on_workers(journal, args.workers) if args.workers else None
            for done in steps or evaluator.run_here(journal):
                progress.update(done)
        found = evaluator.result(journal)
        if args.output is not None:
            write_atomically(args.output, (json.dumps(_data(found), indent=2) + "\n").encode())
        finished(args, journal)
        _say(found)
        return 0


def _check(args: argparse.Namespace) -> None:
    if bool(args.data) == bool(args.random):
        raise UsageError("evaluate needs one of --data and --random")


def _metric(args: argparse.Namespace, samples: Samples) -> tuple[Metric | None, Targets | None]:
    """What the flags say; without them accuracy, where labels are beside the samples."""
    from tosa_engine.errors import TosaEngineError

    from ..metrics import find_targets, parse
    from .metric_flags import metric_of

    if args.metric is not None or args.targets is not None:
        return metric_of(args, samples)
    try:
        targets = find_targets(samples)
    except TosaEngineError:
        return None, None
    return (parse("accuracy"), targets) if targets.are_labels else (None, None)


def _digest(model: str) -> str:
    """Of a model's bytes: a file's, or of all files of a folder."""
    import hashlib
    from pathlib import Path

    from tosa_engine.samples.arrays import sha256

    place = Path(model)
    if not place.is_dir():
        return sha256(place)
    parts = [f"{file.relative_to(place)} {sha256(file)}" for file in sorted(place.rglob("*")) if file.is_file()]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _data(found: Evaluation) -> dict[str, object]:
    metric = None if found.reading is None else {"name": found.reading.name, "value": found.reading.value}
    return {"samples": found.samples, "metric": metric, "sha256": found.sha256, "integer_outputs": found.integers}


def _say(found: Evaluation) -> None:
    if found.reading is not None:
        say(str(found.reading))
    else:
        say("no metric: give --metric and --labels")
    say(f"{found.samples} samples", f"sha256 of the outputs: {found.sha256}")
    if not found.integers:
        say("floating-point outputs may have other bytes, and another hash, on another machine")


command = _Evaluate()
