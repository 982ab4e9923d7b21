"""What was measured, kept line by line: after an interrupt the next run goes on where this one stopped.

The first line says what the scores belong to; each other line is a choice of precisions, as its digest, and its score.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import DataError, TosaEngineError

from ..metrics import Reading, Score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .evaluate import Evaluator

FORMAT: Final = "tosa-engine measurements"
VERSION: Final = 2


class Journal:
    """`path` None: nothing is kept. Raises DataError for a file that is of something else, or not a journal."""

    def __init__(self, path: str | Path | None, belongs: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, Score | str] = {}
        head = {"format": FORMAT, "version": VERSION, **belongs}
        if self._path is not None and self._path.exists():
            self._read(self._path, json.loads(json.dumps(head)))
        elif self._path is not None:
            self._path.write_text(json.dumps(head, sort_keys=True) + "\n", encoding="utf-8")

    def __len__(self) -> int:
        return len(self._known)

    def score(self, precisions: Mapping[str, str], evaluate: Callable[[Mapping[str, str]], Score]) -> Score | str:
        """The score of a choice, measured unless it is known; why there is none where it can't be quantized."""
        key = hashlib.sha256(json.dumps(sorted(precisions.items())).encode()).hexdigest()
        if key not in self._known:
            found: Score | str
            try:
                found = evaluate(precisions)
            except TosaEngineError as problem:
                found = str(problem)
            self._known[key] = found
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(_line(key, found))
        return self._known[key]

    def _read(self, path: Path, head: dict[str, Any]) -> None:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
        try:
            found = json.loads(lines[0]) if lines else None
            if found != head:
                raise DataError(f"{path}: {_difference(found, head)}; give another file to begin anew")
            whole = [line for line in lines[1:] if line.endswith("\n")]  # an interrupt may have cut the last one
            for line in whole:
                key, score = _parsed(line)
                self._known[key] = score
        except (ValueError, KeyError, TypeError, IndexError) as problem:
            raise DataError(f"{path}: not a file of measurements: {problem}") from problem
        if len(whole) != len(lines) - 1:
            path.write_text("".join([lines[0], *whole]), encoding="utf-8")


def _difference(found: Any, head: Mapping[str, Any]) -> str:
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return "not a file of measurements"
    return f"measured with another {', '.join(key for key in head if found.get(key) != head[key])}"


def _line(key: str, found: Score | str) -> str:
    if isinstance(found, str):
        return json.dumps({"choice": key, "error": found}) + "\n"
    reading = found.reading
    metric = None if reading is None else [reading.name, reading.value]
    return json.dumps({"choice": key, "noise": found.noise, "metric": metric}) + "\n"


def _parsed(line: str) -> tuple[str, Score | str]:
    content = json.loads(line)
    if "error" in content:
        return str(content["choice"]), str(content["error"])
    metric = content["metric"]
    reading = None if metric is None else Reading(str(metric[0]), float(metric[1]))
    return str(content["choice"]), Score(float(content["noise"]), reading)


def belongs_to(evaluator: Evaluator) -> dict[str, Any]:
    """What decides the scores of an evaluator, as plain data."""
    statistics = hashlib.sha256(evaluator.statistics.to_text().encode()).hexdigest()
    judge = evaluator.judge
    return {
        "model": evaluator.statistics.model, "statistics": statistics, "scheme": repr(evaluator.scheme),
        "data": judge.samples.describe(), "samples": judge.count,
        "metric": None if judge.metric is None else judge.metric.name,
        "targets": None if judge.targets is None else judge.targets.digest(judge.count),
    }  # fmt: skip
