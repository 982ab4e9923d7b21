"""Faults planted in a simulated device, or in a copy of the graph: `compare` names each of them, and nothing else."""

from __future__ import annotations

import json
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from devices import Files, scaled_by
from nets import Net

from tosa_engine import serialize, types
from tosa_engine.compare import rounding
from tosa_engine.spec import bind_operator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Fault = Callable[..., Array]

i8, i16, i32 = types.i8, types.i16, types.i32


def network() -> Graph:
    """CONV2D, RESCALE, CLAMP, TABLE, RESCALE to int32, RESCALE back with a shift at which ties are frequent."""
    net = Net(3)
    x = net.input("x", i8, 1, 8, 8, 6)
    net.conv("acc", x, net.weights(6, 3, 3, 6), 6)
    net.rescale("scaled", "acc", i32, i8, [38] * 6, zero=(0, -20))
    net.op("CLAMP", "relu", i8, "scaled", min_val=-20, max_val=100, nan_mode="PROPAGATE")
    net.op("TABLE", "table", i8, "relu", net.const(i8, np.arange(-128, 128)[::-1]))
    net.rescale("wide", "table", i8, i32, 8, zero=(3, 0), multiplier=[(1 << 30) + 12345])
    net.rescale("small", "acc", i32, i32, 44, multiplier=[1 << 30])
    net.rescale("out", "small", i32, i8, 33, multiplier=[1 << 30], rounding_mode="SINGLE_ROUND")
    return net.done("out", "wide")


def sixteen() -> Graph:
    """int16: a convolution in int48, a RESCALE by multipliers of 16 bits, a table of 513 entries with its RESCALE."""
    net = Net(4)
    x = net.input("x", i16, 1, 6, 6, 3)
    zeros = net.const(i16, [0]), net.const(i8, [0])
    bias = net.const(types.i48, net.rng.integers(-9000, 9000, 5))
    net.op("CONV2D", "acc", types.i48, x, net.weights(5, 1, 1, 3), bias, *zeros, pad=(0, 0, 0, 0), stride=(1, 1),
           dilation=(1, 1), acc_type=types.i48, local_bound=False)  # fmt: skip
    multiplier, shift = net.const(i16, net.rng.integers(16384, 32767, 5)), net.const(i8, [23] * 5)
    net.op("RESCALE", "scaled", i16, "acc", multiplier, shift, net.const(types.i48, [0]), net.const(i16, [0]),
           scale32=False, rounding_mode="SINGLE_ROUND", per_channel=True, input_unsigned=False,
           output_unsigned=False)  # fmt: skip
    entries = (30000 * np.tanh(np.arange(-256, 257) / 90)).astype(np.int16)
    net.op("TABLE", "table", i32, "scaled", net.const(i16, entries))
    net.rescale("out", "table", i32, i16, 38)
    return net.done("out")


def single(v: int, m: int, s: int) -> int:
    return (v * m + (1 << (s - 1))) >> s


def double(v: int, m: int, s: int) -> int:
    first = (1 << 30) if v >= 0 else -(1 << 30)
    return (v * m + (1 << (s - 1)) + (first if s > 31 else 0)) >> s


def gemmlowp(v: int, m: int, s: int) -> int:
    """Doubling high multiplication, then a division by a power of two, both to the nearest."""
    product = v * m
    high = int((product + ((1 << 30) if product >= 0 else 1 - (1 << 30))) / (1 << 31))
    power = s - 31
    quotient, rest = divmod(abs(high), 1 << power)
    return (1 if high >= 0 else -1) * (quotient + (2 * rest >= 1 << power))


def twice_up(v: int, m: int, s: int) -> int:
    high = (2 * v * m + (1 << 31)) >> 32
    return (high + (1 << (s - 32))) >> (s - 31)


def truncated(v: int, m: int, s: int) -> int:
    return (v * m) >> s


def added(name: str, where: Any, amount: int) -> Callable[[Graph], None]:
    """A fault in a copy of the graph: a constant that the operator `name` reads is another."""

    def plant(graph: Graph) -> None:
        node, argument = name.split(".")
        op = graph.main.producers()[node]
        tensor = bind_operator(op, graph.main, graph).tensor(argument)
        assert tensor.data is not None
        tensor.data = tensor.data.copy()
        tensor.data[where] += amount

    return plant


def transposed(order: tuple[int, ...]) -> Callable[[Graph], None]:
    def plant(graph: Graph) -> None:
        tensor = graph.main.tensors[graph.main.producers()["acc"].inputs[1]]
        assert tensor.data is not None
        tensor.data = np.ascontiguousarray(tensor.data.transpose(order))

    return plant


def clamp_first(arguments: dict[str, Array], right: Array) -> Array:
    """0 .. 120 as bounds of what is still without its zero point."""
    del right
    return np.clip(arguments["input"].astype(int) + 20, -20, 100) - 20


