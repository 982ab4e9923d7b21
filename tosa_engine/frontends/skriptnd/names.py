"""Names of files."""

from __future__ import annotations

from typing import Final

MAIN: Final = "main.sknd"
FOLDER: Final = ".nnef2"
ARCHIVES: Final = (".nnef2.tgz", ".nnef2.tar", ".nnef2.tar.gz")
TEXT: Final = ".sknd"
