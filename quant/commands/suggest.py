"""What `report` tries: the model made again from its record, with one change at a time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tosa_engine.commands.samples import samples_of
from tosa_engine.errors import DataError, Problems, TosaEngineError, UsageError

from ..legalize.refusals import is_refusal
from .quantize_flags import options_of, target_rules
from .record import parsed, words_of

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from tosa_engine.graph import Graph
    from tosa_engine.samples.arrays import Samples

    from ..calibration.records import Statistics
    from ..metrics import Metric, Targets
    from ..report import Measurement
    from ..report.trials import Suggestions
    from .quantize_flags import FirstSamples

PLACEHOLDER_FLAGS = ("--data", "CALIBRATION_DATA")


def command_words(found: Measurement, model: str) -> tuple[str, ...]:
    """The words that make the model again; without statistics or data in the record, a place for them."""
    words = words_of(found.settings, model)
    if {"--statistics", "--data", "--random"} & set(words):
        return words
    kept = list(words)
    if "--quant" in kept:  # its ranges are of one precision only
        at = kept.index("--quant")
        del kept[at : at + 2]
    return (*kept, *PLACEHOLDER_FLAGS)


def suggestions(
    args: argparse.Namespace,
    graph: Graph,
    samples: Samples,
    found: Measurement,
    metric: Metric | None,
    targets: Targets | None,
) -> Suggestions | None:
    """Changes tried in the time of `--suggest`; None where there is no time, or the model can't be made again."""
    from tqdm import tqdm

    from ..metrics import Judge
    from ..report.trials import LEAST_JUDGES, MOST_JUDGES, Workshop, try_changes

    if not args.suggest:
        return None
    count = min(samples.total, args.samples or samples.total)
    notes: list[str] = []
    quick = int(args.suggest * found.samples / (100 * found.seconds))  # as many as take a hundredth of the time
    few = Judge(graph, samples, min(count, max(LEAST_JUDGES, min(quick, MOST_JUDGES))))
    judge = None if metric is None else Judge(graph, samples, count, metric, targets)
    try:
        made = parsed(command_words(found, args.model))
        options = options_of(made, target_rules(made, graph))
        calibration, statistics = _calibration(made, graph, samples, found.settings, notes)
        workshop = Workshop(graph, calibration, few, args.suggest, statistics)
        if options.equalize or options.smooth is not None:
            workshop.prepare(options, found.scales)
        workshop.make(options)
    except (TosaEngineError, OSError) as problem:
        if isinstance(problem, TosaEngineError) and not _is_of_record(problem):
            raise
        found.notes.append(f"no change could be tried: {problem}")
        return None
    with tqdm(desc="changes", unit="network", disable=None) as bar:
        result = try_changes(workshop, options, found.layers, args.suggest, bar.update, judge)
    if workshop.calibrated is not None and workshop.calibrated < len(calibration):
        notes.append(f"ranges are of {workshop.calibrated} of the {len(calibration)} calibration samples")
    result.notes += notes
    long = [
        flag
        for flag, on in (("--rounding", options.rounding != "nearest"), ("--bias-correction", options.bias_correction))
        if on
    ]
    if long:
        result.notes.append(f"networks are made without {' and '.join(long)} here; the commands keep them")
    return result


def _is_of_record(problem: TosaEngineError) -> bool:
    """Whether a record, or what it names, doesn't make the model again: it is damaged, or of another network."""
    if isinstance(problem, Problems):
        return all(map(_is_of_record, problem.problems))
    return isinstance(problem, (DataError, UsageError)) or is_refusal(problem)


def _calibration(
    made: argparse.Namespace, graph: Graph, samples: Samples, settings: dict[str, Any], notes: list[str]
) -> tuple[FirstSamples, Statistics | None]:
    """The samples and the statistics that the model was calibrated with, as far as they are there."""
    from tosa_engine.samples.loader import is_loader

    from ..calibration import records
    from ..calibration.observe import digest
    from .quantize_flags import FirstSamples

    if made.random or (made.data and Path(made.data).exists()):
        own = samples_of(made, graph)
        count = min(own.total, made.samples or own.total)
        return FirstSamples(own, count), None
    if made.statistics and Path(made.statistics).exists():
        found = records.read(made.statistics)
        if found.model == digest(graph):
            return FirstSamples(samples, 0), found
    place = settings.get("statistics") or settings.get("data")
    reason = f"'{place}' isn't there" if place else "the record names none"
    if is_loader(str(place)):
        reason = f"'{place}' is a function, and a record has none called"
    notes.append(f"ranges are of the samples of this report, for want of calibration data: {reason}")
    return FirstSamples(samples, min(samples.total, made.samples or samples.total)), None
