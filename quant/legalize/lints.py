"""What is legal and works but costs accuracy, each rule with a label and the numbers that it found.

Some are seen by the rules while they quantize (`Context.lint`), some in the integer graph (`of_graph`), some only where
statistics are at hand (`of_statistics`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import types

from ..ranges import NARROWEST_RANGE
from .sharing import clamped_by

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from tosa_engine.graph import Graph, QParams, Tensor

    from ..calibration.statistics import TensorStatistics

BIAS, ACCUMULATOR, DEGENERATE, CONCAT, SCALE, SATURATION = (f"QUANT.L{n}" for n in range(1, 7))
LABELS: Final[Mapping[str, str]] = {
    BIAS: "a bias would need more bits than an accumulator can give it",
    ACCUMULATOR: "an accumulator has less than half a bit to spare",
    DEGENERATE: "a tensor is one number in all samples",
    CONCAT: "the ranges of a CONCAT's inputs are over 16 times apart",
    SCALE: "the scale of a RESCALE is outside 2^-32 .. 2^12, or was about to be",
    SATURATION: "over 1 % of a tensor's values saturate",
}
TIGHT: Final = 0.5  # bits
UNBALANCED: Final = 16
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-32, 2.0**12
MOST_SATURATED: Final = 0.01


@dataclass(frozen=True)
class Lint:
    """`tensor`: the float model's own name."""

    label: str
    tensor: str
    message: str

    def __str__(self) -> str:
        return f"{self.label}: {self.message} (tensor '{self.tensor}')"


def of_graph(graph: Graph) -> Iterator[Lint]:
    """Of an integer graph: scales with which a RESCALE makes int8 or int16. (Those to int32 are the rules' own.)"""
    block = graph.main
    for op in block.operators:
        if op.op != "RESCALE" or block.tensors[op.outputs[0]].dtype not in (types.i8, types.i16):
            continue
        multiplier, shift = (block.tensors[name].data for name in op.inputs[1:3])
        if multiplier is not None and shift is not None:
            scales = np.ldexp(multiplier.astype(np.float64), -shift.astype(np.int64))
            yield from _scales(shown_name(block.tensors[op.outputs[0]]), float(scales.min()), float(scales.max()))


def _scales(name: str, least: float, most: float) -> Iterator[Lint]:
    if least < SMALLEST_SCALE:
        yield Lint(SCALE, name, f"a RESCALE applies the scale 2^{math.log2(least):.1f}, below 2^-32")
    if most > LARGEST_SCALE:
        yield Lint(SCALE, name, f"a RESCALE applies the scale 2^{math.log2(most):.1f}, above 2^12")


def of_statistics(graph: Graph, seen: Mapping[str, TensorStatistics], skip: Container[str] = ()) -> Iterator[Lint]:
    """Of the activations of a float graph that carry QParams; `skip`: those that no integers stand for."""
    block = graph.main
    consumers = block.consumers()
    for name, tensor in block.tensors.items():
        if tensor.quant is not None and tensor.data is None and name in seen and name not in skip:
            yield from of_tensor(
                shown_name(tensor), seen[name], tensor.quant, clamped_by(block, name, consumers) is None
            )


def shown_name(tensor: Tensor) -> str:
    """The float model's own name of a tensor."""
    return tensor.source.name if tensor.source is not None and tensor.source.name else tensor.name


def of_tensor(name: str, seen: TensorStatistics, quant: QParams, stored: bool = True) -> Iterator[Lint]:
    """Degenerate ranges, and what saturates. Where nothing but a CLAMP is `stored`, saturation is what is wanted."""
    if max(seen.high, 0.0) - min(seen.low, 0.0) < NARROWEST_RANGE:
        yield Lint(DEGENERATE, name, f"zero in every sample; the scale is 1/{1 / quant.scale[0]:g}")
    elif seen.low == seen.high:
        yield Lint(DEGENERATE, name, f"{seen.low!r} everywhere in every sample; the range is from 0 to there")
    share = saturated(seen, quant) if stored else 0.0
    if share > MOST_SATURATED:
        low, high = ((end - quant.zero_point[0]) * quant.scale[0] for end in (quant.low, quant.high))
        yield Lint(
            SATURATION, name,
            f"{100 * share:.1f} % of the values are beyond the range {low:.4g} .. {high:.4g}; "
            f"they reach from {seen.low:.4g} to {seen.high:.4g}",
        )  # fmt: skip


def saturated(seen: TensorStatistics, quant: QParams) -> float:
    """The share of the values that are more than a step beyond the range, as exact as the histogram's bins."""
    middles, counts = seen.histogram()
    steps = middles / quant.scale[0] + quant.zero_point[0]
    beyond = counts[(steps < quant.low - 1) | (steps > quant.high + 1)].sum()
    return float(beyond) / max(seen.values, 1)


def apart(scales: Mapping[str, float], out: float) -> str | None:
    """Of a CONCAT: which inputs have to take a step over 16 times as large as theirs; None: none."""
    coarse = {name: out / own for name, own in scales.items() if out > UNBALANCED * own}
    if not coarse:
        return None
    worst = ", ".join(
        f"'{name}' ({ratio:.0f} times, {math.log2(ratio):.1f} bits lost)" for name, ratio in coarse.items()
    )
    return f"CONCAT gives {worst} a coarser step than its own; int16 for this layer, or outputs apart, keep the bits"
