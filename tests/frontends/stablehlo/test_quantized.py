"""Quantized types: computed as jaxlib's passes say, and as hints in a graph that is to become integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from stablehlo_modules import needs_jaxlib

import quant
from tosa_engine import oracle
from tosa_engine.frontends.stablehlo.source import ModuleSource
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_jaxlib
X, W = "tensor<1x4x4x2x!quant.uniform<i8:f32, 0.05:-3>>", "!quant.uniform<i8<-127:127>:f32:3, {0.1,0.2,0.05}>"
S, R = "!quant.uniform<i32:f32:3, {0.005,0.01,0.0025}>", "!quant.uniform<i8:f32, 0.03:5>"
T = "!quant.uniform<i8:f32, 0.0078125>"
TEXT = f"""func.func @main(%x: tensor<1x4x4x2xf32>) -> tensor<1x4x4x3xf32> {{
%w = stablehlo.constant dense<[[[[3, -5, 100], [7, 9, -127]]]]> : tensor<1x1x2x3xi8>
%wq = stablehlo.bitcast_convert %w : (tensor<1x1x2x3xi8>) -> tensor<1x1x2x3x{W}>
%q = stablehlo.uniform_quantize %x : (tensor<1x4x4x2xf32>) -> {X}
%c = stablehlo.convolution(%q, %wq) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{stride = [1, 1]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({X}, tensor<1x1x2x3x{W}>) -> tensor<1x4x4x3x{S}>
%r = stablehlo.uniform_quantize %c : (tensor<1x4x4x3x{S}>) -> tensor<1x4x4x3x{R}>
%t = stablehlo.tanh %r : (tensor<1x4x4x3x{R}>) -> tensor<1x4x4x3x{T}>
%d = stablehlo.uniform_dequantize %t : (tensor<1x4x4x3x{T}>) -> tensor<1x4x4x3xf32>
return %d : tensor<1x4x4x3xf32>
}}"""  # noqa: E501


def source(tmp_path: Path) -> ModuleSource:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return ModuleSource(path)


def stored(x: np.ndarray, scale: float, zero: int) -> np.ndarray:
    return np.clip(np.rint(x / scale) + zero, -128, 127)


def expected(x: np.ndarray) -> np.ndarray:
    """The integers of the result, step by step."""
    weights = np.asarray([[3, -5, 100], [7, 9, -127]]) * np.asarray([0.1, 0.2, 0.05])
    real = (stored(x, 0.05, -3) + 3) * 0.05 @ weights
    return stored(np.tanh((stored(real, 0.03, 5) - 5) * 0.03), 0.0078125, 0)


def test_floats_are_what_the_integers_stand_for(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(1, 4, 4, 2)).astype(np.float32)
    graph = source(tmp_path).graph()
    (found,) = oracle.run(graph, {graph.main.inputs[0]: x}).values()
    difference = np.abs(found / 0.0078125 - expected(x))
    assert difference.max() <= 1
    assert (difference == 0).mean() > 0.9


def test_as_integers_it_is_a_convolution_a_rescale_and_a_table(tmp_path: Path) -> None:
    opened = source(tmp_path)
    hints = opened.hints()
    assert hints is not None
    integers = quant.quantize(opened.graph(hints, for_integers=True))
    assert [op.op for op in integers.main.operators if not op.op.startswith("CONST")] == ["CONV2D", "RESCALE", "TABLE"]
    x = np.random.default_rng(0).normal(size=(1, 4, 4, 2)).astype(np.float32)
    (found,) = oracle.run(integers, {integers.main.inputs[0]: stored(x, 0.05, -3).astype(np.int8)}).values()
    difference = np.abs(found - expected(x))
    assert difference.max() <= 4  # of tanh, whose operand may be off by one step of 0.03
    assert (difference == 0).mean() > 0.9


def test_known_numbers_become_those_of_their_type(tmp_path: Path) -> None:
    """Weights beyond the range of their type, and between its steps, stayed as they were in integers."""
    kind = "tensor<1x3x!quant.uniform<i8:f32, 0.5>>"
    result = "tensor<1x3x!quant.uniform<i8:f32, 1.0>>"
    path = tmp_path / "model.mlir"
    path.write_text(f"""func.func @main(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {{
%w = stablehlo.constant dense<[[100.0, -0.2, 0.3]]> : tensor<1x3xf32>
%a = stablehlo.uniform_quantize %w : (tensor<1x3xf32>) -> {kind}
%b = stablehlo.uniform_quantize %x : (tensor<1x3xf32>) -> {kind}
%c = stablehlo.add %a, %b : ({kind}, {kind}) -> {result}
%d = stablehlo.uniform_dequantize %c : ({result}) -> tensor<1x3xf32>
return %d : tensor<1x3xf32>
}}""")
    opened = ModuleSource(path)
    integers = quant.quantize(opened.graph(opened.hints(), for_integers=True))
    (found,) = oracle.run(integers, {integers.main.inputs[0]: np.zeros((1, 3), np.int8)}).values()
    np.testing.assert_allclose(found, [[64, 0, 0]], atol=1)
    assert found[0, 0] == 64  # 63.5, not 100


def test_as_integers_nothing_by_nothing_is_stored_as_0(tmp_path: Path) -> None:
    kinds = [f"tensor<4x!quant.uniform<i8:f32, {scale}>>" for scale in ("0.5:10", "0.25:-128", "0.0625:-7")]
    path = tmp_path / "model.mlir"
    path.write_text(f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {{
%0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> {kinds[0]}
%1 = stablehlo.uniform_quantize %y : (tensor<4xf32>) -> {kinds[1]}
%2 = stablehlo.divide %0, %1 : ({kinds[0]}, {kinds[1]}) -> {kinds[2]}
%3 = stablehlo.uniform_dequantize %2 : ({kinds[2]}) -> tensor<4xf32>
return %3 : tensor<4xf32>
}}""")
    opened = ModuleSource(path)
    integers = quant.quantize(opened.graph(opened.hints(), for_integers=True))
    x, y = (np.asarray(each, np.int8) for each in ([10, 14, 10, 6], [-128, -120, 0, -124]))  # 0, 2, 0, -2; 0, 2, 32, 1
    (found,) = oracle.run(integers, dict(zip(integers.main.inputs, (x, y), strict=True))).values()
    assert found.tolist() == [0, 9, -7, -39]


def test_scales_from_a_file_reach_a_convolution_whose_result_is_in_another_layout(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("""func.func @main(%x: tensor<1x4x4x2xf32> loc("x")) -> tensor<1x4x4x3xf32> {
%w = stablehlo.constant dense<0.5> : tensor<1x1x2x3xf32>
%c = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<1x1x2x3xf32>) -> tensor<1x4x4x3xf32>
%t = stablehlo.abs %c : tensor<1x4x4x3xf32>
return %t : tensor<1x4x4x3xf32>
}""")  # noqa: E501
    scale = QParams((0.25,), (0,), 8, True, False, None)
    hinted = ModuleSource(path).graph(dict.fromkeys(("x", "convolution", "output"), scale), for_integers=True)
    integers = quant.quantize(hinted)
    x = np.random.default_rng(0).integers(-20, 20, (1, 4, 4, 2)).astype(np.int8)
    (found,) = oracle.run(integers, {"x": x}).values()
    wanted = np.abs(np.floor(x.sum(-1, keepdims=True) * 0.5 + 0.5))
    assert np.abs(found - wanted).max() <= 1
    assert [op.op for op in integers.main.operators if not op.op.startswith("CONST")][:2] == ["CONV2D", "RESCALE"]
