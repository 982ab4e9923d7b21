"""The precision of single layers: which rule counts for which layer, and what it makes of the integer graph."""

from __future__ import annotations

from dataclasses import replace
from math import frexp
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quant_tools import Floats, operators

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.methods import Method
from quant.calibration.observe import collect
from quant.legalize.layers import LayerRule, described, layers_of, parse_rule, read_rules, resolve, stay_float
from quant.legalize.quantize import prepared, quantize
from quant.legalize.weights import from_rows, row_qparams, rows_of
from tosa_engine import oracle, serialize, types
from tosa_engine.errors import DataError, Problems, Unsupported, UsageError
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph, Operator

RNG = np.random.default_rng(5)
MINMAX = Scheme(Method("minmax"))


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


def chain() -> Graph:
    """first - relu - max pool - second - third: convolutions 1x1 by the names of their results."""
    f = Floats()
    y = f.relu(f.conv(f.input((1, 4, 4, 6)), normal(8, 1, 1, 6), normal(8), name="first"))
    y = f.op("MAX_POOL2D", [y], name="pool", kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0))
    y = f.conv(y, normal(8, 1, 1, 8), normal(8), name="second")
    return f.outputs(f.conv(y, normal(5, 1, 1, 8), normal(5), name="third"))


CHAIN = chain()
SAMPLES = [{"x": normal(1, 4, 4, 6)} for _ in range(8)]
STATISTICS = collect(CHAIN, enumerate(SAMPLES))


def quantized(*rules: str, bits: int = 8, weight_bits: int = 8) -> Graph:
    scheme = Scheme(Method("minmax", bits=bits, symmetric=bits == 16), bits == 16)
    return quantize(attach(CHAIN, STATISTICS, scheme, [parse_rule(rule) for rule in rules], weight_bits))


def mean_square(integer: Graph) -> float:
    """Of the difference of the outputs from the float graph's."""
    total = 0.0
    (into,), (out,) = integer.inputs, integer.outputs
    assert into.quant is not None
    assert out.quant is not None
    for sample in SAMPLES:
        stored = oracle.run(integer, {"x": quantize_array(sample["x"], into.quant)})["third"]
        wanted = oracle.run(CHAIN, sample)["third"]
        total += float(np.square(dequantize_array(stored, out.quant) - wanted).mean())
    return total


def convolutions(graph: Graph) -> list[tuple[str, str]]:
    """The types of input and weight of every convolution."""
    block = graph.main
    found = [op for op in block.operators if op.op == "CONV2D"]
    return [(str(block.tensors[op.inputs[0]].dtype), str(block.tensors[op.inputs[1]].dtype)) for op in found]


def test_layers_are_what_computes_with_its_clamp_and_moves() -> None:
    found = layers_of(prepared(CHAIN).main)
    assert [layer.names for layer in found] == [["first", "clamp", "pool"], ["second"], ["third"]]
    assert all(layer.takes_int4 for layer in found)


@pytest.mark.parametrize(
    ("rules", "wanted"),
    [
        ([], ["int8", "int8", "int8"]),
        (["*=int16", "second=int8"], ["int16", "int8", "int16"]),
        (["second=int8", "*=int16"], ["int16", "int16", "int16"]),
        (["pool=int4"], ["int4", "int8", "int8"]),
        (["op:conv2d=int4", "*d=int16"], ["int4", "int16", "int16"]),
    ],
)
def test_the_last_rule_that_matches_wins(rules: list[str], wanted: list[str]) -> None:
    block = prepared(CHAIN).main
    assert list(resolve(block, [parse_rule(rule) for rule in rules]).values()) == wanted


def test_every_selector_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(Problems) as raised:
        resolve(prepared(CHAIN).main, [LayerRule("secnd", "int8"), LayerRule("op:MATMUL", "int16")])
    assert str(raised.value).splitlines() == [
        "2 rules for layers can't be followed:",
        "'secnd = int8' matches no layer; similar are second",
        "'op:MATMUL = int16' matches no layer; there are first, second, third",
    ]
    assert raised.value.exit_code == 2


def test_int4_for_layers_that_have_no_such_weights_is_an_error() -> None:
    f = Floats()
    x = f.input((1, 3, 4))
    graph = f.outputs(f.op("MATMUL", [x, f.const(normal(1, 4, 2))], name="product"))
    with pytest.raises(UsageError, match="'product = int4' matches no layer that can have 4-bit weights: CONV2D, "):
        resolve(prepared(graph).main, [LayerRule("product", "int4")])
    assert resolve(prepared(graph).main, [], "int4") == {"product": "int8"}
    f.conv(x := f.input((1, 1, 1, 4), name="z"), normal(2, 1, 1, 4), normal(2), name="filtered")
    graph = f.outputs("product", "filtered", f.op("TANH", [x], name="curved"))
    wanted = {"product": "int8", "filtered": "int4", "curved": "int8"}
    assert resolve(prepared(graph).main, [LayerRule("*", "int4")]) == wanted


