"""What needs no converter: reading files, binding shapes, the text between the tools, the tools as processes."""

from __future__ import annotations

import random
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest
from tflite_tools import DEQUANTIZE, FLOAT32, INT8, INT64, QUANTIZE, Held, Node, tflite

from tosa_engine.errors import DataError, Problems, TosaEngineError, Unsupported, UsageError
from tosa_engine.frontends.tflite import children
from tosa_engine.frontends.tflite import model as model_module
from tosa_engine.frontends.tflite.mlir import name_of, refuse_leftovers, without_casts
from tosa_engine.frontends.tflite.model import bound, model_of
from tosa_engine.graph import QParams
from tosa_engine.load import load

if TYPE_CHECKING:
    from pathlib import Path


def network(shape=(1, 4), signature=(-1, 4), kind=FLOAT32) -> bytes:
    """QUANTIZE, DEQUANTIZE."""
    tensors = [
        Held("x", shape, kind, signature=signature),
        Held("q", shape, INT8, signature=signature, scale=(0.5, 3)),
        Held("y", shape, signature=signature),
    ]
    return tflite(tensors, [Node(QUANTIZE, [0], [1]), Node(DEQUANTIZE, [1], [2])], [0], [2])


def test_what_is_read_of_a_file() -> None:
    model = model_of(network(), "m.tflite")
    assert [one.name for one in model.tensors] == ["x", "q", "y"]
    assert [one.name for one in (*model.inputs, *model.outputs)] == ["x", "y"]
    assert [(node.code, node.inputs, node.outputs) for node in model.nodes] == [
        (QUANTIZE, (0,), (1,)),
        (DEQUANTIZE, (1,), (2,)),
    ]
    assert model.tensors[1].quant == QParams((0.5,), (3,))
    assert (model.inputs[0].shape, model.inputs[0].signature) == ((1, 4), (-1, 4))


@pytest.mark.parametrize(("shapes", "found"), [({}, (1, 4)), ({"x": (6, 4)}, (6, 4))])
def test_free_dimensions_of_inputs_are_bound(shapes, found) -> None:
    model = model_of(bound(model_of(network(), "m.tflite"), shapes), "m.tflite")
    assert (model.inputs[0].shape, model.inputs[0].signature) == (found, found)
    assert model.outputs[0].signature == (-1, 4)  # the converter infers it


def test_a_file_without_free_dimensions_stays_as_it_is() -> None:
    data = network(signature=None)
    assert bound(model_of(data, "m.tflite"), {"x": (1, 4)}) == data


@pytest.mark.parametrize(
    ("data", "shapes", "message"),
    [
        (network(), {"z": (1, 4)}, "m.tflite has no input 'z'; its inputs: x"),
        (network(), {"x": (4,)}, "m.tflite: input 'x' has the shape [1, 4], not [4]"),
        (network(), {"x": (2, 5)}, "m.tflite: input 'x' has the shape [-1, 4]: it can't be [2, 5]"),
        (network(shape=(0, 4)), {}, "m.tflite: input 'x' has the shape [-1, 4]: --shape x=N,4 binds it"),
        (network(kind=INT64), {}, "m.tflite: input 'x' is int64, which TOSA doesn't have"),
    ],
)
def test_shapes_that_cannot_be(data, shapes, message) -> None:
    with pytest.raises(TosaEngineError) as caught:
        bound(model_of(data, "m.tflite"), shapes)
    assert str(caught.value) == message


