"""One test, run and judged: graph in, one of the specification's three verdicts out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .. import serialize
from ..compare import WrongForm, compare
from ..errors import TosaEngineError, Verdict, verdict_of
from ..types import from_numpy, of_bits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..compare import Difference
    from ..target import Target
    from ..types import Array
    from .description import Description
    from .engines import Engine


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a test ended. `verdict` is None where the graph was not executed for a reason that is no verdict: a file that
    can't be read, an operator that isn't implemented. `message` says why it isn't valid; `outputs` are by name.
    """

    verdict: Verdict | None
    message: str = ""
    outputs: Mapping[str, Array] = field(default_factory=dict)


def run_test(description: Description, engine: Engine, target: Target) -> Outcome:
    """Read the graph and the inputs, execute, and say which verdict that gives.

    The verdict alone: whether it is the expected one, the caller knows. Errors that aren't ours (a TosaEngineError)
    are bugs and come through.
    """
    try:
        graph = serialize.read(description.graph)
        formats = {tensor.name: tensor.dtype for tensor in graph.inputs}
        feeds = {n: of_bits(a, formats[n]) if n in formats else a for n, a in description.feeds().items()}
        outputs = engine(graph, feeds, target)
    except TosaEngineError as problem:
        return Outcome(verdict_of(problem), str(problem))
    return Outcome(Verdict.VALID, outputs=outputs)


def compare_with(outcome: Outcome, expected: Mapping[str, Array]) -> list[Difference | WrongForm]:
    """Where the outputs differ from the expected ones, bit by bit; a missing output differs in its form."""
    found: list[Difference | WrongForm] = []
    for name, stored in expected.items():
        dtype = from_numpy(outcome.outputs[name].dtype) if name in outcome.outputs else None
        array = stored if dtype is None else of_bits(stored, dtype)
        if name not in outcome.outputs:
            found.append(WrongForm(name, "missing", f"{array.dtype}{list(array.shape)}"))
            continue
        difference = compare(name, outcome.outputs[name], array)
        if difference is not None:
            found.append(difference)
    return found
