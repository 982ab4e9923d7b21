"""What came back from an implementation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import Graph
    from ...types import Array


class Ending(Enum):
    """How an implementation took a graph. The first three are the specification's verdicts."""

    VALID = "valid"
    ERROR = "error"
    UNPREDICTABLE = "unpredictable"
    UNSUPPORTED = "unsupported"  # it says that it has no such operator or type
    CRASH = "crash"
    HANG = "hang"
    MEMORY = "memory"
    NO_OUTPUT = "no output"  # valid, but an output is missing or unreadable


@dataclass(frozen=True)
class Answer:
    """`outputs` by name where it is valid; `message` is what the implementation said, shortened."""

    ending: Ending
    message: str = ""
    outputs: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """`seconds` for a test, and `start` more for the first one of a process that stays; `memory` in bytes, 0: any."""

    seconds: float = 10.0
    memory: int = 0
    start: float = 30.0


class Door(Protocol):
    """Runs graphs on an implementation, one after the other."""

    def run(self, graph: Graph, feeds: Mapping[str, Array]) -> Answer: ...

    def close(self) -> None: ...
