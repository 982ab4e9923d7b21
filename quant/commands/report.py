"""The verb `report` of the command `tosa-engine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.commands.common import add_memory, add_npu, add_options, at_least, format_options, open_source
from tosa_engine.errors import UsageError
from tosa_engine.formats import model_help, read_hints
from tosa_engine.text import say

from .calibrate import seconds
from .metric_flags import add_metric, metric_of
from .tools import check_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tosa_engine.graph import Graph
    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

    from ..metrics import Metric, Targets
    from ..report import Files, Measurement

SUFFIXES: Final = (".html", ".json", ".csv")
SECONDS: Final = 30.0


class _Report:
    """`report FLOAT INTEGER --data FILE|DIR -o report.html [-o report.json] [-o report.csv]`."""

    name = "report"
    help = "measure an integer model against its float model, layer by layer: HTML, JSON, CSV"
    example = "report net.onnx net.tosa --data test.npz -o report.html"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from tosa_engine.commands.samples import add_data

        parser.add_argument("model", metavar="FLOAT", help=f"the float model: {model_help()}")
        parser.add_argument("integer", metavar="INTEGER", help="the integer model that quantize made from it")
        parser.add_argument("--beside", metavar="INTEGER", help="another integer model of it, to show side by side")
        add_data(parser)
        add_metric(parser)
        parser.add_argument("--quant", metavar="FILE", help="scales, where the integer model's file has lost them")
        add_memory(parser)
        parser.add_argument("--threads", type=at_least(1), metavar="N", help="workers; default: one per processor")
        more = parser.add_argument_group("what else is measured")
        more.add_argument(
            "--suggest", type=seconds, metavar="SECONDS", default=SECONDS,
            help=f"time for changes that are tried and measured; 0: none; default: {SECONDS:g}",
        )  # fmt: skip
        more.add_argument(
            "--profile",
            action="store_true",
            help="where the integer model's time goes, as `tosa-engine profile` shows",
        )
        add_npu(parser)
        parser.add_argument(
            "-o", "--output", action="append", required=True, metavar="FILE", help="a .html, .json or .csv; repeatable"
        )
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine.files import write_atomically

        from ..report import page, to_csv, to_json

        for output in args.output:
            check_output(output, SUFFIXES)
        if bool(args.data) == bool(args.random):
            raise UsageError("a report needs one of --data and --random")
        found, files = _reported(args)
        for output in args.output:
            suffix = Path(output).suffix
            content = page(found, files) if suffix == ".html" else ""
            content = content or (to_csv(found) if suffix == ".csv" else to_json(found, files))
            write_atomically(output, content.encode("utf-8", "replace"))
        _say(found, files, args.output)
        return 0


def _reported(args: argparse.Namespace) -> tuple[Measurement, Files]:
    """One or two models measured, changes tried, and what command lines begin with."""
    from tosa_engine.commands.inspect_target import on_target
    from tosa_engine.commands.samples import samples_of
    from tosa_engine.npu import npu

    from ..report import Files
    from .suggest import command_words, suggestions
    from .tools import float_graph, needs_floats

    processor = None if args.target is None else npu(args.target)
    graph = float_graph(args)
    needs_floats(graph, args.model)
    samples = samples_of(args, graph)
    metric, targets = metric_of(args, samples)
    found = _measured(args, args.integer, graph, samples, metric, targets, args.suggest / 4)
    if args.beside is not None:
        found.beside = _measured(args, args.beside, graph, samples, metric, targets)
    files = Files(args.model, args.integer, command_words(found, args.model))
    found.suggestions = suggestions(args, graph, samples, found, metric, targets)
    if args.profile:
        found.time = _profiled(open_source(args, args.integer).graph())
    if processor is not None:
        found.target = on_target(open_source(args, args.integer).graph(), processor)
    found.settings["data of this report"] = samples.describe()
    return found, files


def _measured(
    args: argparse.Namespace,
    place: str,
    graph: Graph,
    samples: Samples,
    metric: Metric | None,
    targets: Targets | None,
    seconds: float = 0.0,
) -> Measurement:
    """`seconds`: time for what single layers do to the outputs."""
    from tosa_engine.compare.sides import read_model
    from tosa_engine.qparams import sidecar

    from ..improve.trial import rescaled
    from ..report import measure, measure_effects
    from .quantize_flags import FirstSamples
    from .record import scales_of

    quant = read_hints(args.quant, **format_options(args)) if args.quant is not None else {}
    record = sidecar.record(place)
    integer = read_model(open_source(args, place), quant)
    if scales := scales_of(record.settings):  # of both, so that their tensors are the same again
        graph = rescaled(graph, scales)
    given = _counted(samples, args.samples)
    found = measure(graph, integer, given, threads=args.threads, metric=metric, targets=targets)
    measure_effects(graph, integer, found.layers, FirstSamples(samples, samples.total), seconds)
    data = args.data or f"random numbers, seed {args.seed}"
    found.files = {"float model": args.model, "integer model": place, "data": data}
    found.notes, found.margins, found.settings = record.notes, record.margins, record.settings
    found.scales = scales
    if targets is not None:
        found.files["targets"] = targets.source
    if args.data is not None and args.data == record.settings.get("data"):
        found.notes.append(f"the samples of this report are those that calibrated the model: {args.data}")
    return found


def _profiled(graph: Graph) -> dict[str, Any]:
    from tosa_engine import Session
    from tosa_engine.profiling import Machine, figures

    return figures(Session(graph, 1).profile(), Machine())


def _counted(samples: Samples, most: int | None) -> Iterator[dict[str, Array]]:
    """The samples, one in memory at a time, with a bar on a terminal."""
    from tqdm import tqdm

    total = samples.total if most is None else min(samples.total, most)
    for _, sample in tqdm(samples.read(range(total)), total=total, desc="report", unit="sample", disable=None):
        yield sample


def _say(found: Measurement, files: Files, outputs: list[str]) -> None:
    from ..report.advice import advise, decibels

    for made in (found, *([found.beside] if found.beside is not None else [])):
        for layer in made.outputs:
            sqnr = decibels(layer.cumulative.sqnr)
            say(f"{made.files['integer model']}: output '{layer.name}': SQNR {sqnr} dB, {made.samples} samples")
        if made.reading is not None:
            say(f"{made.files['integer model']}: {made.reading}, {made.real} in float")
    for advice in advise(found, files):
        if advice.trial is not None:
            before, after = decibels(advice.trial.before.sqnr), decibels(advice.trial.after.sqnr)
            say(f"  {advice.trial.gain:+6.1f} dB ({before} -> {after}): {advice.title}")
    say(f"written: {', '.join(outputs)}")


report = _Report()
