"""`tosa-engine stimuli`: inputs for which the layers of a model reach their corners."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from ..text import say
from .common import add_custom, add_memory, add_model, add_options, at_least, import_custom, load_model
from .samples import add_data, check_data, samples_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from ..graph import Graph
    from ..types import Array

ORDINARY: Final = 16  # samples of random numbers that the search begins with


class _Stimuli:
    name = "stimuli"
    help = "search inputs with which layers reach ties, saturation, table entries and the ends of their sums"
    example = "stimuli net.tosa -o x.npz\nstimuli net.tosa -o x.npz --data test.npz --layers conv1 --budget 5m"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        parser.add_argument("-o", "--output", metavar="X.npz", required=True, help="the samples, along the first axis")
        parser.add_argument("--layers", metavar="REGEX", help="only RESCALEs and TABLEs in whose name this is")
        parser.add_argument(
            "--budget", type=_seconds, default=60.0, metavar="TIME", help="for the search: 60, 10s, 2m; default: 60s"
        )
        parser.add_argument(
            "--most",
            type=at_least(1),
            metavar="N",
            help="write at most N samples, those that were first to reach most; default: all",
        )
        parser.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed")
        add_data(parser)
        add_memory(parser)
        add_custom(parser)
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        import numpy as np

        from .. import arrays
        from ..runtime.session import Session
        from ..stimuli import Search, layers_of, report, to_json

        if not args.output.endswith(".npz"):
            raise UsageError(f"-o {args.output}: samples are written as .npz")
        if args.data and args.random:
            raise UsageError("--data and --random both say what the search begins with: give one of them")
        check_data(args, counted=True)
        import_custom(args.custom)
        graph = Session(load_model(args), 1).graph
        layers = layers_of(graph, args.layers)
        search = Search(graph, layers, args.seed)
        search.add(_ordinary(args, graph))
        search.until = time.monotonic() + args.budget
        try:
            search.run()
        except KeyboardInterrupt:
            say("interrupted: what was found until now is written", file=sys.stderr)
        found = search.chosen(args.most)
        arrays.write(args.output, {t.name: np.stack([one[t.name] for one in found]) for t in graph.inputs})
        if args.format == "json":
            told = {"samples": len(found), "runs": search.runs, "layers": to_json(layers)}
            say(*json.dumps(told, indent=2).split("\n"))
        else:
            say(*report(layers), "", f"{len(found)} samples of {search.runs} that were tried: {args.output}")
        return 0


def _ordinary(args: argparse.Namespace, graph: Graph) -> Iterator[Mapping[str, Array]]:
    """The samples that the flags say, as the inputs hold them; else some of random numbers."""
    from ..runtime.ports import port_of
    from ..runtime.real import stored

    if not args.data and not args.random:
        args.random = ORDINARY
    samples = samples_of(args, graph, integers=True)
    ports = [port_of(t, set()) for t in graph.inputs]
    count = samples.total if args.samples is None else min(args.samples, samples.total)
    for _, sample in samples.read(range(count)):
        yield stored(ports, sample)


def _seconds(text: str) -> float:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    value = float(text[:-1]) * units[text[-1]] if text[-1:] in units else float(text)
    if not 0 < value <= 86400:
        raise ValueError(text)
    return value


command = _Stimuli()
