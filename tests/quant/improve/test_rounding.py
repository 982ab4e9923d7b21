"""Rounding of weights and bias correction, against exhaustive search and planted errors."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quant_tools import Floats

from quant.calibration.calibrate import attach
from quant.calibration.observe import collect
from quant.improve.bias import Correction, correct_bias, mean_error
from quant.improve.descent import best_of, descend, with_error_feedback
from quant.improve.rounding import Rounded, _Moments, adaround
from quant.improve.runs import ChangingNetwork, held_back, judged_tensors, runs_of
from quant.improve.runs import distance as distance_of
from quant.legalize.weights import rows_of
from quant.pieces import Pieces
from tosa_engine import oracle
from tosa_engine.errors import UsageError

if TYPE_CHECKING:
    from tosa_engine.graph import Graph, Operator
    from tosa_engine.types import Array


def normal(seed: int, *shape: int) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def network(kind: str) -> Graph:
    """One layer and a second one, so that the first one's input and the second one's are activations."""
    f = Floats()
    x = f.input((1, 7, 6, 4))
    if kind == "MATMUL":
        f = Floats()
        y = f.op("MATMUL", [f.input((1, 17, 24)), f.const(normal(1, 1, 24, 9))], name="first")
        return f.outputs(f.op("MATMUL", [y, f.const(normal(2, 1, 9, 5))], name="second"))
    if kind == "DEPTHWISE_CONV2D":
        y = f.conv(x, normal(1, 3, 2, 4, 2), normal(3, 8), op=kind, pad=(0, 0, 2, 1), stride=(2, 1), name="first")
        return f.outputs(f.conv(f.relu(y), normal(2, 3, 1, 1, 8), normal(4, 3), name="second"))
    y = f.conv(x, normal(1, 6, 2, 3, 4), normal(3, 6), pad=(1, 0, 2, 1), stride=(1, 2), dilation=(2, 1), name="first")
    return f.outputs(f.conv(f.relu(y), normal(2, 3, 1, 1, 6), normal(4, 3), name="second"))


KINDS = ["CONV2D", "DEPTHWISE_CONV2D", "MATMUL"]


def samples_of(graph: Graph, count: int) -> list[dict[str, Array]]:
    """Neighbouring values are alike, as in images: what roundings do to the result then depends on each other."""
    (into,) = graph.inputs
    assert into.shape is not None
    return [{into.name: 1 + normal(i, *into.shape[:-1], 1) + 0.2 * normal(i, *into.shape)} for i in range(count)]


def ready(graph: Graph, samples: Any, weight_bits: int = 4) -> Graph:
    return attach(graph, collect(graph, enumerate(samples)), None, (), weight_bits)


def layer(graph: Graph, name: str) -> Operator:
    return next(op for op in graph.main.operators if op.outputs == [name])


def distance(reference: Graph, ready: Graph, samples: Any) -> float:
    return distance_of(Pieces(reference), ChangingNetwork(ready), runs_of(samples))


def weights(graph: Graph, name: str) -> Array:
    data = graph.main.tensors[layer(graph, name).inputs[1]].data
    assert data is not None
    return data


@pytest.mark.parametrize("kind", KINDS[:2])
def test_windows_are_what_the_operator_multiplies(kind: str) -> None:
    """The sums of squares of a layer's results, from its own windows and from the operator itself."""
    graph = network(kind)
    op, (sample,) = layer(graph, "first"), samples_of(graph, 1)
    moments = _Moments(op, weights(graph, "first"))
    moments.add(sample["x"], sample["x"], np.random.default_rng(0))
    seen: dict[str, Array] = {}
    oracle.run(graph, sample, lambda _, name, array: seen.setdefault(name, array.copy()))
    bias = graph.main.tensors[op.inputs[2]].data
    assert bias is not None
    wanted = np.square(seen["first"].astype(np.float64) - bias).sum()
    assert moments.count == seen["first"].size // len(bias)
    assert moments.power == pytest.approx(wanted, rel=1e-5)
    rows = rows_of(op.op, weights(graph, "first")).reshape(moments.groups, -1, moments.own.shape[1]).astype(np.float64)
    assert (np.matmul(rows, moments.own) * rows).sum() == pytest.approx(wanted, rel=1e-5)