DEVICES: dict[str, tuple[Callable[[], Graph], dict[str, Fault], str]] = {
    "double instead of single rounding": (
        network, {"out": scaled_by(double)},
        "DOUBLE_ROUND (TFLite's reference) instead of SINGLE_ROUND, in RESCALE 'out'"
    ),
    "rounding of TFLite's reference": (
        network, {"out": scaled_by(gemmlowp)}, "DOUBLE_ROUND (TFLite's reference) instead of SINGLE_ROUND, in RESCALE"
    ),
    "rounding of SIMD instructions": (
        network, {"out": scaled_by(twice_up)}, "two rounding shifts, ties up instead of SINGLE_ROUND, in RESCALE 'out'"
    ),
    "truncation": (
        network, {"scaled": scaled_by(truncated)},
        "truncation towards minus infinity instead of SINGLE_ROUND, in RESCALE 'scaled'"
    ),
    "clamp before zero point, in RESCALE": (
        network, {"scaled": lambda a, _: np.clip(np.clip(
            scaled_by(single, low=-10**9, high=10**9)(a, _) + 20, -128, 127) - 20, -128, 127)},
        "clamp to -128 .. 127 before zero point -20 is added, saturating, in RESCALE 'scaled'"
    ),
    "clamp before zero point, in CLAMP": (
        network, {"relu": clamp_first},
        "clamp to -20 .. 100 before zero point -20 is added, saturating, in CLAMP 'relu'"
    ),
    "no saturation": (
        network, {"scaled": lambda a, _: scaled_by(single, low=-10**9, high=10**9)(a, _) & 255},
        "no saturation: the low 8 bits, in RESCALE 'scaled'"
    ),
    "output in the other layout": (
        network, {"out": lambda _, right: right.transpose(0, 3, 1, 2).reshape(right.shape)},
        "elements in the order of axes [0, 3, 1, 2] (the same values), in RESCALE 'out'"
    ),
    "padding with zeros": (
        network, {"acc": lambda a, right: right + padded_with_zeros(a)},
        "padded with 0 instead of the zero point -5, in CONV2D 'acc'"
    ),
}  # fmt: skip

GRAPHS: dict[str, tuple[Callable[[], Graph], Callable[[Graph], None], str]] = {
    "multiplier off by one": (
        network, added("wide.multiplier", 0, 1), "multiplier off by one (1073754170 instead of 1073754169), in RESCALE"
    ),
    "multiplier of one channel off by one": (
        sixteen, added("scaled.multiplier", 3, -1), "multiplier off by one ([3] is "
    ),
    "a table entry off by one": (
        network, added("table.table", 108, 1),
        "table entry off by one: entry 108 (input -20) is 20 instead of 19, in TABLE 'table'"
    ),
    "one of 513 table entries off by one": (
        sixteen, added("table.table", 260, -1), "table entry off by one: entry 260 is 1331 instead of 1332, in TABLE"
    ),
    "a transposed weight": (
        network, transposed((0, 2, 1, 3)),
        "transposed weight: axes [OC, KW, KH, IC] instead of [OC, KH, KW, IC], in CONV2D 'acc'"
    ),
    "a weight whose channels are swapped": (
        network, transposed((3, 1, 2, 0)),
        "transposed weight: axes [IC, KH, KW, OC] instead of [OC, KH, KW, IC], in CONV2D 'acc'"
    ),
    "shift off by one": (network, added("scaled.shift", slice(None), 1), "shift off by one (+1), in RESCALE 'scaled'"),
}  # fmt: skip


def padded_with_zeros(arguments: dict[str, Array]) -> Array:
    """What stored zeros beyond the border add, where the specification has nothing: 5 times the weights there."""
    weight = arguments["weight"].astype(int)
    ones = np.zeros((10, 10), int)
    ones[1:9, 1:9] = 1
    found = np.zeros((1, 8, 8, 6), int)
    for y in range(8):
        for x in range(8):
            outside = 1 - ones[y : y + 3, x : x + 3]
            found[0, y, x] = 5 * (weight * outside[None, :, :, None]).sum(axis=(1, 2, 3))
    return found


@pytest.mark.parametrize("name", DEVICES)
def test_a_fault_of_a_device_is_named(name: str, command, tmp_path: Path) -> None:
    make, faults, expected = DEVICES[name]
    files = Files(tmp_path, make)
    files.write_dump(faults)
    outcome = command("compare", files.model, files.dump, "-i", files.inputs)
    causes = [line for line in outcome.out.splitlines() if line.startswith("cause: ")]
    assert outcome.code == 1, outcome.err
    assert len(causes) == 1, causes
    assert causes[0].startswith(f"cause: {expected}")
    assert "reproduces all" in causes[0]


@pytest.mark.parametrize("name", GRAPHS)
def test_a_fault_in_a_copy_of_the_graph_is_named(name: str, command, tmp_path: Path) -> None:
    make, plant, expected = GRAPHS[name]
    files = Files(tmp_path, make)
    plant(files.graph)
    faulty = tmp_path / "faulty.tosa"
    serialize.write(files.graph, faulty)
    outcome = command("compare", files.model, faulty, "-i", files.inputs)
    causes = [line for line in outcome.out.splitlines() if line.startswith("cause: ")]
    assert outcome.code == 1, outcome.err
    assert len(causes) == 1, causes
    assert causes[0].startswith(f"cause: {expected}")
    assert "reproduces all" in causes[0]