@pytest.mark.parametrize("text", ["conv", "=int8", "conv=int7", "conv=fp32", ""])
def test_rules_that_cannot_be_read(text: str) -> None:
    with pytest.raises(UsageError):
        parse_rule(text)


def test_a_file_of_rules(tmp_path: Path) -> None:
    path = tmp_path / "net.layers"
    path.write_text("# all\n* = int16\n\nop:CONV2D=int4 # but these\n")
    assert read_rules(path) == [LayerRule("*", "int16"), LayerRule("op:CONV2D", "int4")]
    assert [str(rule) for rule in read_rules(path)] == ["* = int16", "op:CONV2D = int4"]
    path.write_text("a\nb=int8\nc=int5\n")
    with pytest.raises(Problems) as raised:
        read_rules(path)
    assert [str(p).partition(": ")[0] for p in raised.value.problems] == [f"{path}:1", f"{path}:3"]
    assert all(isinstance(p, DataError) for p in raised.value.problems)


def test_an_int16_layer_reads_and_writes_16_bits_and_its_neighbours_multiply_8() -> None:
    assert convolutions(quantized()) == [("i8", "i8")] * 3
    integer = quantized("second=int16")
    assert convolutions(integer) == [("i8", "i8"), ("i16", "i8"), ("i8", "i8")]
    assert operators(integer)[-4:] == ["RESCALE", "RESCALE", "CONV2D", "RESCALE"]
    assert [t.dtype for t in (*integer.inputs, *integer.outputs)] == [types.i8, types.i8]
    assert convolutions(quantized("*=int16")) == [("i16", "i8")] * 3
    assert convolutions(quantized("second=int8", bits=16)) == [("i16", "i8"), ("i8", "i8"), ("i16", "i8")]


def test_more_bits_are_nearer_to_the_floats() -> None:
    eight, four = mean_square(quantized()), mean_square(quantized(weight_bits=4))
    assert four > 5 * eight
    assert mean_square(quantized("second=int4")) < four
    assert mean_square(quantized("second=int16", "first=int16", "third=int16")) < eight / 2


def test_int4_weights_are_stored_as_i4(tmp_path: Path) -> None:
    integer = quantized("first=int4", "third=int4")
    assert convolutions(integer) == [("i8", "i4"), ("i8", "i8"), ("i8", "i4")]
    weights = [t.data for t in integer.main.tensors.values() if t.dtype is types.i4 and t.size > 1]
    assert all(data is not None and np.abs(data).max() == 7 for data in weights)
    serialize.write(integer, tmp_path / "net.tosa")
    again = serialize.read(tmp_path / "net.tosa")
    feed = {"x": RNG.integers(-128, 128, (1, 4, 4, 6)).astype(np.int8)}
    assert np.array_equal(oracle.run(again, feed)["third"], oracle.run(integer, feed)["third"])


def test_weights_that_two_layers_share_can_have_two_precisions() -> None:
    f = Floats()
    x = f.input((1, 2, 2, 4))
    y = f.conv(x, normal(4, 1, 1, 4), normal(4), name="a")
    f.conv(y, normal(4, 1, 1, 4), normal(4), name="b")
    first, second = (op for op in f.block.operators if op.op == "CONV2D")
    second.inputs[1] = first.inputs[1]
    graph = f.outputs("b")
    statistics = collect(graph, enumerate([{"x": normal(1, 2, 2, 4)}]))
    found = quantize(attach(graph, statistics, MINMAX, [LayerRule("a", "int4")]))
    assert convolutions(found) == [("i8", "i4"), ("i8", "i8")]


def test_sixteen_bits_by_four_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no operator of 16-bit activations and 4-bit weights"):
        quantized(bits=16, weight_bits=4)
    ready = attach(CHAIN, STATISTICS, MINMAX, [LayerRule("second", "int16")])

    def second() -> Operator:
        return next(op for op in ready.main.operators if op.outputs == ["second"])

    weight = ready.main.tensors[second().inputs[1]]
    assert weight.data is not None
    weight.quant = row_qparams(rows_of("CONV2D", weight.data), 4)
    with pytest.raises(Unsupported, match="4-bit weights with 16-bit activations, which TOSA has no CONV2D for"):
        quantize(ready)


@given(st.integers(0, 2**32 - 1), st.floats(0.3, 3.0))
def test_the_scales_for_4_bits_are_no_worse_than_those_of_the_largest_weight(seed: int, tail: float) -> None:
    rows = np.random.default_rng(seed).laplace(size=(3, 50)) ** 3 * tail
    found = np.asarray(row_qparams(rows, 4).scale)
    plain = np.abs(rows).max(axis=1) / 7

    def error(scales: Any) -> Any:
        stored = np.clip(np.rint(rows / scales[:, None]), -7, 7)
        return np.square(stored * scales[:, None] - rows).sum(axis=1)

    assert (error(found) <= error(plain) * (1 + 1e-9)).all()  # equal scales may differ in their last bit
    assert (found <= plain * (1 + 1e-12)).all()


