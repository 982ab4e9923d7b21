"""A program that runs once for each test: `mydut {graph} {inputs} {outputs}`."""

from __future__ import annotations

import contextlib
import os
import resource
import shlex
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from ...errors import GraphError, UsageError
from .answer import Answer, Ending

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import Graph
    from ...types import Array
    from .answer import Limits
    from .exchange import Exchange

EXIT_CODES: Final = {0: Ending.VALID, 1: Ending.UNPREDICTABLE, 2: Ending.ERROR, 77: Ending.UNSUPPORTED}
WORDS: Final = ("{graph}", "{inputs}", "{outputs}", "{desc}")
FULL: Final = ("bad_alloc", "MemoryError", "Cannot allocate memory", "out of memory")
MOST: Final = 400  # characters of what a program says


class Program:
    """The engine of a command line. Its exit code is the verdict: 0 valid, 1 unpredictable, 2 error, 77 unsupported."""

    def __init__(self, command: str, exchange: Exchange, limits: Limits) -> None:
        if not any(word in command for word in WORDS):
            raise UsageError(
                f"--engine '{command}' names no file: it needs {{desc}}, or {{graph}} {{inputs}} {{outputs}}"
            )
        self.words, self.exchange, self.limits = shlex.split(command), exchange, limits

    def run(self, graph: Graph, feeds: Mapping[str, Array]) -> Answer:
        try:
            self.exchange.give(graph, feeds)
        except GraphError as problem:  # an error that no file can hold
            return Answer(Ending.ERROR, str(problem))
        child = start([self._filled(word) for word in self.words], self.limits)
        try:
            said = child.communicate(timeout=self.limits.seconds)[1]
        except subprocess.TimeoutExpired:
            return Answer(Ending.HANG, f"no end after {self.limits.seconds:g} s")
        finally:
            end(child)
        ending = ended(child.returncode, said, limited=self.limits.memory > 0)
        return self.exchange.taken(graph) if ending is Ending.VALID else Answer(ending, told(child.returncode, said))

    def _filled(self, word: str) -> str:
        of = self.exchange
        for name, path in zip(WORDS, (of.graph, of.inputs, of.outputs, of.description), strict=True):
            word = word.replace(name, str(path))
        return word

    def close(self) -> None:
        """Nothing stays open."""


def start(words: list[str], limits: Limits, *, piped: bool = False) -> subprocess.Popen[bytes]:
    """A process in a group of its own, with the limit of memory."""
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            words, stdin=pipe if piped else subprocess.DEVNULL, stdout=pipe, stderr=None if piped else pipe,
            start_new_session=True,
        )  # fmt: skip
    except OSError as problem:
        raise UsageError(f"the engine can't be started: {words[0]}: {problem.strerror}") from None
    if limits.memory and sys.platform == "linux":
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            resource.prlimit(child.pid, resource.RLIMIT_AS, (limits.memory, limits.memory))
    return child


def end(child: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def ended(code: int, said: bytes, *, limited: bool) -> Ending:
    if code in EXIT_CODES and code in (0, 2, 77):
        return EXIT_CODES[code]
    if limited and any(word.encode() in said for word in FULL):
        return Ending.MEMORY
    return EXIT_CODES.get(code, Ending.CRASH)


def told(code: int, said: bytes) -> str:
    """What a program said last; the signal that ended it."""
    text = " ".join(said.decode("utf-8", "replace").split())[-MOST:]
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"{name} {text}".strip()
    return text if code in EXIT_CODES else f"exit code {code} {text}".strip()
