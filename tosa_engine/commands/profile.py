"""`tosa-engine profile`: which steps of a model take the time, and how far they are from what the machine allows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..text import say
from .common import add_custom, add_memory, add_model, add_options, import_custom, load_model
from .feeds import INPUT_HELP, INPUT_METAVAR, find_feeds, read_feeds

if TYPE_CHECKING:
    import argparse

SUFFIXES = (".json", ".html")


class _Profile:
    name = "profile"
    help = "measure each step of a model: time, GMAC/s, GB/s, and how far it is from the machine's bound"
    example = "profile net.tosa\nprofile net.onnx --steps -o profile.html"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_model(parser)
        add_options(parser, self.name)
        add_custom(parser)
        add_memory(parser)
        parser.add_argument(
            "-i", "--input", action="append", default=[], metavar=INPUT_METAVAR,
            help=f"input arrays, default: zeros; may be given several times. {INPUT_HELP}",
        )  # fmt: skip
        parser.add_argument(
            "--seconds", type=_seconds, default=1.0, metavar="S", help="how long to measure; default: 1"
        )
        parser.add_argument("--steps", action="store_true", help="print every step in order")
        parser.add_argument("-o", "--output", metavar="FILE", help="write all figures (.json), or a page (.html)")

    def run(self, args: argparse.Namespace) -> int:
        if args.output is not None and Path(args.output).suffix not in SUFFIXES:
            raise UsageError(f"-o {args.output}: a profile is written as {' or '.join(SUFFIXES)}")
        from ..files import write_atomically
        from ..profiling import Machine, figures, page, table
        from ..runtime.session import Session

        import_custom(args.custom)
        session = Session(load_model(args), 1)
        feeds = None
        if args.input:
            given = find_feeds(args.input, [t.name for t in session.inputs], [t.name for t in session.outputs])
            feeds = read_feeds(given, session.inputs)
        found = figures(session.profile(feeds, seconds=args.seconds), Machine())
        if args.output is not None:
            is_page = args.output.endswith(".html")
            text = page(found, Path(args.model).name) if is_page else json.dumps(found, indent=1) + "\n"
            write_atomically(args.output, text.encode())
        say(*table(found, every=args.steps).split("\n"))
        return 0


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 3600:
        raise ValueError(text)
    return value


command = _Profile()
