"""Ranges of single layers and tensors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.methods import Method
from quant.calibration.observe import collect
from quant.calibration.range_rules import RangeRule, parse_range
from tosa_engine import serialize
from tosa_engine.errors import Problems, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph


def network() -> Graph:
    f = Floats()
    x = f.input((1, 1000))
    return f.outputs(f.op("TANH", [f.op("ABS", [x], name="left")], name="bent"), f.op("NEGATE", [x], name="right"))


GRAPH = network()
STATISTICS = collect(GRAPH, [(0, {"x": np.linspace(-2, 8, 1000, dtype=np.float32)[None]})])


def reach(*ranges: str) -> dict[str, tuple[float, float]]:
    """Of each tensor the ends of its range."""
    made = attach(GRAPH, STATISTICS, Scheme(Method("minmax"), ranges=tuple(map(parse_range, ranges)))).main
    quants = {name: made.tensors[name].quant for name in ("x", "left", "right", "bent")}
    return {
        name: tuple(round((end - q.zero_point[0]) * q.scale[0], 1) for end in (-128, 127))
        for name, q in quants.items() if q is not None
    }  # fmt: skip


def test_a_rule_changes_its_tensors_and_no_other() -> None:
    usual = reach()
    assert usual["x"] == (-2.0, 8.0)
    assert reach("left=0..4") == usual | {"left": (0.0, 4.0)}
    assert reach("?=-4..4") == usual | {"x": (-4.0, 4.0)}
    assert reach("op:ABS=percentile:75") == usual | {"left": (0.0, 5.5)}
    assert reach("*=-1..1", "right=minmax") == dict.fromkeys(usual, (-1.0, 1.0)) | {"right": usual["right"]}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a = mse", RangeRule("a", "mse")),
        ("a=b=percentile:99.5", RangeRule("a=b", "percentile", 99.5)),
        ("op:ADD=-1e-3..2", RangeRule("op:ADD", range=(-1e-3, 2.0))),
    ],
)
def test_what_rules_say(text: str, rule: RangeRule) -> None:
    assert parse_range(text) == rule
    assert parse_range(str(rule)) == rule


@pytest.mark.parametrize(
    "text", ["a", "=mse", "a=best", "a=2..1", "a=1..nan", "a=mse:3", "a=percentile:40", "a=percentile:"]
)
def test_rules_that_say_nothing_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=f"'{text}': "):
        parse_range(text)


def test_rules_that_match_nothing_are_errors() -> None:
    with pytest.raises(UsageError, match="'nobody = mse' matches no tensor and no layer; there are x, left"):
        reach("nobody=mse")
    with pytest.raises(Problems, match="2 ranges are of nothing"):
        reach("nobody=mse", "no=0..1")


def test_the_command_line(command: Any, tmp_path: Path) -> None:
    serialize.write(GRAPH, tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", np.linspace(-2, 8, 1000, dtype=np.float32)[None])
    out = tmp_path / "int.tosa"
    done = command("quantize", tmp_path / "net.tosa", "--data", tmp_path / "x.npy", "--range", "x=-4..4", "-o", out)
    assert done.code == 0, done.err
    record = json.loads(out.with_suffix(".config.json").read_text())
    assert record["options"]["scheme"]["ranges"] == [
        {"selector": "x", "method": "", "percentile": None, "range": [-4.0, 4.0]}
    ]
