"""Every row of the op table that has a float in it has a test of corners: these tests are looked through, not run."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import float_tools

from tosa_engine.numerics.float_formats import FORMATS
from tosa_engine.spec import TABLE, bind_operator

from . import test_corners, test_corners_moves, test_corners_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    import pytest

    from tosa_engine.graph import Graph

MODULES = (test_corners, test_corners_moves, test_corners_tensors)
ELSEWHERE = {("FFT2D", "fp32"), ("RFFT2D", "fp32")}  # test_fft: infinities, NaN, subnormal values, signed zeros


class Seen(Exception):
    """A graph was noted; nothing is computed."""


class Notes:
    """Stands for the oracle: notes the rows of the graphs that it is given."""

    def __init__(self) -> None:
        self.rows: set[tuple[str, str]] = set()

    def note(self, graph: Graph) -> None:
        for operator in graph.main.operators:
            row = bind_operator(operator, graph.main, graph).row
            if row is not None:
                self.rows.add((operator.op, row.key))

    def run(self, graph: Graph, *_: Any, **__: Any) -> None:
        self.note(graph)
        raise Seen

    def check(self, op: str, inputs: Any, wanted: Any, out: Any = None, constants: Any = (), **attributes: Any) -> None:
        self.note(float_tools.graph_of(op, inputs, out, constants, **attributes))


def uses(module: ModuleType) -> Iterator[Any]:
    """Every test of a module with every set of its parameters, as a function without any."""
    for name, test in vars(module).items():
        if name.startswith("test_") and callable(test):
            sets = [parameters(mark) for mark in getattr(test, "pytestmark", [])]
            for chosen in itertools.product(*sets):
                yield lambda test=test, chosen=chosen: test(**{k: v for one in chosen for k, v in one.items()})


def parameters(mark: pytest.Mark) -> list[dict[str, Any]]:
    names, values = mark.args
    if isinstance(names, str):
        return [{names: value} for value in values]
    return [dict(zip(names, value, strict=True)) for value in values]


def test_every_row_of_floats_has_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    notes = Notes()
    for module in MODULES:
        monkeypatch.setattr(module, "check", notes.check, raising=False)
        monkeypatch.setattr(module, "oracle", notes, raising=False)
    for use in (use for module in MODULES for use in uses(module)):
        try:
            use()
        except Seen:
            continue
    rows = {(spec.name, row.key): row for spec in TABLE.values() for row in spec.rows}
    wanted = {place for place, row in rows.items() if any(t in FORMATS for t in row.types.values())}
    assert sorted(wanted - notes.rows - ELSEWHERE) == []
    assert wanted & ELSEWHERE == ELSEWHERE
