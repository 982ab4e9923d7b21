"""The verbs `calibrate` and `quantize` of the command `tosa-engine`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tosa_engine.commands.common import add_model, at_least
from tosa_engine.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping

    from tosa_engine.graph import Graph, QParams
    from tosa_engine.types import Array

QUANT_FILE = "graph.quant"


class _Calibrate:
    """`calibrate MODEL --data FILE|DIR [-o graph.quant] [--samples N]`."""

    name = "calibrate"
    help = "find the ranges of a float model's tensors on real data and write graph.quant"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument(
            "--data", required=True, metavar="FILE|DIR",
            help="samples: an .npz with one array per input (first axis: samples), an .npy, or a folder of them",
        )  # fmt: skip
        parser.add_argument("-o", "--output", metavar="FILE", default=QUANT_FILE, help=f"default: {QUANT_FILE}")
        parser.add_argument("--samples", type=at_least(1), metavar="N", help="use the first N samples only")

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine.load import load

        from . import data, graph_quant
        from .calibrate import calibrate

        _check_output(args.output, (".quant",))
        graph = load(args.model)
        weights = _filters(args.model)
        total, samples = data.samples(args.data, graph.inputs)
        number = min(total, args.samples or total)
        if args.samples is not None and args.samples > total:
            _warn(f"{args.data} has {total} samples, fewer than --samples {args.samples}")
        result = calibrate(graph, _with_progress(samples, number), weights=weights, limit=number)
        for warning in result.warnings:
            _warn(warning)
        graph_quant.write(result.qparams, args.output)
        print(f"{args.output}: {len(result.qparams)} tensors, ranges of {result.samples} samples")
        return 0


class _Quantize:
    """`quantize MODEL [--quant graph.quant] -o model.tosa`."""

    name = "quantize"
    help = "turn a float model and its graph.quant into an integer TOSA graph"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument(
            "--quant", metavar="FILE", help=f"quantization of the tensors; default: the {QUANT_FILE} inside the model"
        )
        parser.add_argument("-o", "--output", required=True, metavar="FILE", help="a .tosa or .json file")

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine import serialize

        from . import graph_quant, sidecar
        from .quantize import Report, quantize

        _check_output(args.output, (".tosa", ".json"))
        quant = graph_quant.read(args.quant) if args.quant is not None else _own_quant(Path(args.model))
        report = Report()
        integer = quantize(load_with(args.model, quant), report)
        for note in report.notes:
            _warn(note)
        serialize.write(integer, args.output)
        beside = sidecar.write(integer, args.output)
        print(f"{args.output}: {len(integer.main.operators)} operators; scales of inputs and outputs: {beside}")
        if report.margins:
            layer = min(report.margins, key=lambda name: report.margins[name])
            print(f"fullest accumulator: '{layer}', {report.margins[layer]:.1f} bits of int32 to spare")
        return 0


def _warn(message: str) -> None:
    print(f"warning: {message}", file=sys.stderr)


def load_with(model: str, quant: Mapping[str, QParams]) -> Graph:
    """A float model whose tensors carry the QParams given by name.

    Raises UsageError for names that the model doesn't have.
    """
    if _is_nnef(Path(model)):
        from tosa_engine.frontends import nnef

        return nnef.load(model, quant)
    from tosa_engine.load import load

    graph = load(model)
    unknown = [name for name in quant if name not in graph.main.tensors]
    if unknown:
        raise UsageError(f"the quantization names tensors that {model} doesn't have: {', '.join(unknown)}")
    for name, params in quant.items():
        graph.main.tensors[name].quant = params
    return graph


def _is_nnef(path: Path) -> bool:
    return path.is_dir() or path.name.endswith((".nnef.tgz", ".nnef.tar.gz"))


def _own_quant(model: Path) -> dict[str, QParams]:
    """The graph.quant inside an NNEF model. Raises UsageError when there is none."""
    from . import graph_quant

    if _is_nnef(model):
        from tosa_engine.frontends.nnef.container import open_container, read_text

        container = open_container(model)
        if container.has(QUANT_FILE):
            return graph_quant.from_text(read_text(container, QUANT_FILE), f"{container.label}/{QUANT_FILE}")
    raise UsageError(f"'{model}' has no {QUANT_FILE} inside: give one with --quant, or make one with calibrate")


def _filters(model: str) -> dict[str, Array]:
    """The filters of an NNEF model's convolutions and linear layers, by tensor name, output channel first."""
    if not _is_nnef(Path(model)):
        return {}
    from tosa_engine.frontends.nnef import load_document
    from tosa_engine.frontends.nnef.syntax import Name
    from tosa_engine.frontends.nnef.variables import read_variable

    document = load_document(model)
    used = [op.arguments.get("filter") for op in document.operations]
    names = dict.fromkeys(f.text for f in used if isinstance(f, Name))
    variables = document.variables
    return {name: read_variable(document, variables[name], None) for name in names if name in variables}


def _with_progress(samples: Iterable[Mapping[str, Array]], number: int) -> Iterator[Mapping[str, Array]]:
    """A bar on stderr when that is a terminal."""
    from tqdm import tqdm

    # disable=None is tqdm's way to ask whether the file is a terminal
    yield from tqdm(samples, total=number, desc="calibrate", unit="sample", disable=None)


def _check_output(path: str, suffixes: tuple[str, ...]) -> None:
    """Before the work: the name tells the kind, and the folder is there."""
    target = Path(path)
    if target.suffix not in suffixes:
        raise UsageError(f"can't tell what to write to '{path}': the name must end in {' or '.join(suffixes)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(target.parent))


calibrate = _Calibrate()
quantize = _Quantize()
