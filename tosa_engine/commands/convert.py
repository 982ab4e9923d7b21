"""`tosa-engine convert`: a model in another file format, or rewritten in its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..formats import bridge_to, format_of, formats, writer_of, writer_suffixes
from ..text import say
from .common import add_model, add_options, load_model, open_source, values_of
from .told import warn

if TYPE_CHECKING:
    import argparse

    from ..formats import Bridge, Format, Option


class _Convert:
    name = "convert"
    help = "write a model in another file format"
    example = "convert net.onnx -o net.tosa"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument(
            "-o", "--output", required=True, metavar="FILE",
            help=f"what to write; the name tells the format: {', '.join(writer_suffixes())}",
        )  # fmt: skip
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        given = format_of(args.model)
        bridge = bridge_to(given, args.output)
        if bridge is not None:
            return _cross(args, bridge)
        target = writer_of(args.output)
        _refuse_others(args, target)
        if target.write is None or (format_of(args.model) is target and _asked(args, target)):
            return _rewrite(args, target)
        graph = load_model(args)
        target.write(graph, Path(args.output))
        say(f"{args.output}: {sum(len(block.operators) for _, block in graph.blocks())} operators")
        return 0


def _cross(args: argparse.Namespace, bridge: Bridge) -> int:
    """A model as it is, in another format. Raises UsageError for flags, which would have no effect."""
    for one in formats():
        given = [option for option in one.options if option.parse is not None and getattr(args, option.name, None)]
        for option in (*_asked(args, one), *given):
            if option.name not in bridge.options:
                raise UsageError(f"{option.flag} has no effect on '{args.output}', which has the model as it is")
    source = open_source(args)
    warn(source.warnings)
    say(f"{args.output}: {bridge.write(source, Path(args.output))}")
    return 0


def _refuse_others(args: argparse.Namespace, target: Format) -> None:
    """Raises UsageError for flags that are only about the output of another format."""
    known = {option.name for option in target.rewriting}
    for one in formats():
        for option in _asked(args, one):
            if option.name not in known:
                raise UsageError(f"{option.flag} needs {one.called} output")


def _asked(args: argparse.Namespace, target: Format) -> list[Option]:
    """The options that are given of those about the output in this format."""
    return [option for option in target.rewriting if getattr(args, option.name)]


def _rewrite(args: argparse.Namespace, target: Format) -> int:
    """A model in its own format, without making a graph of it. Raises UsageError for one of another format."""
    if format_of(args.model) is not target:
        raise UsageError(f"'{args.model}' isn't {target.called} model: TOSA graphs can't be written as {target.name}")
    source = open_source(args)
    source.hints()  # raises what is wrong with them
    warn(source.warnings)
    say(f"{args.output}: {source.rewrite(Path(args.output), **values_of(args, target.rewriting))}")
    return 0


command = _Convert()
