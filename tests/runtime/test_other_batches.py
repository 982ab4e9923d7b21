"""Runs on another number of samples than the graph was made for, and a session as users of ONNX Runtime know it."""

from __future__ import annotations

import copy
import io
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nets import Net, feeds_of

from tosa_engine import Session
from tosa_engine.errors import DataError, UsageError
from tosa_engine.load import load
from tosa_engine.serialize import json_to_text, tosa_to_bytes
from tosa_engine.types import fp32, i8, i32

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph


def convolution(samples: int = 1) -> Graph:
    net = Net()
    x = net.input("x", i8, samples, 5, 5, 3)
    return net.done(net.conv("y", x, net.weights(4, 3, 3, 3), 4, pad=(1, 1, 1, 1)))


def reduction() -> Graph:
    """Samples meet."""
    net = Net()
    x = net.input("x", i32, 1, 7)
    return net.done(net.op("REDUCE_SUM", "y", i32, x, axis=0))


@pytest.mark.parametrize("samples", [2, 3, 8])
@pytest.mark.parametrize("checked", [False, True])
def test_each_sample_has_the_bytes_of_a_run_of_its_own(samples: int, checked: bool) -> None:
    session = Session(convolution(), 1, checked=checked)
    rows = [feeds_of(session.graph, seed)["x"] for seed in range(samples)]
    (found,) = session.run(None, {"x": np.concatenate(rows)})
    assert found.shape == (samples, 5, 5, 4)
    for row, its in zip(rows, found, strict=True):
        assert session.run(None, {"x": row})[0][0].tobytes() == its.tobytes()


def test_fewer_samples_than_the_graph_has() -> None:
    session = Session(convolution(4), 2)
    whole = feeds_of(session.graph, 1)["x"]
    (wanted,), (found,) = session.run(None, {"x": whole}), session.run(None, {"x": whole[:3]})
    np.testing.assert_array_equal(found, wanted[:3])


def test_where_samples_meet_or_arrays_fit_no_number_the_shape_is_wrong() -> None:
    with pytest.raises(DataError, match=r"wanted int32\[1, 7\]"):
        Session(reduction(), 1).run(None, {"x": np.zeros((2, 7), np.int32)})
    session = Session(convolution(), 1)
    for shape in [(0, 5, 5, 3), (2, 5, 6, 3), (5, 5, 3)]:
        with pytest.raises(DataError, match=r"wanted int8\[1, 5, 5, 3\]"):
            session.run(None, {"x": np.zeros(shape, np.int8)})
    with pytest.raises(DataError, match=r"int16"):
        session.run(None, {"x": np.zeros((2, 5, 5, 3), np.int16)})


def test_the_names_of_onnx_runtime() -> None:
    session = Session(convolution(), 1)
    assert [port.name for port in session.get_inputs()] == ["x"]
    assert [port.shape for port in session.get_outputs()] == [(1, 5, 5, 4)]
    feeds = feeds_of(session.graph, 1)
    wanted = session.run(None, feeds)[0].tobytes()
    for names in (["y"], ("y",), []):
        (found,) = session.run(output_names=names, input_feed=feeds)
        assert found.tobytes() == wanted
    assert repr(session) == "<Session x i8[1, 5, 5, 3] -> y i32[1, 5, 5, 4], 1 thread>"
    assert [port.type for port in (*session.get_inputs(), *session.get_outputs())] == ["tensor(int8)", "tensor(int32)"]
    net = Net()
    floats = Session(net.done(net.op("ABS", "y", fp32, net.input("x", fp32, 2))), 1)
    assert floats.get_inputs()[0].type == "tensor(float)"


def test_copies_run_alike() -> None:
    session = Session(convolution(), 1)
    feeds = feeds_of(session.graph, 1)
    for other in (copy.copy(session), copy.deepcopy(session), pickle.loads(pickle.dumps(session))):
        assert other.run(None, feeds)[0].tobytes() == session.run(None, feeds)[0].tobytes()


def test_a_closed_session_says_so() -> None:
    with Session(convolution(), 1) as session:
        feeds = feeds_of(session.graph, 1)
        session.run(None, feeds)
    stacked = {"x": feeds["x"][None]}
    for run in (
        lambda: session.run(None, feeds), lambda: session.run(["y"], feeds), lambda: session.run_real(None, feeds),
        lambda: session.run_each(None, stacked), lambda: session.profile(feeds), session.plan,
    ):  # fmt: skip
        with pytest.raises(UsageError, match="this session is closed"):
            run()


def test_bytes_and_open_files(tmp_path: Path) -> None:
    content = tosa_to_bytes(convolution())
    assert [port.name for port in Session(content, 1).inputs] == ["x"]
    for given in (bytearray(content), memoryview(content), io.BytesIO(content)):
        assert [port.name for port in Session(given, 1).inputs] == ["x"]
    (tmp_path / "net.tosa").write_bytes(content)
    (tmp_path / "net.tosa.part").write_bytes(content)
    (tmp_path / "net.json").write_text(json_to_text(convolution()))
    for file in ("net.tosa", "net.tosa.part", "net.json"):
        with (tmp_path / file).open("rb") as opened:
            assert [port.name for port in Session(opened, 1).inputs] == ["x"]
    assert [tensor.name for tensor in load(content, name="net.tosa").inputs] == ["x"]
    for wrong in (b"", b"no model", b"\0" * 99):
        with pytest.raises(UsageError, match="bytes don't tell the format"):
            load(wrong)
    with pytest.raises(UsageError, match="bytes don't tell the format"):
        load(content, name="../net.tosa")
    with pytest.raises(UsageError, match="got a str"):
        load(io.StringIO("no bytes"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a model is a path, bytes or a file open for bytes; got a NoneType"):
        load(None)  # type: ignore[arg-type]
