"""What `report` measures of every tensor."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_tools import Floats

from quant.legalize.quantize import quantize
from quant.report import lints, measure
from tosa_engine.compare.agreement import Agreement
from tosa_engine.errors import DataError
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from quant.report import Measurement
    from tosa_engine.types import Array
from report_tools import network, samples


def test_every_tensor_is_measured_in_order(found: Measurement) -> None:
    assert [layer.name for layer in found.layers] == [
        "x", "conv2d", "layer0", "conv2d_1", "layer1", "conv2d_2", "layer2",
    ]  # fmt: skip
    assert [layer.operator for layer in found.layers] == ["", *["CONV2D", "TANH"] * 3]
    assert [layer.is_output for layer in found.layers] == [False] * 6 + [True]
    assert found.samples == 6
    assert all(layer.local.elements == 6 * 48 for layer in found.layers)
    assert len(found.layers[1].peaks) == 3


def test_alone_and_cumulative(found: Measurement) -> None:
    """The first convolution gets the same integers either way; the last one much better ones when it is alone."""
    first, last = found.layers[1], found.layers[-1]
    assert first.local == first.cumulative
    assert last.local.sqnr > last.cumulative.sqnr
    assert all(layer.local.mean < 3 for layer in found.layers)


def test_a_broken_layer_shows_where_it_is() -> None:
    """A table of zeros: bad alone where it is, not behind it."""
    graph, integer = network()
    before = {layer.stored: layer for layer in measure(graph, integer, samples()).layers}
    table = integer.main.tensors[integer.main.producers()["layer1"].inputs[1]]
    assert table.data is not None
    table.data = table.data[::-1].copy()
    after = {layer.stored: layer for layer in measure(graph, integer, samples()).layers}
    assert before["layer1"].local.sqnr > 30
    assert after["layer1"].local.sqnr < 0
    assert after["conv2d_2"].local == before["conv2d_2"].local
    assert after["conv2d_2"].cumulative.sqnr < 3
    assert after["layer0"].cumulative == before["layer0"].cumulative


def test_the_numbers_of_agreement() -> None:
    one = Agreement()
    one.add(np.array([1, 2]), np.array([0.5, 1.5]), QParams((0.5,), (0,)))  # 0.5 and 1.0 beside 0.5 and 1.5
    assert one.sqnr == pytest.approx(10 * math.log10(2.5 / 0.25))
    assert one.cosine == pytest.approx((0.25 + 1.5) / math.sqrt(2.5 * 1.25))
    assert (one.largest, one.mean, one.elements) == (1.0, 0.5, 2)
    assert Agreement().sqnr == math.inf
    far = Agreement()
    far.add_floats(np.array([1e200]), np.array([1.0]))  # squares beyond float64
    assert far.sqnr == -math.inf
    zeros = Agreement()
    zeros.add(np.array([1]), np.zeros(1), QParams((1.0,), (0,)))
    assert (zeros.sqnr, zeros.cosine) == (-math.inf, 0.0)


def test_saturation_is_counted() -> None:
    f = Floats()
    y = f.relu(f.input((1, 4), QParams((0.01,), (0,))), QParams((0.01,), (-128,)), high=10.0)
    graph = f.outputs(y)
    sample = {"x": np.array([[-0.5, 0.5, 1.27, 9.0]], np.float32)}
    result = measure(graph, quantize(graph), [sample])
    assert [layer.beyond for layer in result.layers] == [1, 1]
    assert result.layers[0].saturation == 0.25
    assert "'x' saturates 25.0 % of its values" in lints(result)


def test_only_one_sample_is_in_memory() -> None:
    alive: list[weakref.ref[Array]] = []

    def stream() -> Iterator[dict[str, Array]]:
        for sample in samples(12):
            array = sample["x"].copy()
            alive.append(weakref.ref(array))
            assert sum(r() is not None for r in alive) <= 2
            yield {"x": array}
            del array

    assert measure(*network(1), stream()).samples == 12


def test_no_samples_and_nothing_in_common() -> None:
    with pytest.raises(DataError, match="at least one sample"):
        measure(*network(1), [])
    graph, integer = network(1)
    for tensor in integer.main.tensors.values():
        tensor.quant = None
    with pytest.raises(DataError, match="no tensor of the float graph"):
        measure(graph, integer, samples(1))


def test_every_sample_has_its_error(found: Measurement) -> None:
    """Of one sample alone the same as of the whole when it is the only one."""
    alone = measure(*network(), samples()[3:4])
    assert found.each[3].sqnr == pytest.approx(alone.outputs[0].cumulative.sqnr)
    assert found.each[3].largest == pytest.approx(
        alone.outputs[0].cumulative.largest * alone.outputs[0].quant.scale[0], rel=1e-6
    )
    assert [one.number for one in found.each] == list(range(6))
