"""Graphs of every float format from end to end: files, feeds, probes, control flow, variables, the command line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from float_tools import VALUES, WIDE, literal

from tosa_engine import Session, arrays, oracle, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.check import check
from tosa_engine.compare import compare
from tosa_engine.errors import DataError
from tosa_engine.target import Target
from tosa_engine.types import bf16, fp8e4m3, fp8e5m2, fp16, fp32

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array, DType

NARROW = (fp16, bf16, fp8e4m3, fp8e5m2)


def moved(dtype: DType) -> Graph:
    """y = x backwards, behind three constants."""
    b = Builder()
    x = b.input(dtype, (2, 3), "x")
    constant = b.const(literal([1.5, -0.0, "most"], dtype).reshape(1, 3), name="c")
    b.output(b.op("CONCAT", [constant, b.op("REVERSE", x, axis=1, output="r")], axis=0, output="y"))
    return b.graph()


def feeds_of(dtype: DType) -> dict[str, Array]:
    return {"x": literal([1.0, -2.0, "tiny", "-low", float("nan"), 0.25], dtype).reshape(2, 3)}


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_graphs_come_back_from_files_and_run(dtype: DType, tmp_path: Path) -> None:
    graph, feeds = moved(dtype), feeds_of(dtype)
    wanted = oracle.run(graph, feeds)["y"]
    assert wanted.dtype == dtype.storage
    for suffix in ("tosa", "json"):
        serialize.write(graph, tmp_path / f"g.{suffix}")
        session = Session(tmp_path / f"g.{suffix}", 1, checked=True)
        assert [(p.dtype, p.tosa_type) for p in (*session.inputs, *session.outputs)] == [(dtype.storage, dtype)] * 2
        seen: dict[str, Array] = {}

        class Watch:
            tensors = ("r",)

            def __call__(self, node: str, tensor: str, array: Array, seen: dict[str, Array] = seen) -> None:
                seen[tensor] = array

        (found,) = session.run(None, feeds, probes=[Watch()])
        assert found.tobytes() == wanted.tobytes()
        assert seen["r"].tobytes() == feeds["x"][:, ::-1].tobytes()


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_feeds_are_not_cast(dtype: DType) -> None:
    session = Session(moved(dtype), 1)
    for wrong in (np.zeros((2, 3), np.float32), np.zeros((2, 3), f"u{dtype.storage.itemsize}")):
        with pytest.raises(DataError) as caught:
            session.run(None, {"x": wrong})
        assert caught.value.message == f"wrong input: wanted {dtype.storage}[2, 3] for {dtype}, got {wrong.dtype}[2, 3]"


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_the_command_reads_what_files_hold(command: Any, dtype: DType, tmp_path: Path) -> None:
    graph, feeds = moved(dtype), feeds_of(dtype)
    serialize.write(graph, tmp_path / "g.tosa")
    wanted = oracle.run(graph, feeds)["y"]
    arrays.write(tmp_path / "x.npy", feeds)
    arrays.write(tmp_path / "in.npz", {**feeds, "y": wanted})
    (tmp_path / "x.bin").write_bytes(feeds["x"].tobytes())
    np.save(tmp_path / "bits.npy", feeds["x"].view(f"u{dtype.storage.itemsize}") if dtype in NARROW[1:] else feeds["x"])
    np.save(tmp_path / "own.npy", feeds["x"])  # as numpy names the dtype, `<f1` for fp8e5m2
    for given in ("x.npy", "x.bin", "bits.npy", "own.npy", "in.npz"):
        outcome = command("run", tmp_path / "g.tosa", "-i", tmp_path / given, "--expect", tmp_path / "in.npz")
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out == "EQUAL: 1 of 1 outputs, 9 elements, bit for bit\n"
    assert command("run", tmp_path / "g.tosa", "-i", tmp_path / "x.npy", "-o", tmp_path / "y.npy").code == 0
    assert types.of_bits(arrays.read(tmp_path / "y.npy"), dtype).tobytes() == wanted.tobytes()
    shown = command("run", tmp_path / "g.tosa", "-i", tmp_path / "x.npy")
    assert (shown.code, shown.out.splitlines()[0]) == (0, f"y: {dtype.storage}[3, 3]")
    (tmp_path / "x.bin").write_bytes(feeds["x"].tobytes() + b"\0")
    wrong, size = command("run", tmp_path / "g.tosa", "-i", f"x=@{tmp_path}/x.bin"), feeds["x"].nbytes
    assert wrong.code == 6
    assert f"DATA.bin: {dtype}[2, 3] takes {size} bytes, the file has {size + 1} (tensor 'x')" in wrong.err
    os.truncate(tmp_path / "x.bin", 1 << 40)  # more than memory holds
    wrong = command("run", tmp_path / "g.tosa", "-i", f"x=@{tmp_path}/x.bin")
    assert f"takes {size} bytes, the file has {1 << 40} (tensor 'x')" in wrong.err


def test_what_official_tools_write(tmp_path: Path) -> None:
    """The headers of their files: nameless bytes, and for fp8e5m2 unsigned ones."""
    for dtype, descr in ((bf16, "<V2"), (fp8e4m3, "<V1"), (fp8e5m2, "|u1"), (fp16, "<f2")):
        arrays.write(tmp_path / "x.npy", {"x": np.ones(3, dtype.storage)})
        with (tmp_path / "x.npy").open("rb") as stream:
            assert arrays.read_header(stream, "x")[0].stored == np.dtype(descr)
        assert types.of_bits(arrays.read(tmp_path / "x.npy"), dtype).astype(np.float32).tolist() == [1.0] * 3


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_differences_are_told_in_values(dtype: DType) -> None:
    got, wanted = literal([1.0, -0.0, float("nan")], dtype), literal([1.5, 0.0, float("nan")], dtype)
    assert str(compare("y", got, wanted)) == (
        "'y' first differs at [0]: got 1.0, expected 1.5; 2 of 3 elements differ, by at most 0.5"
    )
    assert compare("y", got, got.copy()) is None


def halved_until_small(dtype: DType) -> Graph:
    """While x > limit: x = x / 2, n = n + 1; then COND_IF gives n or -n."""
    b = Builder()
    cond, body = b.region("cond"), b.region("body")
    x, _ = cond.input(dtype, (1,), "x"), cond.input(dtype, (1,), "n")
    cond.output(cond.op("GREATER", x, cond.const(literal([0.75], dtype))))
    x, n = body.input(dtype, (1,), "x"), body.input(dtype, (1,), "n")
    half, one, no = body.const(literal([0.5], dtype)), body.const(literal([1.0], dtype)), np.zeros(1, np.int8)
    body.output(body.op("MUL", x, half, no), body.op("ADD", n, one))
    keep, turn = b.region("keep"), b.region("turn")
    keep.output(keep.op("IDENTITY", keep.input(dtype, (1,), "a")))
    zero = np.zeros(1, dtype.storage)
    turn.output(turn.op("NEGATE", turn.input(dtype, (1,), "a"), zero, zero))
    x, flag = b.input(dtype, (1,), "x"), b.input(types.bool_, (1,), "flag")
    start = b.const(literal([0.0], dtype))
    left, times = b.op("WHILE_LOOP", [x, start], cond_graph="cond", body_graph="body")
    (signed,) = b.op("COND_IF", flag, [times], then_graph="keep", else_graph="turn")
    b.output(left, signed)
    return b.graph()


@pytest.mark.parametrize("dtype", WIDE, ids=str)
@pytest.mark.parametrize(("x", "times"), [(0.5, 0.0), (6.0, 3.0), (float("nan"), 0.0), ("low", 0.0)])
def test_control_flow(dtype: DType, x: Any, times: float) -> None:
    graph = halved_until_small(dtype)
    for flag, sign in ((True, 1.0), (False, -1.0)):
        feeds = {"x": literal([x], dtype), "flag": np.array([flag])}
        for found in (list(oracle.run(graph, feeds).values()), Session(graph, 1, checked=True).run(None, feeds)):
            assert found[0].dtype == dtype.storage
            assert found[1].astype(np.float64).tolist() == [sign * times]


@pytest.mark.parametrize("dtype", [fp16, fp32], ids=str)
def test_variables(dtype: DType, tmp_path: Path) -> None:
    """total = total + x, from one run to the next; state is saved as an array of the format."""
    b = Builder()
    initial = literal([0.5, -0.0], dtype)
    b.op("VARIABLE", name="total", var_shape=(2,), type=dtype, initial_value=initial)
    total = b.op("VARIABLE_READ", name="total", dtype=dtype, output="before")
    after = b.op("ADD", total, b.input(dtype, (2,), "x"), output="after")
    b.op("VARIABLE_WRITE", after, name="total")
    b.output(after)
    serialize.write(b.graph(), tmp_path / "g.tosa")
    session = Session(tmp_path / "g.tosa", 1)
    x = literal([1.0, "tiny"], dtype)
    for times in (1, 2):
        (found,) = session.run(None, {"x": x})
        assert found.tobytes() == literal([0.5 + times, times * VALUES[dtype]["tiny"]], dtype).tobytes()
    arrays.write(tmp_path / "state.npz", session.state())
    other = Session(tmp_path / "g.tosa", 1)
    other.restore(arrays.read_bundle(tmp_path / "state.npz"))
    assert other.run(None, {"x": x})[0].tobytes() == session.run(None, {"x": x})[0].tobytes()


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_rows_need_their_profile_or_extension(dtype: DType) -> None:
    need = {bf16: "EXT-BF16", fp8e4m3: "EXT-FP8E4M3", fp8e5m2: "EXT-FP8E5M2"}.get(dtype)
    graph = moved(dtype)
    assert check(graph) == []
    plain = Target(extensions=frozenset())
    labels = {p.label for p in check(graph, plain)}
    assert labels == (set() if need is None else {"CONST.profile", "REVERSE.profile", "CONCAT.profile"})
    if need is not None:
        assert check(graph, Target(extensions=frozenset({need}))) == []


def test_a_cast_between_extensions_needs_both() -> None:
    b = Builder()
    b.output(b.op("CAST", b.input(bf16, (2,), "x"), dtype=fp8e4m3, output="y"))
    graph = b.graph()
    for one in ("EXT-BF16", "EXT-FP8E4M3"):
        assert [p.label for p in check(graph, Target(extensions=frozenset({one})))] == ["CAST.profile"]
    assert check(graph, Target(extensions=frozenset({"EXT-BF16", "EXT-FP8E4M3"}))) == []
