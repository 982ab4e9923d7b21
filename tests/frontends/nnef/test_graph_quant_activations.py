"""Activations as graph.quant describes them: their bits, signs, zero points and ranges, in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quantized_documents import SHAPE, X_LINE, X, all_codes, floats, integers, linear, operators, run, write

from tosa_engine import types
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.graph import QParams
from tosa_engine.qparams.arrays import dequantize_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("signed", [True, False])
def test_narrow_activations_stay_in_their_range(tmp_path: Path, bits: int, signed: bool) -> None:
    quant = QParams((0.25,), (0 if signed or bits < 2 else 1,), bits, signed)
    line = linear(quant.zero_point[0], 0.25, bits, signed)
    graph = integers(write(tmp_path, "y = mul(x, 2.0);", X_LINE + f'"y": {line};'))
    codes = all_codes(graph)
    found = run(graph, codes) if signed else run(graph, codes).view(np.uint8)
    steps = codes.astype(np.int64) * 2 / 32 / 0.25
    expected = np.sign(steps) * np.floor(np.abs(steps) + 0.5) + quant.zero_point[0]
    np.testing.assert_array_equal(found, np.clip(expected, quant.low, quant.high))


@pytest.mark.parametrize("bits", [9, 12, 15])
def test_more_than_eight_bits_are_int16(tmp_path: Path, bits: int) -> None:
    x, y = linear(5, 1 / 64, bits), linear(-3, 1 / 128, bits)
    graph = integers(write(tmp_path, "y = copy(x);", f'"x": {x};\n"y": {y};'))
    assert (graph.inputs[0].dtype, graph.outputs[0].dtype) == (types.i16, types.i16)
    top = (1 << (bits - 1)) - 1
    codes = np.zeros(SHAPE, np.int16)
    codes[0, 0, 0, :4] = [
        -(top + 1) - 5 - 10,
        top - 5 + 10,
        100,
        -100,
    ]  # counted from the zero point; two beyond the range
    found = run(graph, codes)[0, 0, 0, :4]
    assert found.tolist() == [-(top + 1) + 3, top + 3, 200, -200]


@pytest.mark.parametrize("bits", [8, 16])
def test_an_activation_with_the_bits_of_a_bias_has_those_of_the_others(tmp_path: Path, bits: int) -> None:
    """As nnef_tools writes what a TRANSPOSE_CONV of TFLite reads."""
    point = 7 if bits == 8 else 0
    lines = [f'"x": {linear(point, 0.25, 32)};', f'"a": {linear(0, 0.25, bits)};', f'"y": {linear(0, 0.5, bits)};']
    path = write(tmp_path, "a = relu(x); y = mul(a, 2.0);", "\n".join(lines))
    graph = integers(path)
    quant = graph.inputs[0].quant
    assert quant is not None
    assert (quant.scale, quant.zero_point, quant.bits) == ((0.25,), (point,), bits)
    (warning,) = [w for w in nnef.load(path).warnings if "bits" in w]
    assert warning.endswith(
        f"graph.quant:1: 'x' has the 32 bits of a bias; the activations of this document have {bits}"
    )
    with pytest.raises(TosaEngineError, match="'x' has the 32 bits of a bias"):
        nnef.load(path, strict=True)


@pytest.mark.parametrize(
    "others",
    ["", f'"a": {linear(0, 0.25)};\n"y": {linear(0, 0.5, 16)};', f'"a": {linear(0, 0.25, 8)};'],
    ids=["none", "of two widths", "too narrow for the zero point"],
)
def test_bits_that_could_mean_anything_stay(tmp_path: Path, others: str) -> None:
    point = 200 if others.endswith(f"{linear(0, 0.25, 8)};") else 0
    path = write(tmp_path, "a = relu(x); y = mul(a, 2.0);", f'"x": {linear(point, 0.25, 32)};\n{others}')
    with pytest.raises(TosaEngineError, match=r"activations need 8 or 16 bits with one scale, got 32 bits"):
        integers(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (linear(0, 1e-6, 24), "activations need 8 or 16 bits with one scale, got 24 bits (tensor 'x')"),
        (linear([0, 0, 0], [0.1, 0.2, 0.3]), "got per-channel 8 bits (tensor 'x')"),
    ],
)
def test_what_has_no_integer_form(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(TosaEngineError) as caught:
        integers(write(tmp_path, "y = sigmoid(x);", f'"x": {line};\n"y": {linear(0, 1 / 256)};'))
    assert message in str(caught.value)


def test_unsigned_data_passes_a_rescale_at_the_border(tmp_path: Path, command: Callable[..., Any]) -> None:
    quant = f'"x": {linear(100, 1 / 32, 8, signed=False)};\n"y": {linear(3, 1 / 200, 8, signed=False)};'
    path = write(tmp_path, "y = sigmoid(x);", quant)
    graph = integers(path)
    assert operators(graph) == ["RESCALE", "TABLE", "RESCALE"]
    assert (graph.inputs[0].quant, graph.outputs[0].quant) == (
        QParams((1 / 32,), (100,), 8, signed=False), QParams((1 / 200,), (3,), 8, signed=False),
    )  # fmt: skip
    codes = all_codes(graph).view(np.uint8)
    real = (codes.astype(float) - 100) / 32
    expected = np.clip(np.round(200 / (1 + np.exp(-real))) + 3, 0, 255)
    found = run(graph, codes.view(np.int8)).view(np.uint8)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(dequantize_array(found.view(np.int8), graph.outputs[0].quant), (expected - 3) / 200)

    out = tmp_path / "m.tosa"
    assert command("quantize", path, "-o", out).code == 0
    np.save(tmp_path / "x.npy", codes)  # uint8, as data of users is
    np.savez(tmp_path / "y.npz", y=expected.astype(np.uint8))
    done = command("run", out, "-i", tmp_path / "x.npy", "--expect", tmp_path / "y.npz")
    assert (done.code, done.out.split(":")[0]) == (0, "EQUAL")


def test_unsigned_16_bits(tmp_path: Path) -> None:
    line = linear(32768, 1 / 4096, 16, signed=False)
    graph = integers(write(tmp_path, "y = copy(x);", f'"x": {line};\n"y": {line};'))
    assert operators(graph)[0] == operators(graph)[-1] == "RESCALE"
    codes = np.resize(np.array([0, 1, 32767, 32768, 40000, 65535], np.uint16), SHAPE)
    found = run(graph, codes.view(np.int16)).view(np.uint16)
    np.testing.assert_array_equal(found, codes)


# ranges


@pytest.mark.parametrize("signed", [True, False])
def test_a_range_moves_so_that_zero_is_a_level(tmp_path: Path, signed: bool) -> None:
    op = f"min_max_linear_quantize(min = -1.0, max = 2.0, bits = 4, signed = {str(signed).lower()}, symmetric = false)"
    path = write(tmp_path, "y = relu(x);", f'"x": {op};\n"y": {linear(0, 0.1)};')
    graph = nnef.load(path)
    quant = graph.inputs[0].quant
    assert quant == QParams((0.2,), (5 if not signed else -3,), 4, signed)
    assert graph.warnings == []  # -1.0 is 5 steps of 0.2
    (path / "graph.quant").write_text(f'"x": {op.replace("2.0", "1.9")};')
    (warning,) = nnef.load(path).warnings
    assert (
        warning == f"{path}/graph.quant:1: zero is between two levels of a range, which moves by at most 0.0333 ('x')"
    )
    quantization = nnef.own_quantization(nnef.load_document(path))
    assert quantization.moved == {"x": pytest.approx(1 / 30)}  # 2.9 / 15 a step, -1.0 is 5.17 of them


def test_ranges_without_zero_are_widened(tmp_path: Path) -> None:
    op = "linear_quantize(min = 1.0, max = 2.0, bits = 8)"
    graph = nnef.load(write(tmp_path, "y = relu(x);", f'"x": {op};'))
    assert graph.inputs[0].quant == QParams((2.0 / 255,), (0,), 8, signed=False)
    assert graph.warnings[0].endswith(
        "graph.quant:1: 'x': the range 1.0 .. 2.0 is widened to 0.0 .. 2.0: integers need a level for 0"
    )


def test_stored_codes_of_a_range_mean_its_own_levels(tmp_path: Path) -> None:
    """Also where the range moves for computing: the data are what the file says."""
    op = "min_max_linear_quantize(min = -1.0, max = 1.9, bits = 4, signed = true, symmetric = false)"
    codes = np.arange(-8, 8, dtype=np.int8).reshape(1, 16)
    dat = nnef.write_dat(codes, quantized=True, bits=4)
    body = "w = variable(shape = [1, 16], label = 'w'); y = mul(w, 1.0);"
    path = write(tmp_path, body, f'"w": {op};', tensors={"w": dat})
    np.testing.assert_allclose(floats(path)[0], np.linspace(-1.0, 1.9, 16), rtol=1e-6)


def test_per_channel_arguments_find_their_axis(tmp_path: Path) -> None:
    """Axis 0 of filters, axis 1 of biases [1, C]."""
    quant = X_LINE + f'"w": {linear([0] * 3, [0.1, 0.2, 0.3], symmetric=True)};\n'
    quant += f'"b": {linear([0] * 3, [0.1, 0.2, 0.3], 32)};\n"y": {linear(0, 0.5)};'
    w, b = np.ones((3, 3, 1, 1), np.int8), np.array([[10, 10, 10]], np.int32)
    body = (
        "w = variable(shape = [3, 3, 1, 1], label = 'w'); b = variable(shape = [1, 3], label = 'b'); y = conv(x, w, b);"
    )
    tensors = {"w": nnef.write_dat(w, quantized=True), "b": nnef.write_dat(b, quantized=True)}
    path = write(tmp_path, body, quant, tensors=tensors)
    expected = X.astype(np.float64).sum(1, keepdims=True) * np.array([0.1, 0.2, 0.3]).reshape(1, 3, 1, 1)
    np.testing.assert_allclose(floats(path), expected + np.array([1, 2, 3]).reshape(1, 3, 1, 1), rtol=1e-5, atol=1e-5)


# quantize operations of the graph
