"""What the verbs `calibrate` and `quantize` share: models with their quantization, outputs, warnings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tosa_engine.commands.common import format_options, open_source
from tosa_engine.commands.told import warn
from tosa_engine.errors import UsageError
from tosa_engine.formats import hint_file, read_hints

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from tosa_engine.formats import Source
    from tosa_engine.graph import Graph, QParams


def float_graph(args: argparse.Namespace) -> Graph:
    """The float model of the command line with its own hints, ready to be quantized; what is odd in it is printed."""
    graph = open_source(args).graph(for_integers=True)
    warn(graph.warnings)
    return graph


def needs_floats(graph: Graph, model: str) -> None:
    """Raises UsageError for a graph without floats: it is what quantization makes."""
    tensors = graph.main.tensors.values()
    if not any(tensor.dtype.is_float for tensor in tensors):
        raise UsageError(f"'{model}' computes in integers already: give the float model")


def given_hints(args: argparse.Namespace, source: Source) -> Mapping[str, QParams]:
    """The hints of the file that is given with the model, or, without one, those inside it.

    Raises UsageError when there are none, and what the file's reader raises.
    """
    if args.quant is not None:
        return source.fitting(read_hints(args.quant, **format_options(args)))
    found = source.hints()
    if found is None:
        raise UsageError(
            f"'{args.model}' has no {hint_file().name} inside: give one with --quant (calibrate makes one), or samples "
            "with --data"
        )
    return found


def check_output(path: str, suffixes: tuple[str, ...]) -> None:
    """Before the work: the name tells the kind, and the folder is there."""
    target = Path(path)
    if target.suffix not in suffixes:
        raise UsageError(f"can't tell what to write to '{path}': the name must end in {' or '.join(suffixes)}")
    if not target.parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(target.parent))
