"""The verbs of the command `tosa-engine`, one module each, which imports what it runs with only when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import argparse

GROUP = "tosa_engine.commands"


class Command(Protocol):
    """What an entry point of the group `tosa_engine.commands` names.

    `example` is a command line without `tosa-engine`, or several of them line by line, shown by `--help`. `run` returns
    the exit code: 0 done, 1 a negative result. All else is a raised `TosaEngineError` or `OSError`.
    """

    name: str
    help: str
    example: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...
