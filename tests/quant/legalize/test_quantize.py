"""The pass as a whole: what it refuses, all at once; what its result carries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_tools import QUANT, Floats, errors, operators, small_network

from quant.legalize.integer_writer import BoundError
from quant.legalize.multiplier import ScaleError
from quant.legalize.quantize import Report, quantize
from quant.report import layer_errors
from tosa_engine import serialize, types
from tosa_engine.check import check
from tosa_engine.compare.pairs import pairs
from tosa_engine.errors import DataError, Problems, Unsupported
from tosa_engine.graph import Location, QParams, Record
from tosa_engine.qparams import sidecar
from tosa_engine.target import Target

if TYPE_CHECKING:
    from pathlib import Path


def test_a_network_end_to_end() -> None:
    graph = small_network()
    before = [(t.name, t.dtype) for t in graph.main.tensors.values()]
    report = Report()
    integer = quantize(graph, report)
    assert [(t.name, t.dtype) for t in graph.main.tensors.values()] == before  # the float graph isn't changed
    assert check(integer, Target.parse(["PRO-INT"])) == []
    assert not [t.name for t in integer.main.tensors.values() if t.dtype.is_float]
    assert [(t.name, t.dtype, t.shape, t.quant) for t in integer.inputs] == [("x", types.i8, (1, 6, 6, 3), QUANT)]
    assert [(t.name, t.dtype, t.shape) for t in integer.outputs] == [("softmax", types.i8, (1, 10))]
    assert set(report.margins) == {"nnef_conv2d", "nnef_conv2d_1", "nnef_conv2d_2"}
    assert all(0 < bits < 31 for bits in report.margins.values())
    rng = np.random.default_rng(1)
    samples = [{"x": rng.normal(size=(1, 6, 6, 3)).astype(np.float32)} for _ in range(4)]
    layers = {e.tensor: e for e in layer_errors(graph, integer, samples)}
    assert layers["softmax"].mean < 3
    assert layers["clamp"].elements == 4 * 6 * 6 * 8
    assert (next(iter(layers)), list(layers)[-1]) == ("x", "softmax")


def test_every_int8_tensor_that_stands_for_a_float_one_says_so() -> None:
    integer = quantize(small_network())
    named = {t.source.name: t for t in integer.main.tensors.values() if t.source is not None and t.source.name}
    assert {"nnef_x", "nnef_clamp", "nnef_conv2d_1", "nnef_max_pool2d", "nnef_mean", "nnef_softmax"} <= set(named)
    assert "nnef_conv2d" not in named  # its int8 tensor is the relu's
    assert all(t.quant is not None for t in named.values() if t.dtype is types.i8)
    assert all(op.location is not None and op.location.line == 1 for op in integer.main.operators)


def test_layers_without_qparams_in_the_graph_take_them_by_name() -> None:
    """As after reading a .tosa file, which has no place for scales."""
    graph = small_network()
    integer = quantize(graph)
    by_name = {t.name: t.quant for t in integer.main.tensors.values() if t.quant is not None}
    samples = [{"x": np.zeros((1, 6, 6, 3), np.float32)}]
    expected = layer_errors(graph, integer, samples)
    for tensor in integer.main.tensors.values():
        tensor.quant = tensor.source = None
    assert layer_errors(graph, integer, samples, by_name) == expected
    with pytest.raises(DataError, match="no tensor of the float graph"):
        layer_errors(graph, integer, samples)


def test_every_tensor_without_parameters_is_listed() -> None:
    f = Floats()
    x = f.input((1, 3), QUANT)
    a = f.op("ADD", [x, x])
    other = f.input((1, 3), name="other")
    y = f.op("MUL", [a, other], name="y")
    f.block.tensors["other"].source = Location("net.nnef", 7, "other")
    with pytest.raises(Problems) as raised:
        quantize(f.outputs(y))
    assert str(raised.value).splitlines() == [
        "the graph can't be computed in integers:",
        "QUANT.E1: the tensor has no quantization parameters; calibrate the model (net.nnef:7) (tensor 'other')",
        "QUANT.E1: the tensor has no quantization parameters; calibrate the model (tensor 'add')",
        "QUANT.E1: the tensor has no quantization parameters; calibrate the model (tensor 'y')",
    ]


def test_every_operator_that_would_remain_is_listed_with_its_line() -> None:
    f = Floats()
    x = f.input((1, 3), QUANT)
    f.op("REDUCE_PRODUCT", [x], QUANT, name="first", axis=1)
    f.block.operators[-1].location = Location("net.nnef", 4, "product_node")
    f.op("REDUCE_PRODUCT", ["first"], QUANT, name="second", axis=0)
    f.block.operators[-1].location = Location("net.nnef", 9, "again")
    with pytest.raises(Problems) as raised:
        quantize(f.outputs("second"))
    assert raised.value.exit_code == 5
    assert str(raised.value).splitlines()[1:] == [
        "QUANT.E4: operator REDUCE_PRODUCT has no integer form: a product's range grows with the number of its "
        f"factors; multiply them one by one (MUL) (net.nnef:{line}) (node '{node}', tensor '{tensor}')"
        for line, node, tensor in ((4, "product_node", "first"), (9, "again", "second"))
    ]


def test_weights_that_are_computed_are_refused() -> None:
    f = Floats()
    x, w = f.input((1, 4, 4, 2), QUANT), f.input((3, 1, 1, 2), QUANT, "w")
    zero = f.const([0.0])
    y = f.op("CONV2D", [x, w, f.const(np.zeros(3)), zero, zero], QUANT, pad=(0, 0, 0, 0), stride=(1, 1),
             dilation=(1, 1), acc_type=types.fp32, local_bound=False)  # fmt: skip
    with pytest.raises(Unsupported, match="CONV2D with weights that aren't constant"):
        quantize(f.outputs(y))


def test_an_accumulator_that_could_overflow() -> None:
    f = Floats()
    x = f.input((1, 1, 1, 70000), QParams((0.1,), (-128,)))
    y = f.conv(x, np.ones((1, 1, 1, 70000), np.float32), np.zeros(1, np.float32), QUANT)
    with pytest.raises(BoundError) as raised:
        quantize(f.outputs(y))
    assert str(raised.value) == (
        f"QUANT.E13: the accumulator may reach {70000 * 127 * 255}, 0.1 bits too many for int32 (tensor 'conv2d')"
    )


def test_a_scale_that_no_rescale_applies_names_its_parts() -> None:
    f = Floats()
    y = f.op("MUL", [f.input((1, 2), QParams((1e-9,), (0,)), "a"), f.input((1, 2), QParams((1e-9,), (0,)), "b")],
             QParams((1.0,), (0,)), name="y")  # fmt: skip
    with pytest.raises(ScaleError) as raised:
        quantize(f.outputs(y))
    assert "1e-18 (accumulator) / 1.0 (output)" in str(raised.value).replace("1.0000000000000002e-18", "1e-18")
    assert "(tensor 'y')" in str(raised.value)


def test_inputs_of_other_types_are_refused() -> None:
    f = Floats()
    x = f.input((1, 3), QUANT)
    f.block.tensors[x].dtype = types.fp16
    with pytest.raises(Problems, match="a graph input of type fp16: quantization begins with fp32; CAST it before"):
        quantize(f.outputs(f.op("CAST", [x], QUANT)))


def test_an_output_that_is_an_input_keeps_both_names() -> None:
    f = Floats()
    quant = QParams((3 / 255,), (-128,))
    y = f.relu(f.input((1, 3), quant), quant)
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["CLAMP"]
    assert (integer.main.inputs, integer.main.outputs) == (["x"], ["clamp"])
    assert worst <= 0.51


def test_composites_without_a_rule_use_their_body() -> None:
    """A composite whose name nobody knows, with an elementwise body, is one TABLE; another is expanded."""
    f = Floats()
    y = f.composite("sigmoid", f.input((1, 300), QParams((0.05,), (0,))), QParams((1 / 256,), (-128,)))
    f.block.operators[-1].op = "unheard_of"
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["TABLE"]
    assert worst <= 0.501
    f = Floats()
    y = f.composite("mean", f.input((2, 5, 6)), axes=(1,))
    f.block.operators[-1].op = "average"
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["RESCALE", "REDUCE_SUM", "RESCALE"]
    assert worst <= 0.501


def test_the_sidecar(tmp_path: Path) -> None:
    integer = quantize(small_network())
    serialize.write(integer, tmp_path / "net.json")
    content = json.loads((tmp_path / "net.qparams.json").read_text())
    x = {"name": "x", "shape": [1, 6, 6, 3], "dtype": "i8", "scale": 0.03, "zero_point": -5, "source": "nnef_x"}
    y = {"name": "softmax", "shape": [1, 10], "dtype": "i8", "scale": 1 / 256, "zero_point": -128}
    assert (content["inputs"], content["outputs"]) == ([x], [y | {"source": "nnef_softmax"}])
    inside = [t for t in integer.main.tensors.values() if t.quant is not None and t.name not in ("x", "softmax")]
    assert [entry["name"] for entry in content["tensors"]] == [t.name for t in inside]


@pytest.mark.parametrize("name", ["net.tosa", "net.json"])
def test_a_file_gives_back_scales_and_names(name: str, tmp_path: Path) -> None:
    graph = small_network()
    integer = quantize(graph)
    integer.record = Record(["a note"], {"layer": 3.5}, {"bits": 8})
    serialize.write(integer, tmp_path / name)
    assert (tmp_path / "net.qparams.json").exists() == (name == "net.json")
    read = serialize.read(tmp_path / name)
    assert pairs(graph, read) == pairs(graph, integer)
    assert read.record == integer.record == sidecar.record(tmp_path / name)


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{", '{"inputs": 3}', '{"inputs": [{"scale": 1}]}', '{"inputs": [{"name": "x", "scale": "a"}]}',
        '{"inputs": [{"name": "x", "scale": -1.0, "zero_point": 0}]}',
        '{"inputs": [{"name": "x", "scale": 1.0, "zero_point": 0.5}]}',
        '{"inputs": [{"name": "elsewhere", "scale": 1.0, "zero_point": 0}]}',
        '{"inputs": [{"name": "x", "dtype": "i16", "scale": 1.0, "zero_point": 0}]}', '{"record": []}',
        '{"inputs": [{"name": "x", "dtype": "i8", "shape": [1, 6, 6, 4]}]}', "[" * 100000,
    ],
)  # fmt: skip
def test_a_bad_sidecar_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "net.qparams.json").write_text(content)
    with pytest.raises(DataError, match=r"net\.qparams\.json: "):
        sidecar.attach(quantize(small_network()), tmp_path / "net.qparams.json")
