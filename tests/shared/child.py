"""Where processes that tests start find the packages and the shared modules of the tests."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONPATH = os.pathsep.join(str(folder) for folder in (ROOT, ROOT / "tests" / "shared"))
