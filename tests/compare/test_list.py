"""Every hypothesis in the list finds a planted fault of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from devices import Files
from nets import Net

from tosa_engine import types
from tosa_engine.compare.causes import HYPOTHESES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Arguments = dict[str, Array]
    Fault = Callable[[Arguments, Array], Array]

i8, i16, i32 = types.i8, types.i16, types.i32


def small() -> Graph:
    """CONV2D padded on two sides, RESCALE between zero points, CLAMP, TABLE, AVG_POOL2D, SUB of widened tensors."""
    net = Net(7)
    x = net.input("x", i8, 1, 8, 8, 4)
    net.conv("acc", x, net.weights(4, 3, 3, 4), 4, pad=(0, 1, 0, 1), stride=(2, 2))
    net.rescale("scaled", "acc", i32, i8, 38, zero=(0, -9))
    net.op("CLAMP", "clamp", i8, "scaled", min_val=-60, max_val=50, nan_mode="PROPAGATE")
    net.op("TABLE", "table", i8, "clamp", net.const(i8, (np.arange(-128, 128) * 37 % 256 - 128)))
    zeros = net.const(i8, [0]), net.const(i8, [0])
    net.op("AVG_POOL2D", "even", i8, "table", *zeros, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0), acc_type=i32)
    net.op("AVG_POOL2D", "padded", i8, "table", *zeros, kernel=(2, 2), stride=(2, 2), pad=(1, 1, 1, 1), acc_type=i32)
    left = net.rescale("left", "clamp", i8, i32, 20, zero=(-9, 0))
    right = net.rescale("right", "table", i8, i32, 20, zero=(3, 0))
    net.op("SUB", "difference", i32, left, right)
    return net.done("even", "padded", "difference")


def scaled(a: Arguments, input_zp: int, output_zp: int) -> Array:
    multiplier, shift = int(a["multiplier"][0]), int(a["shift"][0])
    value = a["input"].astype(object) - input_zp
    return np.clip(((value * multiplier + (1 << (shift - 1))) >> shift) + output_zp, -128, 127).astype(int)


def sums(a: Arguments, weight: Array, bias: Array, zero: int, pad: tuple[int, int]) -> Array:
    """The convolution of `small`, position by position; `pad` before and after along both axes."""
    values = np.pad(a["input"].astype(int) - zero, ((0, 0), pad, pad, (0, 0)))
    found = np.empty((1, 4, 4, 4), int)
    for y in range(4):
        for x in range(4):
            window = values[0, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3]
            found[0, y, x] = (weight.astype(int) * window).sum(axis=(1, 2, 3)) + bias
    return found


def truncated_average(a: Arguments, right: Array) -> Array:
    del right
    values = a["input"].astype(int)
    return np.trunc(sum(values[:, y::2, x::2][:, :2, :2] for y in (0, 1) for x in (0, 1)) / 4)


def average_with_padding(a: Arguments, right: Array) -> Array:
    """Over four elements everywhere; a multiplier of 2^30 + 1 rounds ties away from zero."""
    values = np.pad(a["input"].astype(int), ((0, 0), (1, 1), (1, 1), (0, 0)))
    total = sum(values[:, y::2, x::2][:, : right.shape[1], : right.shape[2]] for y in (0, 1) for x in (0, 1))
    return np.sign(total) * np.floor(np.abs(total) / 4 + 0.5)


def average_of_codes(a: Arguments, right: Array) -> Array:
    """Without the input's zero point; with the output's one, -5."""
    del right
    values = a["input"].astype(int)
    total = sum(values[:, y::2, x::2] for y in (0, 1) for x in (0, 1))
    return np.sign(total) * np.floor(np.abs(total) / 4 + 0.5) - 5


CASES: list[tuple[str, str, Fault, str]] = [
    ("accumulator at every addition", "acc", lambda a, _: saturating(a),
     "the accumulator saturates at 16 bits at every addition"),
    ("rounding", "scaled", lambda a, _: np.clip((a["input"].astype(object) * int(a["multiplier"][0]) >> 38) - 9, -128,
     127).astype(int), "truncation towards minus infinity instead of SINGLE_ROUND"),
    ("multiplier", "left", lambda a, right: right + off_by_one(a), "multiplier off by one"),
    ("shift", "scaled", lambda a, _: scaled({**a, "shift": a["shift"] - 1}, 0, -9), "shift off by one (-1)"),
    ("zero point", "scaled", lambda a, _: scaled(a, 0, 0), "output zero point -9 not added"),
    ("zero point", "scaled", lambda a, _: scaled(a, 0, 9), "output zero point -9 subtracted"),
    ("zero point", "left", lambda a, _: (a["input"].astype(object) * int(a["multiplier"][0]) + (1 << 19)) >> 20,
     "input zero point -9 not subtracted"),
    ("clamp before zero point", "clamp", lambda a, _: np.clip(a["input"].astype(int) + 9, -60, 50) - 9,
     "clamp to -60 .. 50 before zero point -9 is added, saturating"),
    ("saturation", "scaled", lambda a, right: np.maximum(right, -127),
     "saturation to -127 .. 127 instead of -128 .. 127"),
    ("clamp", "clamp", lambda a, _: a["input"], "no clamp"),
    ("clamp", "clamp", lambda a, _: np.maximum(a["input"], -60), "only the lower bound -60"),
    ("transposed weight", "acc", lambda a, _: sums(a, a["weight"].transpose(3, 1, 2, 0), a["bias"], -5, (0, 1)),
     "transposed weight: axes [IC, KH, KW, OC]"),
    ("flipped weight", "acc", lambda a, _: sums(a, a["weight"][:, ::-1, ::-1], a["bias"], -5, (0, 1)),
     "weight flipped along its window"),
    ("convolution's input zero point", "acc", lambda a, _: sums(a, a["weight"], a["bias"], 0, (0, 1)),
     "input zero point -5 not subtracted"),
    ("bias", "acc", lambda a, _: sums(a, a["weight"], np.zeros(4, int), -5, (0, 1)), "no bias"),
    ("padding", "acc", lambda a, _: sums(a, a["weight"], a["bias"], -5, (1, 0)),
     "padding [1, 0, 1, 0] instead of [0, 1, 0, 1]"),
    ("table entry", "table", lambda a, right: right + (a["input1"] == -60), "table entry off by one: entry 68"),
    ("table index", "table", lambda a, _: a["table"][a["input1"].astype(int) & 255], "table read with unsigned inputs"),
    ("table index", "table", lambda a, _: a["table"][np.clip(a["input1"].astype(int) + 129, 0, 255)],
     "table shifted by one (+1)"),
    ("layout", "difference", lambda _, right: right.transpose(0, 2, 1, 3),
     "elements in the order of axes [0, 2, 1, 3]"),
    ("operands", "difference", lambda _, right: -right, "operands swapped"),
    ("average", "even", truncated_average, "average truncated towards zero"),
    ("average", "padded", average_with_padding, "padding counted in the average"),
    ("average's zero point", "pooled", average_of_codes, "input zero point 7 not subtracted"),
]  # fmt: skip


def saturating(a: Arguments) -> Array:
    """The convolution of `small` in 16 bits, which saturate at each of its additions."""
    values = np.pad(a["input"].astype(int) - int(a["input_zp"][0]), ((0, 0), (0, 1), (0, 1), (0, 0)))
    found = np.zeros((1, 4, 4, 4), int)
    for ky, kx, ic in np.ndindex(3, 3, 4):
        window = values[:, ky : ky + 7 : 2, kx : kx + 7 : 2, ic, None]
        found = np.clip(found + window * a["weight"][:, ky, kx, ic].astype(int), -(1 << 15), (1 << 15) - 1)
    return np.clip(found + a["bias"], -(1 << 15), (1 << 15) - 1)


def off_by_one(arguments: Arguments) -> Array:
    """What one more in the multiplier adds."""
    value = arguments["input"].astype(object) + 9
    multiplier, shift = int(arguments["multiplier"][0]), int(arguments["shift"][0])
    half = 1 << (shift - 1)
    return (((value * (multiplier + 1) + half) >> shift) - ((value * multiplier + half) >> shift)).astype(int)


def cause(command: Any, make: Callable[[], Graph], folder: Path, faults: dict[str, Fault], **dump: Any) -> list[str]:
    files = Files(folder, make)
    files.write_dump(faults, **dump)
    outcome = command("compare", files.model, files.dump, "-i", files.inputs)
    assert outcome.code == 1, outcome.err
    return [line.removeprefix("cause: ") for line in outcome.out.splitlines() if line.startswith("cause: ")]


@pytest.mark.parametrize(("label", "tensor", "fault", "text"), CASES, ids=[f"{c[0]}, {c[3]}" for c in CASES])
def test_a_planted_fault_is_named(label: str, tensor: str, fault: Fault, text: str, command, tmp_path: Path) -> None:
    found = cause(command, make_of(label), tmp_path, {tensor: fault})
    assert any(line.startswith(text) and f" '{tensor}': reproduces all" in line for line in found), found
    assert len(found) <= 2, "the data hardly tells this fault from others"


def make_of(label: str) -> Callable[[], Graph]:
    return {"multiplier": steep, "average's zero point": pooled}.get(label, small)


def pooled() -> Graph:
    """AVG_POOL2D between zero points."""
    net = Net(3)
    x = net.input("x", i8, 1, 8, 8, 2)
    kernel = {"kernel": (2, 2), "stride": (2, 2), "pad": (0, 0, 0, 0), "acc_type": i32}
    net.op("AVG_POOL2D", "pooled", i8, x, net.const(i8, [7]), net.const(i8, [-5]), **kernel)
    return net.done("pooled")


def steep() -> Graph:
    """`small` with a shift at which one more in a multiplier can be seen."""
    graph = small()
    shift = graph.main.tensors[graph.main.producers()["left"].inputs[2]]
    shift.data = np.array([8], np.int8)
    del graph.main.outputs[-1]
    graph.main.outputs.append("left")
    graph.main.operators = [op for op in graph.main.operators if op.outputs != ["difference"]]
    del graph.main.tensors["difference"]
    return graph


PLANTED = {  # in test_planted_faults.py
    "channel scales", "multiplier cut", "another multiplier", "another zero point", "accumulator",
    "accumulator of a sum", "bias of channels", "one weight", "rotated channels", "channel of another",
    "unwritten channels", "stale tile", "padding value", "parts", "scales of operands", "matrix product", "maximum",
    "place of the image", "last element",
}  # fmt: skip


def test_every_hypothesis_has_a_case() -> None:
    assert {h.label for h in HYPOTHESES} == {case[0] for case in CASES} | PLANTED


def test_a_table_entry_seen_through_a_rescale(command, tmp_path: Path) -> None:
    """Only what is behind the table was dumped."""
    found = cause(command, small, tmp_path, {"table": lambda a, right: right - (a["input1"] == 50)}, only=["right"])
    assert found == [
        "table entry off by one: entry 178 is -71 instead of -70, in TABLE 'table': reproduces all 64 elements"
    ]


def sixteen() -> Graph:
    net = Net(1)
    x = net.input("x", i16, 40, 50)
    entries = (20000 * np.tanh(np.arange(-256, 257) / 90)).astype(np.int16)
    net.op("TABLE", "table", i32, x, net.const(i16, entries))
    return net.done("table")


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (lambda a, _: a["table"].astype(int)[(a["input1"].astype(int) + 32768) >> 7] << 7, "no interpolation between"),
        (lambda a, right: right + between(a, 300), "table entry off by 2: entry 300 is 9"),
    ],
)
def test_tables_of_513_entries(fault: Fault, text: str, command, tmp_path: Path) -> None:
    (found,) = cause(command, sixteen, tmp_path, {"table": fault})
    assert found.startswith(text)


def between(arguments: Arguments, entry: int) -> Array:
    """What 2 more in an entry adds on both of its sides."""
    position = (arguments["input1"].astype(int) + 32768) - entry * 128
    return np.where(np.abs(position) < 128, 2 * (128 - np.abs(position)), 0)