def problem(seed: int, rows: int, taps: int) -> tuple[Array, Array, Array, Array]:
    """G, h, exact weights and steps."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, taps)) @ rng.normal(size=(taps, taps))
    exact = rng.uniform(-7, 7, (1, rows, taps))
    step = rng.uniform(0.1, 2.0, (1, rows, 1))
    gram = (x.T @ x)[None]
    return gram, np.matmul(exact * step, gram), exact, step


def cost(gram: Array, wanted: Array, step: Array, integers: Array) -> Array:
    real = integers * step
    found: Array = (np.matmul(real, gram) * real - 2 * real * wanted).sum(axis=2)
    return found


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 7))
def test_descent_ends_where_no_single_weight_would_move(seed: int, rows: int, taps: int) -> None:
    gram, wanted, exact, step = problem(seed, rows, taps)
    nearest = np.rint(exact)
    found = descend(gram, wanted, exact, step, nearest, 7, np.random.default_rng(seed))
    least = cost(gram, wanted, step, found)
    assert (np.abs(found - exact) < 1).all()
    assert (least <= cost(gram, wanted, step, nearest) + 1e-9).all()
    for tap in range(taps):
        other = found.copy()
        other[:, :, tap] = np.floor(exact[:, :, tap]) + np.ceil(exact[:, :, tap]) - found[:, :, tap]
        assert (cost(gram, wanted, step, other) >= least - 1e-6 * np.abs(least)).all()


def test_the_better_of_two_descents_is_near_the_best_of_all_roundings() -> None:
    gain, best = 0.0, 0.0
    for seed in range(20):
        gram, wanted, exact, step = problem(seed, 1, 6)
        base = cost(gram, wanted, step, exact).item()
        everything = [np.floor(exact) + np.array(up) for up in itertools.product((0, 1), repeat=6)]
        least = min(cost(gram, wanted, step, q).item() for q in everything) - base
        nearest = np.rint(exact)
        found = best_of(gram, wanted, exact, step, nearest, 7, np.random.default_rng(0))
        gain += np.log(cost(gram, wanted, step, found).item() - base) - np.log(least)
        best += np.log(cost(gram, wanted, step, nearest).item() - base) - np.log(least)
    assert gain < 0.35 * best


@pytest.mark.parametrize("kind", KINDS)
def test_rounded_weights_are_neighbours_and_the_network_is_nearer_to_the_floats(kind: str) -> None:
    graph = network(kind)
    samples = samples_of(graph, 6)
    start = ready(graph, samples, 8 if kind == "MATMUL" else 4)
    told: list[Rounded] = []
    made = adaround(start, start, samples, done=told.append)
    before, after = distance(graph, start, samples), distance(graph, made, samples)
    assert after < (before if kind == "MATMUL" else before / 1.5)
    assert [r.layer for r in told] == ["first", "second"]
    assert all(r.found <= r.nearest and 0 < r.moved < r.weights for r in told)
    for name in ("first", "second"):
        quant = made.main.tensors[layer(made, name).inputs[1]].quant
        assert quant is not None
        op = layer(made, name).op
        steps = rows_of(op, weights(made, name)) / np.asarray(quant.scale)[:, None]
        exact = rows_of(op, weights(start, name)) / np.asarray(quant.scale)[:, None]
        most = 127 if kind == "MATMUL" else 7
        assert np.abs(steps - np.rint(steps)).max() < 1e-4
        assert np.abs(np.rint(steps) - np.clip(exact, -most, most)).max() < 1
    assert weights(start, "first") is not weights(made, "first")


def test_a_channel_that_is_zero_in_every_sample_keeps_the_nearest_integers() -> None:
    """Its sums of squares are a matrix of zeros, which has no inverse."""
    graph = network("DEPTHWISE_CONV2D")
    samples = samples_of(graph, 3)
    for sample in samples:
        sample["x"][..., 2] = 0
    start = ready(graph, samples, 8)
    made = adaround(start, start, samples, layers=["first"])
    quant = made.main.tensors[layer(made, "first").inputs[1]].quant
    assert quant is not None
    steps = [rows_of("DEPTHWISE_CONV2D", weights(g, "first")) / np.asarray(quant.scale)[:, None] for g in (start, made)]
    moved = (np.rint(steps[0]) != np.rint(steps[1])).any(axis=1).reshape(4, 2).any(axis=1)
    assert moved.tolist() == [True, True, False, True]


def test_a_rounding_that_hurts_on_held_back_samples_is_dropped() -> None:
    """Channels are alike in the samples to fit with, so that errors of weights make good for each other; in those held
    back their signs alternate, and these errors add up.
    """
    f = Floats()
    graph = f.outputs(f.conv(f.input((1, 5, 5, 8)), normal(1, 6, 1, 1, 8), normal(2, 6), name="only"))
    signs = np.resize(np.float32([1, -1]), 8)
    samples = [{"x": normal(i, 1, 5, 5, 1) * (signs if i % 4 == 3 else np.ones(8, np.float32))} for i in range(8)]
    start = ready(graph, samples)
    told: list[Rounded] = []
    made = adaround(start, start, samples, done=told.append)
    (found,) = told
    assert found.moved > 0
    assert found.found < found.nearest / 4
    assert found.after > found.before
    assert str(found).endswith("of the outputs on held-back samples: dropped")
    quant = made.main.tensors[layer(made, "only").inputs[1]].quant
    assert quant is not None
    scales = np.asarray(quant.scale).reshape(-1, 1, 1, 1)
    nearest = np.clip(np.rint(weights(start, "only") / scales), -7, 7)
    assert np.array_equal(np.rint(weights(made, "only") / scales), nearest)
    alike = adaround(start, start, [sample for i, sample in enumerate(samples) if i % 4 != 3], done=told.append)
    assert told[-1].kept
    assert weights(alike, "only").tobytes() != weights(made, "only").tobytes()


def test_a_dropped_rounding_is_not_what_later_layers_see() -> None:
    """What is told of a layer begins where the last one left the network, and the last error is the result's."""
    graph = network("CONV2D")
    samples = samples_of(graph, 8)
    for i in (3, 7):
        samples[i] = {"x": -3 * samples[i]["x"][:, ::-1]}
    start = ready(graph, samples)
    told: list[Rounded] = []
    made = adaround(start, start, samples, done=told.append)
    ends = [one.after if one.kept else one.before for one in told]
    assert [one.before for one in told[1:]] == ends[:-1]
    assert ends[-1] == distance(graph, made, samples[3::4])


