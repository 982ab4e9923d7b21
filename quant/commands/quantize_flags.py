"""Of the verb `quantize`: the flags for the precision of layers and for the methods of `quant.improve`."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tosa_engine.commands.common import npu_of
from tosa_engine.commands.samples import check_data, samples_of
from tosa_engine.errors import UsageError
from tosa_engine.formats import hint_file

from .calibrate import scheme_flags, scheme_of, versions
from .resume import bar, journal_path, kept, say_above
from .tools import float_graph, needs_floats

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.journal import Journal
    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

    from ..improve.post_training import Options, Result
    from ..legalize.layers import LayerRule

RECORD = ".config.json"


def add_layers(parser: argparse.ArgumentParser) -> None:
    """The flags that choose the precision of layers."""
    group = parser.add_argument_group(
        "precision of layers: int8, int16 (16-bit activations), int4 (4-bit weights) or float"
    )
    group.add_argument(
        "--layer", action="append", default=[], metavar="SELECTOR=PRECISION",
        help="a name, with * and ?, or op:OPERATOR; the last that matches a layer wins",
    )  # fmt: skip
    group.add_argument("--layers", metavar="FILE", help="the same, one per line; --layer comes after them")
    group.add_argument(
        "--weight-bits", type=int, choices=(4, 8), default=8,
        help="of layers that nothing else is said of; 4 where TOSA has such an operator; default: 8",
    )  # fmt: skip


def add_methods(parser: argparse.ArgumentParser) -> None:
    """The flags of the methods that need samples."""
    group = parser.add_argument_group("methods, with --data")
    group.add_argument("--equalize", action="store_true", help="scale channels so that neighbouring layers share them")
    group.add_argument(
        "--smooth", type=float, nargs="?", const=0.5, metavar="ALPHA",
        help="move outliers of activations into the weights of matrix products; 0.5 without a number",
    )  # fmt: skip
    group.add_argument(
        "--rounding", choices=("nearest", "adaround"), default="nearest", help="of weights; default: nearest"
    )
    group.add_argument("--rounding-layers", action="append", metavar="SELECTOR", help="adaround of these only")
    group.add_argument("--rounding-seed", type=int, default=0, metavar="N", help="default: 0")
    group.add_argument(
        "--bias-correction", action="store_true",
        help="take mean errors out of biases, where that helps on a quarter of the samples, held back",
    )  # fmt: skip
    group.add_argument("--bias-layers", action="append", metavar="SELECTOR", help="bias correction of these only")


def rules_of(args: argparse.Namespace) -> list[LayerRule]:
    """What the flags of `add_layers` say."""
    from ..legalize.layers import parse_rule, read_rules

    return [*(read_rules(args.layers) if args.layers else []), *map(parse_rule, args.layer)]


def target_rules(args: argparse.Namespace, graph: Graph) -> list[LayerRule]:
    """What the processor of `--target` needs of a float network, which is printed; it comes before the user's rules."""
    npu = npu_of(args)
    if npu is None:
        return []
    from ..legalize.layers import INT8, INT16
    from ..legalize.processors import rules_for
    from ..legalize.quantize import prepared

    found = rules_for(npu, prepared(graph).main, INT16 if args.bits == 16 else INT8)
    for rule in found:
        say_above(f"{rule}: {npu.name} has it for int8 only")
    return found


def options_of(args: argparse.Namespace, first: Sequence[LayerRule] = ()) -> Options:
    """What the flags of `add_scheme`, `add_layers` and `add_methods` say; rules of layers come after the `first`."""
    from ..improve.post_training import Options

    return Options(
        scheme=scheme_of(args), equalize=args.equalize, smooth=args.smooth, rounding=args.rounding,
        bias_correction=args.bias_correction, rules=(*first, *rules_of(args)), weight_bits=args.weight_bits,
        rounding_layers=tuple(args.rounding_layers or ["*"]), bias_layers=tuple(args.bias_layers or ["*"]),
        seed=args.rounding_seed,
    )  # fmt: skip


def check(args: argparse.Namespace) -> None:
    """Flags that don't go together. Raises UsageError."""
    ranges = {"--quant": args.quant, "--statistics": args.statistics, "--data": args.data, "--random": args.random}
    given = [flag for flag, value in ranges.items() if value]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} each say how to quantize: give one of them")
    methods = {
        "--equalize": args.equalize, "--smooth": args.smooth is not None, "--rounding": args.rounding != "nearest",
        "--bias-correction": args.bias_correction,
    }  # fmt: skip
    used = [flag for flag, on in methods.items() if on]
    if used and not (args.data or args.random):
        raise UsageError(f"{', '.join(used)} needs samples: give --data")
    if (args.resume or args.journal) and not (args.data or args.random):
        raise UsageError(f"{'--resume' if args.resume else '--journal'} is about methods with samples: give --data")
    check_data(args)
    if not given or args.quant:
        if flags := scheme_flags(args):
            whose = args.quant or f"the {hint_file().name} of the model"
            raise UsageError(
                f"{', '.join(flags)}: how ranges are found, but {whose} has them already; give --statistics or --data"
            )
        layers = [flag for flag, on in (("--layer", args.layer), ("--layers", args.layers)) if on]
        layers += ["--weight-bits"] if args.weight_bits != 8 else []
        if layers:
            raise UsageError(f"{', '.join(layers)} needs ranges for these precisions: give --statistics or --data")
    for flag, selectors, method, on in (
        ("--rounding-layers", args.rounding_layers, "--rounding adaround", args.rounding == "adaround"),
        ("--bias-layers", args.bias_layers, "--bias-correction", args.bias_correction),
    ):
        if selectors and not on:
            raise UsageError(f"{flag} chooses layers for {method}, which isn't asked for")


class FirstSamples:
    """The first samples of the data, read anew each time."""

    def __init__(self, samples: Samples, count: int) -> None:
        self._samples, self._count = samples, count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Mapping[str, Array]]:
        return (sample for _, sample in self._samples.read(range(self._count)))


def with_samples(args: argparse.Namespace) -> tuple[Graph, Result, str, Journal]:
    """The float network, the integer network by the methods that were asked for, the record of it, and the journal of
    its finished layers; what was resolved and done is printed.
    """
    from tosa_engine.journal import Journal

    from ..calibration.observe import digest
    from ..improve.post_training import quantize_from_samples

    path = journal_path(args)
    graph = float_graph(args)
    needs_floats(graph, args.model)
    samples = samples_of(args, graph)
    count = min(samples.total, args.samples or samples.total)
    options, data = options_of(args, target_rules(args, graph)), samples.describe() | {"used": count}
    belongs = {"kind": "layers", "model": digest(graph), "options": options.to_json(), "data": data}
    journal = Journal(path, belongs | {"versions": versions()}, resume=args.resume)
    with kept(journal):
        result = quantize_from_samples(graph, FirstSamples(samples, count), options, say_above, journal, _bar)
    return graph, result, _record(options.to_json(), result, data), journal


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Callable[[], object]]:
    with bar(what, total, "sample" if what == "calibrate" else "layer") as shown:
        yield shown.update


def _record(options: dict[str, object], result: Result, data: dict[str, object]) -> str:
    """From what, how, and with what result it was made."""
    content = {
        "options": options, "layers": result.precisions, "notes": result.notes, "data": data, "versions": versions(),
    }  # fmt: skip
    return json.dumps(content, indent=1) + "\n"
