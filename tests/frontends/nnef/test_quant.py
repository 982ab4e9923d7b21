"""Quantization hints travel from NNEF tensors to the tensors of the graph that carry their values."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nnef_tools import Run, document, random, write_nnef

from tosa_engine.errors import DataError, TosaEngineError, UsageError
from tosa_engine.frontends import nnef
from tosa_engine.graph import Operator, QParams

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph, Tensor

ACT = QParams((0.05,), (3,))


def weights(count: int, symmetric: bool = True) -> QParams:
    return QParams(tuple(0.01 * (i + 1) for i in range(count)), (0,) * count, symmetric=symmetric)


def operators(graph: Graph, name: str) -> list[Operator]:
    return [op for op in graph.main.operators if op.op == name]


def inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    return [graph.main.tensors[n] for n in operator.inputs]


def codes(tensor: Tensor) -> np.ndarray:
    """The stored integers that the hint gives for a constant."""
    assert tensor.quant is not None
    assert tensor.data is not None
    shape = [1] * tensor.data.ndim
    if tensor.quant.axis is not None:
        axis = tensor.quant.axis
        shape[axis] = tensor.data.shape[axis]
        if len(tensor.quant.scale) != shape[axis]:  # split into this axis and the next
            shape[axis + 1] = tensor.data.shape[axis + 1]
    scale = np.asarray(tensor.quant.scale).reshape(shape)
    return tensor.data / scale + np.asarray(tensor.quant.zero_point).reshape(shape)


def test_activations_and_their_views(tmp_path: Path) -> None:
    quant = {"x": ACT, "y": replace(ACT, scale=(0.1,)), "f": weights(4), "b": replace(weights(4), bits=32)}
    body = "y = conv(x, f, b, padding = [(1, 1), (1, 1)]);"
    run = Run(
        tmp_path, body, {"x": random((1, 3, 6, 6))}, {"f": random((4, 3, 3, 3)), "b": random((1, 4))}, quant=quant
    )
    (conv,) = operators(run.graph, "CONV2D")
    x, weight, bias = inputs(run.graph, conv)[:3]
    assert (x.shape, x.quant, x.source and x.source.name) == ((1, 6, 6, 3), ACT, "x")
    assert weight.quant == replace(weights(4), axis=0)
    assert bias.quant == replace(weights(4), bits=32, axis=0)
    assert run.graph.main.tensors[conv.outputs[0]].quant == quant["y"]
    assert run.graph.outputs[0].quant == quant["y"]


@pytest.mark.parametrize(
    ("filters", "inputs_", "groups", "axis", "shape"),
    [
        (4, 4, 0, 2, (3, 3, 4, 1)),
        (6, 1, 1, 0, (6, 3, 3, 1)),
        (6, 2, 0, 2, (3, 3, 2, 3)),
        (4, 2, 1, 0, (4, 3, 3, 2)),
    ],
)
def test_filters_keep_one_scale_per_output_channel(
    tmp_path: Path, filters: int, inputs_: int, groups: int, axis: int, shape: tuple[int, ...]
) -> None:
    f = np.random.default_rng(0).integers(-127, 128, (filters, inputs_ // (groups or inputs_), 3, 3))
    scales = np.array(weights(filters).scale).reshape(-1, 1, 1, 1)
    real = (f * scales).astype(np.float32)
    body = f"y = conv(x, f, groups = {groups});"
    run = Run(tmp_path, body, {"x": random((1, inputs_, 6, 6))}, {"f": real}, quant={"f": weights(filters)})
    (operator,) = operators(run.graph, "CONV2D") + operators(run.graph, "DEPTHWISE_CONV2D")
    weight = inputs(run.graph, operator)[1]
    assert weight.quant == replace(weights(filters), axis=axis)
    assert weight.shape == shape
    stored = np.round(codes(weight))
    assert np.abs(codes(weight) - stored).max() < 1e-4
    moved = f.transpose(2, 3, 0, 1).reshape(shape) if operator.op == "DEPTHWISE_CONV2D" else f.transpose(0, 2, 3, 1)
    assert (stored == moved).all()


def test_groups_share_out_the_scales(tmp_path: Path) -> None:
    quant = {"f": weights(6), "y": ACT}
    run = Run(
        tmp_path, "y = conv(x, f, groups = 2);", {"x": random((1, 4, 5, 5))}, {"f": random((6, 2, 3, 3))}, quant=quant
    )
    first, second = operators(run.graph, "CONV2D")
    assert inputs(run.graph, first)[1].quant == replace(
        weights(6), scale=weights(6).scale[:3], zero_point=(0,) * 3, axis=0
    )
    assert inputs(run.graph, second)[1].quant == replace(
        weights(6), scale=weights(6).scale[3:], zero_point=(0,) * 3, axis=0
    )
    assert run.graph.main.tensors[first.outputs[0]].quant == ACT


@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize("groups", [0, 1])
def test_batch_normalization_scales_filters_without_changing_their_codes(
    tmp_path: Path, per_channel: bool, groups: int
) -> None:
    f = np.random.default_rng(0).integers(-127, 128, (4, 1 if groups == 0 else 4, 3, 3))
    hint = weights(4) if per_channel else QParams((0.01,), (0,), symmetric=True)
    real = (f * np.array(hint.scale).reshape(-1, 1, 1, 1)).astype(np.float32)
    gain = np.array([[0.5, -2.0, 3.0, 0.0]], np.float32)
    tensors = {"f": real, "m": random((1, 4)), "v": np.ones((1, 4), np.float32), "o": random((1, 4), 1), "s": gain}
    body = f"c = conv(x, f, groups = {groups}); y = batch_normalization(c, m, v, o, s, epsilon = 0.0);"
    run = Run(tmp_path, body, {"x": random((1, 4, 5, 5))}, tensors, quant={"f": hint, "c": ACT, "y": ACT})
    (operator,) = operators(run.graph, "CONV2D" if groups else "DEPTHWISE_CONV2D")
    weight, bias = inputs(run.graph, operator)[1:3]
    assert weight.quant is not None
    assert weight.quant.axis == (0 if groups else 2)
    wanted = np.array(hint.scale) * np.array([0.5, 2.0, 3.0, 1.0])
    np.testing.assert_allclose(weight.quant.scale, wanted, rtol=1e-12)
    assert weight.quant.zero_point == (0,) * 4
    signs = np.sign(gain.astype(np.int64)).reshape(-1, 1, 1, 1)
    signs[0] = 1
    moved = (f * signs).transpose((0, 2, 3, 1) if groups else (2, 3, 0, 1))
    np.testing.assert_allclose(codes(weight), moved, atol=1e-3)
    assert bias.quant is None
    assert "MUL" not in run.operators


def test_asymmetric_filters_are_mirrored_in_their_range(tmp_path: Path) -> None:
    hint = QParams((0.01, 0.01), (10, 10), signed=False, axis=0)
    f = np.random.default_rng(0).integers(0, 256, (2, 3, 1, 1))
    real = ((f - 10) * 0.01).astype(np.float32)
    run = Run(tmp_path, "c = conv(x, f); y = mul(c, s);", {"x": random((1, 3, 2, 2))},
              {"f": real, "s": np.array([[1.0, -1.0]], np.float32)}, quant={"f": hint})  # fmt: skip
    weight = inputs(run.graph, operators(run.graph, "CONV2D")[0])[1]
    assert weight.quant is not None
    assert weight.quant.zero_point == (10, 245)
    np.testing.assert_allclose(codes(weight)[1], 255 - f.transpose(0, 2, 3, 1)[1], atol=1e-3)


def test_linear(tmp_path: Path) -> None:
    quant = {"f": weights(5), "b": replace(weights(5), bits=32), "y": ACT, "x": ACT}
    run = Run(
        tmp_path, "y = linear(x, f, b);", {"x": random((2, 3))}, {"f": random((5, 3)), "b": random((1, 5))}, quant=quant
    )
    (conv,) = operators(run.graph, "CONV2D")
    x, weight, bias = inputs(run.graph, conv)[:3]
    assert x.quant == ACT
    assert weight.quant == replace(weights(5), axis=0)
    assert bias.quant == replace(quant["b"], axis=0)
    assert run.graph.main.tensors[conv.outputs[0]].quant == ACT


def test_stored_codes_become_real_numbers(tmp_path: Path) -> None:
    text = document("w = variable(shape = [2, 3], label = 'w'); y = add(x, w);", {"x": (2, 3)})
    path = write_nnef(tmp_path, text)
    stored = np.array([[-128, 0, 127], [1, 2, 3]], np.int8)
    (path / "w.dat").write_bytes(nnef.write_dat(stored, quantized=True))
    hint = QParams((0.5, 0.25), (1, -1))
    graph = nnef.load(path, {"w": hint})
    data = graph.main.tensors["w"].data
    assert data is not None
    assert data.tolist() == [[-64.5, -0.5, 63.0], [0.5, 0.75, 1.0]]
    with pytest.raises(DataError) as caught:
        nnef.load(path)
    assert str(caught.value) == f"{path}/w.dat: quantized items need an entry of the tensor in the quantization file"


@pytest.mark.parametrize(
    ("quant", "kind", "message"),
    [
        ({"z": ACT, "x": ACT, "a": ACT}, UsageError, "quantization of tensors that {file} doesn't have: 'a', 'z'"),
        ({"x": weights(5)}, DataError, "quantization of 'x': 5 entries don't fit any axis of shape [2, 3]"),
        (
            {"x": replace(weights(2), axis=1)},
            DataError,
            "quantization of 'x': 2 entries don't fit axis 1 of shape [2, 3]",
        ),
        (
            {"x": replace(weights(2), axis=2)},
            DataError,
            "quantization of 'x': 2 entries don't fit axis 2 of shape [2, 3]",
        ),
        (
            {"x": replace(weights(3), zero_point=(0, 0))},
            DataError,
            "quantization of 'x': 3 scales and 2 zero points don't go together",
        ),
    ],
)
def test_hints_that_dont_fit(
    tmp_path: Path, quant: dict[str, QParams], kind: type[TosaEngineError], message: str
) -> None:
    path = write_nnef(tmp_path, document("y = relu(x);", {"x": (2, 3)}))
    with pytest.raises(TosaEngineError) as caught:
        nnef.load(path, quant)
    assert type(caught.value) is kind
    assert str(caught.value) == message.format(file=f"{path}/graph.nnef")


DEFAULTS = {"bits": "8", "signed": "true", "symmetric": "false"}


def test_arguments_of_any_length_end_in_short_messages() -> None:
    nested = "[[1] * 2048] * 2048"  # four million items, as many as there may be
    for given, message in (
        (f"scale = 1.0, bits = {nested}", "bits must be an integer in 1 .. 32, got "),
        (f"scale = 1.0, symmetric = {nested}", "symmetric must be true or false, got "),
        (f"scale = [{nested}]", "scale must be a number or a list of numbers, got "),
        ("scale = 1.0, bits = [[1] * 2048] * 2049", "more than 4194304 items"),
        ("scale = [1.0] * 262145", "scale has 262145 values, at most 262144 are taken"),
        ("scale = [true] * 200000", "scale must be a number or a list of numbers, got (True, True, "),
    ):
        rest = "".join(f", {name} = {value}" for name, value in DEFAULTS.items() if f"{name} =" not in given)
        text = f"'x': zero_point_linear_quantize(zero_point = 0, {given}{rest});"
        with pytest.raises(TosaEngineError, match=re.escape(message)) as caught:
            nnef.read_quantization(text, "graph.quant")
        assert len(str(caught.value)) < 1000
