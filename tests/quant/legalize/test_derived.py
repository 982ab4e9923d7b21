"""Tensors that no graph.quant can name: their ranges follow from what is named, and cost little beside those seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import generate_nnef_operations as generator
import numpy as np
import pytest
from nnef_examples import EXAMPLES
from quant_tools import Floats

from quant.calibration.calibrate import Scheme, attach, from_statistics
from quant.calibration.methods import Method
from quant.calibration.observe import collect
from quant.legalize.quantize import Report, quantize
from tosa_engine import oracle, types
from tosa_engine.frontends import nnef
from tosa_engine.graph import Location, QParams
from tosa_engine.qparams.arrays import dequantize_array

if TYPE_CHECKING:
    from pathlib import Path

# operation, variant, spatial axes, least SQNR in int8 and in int16
CASES = [
    ("avg_roi_pool", "", 3, 38, 80),
    ("roi_resample", "", 3, 38, 80),
    ("avg_roi_align", "", 3, 31, 79),
    ("max_roi_align", "", 3, 38, 78),
    ("sample", "", 3, 42, 88),
    ("desample", "", 3, 44, 92),
    ("softmax", "two axes", 2, 38, 36),
    ("softmax", "two axes", 3, 36, 36),
    ("batch_normalization", "", 2, 42, 88),
]


@pytest.mark.parametrize(("name", "variant", "axes", "eight", "sixteen"), CASES, ids=[f"{c[0]}-{c[2]}" for c in CASES])
def test_ranges_through_graph_quant(
    name: str, variant: str, axes: int, eight: int, sixteen: int, tmp_path: Path
) -> None:
    found = EXAMPLES[name]
    example = next(e for e in (found if isinstance(found, tuple | list) else [found]) if e.variant == variant)
    document = example.write(tmp_path / "model", axes)
    graph = nnef.load(document)
    samples = [example.samples(axes, seed) for seed in range(2)]
    wanted = oracle.run(graph, samples[-1])
    statistics = generator.calibrated(graph, samples)
    for bits, least in ((8, eight), (16, sixteen)):
        scheme = Scheme(Method("minmax", bits=bits), symmetric=bits == 16)
        named = from_statistics(graph, statistics, scheme=scheme).qparams
        integer = quantize(nnef.load(document, named, for_integers=True))
        assert float(generator.quality(wanted, integer, samples[-1])) >= least


@pytest.mark.parametrize(("extreme", "low", "high"), [("REDUCE_MAX", -2.0, 0.0), ("REDUCE_MIN", 0.0, 2.0)])
def test_nothing_is_above_the_maximum(extreme: str, low: float, high: float) -> None:
    """x - max(x): its range, which no document can give, has one sign."""
    f = Floats()
    x = f.input((2, 3), QParams((1 / 128,), (0,)))
    most = f.op(extreme, [f.op(extreme, [x], axis=0)], axis=1)
    below = f.op("SUB", [x, most], name="below")
    for tensor in f.block.tensors.values():
        tensor.source = None
    f.block.tensors[below].source = Location("net.nnef", 3, "")
    y = f.op("MAXIMUM", [below, f.const([[-9.0, 9.0, 0.0]])], QParams((1 / 8,), (0,)), name="y")
    integer = quantize(f.outputs(y))
    quant = next(t.quant for t in integer.main.tensors.values() if t.name == below)
    assert quant is not None
    ends = [float(dequantize_array(np.int8(end), quant)) for end in (-128, 127)]
    assert ends == pytest.approx([low, high], abs=0.02)


def test_unnamed_accumulators_have_the_range_that_was_seen() -> None:
    """A product of two results of convolutions rounds both: with statistics not by what their operands can reach."""
    f, rng = Floats(), np.random.default_rng(1)

    def conv(name: str) -> str:
        weight, bias = (rng.normal(size=size).astype(np.float32) for size in ((8, 1, 1, 8), 8))
        return f.conv(x, weight, bias, name=name)

    x = f.input((1, 4, 4, 8))
    graph = f.outputs(f.op("MUL", [conv("a"), conv("b")], name="y"))
    for tensor in graph.main.tensors.values():
        tensor.source = Location("net.nnef", 3, "") if tensor.data is None else None
    samples = [{x: rng.normal(size=(1, 4, 4, 8)).astype(np.float32)} for _ in range(4)]
    statistics = collect(graph, enumerate(samples))
    ready, report = attach(graph, statistics, Scheme(Method("minmax"))), Report()
    integer = quantize(ready, report)
    assert report.notes == []
    for name in ("a", "b"):
        assert ready.main.tensors[name].quant is None  # where nothing needs it rounded, nothing rounds it
        seen, quant = statistics.tensors[name], ready.spare[name]
        assert any(tensor.quant == quant for tensor in integer.main.tensors.values())
        assert quant.scale[0] * 255 == pytest.approx(seen.high - seen.low, rel=0.02)


def test_a_constant_that_an_accumulator_has_no_room_for_makes_its_scale_coarser() -> None:
    f = Floats()
    sixteen = QParams((2.0**-15,), (0,), 16, symmetric=True)
    product = f.op("MUL", [f.input((1, 3), sixteen, "a"), f.input((1, 3), sixteen, "b")])
    y = f.op("ADD", [product, f.const([[1.5, -1.0, 0.25]])], QParams((2.0**-13,), (0,), 16, symmetric=True), name="y")
    integer = quantize(f.outputs(y))
    a, b = (np.array([[v, -32768, 777]], np.int16) for v in (32767, -32768))
    got = oracle.run(integer, {"a": a, "b": b})[y] * 2.0**-13
    assert np.abs(got - (a * 2.0**-15 * (b * 2.0**-15) + [[1.5, -1.0, 0.25]])).max() <= 2.0**-13
    assert any(op.op == "ADD" for op in integer.main.operators)
    assert {t.dtype for t in integer.main.tensors.values()} >= {types.i32}