@pytest.mark.parametrize("weight_bits", [8, 4])
@pytest.mark.parametrize(("per_channel", "power_of_two"), [(False, False), (True, True), (False, True)])
def test_scales_of_weights_are_as_the_scheme_says(weight_bits: int, per_channel: bool, power_of_two: bool) -> None:
    """One per filter, powers of two, or both, with 4 bits as with 8."""
    scheme = Scheme(Method("minmax"), power_of_two=power_of_two, weights_per_channel=per_channel)
    ready = attach(CHAIN, STATISTICS, scheme, weight_bits=weight_bits)
    found = [ready.main.tensors[op.inputs[1]].quant for op in ready.main.operators if op.op == "CONV2D"]
    for quant, channels in zip(found, (8, 8, 5), strict=True):
        assert quant is not None
        assert (quant.bits, len(quant.scale)) == (weight_bits, channels if per_channel else 1)
        assert all(np.frexp(scale)[0] == 0.5 for scale in quant.scale) == power_of_two
    one = [len(np.unique(t.data)) for t in quantize(ready).main.tensors.values() if t.name.endswith("_multiplier")]
    assert (max(one) == 1) == (not per_channel or power_of_two)


@pytest.mark.parametrize(
    ("op", "shape"), [("CONV2D", (5, 3, 2, 4)), ("DEPTHWISE_CONV2D", (3, 2, 4, 2)), ("MATMUL", (1, 4, 6))]
)
def test_rows_go_back_to_where_they_were(op: str, shape: tuple[int, ...]) -> None:
    weight = np.arange(np.prod(shape)).reshape(shape)
    rows = rows_of(op, weight)
    assert np.array_equal(from_rows(op, rows, shape), weight)
    assert rows.shape[0] == {"CONV2D": 5, "DEPTHWISE_CONV2D": 8, "MATMUL": 6}[op]


def test_float_layers_and_their_inputs() -> None:
    """An input that float layers alone read is fp32; the last layer's output too, where it is one of them."""

    def floats(*rules: str) -> frozenset[str]:
        block = prepared(CHAIN).main
        return stay_float(block, resolve(block, [parse_rule(rule) for rule in rules]))

    assert floats() == frozenset()
    assert floats("second=float") == {"second"}
    assert floats("first=float") == {"x", "first", "clamp", "pool"}
    ready = attach(CHAIN, STATISTICS, MINMAX, [LayerRule("second", "float"), LayerRule("third", "int16")])
    mixed = quantize(ready, floats=floats("second=float"))
    assert convolutions(mixed) == [("i8", "i8"), ("fp32", "fp32"), ("i16", "i8")]
    assert mean_square(mixed) < mean_square(quantized())


@pytest.mark.parametrize(("scheme", "per_channel"), [(replace(MINMAX, weights_per_channel=False), False),
                                                     (replace(MINMAX, power_of_two=True), True)])  # fmt: skip
def test_the_scheme_of_weights_reaches_networks_made_from_statistics(scheme: Scheme, per_channel: bool) -> None:
    ready = attach(CHAIN, STATISTICS, scheme)
    scales = [ready.main.tensors[op.inputs[1]].quant for op in ready.main.operators if op.op == "CONV2D"]
    assert [len(quant.scale) if quant is not None else 0 for quant in scales] == ([8, 8, 5] if per_channel else [1] * 3)
    rescales = [op.attributes["per_channel"] for op in quantize(ready).main.operators if op.op == "RESCALE"]
    assert any(rescales) == per_channel
    halves = {frexp(s)[0] == 0.5 for quant in scales if quant is not None for s in quant.scale}
    assert halves == {per_channel}


def test_what_was_chosen_in_words() -> None:
    chosen = resolve(prepared(CHAIN).main, [LayerRule("second", "int16"), LayerRule("third", "int4")])
    assert described(chosen) == "1 layers int8, 1 int16 (second), 1 int4 (third)"


def test_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    model, kept, out = tmp_path / "net.tosa", tmp_path / "stats.json", tmp_path / "int.tosa"
    serialize.write(CHAIN, model)
    collect(serialize.read(model), enumerate(SAMPLES)).write(kept)
    done = command("quantize", model, "--statistics", kept, "--layer", "second=int16", "-o", out)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "precision: 2 layers int8, 1 int16 (second)"
    assert convolutions(serialize.read(out)) == [("i8", "i8"), ("i16", "i8"), ("i8", "i8")]
    done = command("quantize", model, "--statistics", kept, "--layer", "*=float", "--layer", "second=int8", "-o", out)
    assert (done.code, done.out.splitlines()[0]) == (0, "precision: 2 layers float, 1 int8 (second)")
    assert convolutions(serialize.read(out)) == [("fp32", "fp32"), ("i8", "i8"), ("fp32", "fp32")]
    done = command("quantize", model, "--statistics", kept, "--layer", "nobody=int16", "-o", out)
    assert (done.code, "'nobody = int16' matches no layer" in done.err) == (2, True)
    done = command("quantize", model, "--quant", kept, "--weight-bits", "4", "-o", out)
    assert (done.code, "--weight-bits needs ranges for these precisions: give --statistics or --data" in done.err) == (
        2,
        True,
    )