def test_no_shape_is_written_into_one_that_another_tensor_has() -> None:
    model = model_of(network(), "m.tflite")
    shared = dict.fromkeys(model.places, 2)
    model = type(model)(model.name, model.data, model.tensors, model.inputs, model.outputs, model.nodes, shared)
    with pytest.raises(Unsupported, match="shares its shape with another tensor"):
        bound(model, {"x": (2, 4)})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "m.tflite: not a TFLite file: 0 bytes are too few"),
        (b"\x10\0\0\0TOSA" + bytes(64), "m.tflite: not a TFLite file: the identifier is b'TOSA', not b'TFL3'"),
        (
            tflite([], [], [], []).replace(b"\3\0\0\0", b"\2\0\0\0"),
            "m.tflite: version 2 of the schema; version 3 is read",
        ),
        (tflite([Held("x", [1])], [], [1], [0]), "m.tflite: inputs: there is no tensor 1; there are 1"),
        (tflite([Held("x", [1] * 1000)], [], [0], [0]), "m.tflite: tensor 0: 1000 dimensions, at most 32 are read"),
        (tflite([Held("x", [1], 99)], [], [0], [0]), "m.tflite: tensor 0: there is no element type 99"),
        (
            tflite([Held("x", [1], signature=[-1, 1])], [], [0], [0]),
            "m.tflite: tensor 0: shape [1] and signature [-1, 1] differ in rank",
        ),
    ],
)
def test_damaged_files(data, message) -> None:
    with pytest.raises(DataError) as caught:
        model_of(data, "m.tflite")
    assert str(caught.value) == message


def test_more_operators_than_are_converted(monkeypatch) -> None:
    monkeypatch.setattr(model_module, "MOST_NODES", 1)
    with pytest.raises(Unsupported, match="2 operators, at most 1 are converted"):
        model_of(network(), "m.tflite")


def test_truncated_and_mutated_files_are_one_error_or_a_model() -> None:
    data, found = network(), 0
    for seed in range(600):
        r, broken = random.Random(seed), bytearray(data)
        for _ in range(r.choice((1, 3, 20))):
            broken[r.randrange(len(data))] = r.randrange(256)
        try:
            bound(model_of(bytes(broken[: r.randrange(len(data)) if seed % 3 == 0 else None]), "m.tflite"), {})
        except (DataError, Unsupported, UsageError, Problems):
            found += 1
    assert 250 < found < 600


CASTS = """\
    %1 = tosa.variable_read @"s %2" : tensor<1xi8> loc(#loc2)
    %2 = builtin.unrealized_conversion_cast %1 : tensor<1xi8> to tensor<1xi8> loc(#loc2)
    %3 = builtin.unrealized_conversion_cast %2 : tensor<1xi8> to tensor<1xi8>
    %4 = tosa.add %2, %3 {name = "%2 and %3"} : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
    tosa.variable_write @"s %2", %3 : tensor<1xi8> loc(#loc)
    %2 = tosa.abs %4 : (tensor<1xi8>) -> tensor<1xi8>
    %5:2 = tosa.split %2, %22 : tensor<1xi8>
"""


def test_casts_that_do_nothing_are_taken_out() -> None:
    kept = """\
    %1 = tosa.variable_read @"s %2" : tensor<1xi8> loc(#loc2)
    %4 = tosa.add %1, %1 {name = "%2 and %3"} : (tensor<1xi8>, tensor<1xi8>) -> tensor<1xi8>
    tosa.variable_write @"s %2", %1 : tensor<1xi8> loc(#loc)
    %2 = tosa.abs %4 : (tensor<1xi8>) -> tensor<1xi8>
    %5:2 = tosa.split %2, %22 : tensor<1xi8>
"""
    assert without_casts(CASTS, "m.tflite") == kept


def test_a_cast_between_types_is_refused() -> None:
    with pytest.raises(Unsupported) as caught:
        without_casts(CASTS.replace("to tensor<1xi8> loc", "to tensor<1xui8> loc"), "m.tflite")
    assert str(caught.value) == "m.tflite: the converter left a cast of tensor<1xi8> to tensor<1xui8> behind"


def test_operators_without_tosa_are_refused_by_name() -> None:
    text = textwrap.dedent("""\
        #loc1 = loc("m":0:0)
          %0 = "tfl.where"(%arg0) : (tensor<4xi1>) -> tensor<?x1xi64> loc(#loc2)
          "tfl.other"(%0) {a = "tfl.no"} : (tensor<4xi1>) -> ()
          %1 = tosa.abs %0 {name = "tfl.no"} : tensor<4xf32>
        #loc2 = loc("a\\22b"(#loc1))
        """)
    with pytest.raises(Problems) as caught:
        refuse_leftovers(text, "m.tflite")
    assert str(caught.value).splitlines() == [
        "m.tflite: the converter makes no TOSA of tfl.where (node 'a\"b')",
        "m.tflite: the converter makes no TOSA of tfl.other",
    ]
    refuse_leftovers("  %1 = tosa.abs %0 : tensor<4xf32>", "m.tflite")


