"""`tosa-engine run --corners`: which numeric corners the runs met."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..text import say

if TYPE_CHECKING:
    import argparse

    from ..compliance.coverage.runs import RunCorners
    from ..runtime.session import Session
    from ..types import Array


def check(args: argparse.Namespace) -> None:
    """Raise UsageError for --corners json beside another flag that prints."""
    if args.corners == "json" and args.expect:
        raise UsageError("--corners json and --expect both print: give --corners text, or two runs")


class Corners:
    """What all runs of a session meet."""

    def __init__(self, args: argparse.Namespace, session: Session) -> None:
        from ..compliance.coverage.runs import RunCorners

        self._form = args.corners
        self._found: RunCorners = RunCorners(session.graph)
        self.probe = self._found.probe

    def begin(self, feeds: dict[str, Array]) -> None:
        del feeds

    def finish(self) -> None:
        self._found.end_run()

    def report(self) -> None:
        from ..compliance.coverage.runs import as_text

        found = self._found.data()
        say(*(json.dumps(found, indent=1).split("\n") if self._form == "json" else as_text(found)))
