"""Files that users write: TOML, with the errors of this engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DataError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import os


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a file. Raises OSError, and DataError where it isn't TOML."""
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise DataError(f"{path}: not TOML: {problem}") from problem