def test_one_sample_cannot_be_held_back() -> None:
    graph = network("CONV2D")
    samples = samples_of(graph, 1)
    with pytest.raises(UsageError, match="there must be 2 at least, got 1"):
        adaround(start := ready(graph, samples), start, samples)


def test_groups_are_rounded_as_each_alone() -> None:
    """One group's inputs are zero: it keeps the nearest integers."""
    parts = [problem(seed, 3, 5) for seed in range(3)]
    gram, wanted, exact, step = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    gram[1], wanted[1] = 0, 0
    found = with_error_feedback(gram, wanted, exact, step, 7)
    assert np.array_equal(found[1], np.rint(exact[1]))
    for i in (0, 2):
        assert np.array_equal(found[i : i + 1], with_error_feedback(*parts[i], 7))


def test_the_same_seed_gives_the_same_bytes() -> None:
    graph = network("CONV2D")
    samples = samples_of(graph, 4)
    start = ready(graph, samples)
    one, two, other = (weights(adaround(start, start, samples, seed=s), "first").tobytes() for s in (1, 1, 2))
    assert one == two
    assert one != other


def test_a_layer_without_the_method_is_named() -> None:
    f = Floats()
    x = f.input((1, 5, 4, 3))
    weight, bias = normal(1, 2, 3, 3, 3), normal(2, 2)
    graph = f.outputs(f.conv(x, weight, bias, op="TRANSPOSE_CONV2D", out_pad=(0,) * 4, name="up"))
    samples = samples_of(graph, 2)
    start = ready(graph, samples, 8)
    told: list[Rounded] = []
    made = adaround(start, start, samples, done=told.append)
    assert [str(one) for one in told] == ["up: rounded to the nearest, TRANSPOSE_CONV2D has no such method"]
    assert weights(made, "up").tobytes() == weights(start, "up").tobytes()