def test_only_the_outputs_are_dumped(command, tmp_path: Path) -> None:
    """The fault is found through the operators in between."""
    files = Files(tmp_path, network)
    files.write_dump({"scaled": scaled_by(truncated)}, only=["wide"])
    outcome = command("compare", files.model, files.dump, "-i", files.inputs, "--format", "json")
    (found,) = json.loads(outcome.out)
    assert found["first"] == "wide"
    texts = [cause["text"] for cause in found["causes"]]
    assert "truncation towards minus infinity instead of SINGLE_ROUND" in texts
    assert all(cause["reproduced"] == cause["size"] == 384 for cause in found["causes"])


@pytest.mark.parametrize("make", [network, sixteen])
def test_a_correct_dump_has_no_cause(make: Callable[[], Graph], command, tmp_path: Path) -> None:
    files = Files(tmp_path, make)
    files.write_dump({})
    outcome = command("compare", files.model, files.dump, "-i", files.inputs)
    assert outcome.code == 0
    assert "cause" not in outcome.out
    assert outcome.out.splitlines()[-1].startswith("EQUAL: ")


def test_noise_is_no_known_cause(command, tmp_path: Path) -> None:
    files = Files(tmp_path, network)
    rng = np.random.default_rng(0)
    files.write_dump({"acc": lambda _, right: right + rng.integers(-500, 500, right.shape)})
    outcome = command("compare", files.model, files.dump, "-i", files.inputs)
    assert outcome.code == 1
    assert "cause: none of the known ones" in outcome.out


def test_a_partial_explanation_says_how_many(command, tmp_path: Path) -> None:
    files = Files(tmp_path, network)

    def mostly(arguments: dict[str, Array], right: Array) -> Array:
        found = scaled_by(truncated)(arguments, right)
        found[0, 0, 0] = right[0, 0, 0] + 3
        return found

    files.write_dump({"scaled": mostly})
    outcome = command("compare", files.model, files.dump, "-i", files.inputs)
    (cause,) = [line for line in outcome.out.splitlines() if line.startswith("cause: ")]
    assert cause == (
        "cause: truncation towards minus infinity instead of SINGLE_ROUND, in RESCALE 'scaled': explains 94% of the "
        "difference (reproduces 378 of 384)"
    )


def test_one_lsb_is_explained_exactly(command, tmp_path: Path) -> None:
    files = Files(tmp_path, network)
    files.write_dump({"out": scaled_by(double)})
    lines = command("compare", files.model, files.dump, "-i", files.inputs).out.splitlines()
    (first,) = [line for line in lines if line.startswith("first difference")]
    (exact,) = [line for line in lines if line.startswith("exactly")]
    here, there = first.split("]: ")[1].split(";")[0].replace(" here", "").replace(" there", "").split(", ")
    value = int(exact.split()[1])
    real = Fraction(value, 8)
    assert f"{value} * 1073741824 / 2^33 = {real.numerator}/{real.denominator} = {float(real)}" in exact
    assert int(here) == floor(real + Fraction(1, 2))
    assert int(there) == int(here) + 1
    (ours,) = [line for line in lines if "(here) by" in line]
    (theirs,) = [line for line in lines if "(there) by" in line]
    assert "SINGLE_ROUND" in ours
    assert "DOUBLE_ROUND" not in ours
    assert "DOUBLE_ROUND" in theirs


RULES = {rule.name.split(" (")[0]: rule for rule in rounding.RULES}


@pytest.mark.parametrize(
    ("name", "slow"),
    [("SINGLE_ROUND", single), ("DOUBLE_ROUND", double), ("DOUBLE_ROUND", gemmlowp),
     ("two rounding shifts, ties up", twice_up), ("truncation towards minus infinity", truncated)],
)  # fmt: skip
def test_the_rules_of_rounding(name: str, slow: Callable[[int, int, int], int]) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([np.arange(-40, 40), rng.integers(-(1 << 20), 1 << 20, 2000)])
    for shift in (32, 33, 34, 40):
        for multiplier in (1 << 30, (1 << 31) - 1, 1518500250):
            numbers = np.full(values.shape, multiplier), np.full(values.shape, shift)
            got = RULES[name].apply(values, *numbers)
            assert got.tolist() == [slow(int(v), multiplier, shift) for v in values]


def test_ties() -> None:
    """2.5, -2.5, 3.5, -3.5 and their neighbours."""
    values = np.array([10, -10, 14, -14, 11, -11])
    numbers = np.full(6, 1), np.full(6, 2)
    got = {name: rule.apply(values, *numbers).tolist() for name, rule in RULES.items()}
    assert got["ties away from zero"] == [3, -3, 4, -4, 3, -3]
    assert got["ties to even"] == [2, -2, 4, -4, 3, -3]
    assert got["float32 product, ties to even"] == [2, -2, 4, -4, 3, -3]
    assert got["SINGLE_ROUND"] == [3, -2, 4, -3, 3, -3]
    assert got["truncation towards zero"] == [2, -2, 3, -3, 2, -2]
    assert got["truncation towards minus infinity"] == [2, -3, 3, -4, 2, -3]
