"""Hints of quantization from a file: they hold for all views of the values that they are said of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tosa_engine import types
from tosa_engine.errors import UsageError
from tosa_engine.graph import Graph, Location, QParams, new_graph
from tosa_engine.lower.hints import attach
from tosa_engine.lower.writer import Writer

PER_CHANNEL = QParams((0.5, 0.25, 1.0), (0, 0, 0), 8, True, False, 1)


def viewed() -> Graph:
    """x, the model's own; of it abs, as a TRANSPOSE and a RESHAPE give it under the name "y"."""
    graph = new_graph()
    writer = Writer(graph.main)
    x = writer.tensor("x", types.fp32, (1, 4, 3))
    x.source = Location("model", 1, "x")
    y = writer.reshape(writer.transpose(writer.unary("ABS", x), (0, 2, 1)), (1, 3, 2, 2))
    writer.rename(y, "y")
    y.source = Location("model", 1, "y")
    return graph


def test_a_hint_goes_back_through_views_up_to_the_operator_that_made_the_values() -> None:
    graph = viewed()
    attach(graph, {"y": PER_CHANNEL}, Path("model"))
    block = graph.main
    (made,) = [op for op in block.operators if op.op == "ABS"]
    before = block.tensors[made.outputs[0]]
    assert before.quant is not None
    assert (before.quant.scale, before.quant.axis) == (PER_CHANNEL.scale, 2)
    assert before.source is not None
    assert before.source.name == "y"
    assert block.tensors["x"].quant is None


def test_a_hint_for_nothing_is_told() -> None:
    with pytest.raises(UsageError, match=r"^the quantization names tensors that model doesn't have: z$"):
        attach(viewed(), {"z": PER_CHANNEL}, Path("model"))