@pytest.mark.parametrize(
    ("location", "name"),
    [
        (r'loc("conv;relu"("m.tflite":0:0))', "conv;relu"),
        (r'loc("caf\C3\A9 \22a\22 \\"("m.tflite":0:0))', 'café "a" \\'),
        (r'loc(fused["a"("m":0:0), "b"("m":0:0)])', "a"),
        (r'loc("m.tflite":0:0)', ""),
        ("loc(unknown)", ""),
    ],
)
def test_names_in_locations(location, name) -> None:
    assert name_of(location) == name


def tools(folder: Path, monkeypatch: pytest.MonkeyPatch, converter: str, writer: str = "exit 0") -> None:
    """Programs that stand for Arm's."""
    for name, script in ((children.CONVERTER, converter), (children.WRITER, writer)):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
@pytest.mark.parametrize(
    ("converter", "kind", "message"),
    [
        (
            """echo 'loc("a"("m":0:0)): error: no such thing' >&2; echo 'error: failed' >&2; exit 1""",
            Unsupported, "refused it: no such thing (at 'a')",
        ),
        ("echo first >&2; echo '[ERROR] last' >&2; exit 1", Unsupported, "refused it: [ERROR] last"),
        ("exit 0", Unsupported, "refused it: it said nothing"),
        ("echo 'The model is not a valid Flatbuffer buffer' >&2; exit 1", DataError, "found the flatbuffer damaged"),
        ("kill -SEGV $$", Unsupported, "died of it (SIGSEGV; it may have 1000 MB and 1 s)"),
        ("while :; do :; done", Unsupported, "died of it (SIGKILL; it may have 1000 MB and 1 s)"),
        ("exec sleep 60", Unsupported, "took more than 1 s"),
    ],
)  # fmt: skip
def test_what_a_tool_does_not_do_is_one_error(converter, kind, message, tmp_path, monkeypatch) -> None:
    tools(tmp_path, monkeypatch, converter)
    monkeypatch.setattr(children, "SECONDS", (1, 0))
    monkeypatch.setattr(children, "PATIENCE", 1 if "sleep" in converter else 30)
    monkeypatch.setattr(children, "MEMORY", (1000 << 20, 0))
    monkeypatch.setattr(children, "THREAD", 0)
    with pytest.raises(kind) as caught:
        children.tosa_of(b"model", "m.tflite")
    assert str(caught.value) == f"m.tflite: tosa-converter-for-tflite {message}"


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_the_converter_has_a_limit_of_memory(tmp_path, monkeypatch) -> None:
    hungry = f"exec {sys.executable} -c 'bytes(1 << 30)'"
    tools(tmp_path, monkeypatch, hungry)
    monkeypatch.setattr(children, "MEMORY", (512 << 20, 0))
    with pytest.raises(Unsupported, match="refused it: MemoryError"):
        children.tosa_of(b"model", "m.tflite")


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_limits_stay_below_those_of_this_process(tmp_path, monkeypatch) -> None:
    tools(tmp_path, monkeypatch, "ulimit -H -t >&2; exit 1")
    monkeypatch.setattr(children, "SECONDS", (30, 0))
    given = children.resource.getrlimit
    cpu = children.resource.RLIMIT_CPU
    monkeypatch.setattr(children.resource, "getrlimit", lambda kind: (7, 7) if kind == cpu else given(kind))
    with pytest.raises(Unsupported, match=r"refused it: 7$"):
        children.tosa_of(b"model", "m.tflite")


def test_without_the_tools(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "m.tflite").write_bytes(network())
    with pytest.raises(UsageError) as caught:
        load(tmp_path / "m.tflite")
    assert str(caught.value) == (
        "reading TFLite needs the program 'tosa-converter-for-tflite': pip install 'tosa-engine[tflite]', or put it "
        "on PATH"
    )
