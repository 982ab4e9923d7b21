"""Files that users write: TOML, with the errors of this engine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .errors import DataError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import os


LARGEST: Final = 1 << 20  # bytes that a person writes


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a file. Raises OSError, and DataError where it isn't TOML, or very large."""
    with Path(path).open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DataError(f"{path}: not TOML that a person writes: more than {LARGEST:,} bytes")
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise DataError(f"{path}: not TOML: {problem}") from problem
