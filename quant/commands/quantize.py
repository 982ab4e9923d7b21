"""The verb `quantize` of the command `tosa-engine`; `calibrate` has a module of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_engine.commands.common import add_memory, add_model, add_npu, add_options, npu_of, open_source
from tosa_engine.commands.samples import add_data
from tosa_engine.commands.told import warn
from tosa_engine.formats import graph_suffixes, hint_file, write_graph
from tosa_engine.text import say

from .accept import accepted, add_accept, limits_of
from .calibrate import add_scheme, scheme_of
from .quantize_flags import RECORD, add_layers, add_methods, check, rules_of, target_rules, with_samples
from .resume import add_resume, finished
from .tools import check_output, float_graph, given_hints, needs_floats

if TYPE_CHECKING:
    import argparse

    from tosa_engine.graph import Graph
    from tosa_engine.journal import Journal
    from tosa_engine.npu import Npu

    from ..calibration.records import Statistics


class _Quantize:
    """`quantize MODEL [--quant graph.quant | --statistics FILE | --data FILE|DIR ...] -o model.tosa`."""

    name = "quantize"
    help = f"turn a float model and its {hint_file().name} into an integer TOSA graph"
    example = (
        "quantize net.onnx --data train.npz --samples 200 -o net.tosa\nquantize model/ --quant graph.quant -o net.tosa"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument(
            "--quant",
            metavar="FILE",
            help=f"quantization of the tensors; default: the {hint_file().name} inside the model",
        )
        parser.add_argument(
            "--statistics",
            metavar="FILE",
            help="what calibrate --statistics kept, instead: it has the tensors inside, too",
        )
        add_data(parser)
        add_scheme(parser)
        add_layers(parser)
        add_methods(parser)
        add_resume(parser, "finished layers of these methods")
        add_accept(parser)
        add_npu(parser)
        add_memory(parser)
        add_options(parser, self.name)
        written = f"a {' or '.join(graph_suffixes())} file"
        parser.add_argument("-o", "--output", required=True, metavar="FILE", help=written)

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine.graph import Record
        from tosa_engine.qparams import sidecar

        from ..calibration.lints import of_statistics
        from ..legalize.quantize import Report, quantize

        check_output(args.output, graph_suffixes())
        check(args)
        npu = npu_of(args)
        limits, report, record, settings = limits_of(args), Report(), "", _settings(args)
        journal: Journal | None = None
        if args.data or args.random:
            graph, result, record, journal = with_samples(args)
            integer, report = result.graph, result.report
            settings |= {"scales": result.scales} if result.scales else {}
        else:
            graph, floats, statistics = _with_ranges(args)
            integer = quantize(graph, report, floats)
            if statistics is not None:
                report.lints += of_statistics(graph, statistics.tensors, floats | report.inside)
        notes = [*report.notes, *map(str, report.lints)]
        warn(notes)
        if npu is not None:
            _check_target(integer, npu, args.output)
        if not accepted(args, limits, graph, integer):
            say(f"{args.output} is not written")
            return 1
        integer.record = Record(notes, report.margins, settings)
        write_graph(integer, args.output)
        if record:
            Path(args.output).with_suffix(RECORD).write_text(record, encoding="utf-8", newline="\n")
        beside = "inside" if args.output.endswith(".tosa") else sidecar.path_for(args.output)
        say(f"{args.output}: {len(integer.main.operators)} operators; scales of inputs and outputs: {beside}")
        if report.margins:
            layer = min(report.margins, key=lambda name: report.margins[name])
            kind = "int48" if layer in report.wide_accumulators else "int32"
            say(f"fullest accumulator: '{layer}', {report.margins[layer]:.1f} bits of {kind} to spare")
        if journal is not None:
            finished(args, journal)
        return 0


def _check_target(integer: Graph, npu: Npu, output: str) -> None:
    """Raise all that keeps the network from the processor."""
    from tosa_engine.errors import Problems

    from ..legalize.processors import lacking

    if problems := lacking(integer, npu):
        count = f"{len(problems)} {'problem' if len(problems) == 1 else 'problems'}"
        raise Problems(problems, f"{output} is not written: {count} with the target {npu.name}")


def _settings(args: argparse.Namespace) -> dict[str, Any]:
    """What was asked for or is the default, as plain data, for the record; without what `--quant` makes irrelevant."""
    from importlib.metadata import version

    given = {
        k: v for k, v in vars(args).items() if isinstance(v, (str, int, float, list, tuple)) and v not in ([], False)
    }
    known = args.statistics or args.data or args.random
    scheme = ("method", "percentile", "bits", "weights", "weight_bits", "rounding", "rounding_seed", "seed")
    unused = {"output", "verb", "debug", "resume", "journal", *(() if known else scheme)}
    return {"tosa-engine": version("tosa-engine")} | {k: v for k, v in given.items() if k not in unused}


def _with_ranges(args: argparse.Namespace) -> tuple[Graph, frozenset[str], Statistics | None]:
    """The model with QParams from statistics or from hints, the tensors that stay fp32, the statistics."""
    from ..calibration import records
    from ..calibration.calibrate import attach, resolved
    from ..legalize.layers import described, stay_float
    from ..legalize.quantize import prepared
    from ..legalize.wider import told

    if args.statistics is None:
        source = open_source(args)
        hinted = source.graph(given_hints(args, source), for_integers=True)
        warn(hinted.warnings)
        return hinted, frozenset(), None
    graph, scheme = float_graph(args), scheme_of(args)
    needs_floats(graph, args.model)
    ready = prepared(graph)
    rules = [*target_rules(args, graph), *rules_of(args)]
    precisions = resolved(ready, scheme, rules, args.weight_bits)
    say(f"precision: {described(precisions)}")
    if scheme.method.bits == 8:
        for text in told(ready, precisions):
            say(text)
    statistics = records.read(args.statistics)
    floats = stay_float(ready.main, precisions)
    return attach(graph, statistics, scheme, rules, args.weight_bits), floats, statistics


quantize = _Quantize()
