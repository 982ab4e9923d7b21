"""What the benchmarks run: a folder with one folder per model, which holds `model.tosa` and recorded cases
(`CASE_desc.json` names the arrays of inputs and outputs).
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Arrays = dict[str, np.ndarray[Any, Any]]


def read_case(folder: Path) -> tuple[Arrays, Arrays, dict[str, Any]]:
    """Inputs and outputs by name, and the description, of the first case by name."""
    case: dict[str, Any] = json.loads(min(folder.glob("*_desc.json")).read_text(encoding="utf-8"))
    feeds, outputs = (
        {n: np.load(folder / f, allow_pickle=False) for n, f in zip(case[f"{p}_name"], case[f"{p}_file"], strict=True)}
        for p in ("ifm", "ofm")
    )
    return feeds, outputs, case


def same(found: list[Any], wanted: Arrays) -> bool:
    """Whether outputs, in the order of the description, have the recorded bytes."""
    return len(found) == len(wanted) and all(
        np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(found, wanted.values(), strict=True)
    )


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def write(file: Path, text: str) -> None:
    """Write a file, and make its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
