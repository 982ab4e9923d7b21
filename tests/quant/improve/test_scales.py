"""Equalisation and balancing: the float function stays bit by bit, and int8 loses less."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quant_tools import Floats

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.observe import collect
from quant.improve.channels import channels_of, power_of_two
from quant.improve.equalize import equalize
from quant.improve.post_training import Options, quantize_from_samples
from quant.improve.runs import IntegerNetwork
from quant.improve.smooth import smooth
from quant.improve.trial import Scaled, Trial, rescaled
from quant.legalize.layers import parse_rule
from quant.legalize.quantize import prepared
from tosa_engine import Session, oracle, types
from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

ENDLESS = 3.4e38


def spread(rng: np.random.Generator, count: int, octaves: float) -> Any:
    return 2.0 ** rng.uniform(-octaves, octaves, count)


class Random:
    """A network of convolutions whose channels are far apart, with what hands channels on in between."""

    def __init__(self, seed: int) -> None:
        self.rng, self.f = np.random.default_rng(seed), Floats()

    def normal(self, *shape: int) -> Any:
        return self.rng.normal(size=shape).astype(np.float32)

    def conv(self, x: str, outputs: int, size: int = 1) -> str:
        inputs = self.f.block.tensors[x].shape[3]  # type: ignore[index]
        weight = self.normal(outputs, size, size, inputs) * spread(self.rng, outputs, 4)[:, None, None, None]
        around = (size // 2,) * 4
        return self.f.conv(x, weight.astype(np.float32), self.normal(outputs), pad=around)

    def depthwise(self, x: str, multiplier: int) -> str:
        channels = self.f.block.tensors[x].shape[3]  # type: ignore[index]
        weight = self.normal(3, 3, channels, multiplier) * spread(self.rng, channels, 4)[:, None]
        bias = self.normal(channels * multiplier)
        return self.f.conv(x, weight.astype(np.float32), bias, op="DEPTHWISE_CONV2D", pad=(1, 1, 1, 1))

    def between(self, x: str) -> str:
        f, shape = self.f, self.f.block.tensors[x].shape
        assert shape is not None
        kind = self.rng.integers(7)
        if kind == 0:
            return x
        if kind == 1:
            return f.op("MAX_POOL2D", [x], kernel=(2, 2), stride=(1, 1), pad=(0, 1, 0, 1))
        if kind == 2:
            return f.op("TRANSPOSE", [f.op("TRANSPOSE", [x], perms=(0, 3, 1, 2))], perms=(0, 2, 3, 1))
        if kind == 3:
            return f.op("ADD", [x, f.const(self.normal(1, 1, 1, shape[3]))])
        if kind == 5:
            negative = f.op("GREATER", [f.const(np.zeros((1, 1, 1, 1))), x], dtype=types.bool_)
            return f.op("SELECT", [negative, f.op("MUL", [x, f.const(np.full((1, 1, 1, 1), 0.1))]), x])
        if kind == 4:
            return f.op("MUL", [x, f.const(np.abs(self.normal(1, 1, 1, shape[3])) + 0.1)])
        return f.op("ADD", [x, self.f.relu(self.conv(x, shape[3]))])

    def network(self, depth: int) -> Graph:
        x = self.f.input((1, 5, 4, 3))
        for _ in range(depth):
            x = self.depthwise(x, int(self.rng.integers(1, 3))) if self.rng.random() < 0.3 else self.conv(x, 6, 3)
            x = self.between(self.f.relu(x, high=[ENDLESS, 6.0][int(self.rng.random() < 0.2)]))
        x = self.conv(x, 4)
        return self.f.outputs(self.f.composite("mean", x, axes=(1, 2)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_equalised_networks_compute_the_same_bytes(seed: int, depth: int) -> None:
    graph = Random(seed).network(depth)
    made, _ = equalize(graph)
    feed = {"x": np.random.default_rng(seed).normal(size=(1, 5, 4, 3)).astype(np.float32)}
    for name, wanted in oracle.run(graph, feed).items():
        assert oracle.run(made, feed)[name].tobytes() == wanted.tobytes()


def two_layers(ratio: float = 1000.0, high: float = ENDLESS) -> Graph:
    """conv - relu - conv; half of the channels in between are `ratio` times larger than the others, as the second layer
    knows: all count the same for the result.
    """
    rng, f = np.random.default_rng(11), Floats()
    sizes = np.where(np.arange(16) % 2, ratio, 1.0)
    first = rng.normal(size=(16, 1, 1, 8)) * sizes[:, None, None, None]
    second = rng.normal(size=(4, 1, 1, 16)) / sizes
    bias = rng.normal(size=16) * sizes
    x = f.conv(f.input((1, 6, 6, 8)), first.astype(np.float32), bias.astype(np.float32), name="first")
    x = f.relu(x, high=high)
    return f.outputs(f.conv(x, second.astype(np.float32), np.zeros(4, np.float32), name="second"))


SAMPLES = [{"x": np.random.default_rng(i).normal(size=(1, 6, 6, 8)).astype(np.float32)} for i in range(6)]


def sqnr(graph: Graph, samples: Any, *rules: str) -> float:
    """Of the integer network's outputs against the float network's, in dB."""
    ready = attach(graph, collect(graph, enumerate(samples)), None, [parse_rule(rule) for rule in rules])
    integers, real = IntegerNetwork(ready), Session(graph)
    error = power = 0.0
    for sample in samples:
        wanted = real.run(None, sample)[0].astype(np.float64)
        error += float(np.square(integers.run(sample)[0] - wanted).sum())
        power += float(np.square(wanted).sum())
    return float(10 * np.log10(power / error))


def test_two_layers_of_1000_to_1_collapse_without_and_recover_with_equalisation() -> None:
    graph = two_layers()
    made, totals = equalize(graph)
    before, after = sqnr(graph, SAMPLES), sqnr(made, SAMPLES)
    assert before < 6.0  # half of the channels are lost: 3 dB
    assert after > 35.0
    assert after > sqnr(two_layers(1.0), SAMPLES) - 3.0  # as if they had never been apart
    assert np.log2(totals["first"][1::2] / totals["first"][::2]).mean() > 8  # 1000 is 2^10


@pytest.mark.parametrize("high", [6.0, 1e6])
def test_no_scale_moves_through_a_clamp_that_is_not_homogeneous(high: float) -> None:
    made, totals = equalize(two_layers(high=high))
    assert totals == {}
    (channels, _) = channels_of(prepared(two_layers(high=high)).main)
    assert channels.pinned == "CLAMP 'clamp' isn't the same for every scale"
    assert len(made.main.operators) == len(prepared(two_layers(high=high)).main.operators)


def test_outputs_and_functions_hold_their_channels() -> None:
    f = Floats()
    rng = np.random.default_rng(0)

    def conv(x: str, name: str) -> str:
        weight = rng.normal(size=(4, 1, 1, 4)).astype(np.float32)
        return f.conv(x, weight, np.zeros(4, np.float32), name=name)

    x = f.input((1, 3, 3, 4))
    shown = conv(x, "shown")
    tanh = f.op("TANH", [conv(shown, "curved")])
    joined = f.op("ADD", [conv(tanh, "one"), f.input((1, 3, 3, 4), name="other")])
    last = conv(joined, "last")
    found = {c.name: c.pinned for c in channels_of(prepared(f.outputs("shown", last)).main)}
    assert found == {
        "shown": "'shown' is a graph output",
        "curved": "TANH 'tanh' isn't the same for every scale",
        "one": "'other' comes from elsewhere",
        "last": "'last' is a graph output",
    }


@pytest.mark.parametrize(("bound", "pinned"), [(0.0, False), (0.5, True)])
def test_a_leaky_relu_hands_channels_on(bound: float, pinned: bool) -> None:
    made = Random(1)
    f, x = made.f, made.conv(made.f.input((1, 3, 3, 4)), 5)
    low = f.op("GREATER", [f.const(np.full((1, 1, 1, 1), bound)), x], dtype=types.bool_)
    y = f.op("SELECT", [low, f.op("MUL", [x, f.const(np.full((1, 1, 1, 1), 0.1))]), x])
    first, _ = channels_of(prepared(f.outputs(made.conv(y, 2))).main)
    assert (len(first.writers), len(first.readers), bool(first.pinned)) == (1, 1, pinned)


def test_a_sum_of_two_layers_has_one_set_of_channels() -> None:
    graph = Random(0)
    x = graph.f.input((1, 3, 3, 4))
    a, b = graph.f.relu(graph.conv(x, 5)), graph.conv(x, 5)
    out = graph.conv(graph.f.op("ADD", [a, b]), 2)
    found = channels_of(prepared(graph.f.outputs(out)).main)
    assert [(len(c.writers), len(c.readers), bool(c.pinned)) for c in found] == [(2, 1, False), (1, 0, True)]


@given(st.lists(st.floats(1e-4, 1e4), min_size=1, max_size=9))
def test_scales_are_the_nearest_powers_of_two(values: list[float]) -> None:
    found = power_of_two(np.array(values))
    fractions, _ = np.frexp(found)
    assert (fractions == 0.5).all()
    assert (np.abs(np.log2(found / np.array(values))) <= 0.5 + 1e-12).all()


def test_channels_of_zeros_keep_their_scale() -> None:
    assert power_of_two(np.array([0.0, np.inf, np.nan, 4.0])).tolist() == [1.0, 1.0, 1.0, 4.0]


def normalized(outliers: float) -> Graph:
    """A gain and an offset per channel, then two matrix products; one channel in eight has large activations and small
    weights.
    """
    f, rng = Floats(), np.random.default_rng(3)
    gain = np.where(np.arange(16) % 8 == 3, outliers, 1.0).astype(np.float32)
    x = f.op("MUL", [f.input((1, 10, 16)), f.const(gain.reshape(1, 1, 16))], name="gain")
    x = f.op("ADD", [x, f.const(rng.normal(size=(1, 1, 16)).astype(np.float32))], name="offset")
    left = (rng.normal(size=(1, 16, 6)) / gain[:, None]).astype(np.float32)
    right = (rng.normal(size=(5, 1, 1, 16)) / gain).astype(np.float32)
    one = f.op("MATMUL", [x, f.const(left)], name="one")
    flat = f.op("RESHAPE", [x, f.const((10, 1, 1, 16), dtype=types.shape)])
    two = f.conv(flat, right, np.zeros(5, np.float32), name="two")
    return f.outputs(one, two)


ROWS = [{"x": np.random.default_rng(i).normal(size=(1, 10, 16)).astype(np.float32)} for i in range(8)]


@given(st.floats(0.0, 1.0), st.floats(0.01, 1000.0))
def test_balanced_networks_compute_the_same_bytes(alpha: float, outliers: float) -> None:
    graph = normalized(outliers)
    made, _ = smooth(graph, ROWS[:1], alpha)
    wanted, found = oracle.run(graph, ROWS[1]), oracle.run(made, ROWS[1])
    assert {name: a.tobytes() for name, a in found.items()} == {name: a.tobytes() for name, a in wanted.items()}


def test_balancing_moves_outliers_from_activations_into_weights() -> None:
    graph = normalized(60.0)
    made, totals = smooth(graph, ROWS, 0.5)
    middle = np.median(totals["gain"])
    assert (np.abs(np.log2(totals["gain"][3::8] / middle) - np.log2(60)) <= 1.5).all()  # sqrt(60) / sqrt(1 / 60)
    assert sqnr(made, ROWS) > sqnr(graph, ROWS) + 10


def test_a_wrong_alpha_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"alpha is between 0 and 1, got 1\.5"):
        smooth(normalized(1.0), ROWS, 1.5)


def trial(graph: Graph, totals: dict[str, Any]) -> tuple[Graph, list[Scaled]]:
    told: list[Scaled] = []
    made, kept = Trial(SAMPLES, Scheme(), (), 8, frozenset()).keep_what_helps(graph, totals, told.append)
    again = oracle.run(rescaled(graph, json.loads(json.dumps(kept))), SAMPLES[0])
    assert {n: a.tobytes() for n, a in again.items()} == {
        n: a.tobytes() for n, a in oracle.run(made, SAMPLES[0]).items()
    }
    assert [name for name, _ in kept] == [one.layer for one in told if one.kept]
    return made, told


def test_scales_that_help_on_held_out_samples_are_kept_and_others_dropped() -> None:
    graph = two_layers()
    made, (found,) = trial(graph, equalize(graph)[1])
    assert found.kept
    assert found.before > 100 * found.after
    assert sqnr(made, SAMPLES) > 35.0
    assert str(found).startswith("first: 9 of 16 channels scaled by up to 2^11, +38.")
    even = two_layers(1.0)
    made, (found,) = trial(even, {"first": np.where(np.arange(16) % 2, 1024.0, 1.0)})
    assert not found.kept
    assert str(found).endswith("dB on held-out samples: dropped")
    assert sqnr(made, SAMPLES) == sqnr(even, SAMPLES)


def test_scales_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="there are no 2 channels to scale in 'first'"):
        rescaled(two_layers(), [("first", [1, 2])])
    with pytest.raises(DataError, match=r"the channels of 'first' are divided by more than 2\^126"):
        rescaled(two_layers(), [("first", [500] * 16)])


def test_a_method_that_finds_nothing_says_why() -> None:
    graph = two_layers(high=6.0)
    result = quantize_from_samples(graph, SAMPLES, Options(equalize=True, smooth=0.5))
    why = "nothing was changed: no channels can be scaled ('first': CLAMP 'clamp' isn't the same for every scale"
    assert result.notes[1].startswith(f"equalize: {why}")
    assert result.notes[2].startswith(f"smooth: {why}")
