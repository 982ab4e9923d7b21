"""The verb `report` of the command `tosa-engine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosa_engine.commands.common import add_options, at_least, format_options, open_source
from tosa_engine.errors import UsageError
from tosa_engine.formats import model_help, read_hints

from .tools import check_output

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

    from ..report import Measurement

SUFFIXES: Final = (".html", ".json", ".csv")


class _Report:
    """`report FLOAT INTEGER --data FILE|DIR -o report.html [-o report.json] [-o report.csv]`."""

    name = "report"
    help = "measure an integer model against its float model, layer by layer: HTML, JSON, CSV"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        from tosa_engine.commands.samples import add_data

        parser.add_argument("model", metavar="FLOAT", help=f"the float model: {model_help()}")
        parser.add_argument("integer", metavar="INTEGER", help="the integer model that quantize made from it")
        add_data(parser)
        parser.add_argument("--quant", metavar="FILE", help="scales, where the file beside the integer model is lost")
        parser.add_argument("--threads", type=at_least(1), metavar="N", help="default: one per processor")
        parser.add_argument(
            "-o", "--output", action="append", required=True, metavar="FILE", help="a .html, .json or .csv; repeatable"
        )
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        from ..report import Files, page, to_csv, to_json

        for output in args.output:
            check_output(output, SUFFIXES)
        if bool(args.data) == bool(args.random):
            raise UsageError("a report needs one of --data and --random")
        found = _measured(args)
        files = Files(args.model, args.integer, args.data or "DATA")
        from tosa_engine.files import write_atomically

        for output in args.output:
            suffix = Path(output).suffix
            content = page(found, files) if suffix == ".html" else ""
            content = content or (to_csv(found) if suffix == ".csv" else to_json(found, files))
            write_atomically(output, content.encode("utf-8", "replace"))
        _say(found, args.output)
        return 0


def _measured(args: argparse.Namespace) -> Measurement:
    from tosa_engine.commands.samples import samples_of
    from tosa_engine.compare.sides import read_model
    from tosa_engine.qparams import sidecar

    from ..improve.equalize import equalize
    from ..report import measure
    from .tools import float_graph, needs_floats

    quant = read_hints(args.quant, **format_options(args)) if args.quant is not None else {}
    record, graph = sidecar.record(args.integer), float_graph(args)
    needs_floats(graph, args.model)
    integer = read_model(open_source(args, args.integer), quant)
    samples = samples_of(args, graph)
    if record.settings.get("equalize"):  # of both, so that their tensors are the same again
        graph, _ = equalize(graph)
    found = measure(graph, integer, _counted(samples, args.samples), threads=args.threads)
    data = args.data or f"random numbers, seed {args.seed}"
    found.files = {"float model": args.model, "integer model": args.integer, "data": data}
    found.notes, found.margins, found.settings = record.notes, record.margins, record.settings
    found.settings["samples of this report"] = samples.describe()
    if record.settings.get("smooth") is not None:
        found.notes.append("--smooth scaled channels between layers: what stands there says nothing, later layers do")
    return found


def _counted(samples: Samples, most: int | None) -> Iterator[dict[str, Array]]:
    """The samples, one in memory at a time, with a bar on a terminal."""
    from tqdm import tqdm

    total = samples.total if most is None else min(samples.total, most)
    for _, sample in tqdm(samples.read(range(total)), total=total, desc="report", unit="sample", disable=None):
        yield sample


def _say(found: Measurement, outputs: list[str]) -> None:
    from ..report.advice import decibels, worst

    for layer in found.outputs:
        print(f"output '{layer.name}': SQNR {decibels(layer.cumulative.sqnr)} dB, {found.samples} samples")
    for layer in worst(found):
        own, all_ = decibels(layer.local.sqnr), decibels(layer.cumulative.sqnr)
        print(f"  alone {own:>6} dB, cumulative {all_:>6} dB  {layer.name}")
    print(f"written: {', '.join(outputs)}")


report = _Report()
