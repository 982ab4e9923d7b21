"""The verb `quantize` of the command `tosa-engine`; `calibrate` has a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine.commands.common import add_model, add_nnef, inverted_of
from tosa_engine.errors import UsageError

from .calibrate_command import add_scheme, scheme_of
from .calibrate_command import command as calibrate
from .command_tools import QUANT_FILE, check_output, given_quant, load_with, warn

if TYPE_CHECKING:
    import argparse

    from tosa_engine.graph import Graph

    from .layers import LayerRule

__all__ = ["calibrate", "quantize"]


class _Quantize:
    """`quantize MODEL [--quant graph.quant | --statistics FILE] -o model.tosa`."""

    name = "quantize"
    help = "turn a float model and its graph.quant into an integer TOSA graph"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument(
            "--quant", metavar="FILE", help=f"quantization of the tensors; default: the {QUANT_FILE} inside the model"
        )
        parser.add_argument(
            "--statistics",
            metavar="FILE",
            help="what calibrate --statistics kept, instead: it has the tensors inside, too",
        )
        add_scheme(parser)
        add_layers(parser)
        add_nnef(parser)
        parser.add_argument("-o", "--output", required=True, metavar="FILE", help="a .tosa or .json file")

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine import serialize

        from . import sidecar
        from .quantize import Report, quantize

        check_output(args.output, (".tosa", ".json"))
        if args.quant is not None and args.statistics is not None:
            raise UsageError("--quant and --statistics both say how to quantize: give one of them")
        if args.statistics is None and (args.layer or args.layers or args.weight_bits != 8):
            raise UsageError("the precision of layers needs ranges for it: give --statistics")
        floats: frozenset[str] = frozenset()
        if args.statistics is not None:
            graph, floats = _by_statistics(args)
        else:
            graph = load_with(args.model, given_quant(args.model, args.quant, inverted_of(args)))
        for warning in graph.warnings:
            warn(warning)
        report = Report()
        integer = quantize(graph, report, floats)
        for note in report.notes:
            warn(note)
        serialize.write(integer, args.output)
        beside = sidecar.write(integer, args.output)
        print(f"{args.output}: {len(integer.main.operators)} operators; scales of inputs and outputs: {beside}")
        if report.margins:
            layer = min(report.margins, key=lambda name: report.margins[name])
            print(f"fullest accumulator: '{layer}', {report.margins[layer]:.1f} bits of int32 to spare")
        return 0


def _by_statistics(args: argparse.Namespace) -> tuple[Graph, frozenset[str]]:
    """The model with its QParams, and the tensors that stay fp32; prints what each layer has, if anyone asked."""
    from . import records
    from .calibrate import attach, resolved
    from .layers import described, stay_float
    from .quantize import prepared

    model, rules, scheme = load_with(args.model), rules_of(args), scheme_of(args)
    graph = attach(model, records.read(args.statistics), scheme, rules, args.weight_bits)
    block = prepared(model).main
    precisions = resolved(block, scheme, rules, args.weight_bits)
    if rules or args.weight_bits != 8:
        print(described(precisions))
    return graph, stay_float(block, precisions)


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


def rules_of(args: argparse.Namespace) -> list[LayerRule]:
    """What the flags of `add_layers` say."""
    from .layers import parse_rule, read_rules

    return [*(read_rules(args.layers) if args.layers else []), *map(parse_rule, args.layer)]


quantize = _Quantize()
