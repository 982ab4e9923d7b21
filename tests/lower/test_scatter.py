"""Rows that are replaced or combined at places that data say, beside plain numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from lower_tools import graph_of, normal, run

from tosa_engine import types
from tosa_engine.lower import scatter
from tosa_engine.lower.problems import Misfit, Unlowered

if TYPE_CHECKING:
    from collections.abc import Callable

    from lower_tools import Array

VALUES, UPDATES = normal(1, 6, 2), normal(1, 4, 2)
PLACES = np.array([[4, 1, 4, 5]], np.int32)
UFUNCS: dict[str, Callable[..., None]] = {
    "add": np.add.at, "mul": np.multiply.at, "max": np.maximum.at, "min": np.minimum.at,
}  # fmt: skip


@pytest.mark.parametrize("reduction", UFUNCS)
def test_updates_are_combined_where_places_repeat(reduction: str) -> None:
    wanted: Array = VALUES.astype(np.float32).copy()
    UFUNCS[reduction](wanted[0], PLACES[0], UPDATES[0].astype(np.float32))
    got = run(
        lambda g, x, y: scatter.combined(g, x, g.const(PLACES, types.i32), y, reduction), VALUES, UPDATES
    )  # fmt: skip
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_rows_are_replaced() -> None:
    places = np.array([[4, 1, 0, 5]], np.int32)
    wanted = VALUES.astype(np.float32).copy()
    wanted[0, places[0]] = UPDATES[0]
    got = run(lambda g, x, y: scatter.scattered(g, x, g.const(places, types.i32), y), VALUES, UPDATES)
    np.testing.assert_array_equal(got, wanted)


def test_what_cannot_be_combined() -> None:
    with pytest.raises(Misfit, match="the reduction 'mean'"):
        graph_of(lambda g, x, y: scatter.combined(g, x, g.const(PLACES, types.i32), y, "mean"), VALUES, UPDATES)
    many = np.zeros((1, 5000, 2), np.float32)
    with pytest.raises(Unlowered, match="5000 updates with a reduction"):
        graph_of(lambda g, x: scatter.combined(g, x, g.const(PLACES, types.i32), x, "add"), many)
