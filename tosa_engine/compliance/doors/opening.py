"""From the text of `--engine` to a door."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...errors import UsageError
from .answer import Limits
from .exchange import Exchange
from .pipe import Pipe
from .program import Program

if TYPE_CHECKING:
    from .answer import Door

FILES: Final = ("npy", "bin")
HOST: Final = "tosa_engine.compliance.doors.host"
FUNCTION: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
HELP: Final = (
    "a command with {graph} {inputs} {outputs} or {desc}; pipe:COMMAND; MODULE:FUNCTION; arm:MODULE of Arm's runner"
)


def open_door(engine: str, folder: Path, files: str = "npy", limits: Limits | None = None) -> Door:
    """The engine of a text as `--engine` has it; files are exchanged in a folder.

    Raises:
        UsageError: the text is none of the forms, or names a program that isn't there.
    """
    exchange, bounds = Exchange(Path(folder).absolute(), files), limits or Limits()
    if files not in FILES:
        raise UsageError(f"files are {' or '.join(FILES)}, not {files}")
    if engine.startswith("pipe:"):
        return Pipe.of(engine.removeprefix("pipe:"), exchange, bounds)
    if engine.startswith("arm:") or FUNCTION.fullmatch(engine):
        return Pipe([sys.executable, "-m", HOST, engine, files], exchange, bounds)
    return Program(engine, exchange, bounds)
