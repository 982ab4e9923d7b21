"""Errors that users meet. Each names a label, and where there is one the node, the tensor and the value.

The text form is `LABEL: message (node 'n', tensor 't')`. `exit_code` is what the command line returns.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from .text import MOST, NAME, shown

if TYPE_CHECKING:
    from collections.abc import Sequence


class Verdict(Enum):
    """What executing a graph on given inputs ends in (specification 1.5.1, `tosa_graph_result`)."""

    VALID = "valid"
    ERROR = "error"
    UNPREDICTABLE = "unpredictable"


class TosaEngineError(Exception):
    """Base of every error meant for users."""

    exit_code = 70

    def __init__(self, message: str, *, label: str = "", node: str = "", tensor: str = "") -> None:
        self.message, self.label, self.node, self.tensor = message, label, node, tensor
        super().__init__(self._text())

    def _text(self) -> str:
        """One line, whatever the names hold."""
        where = [
            f"{kind} '{shown(name, NAME)}'" for kind, name in (("node", self.node), ("tensor", self.tensor)) if name
        ]
        text = shown(f"{self.label}: {self.message}" if self.label else self.message, MOST)
        return f"{text} ({', '.join(where)})" if where else text


class UsageError(TosaEngineError):
    """The call itself is wrong: a flag, a name, an argument."""

    exit_code = 2


class DataError(TosaEngineError):
    """A file or array can't be read, is damaged, or has the wrong dtype, shape or values."""

    exit_code = 6


class ParseError(DataError):
    """A text can't be parsed: file, line (from 1), column (from 1), the line itself and a caret below it."""

    def __init__(
        self, message: str, *, file: str, line: int, column: int, source_line: str = "", label: str = ""
    ) -> None:
        self.file, self.line, self.column, self.source_line = file, line, column, source_line
        super().__init__(message, label=label)

    def _text(self) -> str:
        text = f"{shown(self.file)}:{self.line}:{self.column}: {super()._text()}"
        if not self.source_line:
            return text
        line = self.source_line.expandtabs(1).rstrip("\n")
        start = max(0, self.column - 100)
        before, after = shown(line[start : self.column - 1]), shown(line[self.column - 1 : start + 160])
        return f"{text}\n    {before}{after}\n    {' ' * len(before)}^"


class GraphError(TosaEngineError):
    """The graph is an error: verdict `error`."""

    exit_code = 3


class ErrorIf(GraphError):
    """An ERROR_IF, or a rule of operator arguments (number, rank, shape, data types), is violated."""


class LevelError(GraphError):
    """An argument is beyond what the target's level supports."""


class ProfileError(GraphError):
    """The operator or its data types need a profile or an extension that the target lacks."""


class VersionError(GraphError):
    """The operator, its data types or an attribute came with a later version of TOSA than the target's."""


class RequireViolation(TosaEngineError):
    """A REQUIRE doesn't hold for these inputs: verdict `unpredictable`. `index` is the first violating element of the
    tensor, `count` the number of its elements for which a REQUIRE of the operator doesn't hold.
    """

    exit_code = 4

    def __init__(
        self,
        message: str,
        *,
        label: str,
        node: str = "",
        tensor: str = "",
        index: tuple[int, ...] | None = None,
        count: int = 1,
    ) -> None:
        self.index, self.count = index, count
        super().__init__(message, label=label, node=node, tensor=tensor)


class TimeLimit(TosaEngineError):
    """A run was ended at its time limit."""

    exit_code = 124


class Unsupported(TosaEngineError):
    """Legal, but this engine has no implementation for it (yet)."""

    exit_code = 5


LISTED = 100  # problems that are named


class Problems(TosaEngineError):
    """Several problems found in one go, reported together."""

    def __init__(self, problems: Sequence[TosaEngineError], headline: str = "") -> None:
        self.problems = list(problems)
        self.headline = headline
        super().__init__(headline)

    def named(self) -> list[str]:
        """The problems as text, the first ones of very many."""
        rest = len(self.problems) - LISTED
        return [*(str(p) for p in self.problems[:LISTED]), *([f"... and {rest} more"] if rest > 0 else [])]

    def _text(self) -> str:
        lines = self.named()
        return "\n".join([shown(self.headline, MOST), *lines] if self.headline else lines)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """That of the problems; where they differ, a graph error speaks first."""
        codes = {p.exit_code for p in self.problems}
        return 3 if 3 in codes else min(codes, default=70)


def raise_all(problems: Sequence[TosaEngineError], headline: str = "") -> None:
    """Raise one problem as itself, several as `Problems`, none not at all."""
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise Problems(problems, headline)


def verdict_of(error: TosaEngineError) -> Verdict | None:
    """The verdict an error stands for, or None when the graph wasn't executed for another reason."""
    if isinstance(error, RequireViolation):
        return Verdict.UNPREDICTABLE
    if isinstance(error, GraphError) or (isinstance(error, Problems) and error.exit_code == 3):
        return Verdict.ERROR
    return None
