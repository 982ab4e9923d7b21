"""Ten JAX networks, recorded by tests/shared/jax_networks.py: floats within 1e-5 of JAX, integers equal.

HLO text of a network gives the same bytes as its StableHLO.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stablehlo_modules import needs_jaxlib, needs_newer, read

from tosa_engine import oracle

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

pytestmark = needs_jaxlib
DATA = Path(__file__).parents[2] / "data" / "stablehlo"
NAMES = sorted(path.stem for path in DATA.glob("*.npz"))


def recorded(name: str) -> tuple[list[Any], list[Any]]:
    """The arrays of the inputs and of JAX's outputs."""
    with np.load(DATA / f"{name}.npz") as arrays:
        found = {key: arrays[key] for key in arrays.files}
    return [[found[key] for key in sorted(found) if key[0] == side] for side in "io"]  # type: ignore[return-value]


def outputs(graph: Graph, inputs: list[Any]) -> list[Any]:
    feeds = {port.name: np.array(array) for port, array in zip(graph.inputs, inputs, strict=True)}
    found = oracle.run(graph, feeds)
    return [found[name] for name in graph.main.outputs]


def test_there_are_ten() -> None:
    assert len(NAMES) == 10


@pytest.mark.parametrize("name", [pytest.param(name, marks=needs_newer if name == "orders" else ()) for name in NAMES])
def test_as_jax_computes_it(name: str) -> None:
    inputs, wanted = recorded(name)
    found = outputs(read(DATA / f"{name}.mlirbc"), inputs)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(ours, theirs)
    of_hlo = outputs(read(DATA / f"{name}.hlo"), inputs)
    assert [one.tobytes() for one in of_hlo] == [one.tobytes() for one in found]


def test_a_loop_with_a_known_end_is_unrolled_and_one_that_data_end_is_a_region() -> None:
    operators = {name: {op.op for op in read(DATA / f"{name}.mlirbc").main.operators} for name in ("lstm", "collatz")}
    assert "WHILE_LOOP" not in operators["lstm"]
    assert "WHILE_LOOP" in operators["collatz"]


def test_a_low_number_chosen_before_softmax_is_minus_infinity() -> None:
    """Of a causal mask: the range of -1e9 would leave nothing for the scores as integers."""
    block = read(DATA / "causal_attention.mlirbc").main
    (select,) = [op for op in block.operators if op.op == "SELECT"]
    least = block.tensors[select.inputs[2]].data
    assert least is not None
    np.testing.assert_array_equal(least, np.full((1, 1, 1, 1), -np.inf))
    assert [op.op for op in block.consumers()[select.outputs[0]]] == ["softmax"]


def test_a_softmax_that_is_spelled_out_is_recognized() -> None:
    operators = [op.op for op in read(DATA / "vit_block.mlirbc").main.operators]
    assert operators.count("softmax") == 1
    assert "REDUCE_MAX" not in operators
