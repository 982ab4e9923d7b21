"""`tosa-engine run --vectors`: every tensor of a run in a file, for a testbench."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .device import ENDIANS, LAYOUTS

if TYPE_CHECKING:
    import argparse

    from ..runtime.session import Session
    from ..types import Array
    from ..vectors import Recorder

# those of `tosa_engine.vectors`, which --help doesn't import, because it needs numpy
FORMATS = ("npy", "bin", "hex", "mem", "c-header")


def add_vectors(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("golden vectors")
    group.add_argument(
        "--vectors", metavar="DIR",
        help="write inputs, constants and every tensor for a testbench, one file each, and index.json",
    )  # fmt: skip
    group.add_argument("--format", choices=FORMATS, help="of these files (default: npy)")
    group.add_argument("--layout", choices=LAYOUTS, help="of tensors with four axes, constants aside (default: NHWC)")
    group.add_argument("--endian", choices=ENDIANS, help="order of an element's bytes (default: little)")


def check(args: argparse.Namespace) -> None:
    """Raise UsageError for flags that go with --vectors, where that isn't given, or that don't go with it."""
    given = [f"--{name}" for name in ("format", "layout", "endian") if getattr(args, name) is not None]
    if given and not args.vectors:
        raise UsageError(f"{given[0]} is of the files of --vectors DIR")
    if not args.vectors:
        return
    if args.dump_intermediates:
        raise UsageError("--vectors writes every tensor, as --dump-intermediates does: give one of them")
    if Path(args.vectors).exists() and not Path(args.vectors).is_dir():
        raise UsageError(f"--vectors {args.vectors}: not a folder")
    from ..vectors.elements import check_endian

    check_endian(args.format or "npy", args.endian or "little")


class Vectors:
    """The files of one run."""

    def __init__(self, args: argparse.Namespace, session: Session) -> None:
        from ..layouts import Form
        from ..vectors import Recorder

        form = Form(layout=args.layout or "NHWC", endian=args.endian or "little")
        self._model = Path(args.model)
        self.probe: Recorder = Recorder(session.graph, Path(args.vectors), args.format or "npy", form)

    def begin(self, feeds: dict[str, Array]) -> None:
        self.probe.begin(feeds)

    def finish(self) -> None:
        from hashlib import sha256

        digest = sha256(self._model.read_bytes()).hexdigest() if self._model.is_file() else ""
        self.probe.finish(self._model.name, digest)
