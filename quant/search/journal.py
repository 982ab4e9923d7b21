"""The scores of choices of precisions, kept in a journal by the digest of the choice."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import TosaEngineError
from tosa_engine.journal import Journal

from ..legalize.refusals import is_refusal
from ..metrics import Reading, Score

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from .evaluate import Evaluator

KIND: Final = "measurements"


class Scores:
    """`path` None: nothing is kept. Raises what `Journal` raises."""

    def __init__(
        self, path: str | os.PathLike[str] | None, belongs: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        self.journal = Journal(path, {"kind": KIND, **belongs}, resume=resume)

    def __len__(self) -> int:
        return len(self.journal)

    def score(self, precisions: Mapping[str, str], evaluate: Callable[[Mapping[str, str]], Score]) -> Score | str:
        """The score of a choice, measured unless it is known; why there is none where quantization refuses it.

        Raises what `evaluate` raises but refusals.
        """
        key = hashlib.sha256(json.dumps(sorted(precisions.items())).encode()).hexdigest()
        known = self.journal.get(key)
        if known is not None:
            with self.journal.reading(key):
                return _parsed(known)
        found: Score | str
        try:
            found = evaluate(precisions)
        except TosaEngineError as problem:
            if not is_refusal(problem):
                raise
            found = str(problem)
        self.journal.put(key, _plain(found))
        return found


def _plain(found: Score | str) -> dict[str, Any]:
    if isinstance(found, str):
        return {"error": found}
    reading = found.reading
    return {"noise": found.noise, "metric": None if reading is None else [reading.name, reading.value]}


def _parsed(content: Any) -> Score | str:
    if "error" in content:
        return str(content["error"])
    metric = content["metric"]
    reading = None if metric is None else Reading(str(metric[0]), float(metric[1]))
    return Score(float(content["noise"]), reading)


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
