"""Long work of `quantize`, `sensitivity` and `search`: where parts are kept, bars on terminals, and `--resume`."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import UsageError
from tosa_engine.text import say

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tosa_engine.journal import Journal

SUFFIX: Final = ".journal"


def add_resume(parser: argparse.ArgumentParser, what: str) -> None:
    """`what`: the parts that are kept."""
    work = parser.add_argument_group("long runs")
    work.add_argument("--resume", action="store_true", help="go on from what an interrupted run kept")
    work.add_argument(
        "--journal", metavar="FILE",
        help=f"keep {what} here as soon as they are known; default: OUTPUT{SUFFIX}, which goes when OUTPUT is written",
    )  # fmt: skip


def journal_path(args: argparse.Namespace) -> str | None:
    """Where parts are kept. Raises UsageError for `--resume` without a place, FileNotFoundError without its folder."""
    path = args.journal or (None if args.output is None else f"{args.output}{SUFFIX}")
    if args.resume and path is None:
        raise UsageError("--resume needs the place of the journal: give --journal, or -o as before")
    if path is not None and not Path(path).parent.is_dir():
        raise FileNotFoundError(2, "no such folder", str(Path(path).parent))
    return path


@contextmanager
def kept(journal: Journal) -> Iterator[None]:
    """Around the work: what is there already is told, and after an interrupt how to go on."""
    if len(journal):
        say(f"{journal.path}: {len(journal)} parts are there already", file=sys.stderr)
    try:
        yield
    except KeyboardInterrupt:
        if len(journal) and journal.path is not None:
            say(f"{journal.path}: {len(journal)} parts are kept; --resume goes on from there", file=sys.stderr)
        raise


def finished(args: argparse.Namespace, journal: Journal) -> None:
    """The result is written: a journal that nobody asked for goes."""
    if args.journal is None:
        journal.remove()


def bar(what: str, total: int | None, unit: str) -> Any:
    """Progress on stderr, where that is a terminal."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, unit=unit, disable=None)  # None is tqdm's way to ask for a terminal


def say_above(text: str) -> None:
    """A line on stdout; bars of the same terminal move down."""
    from tqdm import tqdm

    with tqdm.external_write_mode():
        say(text, flush=True)