def test_only_chosen_layers_are_rounded() -> None:
    graph = network("CONV2D")
    samples = samples_of(graph, 2)
    start = ready(graph, samples)
    made = adaround(start, start, samples, layers=["second"])
    assert weights(made, "first").tobytes() == weights(start, "first").tobytes()
    assert weights(made, "second").tobytes() != weights(start, "second").tobytes()


def with_bias(graph: Graph, name: str, shift: Array) -> Graph:
    made = graph.copy()
    bias = made.main.tensors[layer(made, name).inputs[2]]
    assert bias.data is not None
    bias.data = (bias.data + shift).astype(np.float32)
    return made


def test_a_planted_error_of_a_bias_is_measured_and_taken_out() -> None:
    graph = network("CONV2D")
    samples = samples_of(graph, 8)
    reference = ready(graph, samples, 8)
    shift = np.array([0.5, -0.25, 0.0, 0.125, 1.0, -1.0])
    wrong = with_bias(reference, "first", shift)
    excess = mean_error(Pieces(reference), ChangingNetwork(wrong), layer(wrong, "first"), runs_of(samples))
    assert excess == pytest.approx(shift, abs=0.02)
    told: list[Correction] = []
    made = correct_bias(reference, wrong, samples, layers=["first"], done=told.append)
    (found,) = told
    assert found.kept
    assert found.after < found.before / 20
    assert distance(graph, made, samples) < 2 * distance(graph, reference, samples)


def test_a_correction_that_hurts_on_held_back_samples_is_dropped() -> None:
    """A weight that is wrong shifts the mean one way for the samples that are measured and the other way for those held
    back.
    """
    f = Floats()
    y = f.conv(f.input((1, 3, 3, 2)), normal(1, 3, 1, 1, 2), normal(2, 3), name="only")
    graph = f.outputs(y)
    samples = [{"x": np.abs(normal(i, 1, 3, 3, 2)) * (-1 if i % 4 == 3 else 1)} for i in range(8)]
    reference = ready(graph, samples, 8)
    wrong = reference.copy()
    tensor = wrong.main.tensors[layer(wrong, "only").inputs[1]]
    assert tensor.data is not None
    tensor.data = (tensor.data + np.float32(0.3)).astype(np.float32)
    told: list[Correction] = []
    made = correct_bias(reference, wrong, samples, done=told.append)
    assert [c.kept for c in told] == [False]
    assert told[0].largest > 0.2
    kept = [g.main.tensors[layer(g, "only").inputs[2]].data for g in (made, wrong)]
    assert kept[0].tobytes() == kept[1].tobytes()


def test_every_fourth_sample_is_held_back() -> None:
    samples = [{"x": np.float32([i])} for i in range(9)]
    fit, judges = held_back(samples)
    assert [int(s["x"][0]) for s in judges] == [3, 7]
    assert [int(s["x"][0]) for s in fit] == [0, 1, 2, 4, 5, 6, 8]
    assert [len(list(part)) for part in held_back(samples[:2])] == [1, 1]
    with pytest.raises(UsageError, match="there must be 2 at least, got 1"):
        held_back(samples[:1])


def test_networks_are_judged_before_their_softmax() -> None:
    f = Floats()
    x = f.conv(f.input((1, 1, 1, 4)), normal(1, 3, 1, 1, 4), normal(2, 3), name="scores")
    out = f.composite("softmax", x, axis=3)
    assert judged_tensors(f.outputs(out, x)) == ["scores"]
    f = Floats()
    assert judged_tensors(f.outputs(f.relu(f.input((1, 3))))) == ["clamp"]
