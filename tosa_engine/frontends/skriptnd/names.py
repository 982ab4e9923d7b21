"""Names of files."""

from __future__ import annotations

from typing import Final

MAIN: Final = "main.sknd"
