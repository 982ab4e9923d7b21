"""A process that stays: it reads one line of JSON for each test, and answers with one."""

from __future__ import annotations

import json
import select
import shlex
import time
from typing import TYPE_CHECKING, Any, Final

from ...errors import GraphError
from .answer import Answer, Ending
from .program import MOST, end, ended, start, told

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping

    from ...graph import Graph
    from ...types import Array
    from .answer import Limits
    from .exchange import Exchange

ENDINGS: Final = {one.value: one for one in Ending}


class Pipe:
    """The line has `graph`, `desc`, `inputs` and `outputs` (paths by name); the answer has `verdict` and, if there is
    one, `message`. What hangs or dies is started again for the next test.
    """

    def __init__(self, words: list[str], exchange: Exchange, limits: Limits) -> None:
        self.words, self.exchange, self.limits = words, exchange, limits
        self.child: subprocess.Popen[bytes] | None = None
        self.rest = b""

    @classmethod
    def of(cls, command: str, exchange: Exchange, limits: Limits) -> Pipe:
        return cls(shlex.split(command), exchange, limits)

    def run(self, graph: Graph, feeds: Mapping[str, Array]) -> Answer:
        try:
            self.exchange.give(graph, feeds)
        except GraphError as problem:  # an error that no file can hold
            return Answer(Ending.ERROR, str(problem))
        first = self.child is None
        if self.child is None:
            self.child, self.rest = start(self.words, self.limits, piped=True), b""
        of = self.exchange
        line: dict[str, Any] = {
            "graph": str(of.graph), "desc": str(of.description),
            "inputs": {name: str(of.input_of(name)) for name in graph.main.inputs},
            "outputs": {name: str(of.output_of(name)) for name in graph.main.outputs},
        }  # fmt: skip
        seconds = self.limits.seconds + (self.limits.start if first else 0)
        found = self._ask(json.dumps(line).encode() + b"\n", seconds)
        return of.taken(graph) if found.ending is Ending.VALID else found

    def _ask(self, line: bytes, seconds: float) -> Answer:
        assert self.child is not None
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(line)
            self.child.stdin.flush()
            answer = self._line(seconds)
        except BrokenPipeError:
            answer = b""
        if answer is None:
            self.close()
            return Answer(Ending.HANG, f"no answer after {seconds:g} s")
        if not answer:
            code = self.child.wait()
            self.close()
            ending = ended(code, b"", limited=False)
            return Answer(Ending.CRASH if ending is Ending.VALID else ending, told(code, b""))
        return read_answer(answer)

    def _line(self, seconds: float) -> bytes | None:
        """The next line; empty where the process ended, None where nothing came in time."""
        assert self.child is not None
        assert self.child.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                return None
            piece = self.child.stdout.read1(1 << 16)  # type: ignore[union-attr,attr-defined,unused-ignore]
            if not piece:
                return b""
            self.rest += piece
        line, _, self.rest = self.rest.partition(b"\n")
        return line

    def close(self) -> None:
        if self.child is not None:
            end(self.child)
            self.child = None


def read_answer(line: bytes) -> Answer:
    try:
        said = json.loads(line)
        ending, message = ENDINGS[said["verdict"]], str(said.get("message", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return Answer(Ending.CRASH, f"not an answer: {line[:80]!r}")
    return Answer(ending, message[:MOST])
