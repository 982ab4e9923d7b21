"""Quantization folds normalisation into first layers where int8 loses nothing, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_tools import Floats, operators, quality

from quant import LayerRule, Method, Options, RangeRule, Scheme, quantize_from_samples
from quant.improve.normalization import fold_normalization

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

KEPT = ["SUB", "MUL", "CONV2D"]
PICTURES = (123.7, 116.3, 103.5), (58.4, 57.1, 57.4)


def network(mean: tuple[float, ...], deviation: tuple[float, ...], pad: int = 0) -> Graph:
    rng, f = np.random.default_rng(2), Floats()
    shape = (1, 1, 1, len(mean))
    y = f.op("SUB", [f.input((1, 6, 6, len(mean))), f.const(np.reshape(mean, shape))], name="less")
    y = f.op("MUL", [y, f.const(1 / np.reshape(deviation, shape))], name="normal")
    y = f.conv(y, rng.normal(size=(8, 3, 3, len(mean))).astype(np.float32), np.zeros(8, np.float32), pad=(pad,) * 4)
    return f.outputs(f.op("IDENTITY", [y], name="y"))


def folded(graph: Graph, *rules: LayerRule) -> list[str]:
    return operators(fold_normalization(graph, Scheme(), rules)[0])[:-1]


@pytest.mark.parametrize(
    ("mean", "deviation", "left"),
    [
        ((0, 0, 0), (255, 255, 255), ["CONV2D"]),
        ((127.5,) * 3, (127.5,) * 3, ["CONV2D"]),
        (*PICTURES, ["ADD", "CONV2D"]),  # 0 is 2 deviations away: that error of the weights would have one sign
        ((0, 0, 0), (1, 1.4, 1.9), ["CONV2D"]),
        ((0, 0, 0), (1, 1.4, 2.1), KEPT),
        ((0, 0, 0), (1, 2, 40), KEPT),
        ((10, 500, 1000), (60, 60, 60), KEPT),
    ],
)
def test_only_channels_of_one_size_near_zero_lose_it(
    mean: tuple[float, ...], deviation: tuple[float, ...], left: list[str]
) -> None:
    assert folded(network(mean, deviation)) == left


def test_int8_loses_nothing_by_it_and_it_is_told() -> None:
    rng, graph = np.random.default_rng(3), network(*PICTURES, pad=1)
    samples = [{"x": rng.integers(0, 256, (1, 6, 6, 3)).astype(np.float32)} for _ in range(8)]
    told = (
        "normalisation of 'x' (less, normal) is in the weights of conv2d, but for an offset before it "
        "(--layer conv2d=int8: not so)"
    )
    found, notes = quality(graph, samples)
    assert notes == ["precision: 2 layers int8", told]
    kept, notes = quality(graph, samples, LayerRule("conv2d", "int8"))
    assert notes == ["precision: 3 layers int8"]
    assert found > kept
    sixteen = Options(Scheme(Method("minmax", bits=16)))
    assert told not in quantize_from_samples(graph, samples, sixteen).notes


def test_layers_and_tensors_that_a_rule_names_keep_it() -> None:
    graph = network((0, 0, 0), (255, 255, 255))
    assert folded(graph) == ["CONV2D"]
    for name in ("less", "normal", "op:CONV2D"):
        assert folded(graph, LayerRule(name, "int16")) == KEPT
    assert fold_normalization(graph, Scheme(ranges=(RangeRule("normal", "minmax"),))) == (graph, [])
