"""Variables that keep their values between runs (section 4.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from nnef_tools import write_nnef

from tosa_engine import Session, check, oracle, serialize
from tosa_engine.errors import ParseError, RequireViolation, Unsupported
from tosa_engine.frontends import nnef
from tosa_engine.state import Variables

if TYPE_CHECKING:
    from pathlib import Path

SWAP = """version 1.0;
graph g(x) -> (sum, a)
{
    x = external(shape = [1, 2]);
    a = variable(shape = [1, 2], label = 'state/a');
    b = variable(shape = [1, 2], label = 'b');
    shared = variable(shape = [1, 2], label = 'STATE/A');
    new_a = update(a, b);
    new_b = update(b, a);
    t = add(new_a, shared);
    sum = add(t, x);
}
"""
TENSORS = {"state/a": np.array([[1, 2]], np.float32), "b": np.array([[10, 20]], np.float32)}


def test_two_variables_are_swapped_run_by_run(tmp_path: Path) -> None:
    graph = nnef.load(write_nnef(tmp_path / "m.nnef", SWAP, TENSORS))
    check.validate(graph)
    session, variables = Session(graph), Variables()
    x = np.zeros((1, 2), np.float32)
    for run in range(4):
        results = session.run(None, {"x": x})
        assert [r.tolist() for r in results] == [[[11, 22]], [[1, 2]] if run % 2 == 0 else [[10, 20]]]
        expected = oracle.run(graph, {"x": x}, variables=variables)
        assert [expected[name].tolist() for name in ("sum", "a")] == [r.tolist() for r in results]
    assert sorted(session.state()) == ["b", "state/a"]


def test_an_updated_variable_survives_files(tmp_path: Path) -> None:
    model = write_nnef(tmp_path / "m.nnef", SWAP, TENSORS)
    serialize.write(nnef.load(model), tmp_path / "m.tosa")
    session = Session(tmp_path / "m.tosa")
    runs = [session.run(None, {"x": np.ones((1, 2), np.float32)})[1].tolist() for _ in range(3)]
    assert runs == [[[1, 2]], [[10, 20]], [[1, 2]]]


def test_convolutions_of_updated_variables(tmp_path: Path) -> None:
    """The passes move layouts across reads and writes: a running mean of images."""
    text = """version 1.0;
    extension KHR_enable_operator_expressions;
    graph g(x) -> (y) {
        x = external(shape = [1, 2, 4, 4]);
        m = variable(shape = [1, 2, 4, 4], label = 'm');
        y = avg_pool(update(m, m * 0.5 + x * 0.5), size = [1, 1, 2, 2], stride = [1, 1, 2, 2], padding = []);
    }"""
    session = Session(nnef.load(write_nnef(tmp_path, text, {"m": np.zeros((1, 2, 4, 4), np.float32)})))
    rng, mean = np.random.default_rng(0), np.zeros((1, 2, 4, 4))
    for _ in range(3):
        x = rng.standard_normal((1, 2, 4, 4)).astype(np.float32)
        mean = 0.5 * mean + 0.5 * x
        (y,) = session.run(None, {"x": x})
        np.testing.assert_allclose(y, mean.reshape(1, 2, 2, 2, 2, 2).mean((3, 5)), rtol=1e-5, atol=1e-6)


def test_a_variable_without_data_must_be_written_before_it_is_read(tmp_path: Path) -> None:
    graph = nnef.load(write_nnef(tmp_path, SWAP, {"b": TENSORS["b"]}))
    with pytest.raises(RequireViolation) as caught:
        oracle.run(graph, {"x": np.zeros((1, 2), np.float32)})
    assert caught.value.label == "VARIABLE_READ.R2"


def test_what_cant_be_updated(tmp_path: Path) -> None:
    text = SWAP.replace("b = variable(shape = [1, 2]", "b = variable(shape = [2]").replace("update(b, a)", "copy(b)")
    with pytest.raises(ParseError) as caught:
        nnef.load(write_nnef(tmp_path, text, {**TENSORS, "b": np.zeros(2, np.float32)}))
    assert caught.value.message == "'update': a variable of shape [1, 2] by a tensor of shape [2] can't be updated"
    whole = """version 1.0; graph g(x) -> (y) { x = external<integer>(shape = [1]);
        v = variable<integer>(shape = [1], label = 'v'); y = update(v, x); }"""
    with pytest.raises(Unsupported, match="the variable 'v' of type integer is updated"):
        nnef.load(write_nnef(tmp_path / "i", whole, {"v": np.zeros(1, np.int32)}))
