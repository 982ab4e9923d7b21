"""The verb `calibrate` of the command `tosa-engine`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosa_engine.cluster import add_workers
from tosa_engine.commands.common import add_memory, add_model, add_options, at_least, open_source
from tosa_engine.commands.samples import add_data, check_data, list_of_numbers, samples_of
from tosa_engine.commands.told import warn
from tosa_engine.errors import DataError, UsageError
from tosa_engine.formats import hint_file, hint_suffixes, write_hints
from tosa_engine.text import say

from .tools import check_output, needs_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.samples.arrays import Samples

    from ..calibration.calibrate import Scheme
    from ..calibration.records import Statistics

METHODS: Final = ("minmax", "average", "percentile", "mse", "entropy")
SUFFIX: Final = ".stats.json"
PERCENTILE: Final = 99.99


class _Calibrate:
    """`calibrate MODEL --data FILE|DIR [-o graph.quant]`, `... --resume`, `calibrate MODEL --merge FILE ...`."""

    name = "calibrate"
    help = f"find the ranges of a float model's tensors on real data and write {hint_file().name}"
    example = "calibrate net.onnx --data train.npz --samples 200 -o graph.quant"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_options(parser, self.name)
        usual = hint_file().name
        parser.add_argument("-o", "--output", metavar="FILE", default=usual, help=f"default: {usual}")
        add_data(parser)
        add_scheme(parser)
        add_memory(parser)
        work = parser.add_argument_group("long runs")
        work.add_argument(
            "--statistics", metavar="FILE", help=f"keep the statistics here; default with --resume: OUTPUT{SUFFIX}"
        )
        work.add_argument("--resume", action="store_true", help="count only the samples that the statistics lack")
        work.add_argument("--merge", nargs="+", metavar="FILE", help="statistics of parts of the data, instead of data")
        work.add_argument("--from", dest="first", type=at_least(0), default=0, metavar="N", help="begin with sample N")
        work.add_argument(
            "--save-every", type=seconds, default=10.0, metavar="SECONDS", help="keep the statistics; default: 10"
        )
        add_workers(work, "samples")

    def run(self, args: argparse.Namespace) -> int:
        from ..calibration.calibrate import from_statistics

        _check(args)
        check_output(args.output, hint_suffixes())
        source = open_source(args)
        graph = source.graph()
        warn(graph.warnings)
        needs_floats(graph, args.model)
        scheme = scheme_of(args)
        kept = Path(args.statistics or f"{args.output}{SUFFIX}") if args.statistics or args.resume else None
        statistics = _merged(args.merge) if args.merge else _collected(args, graph, kept)
        if kept is not None:
            statistics.write(kept)
        result = from_statistics(graph, statistics, scheme=scheme, weights=source.filters())
        warn(result.warnings)
        write_hints(result.qparams, args.output)
        say(f"{args.output}: {len(result.qparams)} tensors, {_described(scheme)}, ranges of {result.samples} samples")
        return 0


def add_scheme(parser: argparse.ArgumentParser) -> None:
    """The flags that say how ranges become QParams."""
    scheme = parser.add_argument_group("ranges")
    scheme.add_argument("--method", choices=METHODS, help="how a range is chosen; default: mse, with 16 bits minmax")
    scheme.add_argument(
        "--percentile",
        type=float,
        default=PERCENTILE,
        metavar="P",
        help="covered by --method percentile; default: 99.99",
    )
    scheme.add_argument(
        "--range", action="append", default=[], metavar="SELECTOR=...", dest="ranges",
        help="of single layers or tensors: a method, percentile:P or LOW..HIGH; the last that matches wins",
    )  # fmt: skip
    scheme.add_argument("--bits", type=int, choices=(8, 16), default=8, help="of activations; default: 8")
    scheme.add_argument("--symmetric", action="store_true", help="zero points of 0 (always with 16 bits)")
    scheme.add_argument("--power-of-two", action="store_true", help="scales that are powers of two")
    scheme.add_argument(
        "--weights",
        choices=("per-channel", "per-tensor"),
        default="per-channel",
        help="a scale for each output channel of a filter, or one for all; default: per-channel",
    )


def scheme_flags(args: argparse.Namespace) -> list[str]:
    """The flags of `add_scheme` that ask for something else than the default."""
    given = {
        "--method": args.method is not None, "--percentile": args.percentile != PERCENTILE, "--bits": args.bits != 8,
        "--symmetric": args.symmetric, "--power-of-two": args.power_of_two, "--weights": args.weights != "per-channel",
        "--range": bool(args.ranges),
    }  # fmt: skip
    return [flag for flag, on in given.items() if on]


def _check(args: argparse.Namespace) -> None:
    sources = {"--data": args.data, "--random": args.random, "--merge": args.merge}
    given = [flag for flag, value in sources.items() if value]
    if len(given) != 1:
        got = " and ".join(given) if given else "none"
        raise UsageError(f"calibration needs one of --data, --random and --merge; got {got}")
    check_data(args)
    if args.merge and args.first:
        raise UsageError("--from is for data; --merge takes whole statistics")


def scheme_of(args: argparse.Namespace) -> Scheme:
    """What the flags of `add_scheme` say."""
    from ..calibration.calibrate import Scheme
    from ..calibration.methods import Method, default_method
    from ..calibration.range_rules import parse_range

    if args.percentile != PERCENTILE and args.method != "percentile":
        raise UsageError("--percentile is for --method percentile")
    symmetric = args.symmetric or args.bits == 16
    method = Method(args.method or default_method(args.bits), args.percentile, args.bits, symmetric)
    ranges = tuple(map(parse_range, args.ranges))
    return Scheme(method, symmetric, args.power_of_two, args.weights == "per-channel", ranges)


def _described(scheme: Scheme) -> str:
    method = scheme.method
    name = f"percentile {method.percentile:g}" if method.name == "percentile" else method.name
    flags = [flag for flag, on in (("symmetric", scheme.symmetric), ("powers of two", scheme.power_of_two)) if on]
    weights = "" if scheme.weights_per_channel else ", weights per tensor"
    return f"int{method.bits} by {', '.join([name, *flags])}{weights}"


def _merged(files: Sequence[str]) -> Statistics:
    from ..calibration import records

    return records.merged([(name, records.read(name)) for name in files])


def _collected(args: argparse.Namespace, graph: Graph, kept: Path | None) -> Statistics:
    """The statistics of the data, those that an earlier run left in `kept` included."""
    from ..calibration.observe import digest
    from ..calibration.records import Statistics, read

    samples = samples_of(args, graph)
    end = min(samples.total, args.first + args.samples if args.samples else samples.total)
    if args.samples is not None and args.first + args.samples > samples.total:
        warn(
            [f"there are {samples.total} samples, fewer than --from {args.first} and --samples {args.samples} ask for"]
        )
    statistics = Statistics(digest(graph), samples.describe(), versions())
    if args.resume and kept is not None and kept.exists():
        before = read(kept)
        if (before.model, before.data) != (statistics.model, statistics.data):
            what = "model" if before.model != statistics.model else "data"
            raise DataError(f"{kept}: made from another {what}; calibrate without --resume to begin anew")
        statistics = before
    numbers = [number for number in statistics.missing(end) if number >= args.first]
    if statistics.samples:
        say(f"{kept}: {statistics.samples} samples are counted already, {len(numbers)} to go", file=sys.stderr)
    _count(args, graph, samples, statistics, numbers, kept)
    return statistics


def _count(
    args: argparse.Namespace,
    graph: Graph,
    samples: Samples,
    statistics: Statistics,
    numbers: list[int],
    kept: Path | None,
) -> None:
    """Run the samples, with a bar on a terminal; now and then the statistics are kept, of whole samples only."""
    from tqdm import tqdm

    from ..calibration.distributed import collect_distributed
    from ..calibration.observe import Collector

    saved = time.monotonic()

    def save() -> None:
        nonlocal saved
        if kept is not None and time.monotonic() - saved > args.save_every:
            statistics.write(kept)
            saved = time.monotonic()

    # disable=None is tqdm's way to ask whether the file is a terminal
    with tqdm(total=len(numbers), desc="calibrate", unit="sample", disable=None) as bar:

        def done(count: int) -> None:
            bar.update(count)
            save()

        if args.workers:
            collect_distributed(graph, samples, statistics, numbers, args.workers, seen=done)
            return
        collector = Collector(graph, statistics)
        for number, sample in samples.read(numbers):
            collector.add(number, sample)
            done(1)


def versions() -> dict[str, str]:
    """Of what decides the bytes of float activations."""
    from importlib.metadata import version

    return {name: version(name) for name in ("tosa-engine", "numpy", "numba")}


def seconds(text: str) -> float:
    found = list_of_numbers(text)
    if len(found) != 1 or found[0] < 0:
        raise argparse.ArgumentTypeError(f"'{text}' isn't a number of seconds")
    return found[0]


command = _Calibrate()
