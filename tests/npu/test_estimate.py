"""The estimate of cycles, worked out by hand; conformance/CYCLES.md has the distance to Vela."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.npu.test_rules import convolution, single
from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import DataError, Unsupported, UsageError
from tosa_engine.npu import npu, vela
from tosa_engine.npu.costs import costs
from tosa_engine.npu.estimate import START, estimate
from tosa_engine.npu.figures import ESTIMATE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.npu import Npu


def added(shape: tuple[int, ...]) -> Graph:
    b = Builder()
    b.output(b.op("ADD", b.input(types.i32, shape, "x"), b.input(types.i32, shape, "z"), output="y"))
    return b.graph()


U65 = npu("ethos-u65-256")
COMPUTES = replace(U65, bytes_per_cycle=1e9, constant_bytes_per_cycle=1e9)  # memory never waits


def cycles(graph: Graph, processor: Npu = COMPUTES) -> list[tuple[str, int]]:
    return [(one.op, one.cycles - START if one.cycles else 0) for one in estimate(graph, processor)]


def test_a_convolution_computes_and_what_scales_it_is_free() -> None:
    """8 x 8 pixels of 4 channels, 16 channels in: 9 * 16 products for each, 256 in a cycle."""
    graph = convolution(channels=16)
    assert cycles(graph) == [("CONV2D", 8 * 8 * 4 * 9 * 16 // 256), ("RESCALE", 0)]
    assert [one.macs for one in estimate(graph, U65)] == [8 * 8 * 4 * 9 * 16, 0]


def test_channels_are_multiplied_eight_at_a_time_and_pixels_made_two_by_two() -> None:
    """3 channels take as long as 8, 7 x 7 pixels as 8 x 8."""
    as_eight = 8 * 8 * 4 * 9 * 8 // 256
    assert cycles(convolution(channels=3, size=8))[0] == ("CONV2D", as_eight)
    assert cycles(convolution(channels=8, size=7))[0] == ("CONV2D", as_eight)


def test_tensors_and_constants_are_moved_with_their_own_speed() -> None:
    """10 x 10 x 16 bytes in, 8 x 8 x 4 out; one pixel: 4 * 9 * 256 weights, 16 bytes of bias and two zero points."""
    assert cycles(convolution(channels=16), U65)[0] == ("CONV2D", (10 * 10 * 16 + 8 * 8 * 4) // 8)
    assert cycles(convolution(channels=256, size=1), npu("ethos-u55-256"))[0] == ("CONV2D", 4 * 9 * 256 + 16 + 2)


def test_sixteen_bits_take_twice_as_long() -> None:
    narrow, wide = (cycles(convolution(channels=16, dtype=dtype))[0][1] for dtype in (types.i8, types.i16))
    assert wide == 2 * narrow


@pytest.mark.parametrize(
    ("graph", "units"),
    [
        (added((4, 32, 32)), 192 * 4 * 32 * 32),
        (single("RESHAPE", types.i8, (4, 8, 8), [256], out=types.i8), 0),
        (single("REDUCE_MAX", types.i8, (4, 32, 32), axis=2, nan_mode="PROPAGATE"), 512 * 4 * 32 * 32),
    ],
)
def test_elements(graph: Graph, units: int) -> None:
    assert [found for _, found in cycles(graph)] == [units // 256]


def test_a_processor_of_ones_own(tmp_path: Path, command: Callable[..., Any]) -> None:
    """Twice the products, a clock, and sums that cost more."""
    path = tmp_path / "mine.toml"
    path.write_text('base = "ethos-u65-256"\nmacs_per_cycle = 512\nmhz = 100\n[units]\nADD = 768\n')
    mine = npu(str(path))
    assert mine.clock == 100e6
    found = costs(added((4, 32, 32)), mine)
    assert (found.by, found.cycles) == (ESTIMATE, START + 768 * 4 * 32 * 32 // 512)
    serialize.write(convolution(channels=16), tmp_path / "m.tosa")
    lines = command("inspect", tmp_path / "m.tosa", "--target", path).out.splitlines()
    assert any(line.startswith("  632 cycles by our estimate, 72 of them the NPU's") for line in lines), lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("macs_per_cycle = 0", "macs_per_cycle is 0"),
        ("mhz = -1.5", "mhz is -1.5"),
        ("bytes_per_cycle = inf", "bytes_per_cycle is inf"),
        ("[units]\nADDS = 3", "units: no operator ADDS"),
        ("[units]\nADD = 0", "units of ADD: a whole number from 1, not 0"),
    ],
)
def test_wrong_speeds(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'base = "ethos-u65-256"\n{text}\n')
    with pytest.raises(DataError, match=message):
        npu(str(path))


def test_what_has_no_speed_or_is_not_legal_has_no_cycles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('operators = { ADD = ["i32"] }\n')
    with pytest.raises(UsageError, match="mine has no macs_per_cycle and bytes_per_cycle"):
        costs(added((4,)), npu(str(path)))
    monkeypatch.setattr(vela, "available", lambda: False)
    with pytest.raises(Unsupported, match="ethos-u55-256 has no BITWISE_NOT"):
        costs(single("BITWISE_NOT", types.i8, (4,)), npu("ethos-u55-256"))
