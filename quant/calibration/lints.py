"""Lints of what samples showed (`legalize.lints` has the others): ranges without a width, values that saturate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from ..legalize.lints import DEGENERATE, SATURATION, Lint, shown_name
from ..legalize.sharing import clamped_by
from ..ranges import NARROWEST_RANGE

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from tosa_engine.graph import Graph, QParams

    from .statistics import TensorStatistics

MOST_SATURATED: Final = 0.01
MOST_CUT: Final = 1e-3  # 30 dB
DEARER: Final = 4  # times what the whole range would cost


def of_statistics(graph: Graph, seen: Mapping[str, TensorStatistics], skip: Container[str] = ()) -> Iterator[Lint]:
    """Of the activations of a float graph that carry QParams; `skip`: those that no integers stand for."""
    block = graph.main
    consumers = block.consumers()
    for name, tensor in block.tensors.items():
        if tensor.quant is not None and tensor.data is None and name in seen and name not in skip:
            yield from of_tensor(
                shown_name(tensor), seen[name], tensor.quant, clamped_by(block, name, consumers) is None
            )


def of_tensor(name: str, seen: TensorStatistics, quant: QParams, stored: bool = True) -> Iterator[Lint]:
    """Degenerate ranges, and what saturates. Where nothing but a CLAMP is `stored`, saturation is what is wanted."""
    if max(seen.high, 0.0) - min(seen.low, 0.0) < NARROWEST_RANGE:
        yield Lint(DEGENERATE, name, f"zero in every sample; the scale is 1/{1 / quant.scale[0]:g}")
    elif seen.low == seen.high:
        yield Lint(DEGENERATE, name, f"{seen.low!r} everywhere in every sample; the range is from 0 to there")
    share = saturated(seen, quant) if stored else 0.0
    low, high = ((end - quant.zero_point[0]) * quant.scale[0] for end in (quant.low, quant.high))
    left, whole = cut(seen, low, high, quant.bits) if share > 0 else (0.0, 0.0)
    much = left > max(MOST_CUT, DEARER * whole)
    if share > MOST_SATURATED or much:
        shown = f"{100 * share:.1f}" if share > MOST_SATURATED else f"{100 * share:.2g}"
        costs = f"; that costs {-10 * math.log10(left):.1f} dB, the whole range {-10 * math.log10(whole):.1f} dB"
        yield Lint(
            SATURATION, name,
            f"{shown} % of the values are beyond the range {low:.4g} .. {high:.4g}; "
            f"they reach from {seen.low:.4g} to {seen.high:.4g}{costs if much else ''}",
        )  # fmt: skip


def cut(seen: TensorStatistics, low: float, high: float, bits: int) -> tuple[float, float]:
    """In parts of the values' own squares: those of what a range cuts off, and those of rounding in the whole range."""
    middles, counts = seen.histogram()
    power = float((counts * middles * middles).sum())
    beyond = middles - np.clip(middles, low, high)
    step = (max(seen.high, 0.0) - min(seen.low, 0.0)) / ((1 << bits) - 1)
    rounding = float(counts[middles != 0].sum()) * step * step / 12
    return float((counts * beyond * beyond).sum()) / power, rounding / power


def saturated(seen: TensorStatistics, quant: QParams) -> float:
    """The share of the values that are more than a step beyond the range, as exact as the histogram's bins."""
    middles, counts = seen.histogram()
    steps = middles / quant.scale[0] + quant.zero_point[0]
    beyond = counts[(steps < quant.low - 1) | (steps > quant.high + 1)].sum()
    return float(beyond) / max(seen.values, 1)
