"""The graph writer: names, constants that are made once, views of constants, hints of parts, one name for another."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from lower_tools import normal

from tosa_engine import types
from tosa_engine.graph import Location, Operator, QParams, new_graph
from tosa_engine.lower.composites import grouped
from tosa_engine.lower.problems import Unlowered
from tosa_engine.lower.views import per_tensor, within
from tosa_engine.lower.writer import Writer


def writer(**options: Any) -> Writer:
    return Writer(new_graph().main, **options)


def test_names_begin_with_the_stem_and_leave_others_alone() -> None:
    g = writer(stem="conv", taken={"conv/add"})
    x = g.tensor("x", types.fp32, (2,))
    assert [g.binary("ADD", x, x).name for _ in range(2)] == ["conv/add_1", "conv/add_2"]
    assert [g.tensor("x", types.fp32, None).name, g.fresh("y")] == ["x_1", "y"]


def test_names_are_the_first_that_are_free() -> None:
    g = writer()
    start = time.process_time()
    tensors = [g.tensor("x", types.fp32, None) for _ in range(20_000)]
    assert time.process_time() - start < 3  # each looked through all numbers before it
    assert [t.name for t in tensors[:3]] == ["x", "x_1", "x_2"]
    assert tensors[-1].name == "x_19999"
    g.rename(tensors[7], "y")
    g.rename(tensors[0], "z")
    assert [g.tensor("x", types.fp32, None).name for _ in range(3)] == ["x", "x_7", "x_20000"]


@pytest.mark.parametrize("of", ["a tensor", "a constant"])
def test_more_dimensions_than_arrays_have(of: str) -> None:
    g = writer()
    x = g.tensor("x", types.fp32, (1,)) if of == "a tensor" else g.const(normal(1), types.fp32)
    with pytest.raises(Unlowered, match="a tensor of 100000 dimensions; at most 32 are made"):
        g.reshape(x, (1,) * 100_000)


def test_equal_constants_are_made_once() -> None:
    g = writer()
    assert g.scalar(0.0) is g.scalar(0.0)
    assert g.scalar(0.0) is not g.scalar(-0.0)
    assert g.scalar(1.0, rank=2) is not g.scalar(1.0)
    assert g.dims((1, 2)) is g.dims([1, 2])
    assert [op.op for op in g.block.operators] == ["CONST", "CONST", "CONST", "CONST", "CONST_SHAPE"]


def test_views_of_constants_are_constants() -> None:
    g = writer()
    quant = QParams((0.5, 0.25, 0.125), (0, 0, 0), axis=1)
    x = g.const(normal(2, 3), types.fp32, quant=quant)
    turned = g.transpose(x, (1, 0))
    assert turned.data is not None
    assert np.array_equal(turned.data, normal(2, 3).T)
    assert turned.quant == QParams((0.5, 0.25, 0.125), (0, 0, 0), axis=0)
    part = g.section(x, 1, 1, 2)
    assert part.quant == QParams((0.25, 0.125), (0, 0), axis=1)
    assert {op.op for op in g.block.operators} == {"CONST"}
    assert g.reshape(x, (2, 3)) is x


def test_hints_of_parts_are_those_of_the_whole_tensor() -> None:
    g, quant = writer(), QParams((0.5,), (3,))
    x = g.tensor("x", types.fp32, (4, 2), quant=quant)
    assert g.slice(x, (1, 0), (2, 2)).quant == quant
    assert g.pad(x, (1, 0), (0, 0)).quant == quant
    assert g.pad(x, (1, 0), (0, 0), 7.0).quant is None
    x.quant = QParams((0.5, 0.25), (0, 0), axis=1)
    assert per_tensor(x) is None
    assert within(g.unary("ABS", x), x).quant is None


def test_locations_go_to_operators_and_their_tensors() -> None:
    g = writer(location=Location("net.txt", 7, "conv"))
    x = g.tensor("x", types.fp32, (2,))
    y = g.unary("ABS", x)
    assert (x.source, y.source) == (None, Location("net.txt", 7))
    assert g.producers[y.name].location == Location("net.txt", 7, "conv")


def test_another_name_for_a_tensor() -> None:
    g = writer()
    x = g.tensor("x", types.fp32, (2,))
    y = g.unary("ABS", x)
    g.rename(y, "result")
    assert (y.name, g.block.operators[-1].outputs, "abs" in g.block.tensors) == ("result", ["result"], False)
    assert g.producers["result"] is g.block.operators[-1]


def test_composites_keep_their_body() -> None:
    g = writer()
    y = grouped(g, "mean", g.tensor("x", types.fp32, (2, 3, 4)), axes=(1, 2))
    composite = g.producers[y.name]
    assert (y.shape, composite.op, composite.attributes) == ((2, 1, 1), "mean", {"axes": (1, 2)})
    assert [op.op for op in composite.body.operators] == ["REDUCE_SUM", "REDUCE_SUM", "CONST", "CONST", "MUL"]


def test_operators_of_any_kind_are_appended() -> None:
    g = writer()
    y = g.tensor("y", types.fp32, (2,))
    g.append(Operator("VARIABLE_READ", [], [y.name], {"name": "v"}))
    assert g.producers == {"y": g.block.operators[0]}
