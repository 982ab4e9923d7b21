"""What is legal and works but costs accuracy, each rule with a label and the numbers that it found.

Some are seen by the rules while they quantize (`Context.lint`), some in the integer graph (`of_graph`), some only where
statistics are at hand (`calibration.lints`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine import types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tosa_engine.graph import Graph, Tensor

BIAS, ACCUMULATOR, DEGENERATE, CONCAT, SCALE, SATURATION, CHANNELS = (f"QUANT.L{n}" for n in range(1, 8))
LABELS: Final[Mapping[str, str]] = {
    BIAS: "a bias would need more bits than an accumulator can give it",
    ACCUMULATOR: "an accumulator has less than half a bit to spare",
    DEGENERATE: "a tensor is one number in all samples",
    CONCAT: "the ranges of a CONCAT's inputs are over 16 times apart",
    SCALE: "the scale of a RESCALE is outside 2^-32 .. 2^12, or was about to be",
    SATURATION: "over 1 % of a tensor's values saturate, or what saturates costs more than the whole range would",
    CHANNELS: "one int8 scale for channels of an input that differ much in size",
}
TIGHT: Final = 0.5  # bits
UNBALANCED: Final = 16
SMALLEST_SCALE, LARGEST_SCALE = 2.0**-32, 2.0**12


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


def shown_name(tensor: Tensor) -> str:
    """The float model's own name of a tensor."""
    return tensor.source.name if tensor.source is not None and tensor.source.name else tensor.name


def coarser_inputs(scales: Mapping[str, float], out: float) -> str | None:
    """Of a CONCAT: which inputs have to take a step over 16 times as large as theirs; None: none."""
    coarse = {name: out / own for name, own in scales.items() if out > UNBALANCED * own}
    if not coarse:
        return None
    worst = ", ".join(
        f"'{name}' ({ratio:.0f} times, {math.log2(ratio):.1f} bits lost)" for name, ratio in coarse.items()
    )
    return f"CONCAT gives {worst} a coarser step than its own; int16 for this layer, or outputs apart, keep the bits"
