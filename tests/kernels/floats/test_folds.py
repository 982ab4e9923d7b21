"""Maxima, minima, sums and averages of float32 in vectors: every length of a line, NaN, zeros of both signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import oracle, types
from tosa_engine.builder import Builder
from tosa_engine.kernels.reductions.places import LANES
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

SPECIAL = np.array([0.0, -0.0, 0.0, -0.0, -1.0, -3.5, np.nan, -np.inf], np.float32)


def same_bits(graph: Graph, x: Array) -> None:
    feeds = {"x": x}
    wanted = oracle.run(graph, feeds)[graph.main.outputs[0]]
    for threads in (1, 3):
        found = Session(graph, threads).run(None, feeds)[0]
        np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(found[numbers].view(np.int32), wanted[numbers].view(np.int32))


def values(shape: tuple[int, ...], most: int) -> Array:
    """Mostly negative numbers and zeros of both signs, so that zeros are the largest; NaN here and there."""
    return SPECIAL[np.random.default_rng(most).integers(0, most, shape)]


@pytest.mark.parametrize("most", [4, 6, 8])
@pytest.mark.parametrize("nan_mode", ["PROPAGATE", "IGNORE"])
@pytest.mark.parametrize("op", ["REDUCE_MAX", "REDUCE_MIN"])
def test_extremes_are_those_of_the_oracle_with_the_sign_of_zeros(op: str, nan_mode: str, most: int) -> None:
    b = Builder()
    x = b.input(types.fp32, (5, 37, 83), "x")
    b.output(b.op(op, x, axis=1, nan_mode=nan_mode))
    sign = 1 if op == "REDUCE_MAX" else -1
    same_bits(b.graph(), sign * values((5, 37, 83), most))
    for length in (1, 15, 16, 17, 70):
        b = Builder()
        x = b.input(types.fp32, (9, length), "x")
        b.output(b.op(op, x, axis=1, nan_mode=nan_mode))
        same_bits(b.graph(), sign * values((9, length), most))


@pytest.mark.parametrize("nan_mode", ["PROPAGATE", "IGNORE"])
def test_maxima_of_windows_with_any_number_of_channels(nan_mode: str) -> None:
    for channels in (1, 15, 16, 17, 64, 83):
        b = Builder()
        x = b.input(types.fp32, (2, 5, 6, channels), "x")
        y = b.op("MAX_POOL2D", x, kernel=(3, 2), stride=(1, 2), pad=(1, 1, 1, 1), nan_mode=nan_mode)
        b.output(y)
        same_bits(b.graph(), values((2, 5, 6, channels), 8))


def test_sums_have_one_order_whatever_the_vectors() -> None:
    """Along the last axis LANES sums side by side, then their halves; along another one the axis' own order."""
    x = np.random.default_rng(1).standard_normal((3, 45)).astype(np.float32) * np.float32(1e3)
    b = Builder()
    b.output(b.op("REDUCE_SUM", b.input(types.fp32, (3, 45), "x"), axis=1))
    lanes = np.zeros((3, LANES), np.float32)
    for first in range(0, 45, LANES):
        part = x[:, first : first + LANES]
        lanes[:, : part.shape[1]] += part
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    np.testing.assert_array_equal(Session(b.graph(), 1).run(None, {"x": x})[0], lanes)
    b = Builder()
    b.output(b.op("REDUCE_SUM", b.input(types.fp32, (3, 45), "x"), axis=0))
    np.testing.assert_array_equal(Session(b.graph(), 1).run(None, {"x": x})[0], ((x[0] + x[1]) + x[2])[None])
