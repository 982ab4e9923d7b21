"""What the numbers of a report mean: lints, the layers that cost most, and the command lines to try next."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ..calibration.lints import MOST_SATURATED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .measure import Measured, Measurement

WORST: Final = 5
POOR: Final = 25.0  # dB, of an output, and of a layer alone that spoils what comes behind
GOOD: Final = 40.0  # dB, of a layer alone: nothing to gain
FROM_BEFORE: Final = 6.0  # dB by which the error of what comes before outweighs the layer's own
BULK: Final = 0.999  # of the values, which ...
NARROW: Final = 8.0  # ... a range this many times narrower would hold
UNEVEN: Final = 16.0  # between the channels of weights


@dataclass(frozen=True)
class Advice:
    """About one layer: why it is bad, and command lines in the order in which to try them."""

    layer: Measured
    reasons: tuple[str, ...]
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Files:
    """What command lines name: the float model, the integer one to make again, and the data."""

    model: str
    integer: str
    data: str


def worst(found: Measurement) -> list[Measured]:
    """The layers whose own error is largest, at most `WORST`; none that is good enough. Inputs have no operators."""
    computed = [layer for layer in found.layers if layer.operator and layer.local.sqnr < GOOD]
    return sorted(computed, key=lambda layer: layer.local.sqnr)[:WORST]


def advise(found: Measurement, files: Files) -> list[Advice]:
    return [_about(layer, found, files) for layer in worst(found)]


def overall(found: Measurement, files: Files) -> Advice | None:
    """Of the network: where the layers are good enough alone, and the outputs aren't; None where they are."""
    outputs = [layer for layer in found.outputs if layer.cumulative.sqnr < POOR]
    if not outputs or any(layer.local.sqnr < POOR for layer in found.layers):
        return None
    layer = min(outputs, key=lambda output: output.cumulative.sqnr)
    start = ("tosa-engine", "quantize", files.model, "--data", files.data)
    flags = [("--equalize", "--rounding", "adaround", "--bias-correction"), ("--bits", "16")]
    if all(other.dtype == "i16" for other in found.layers):
        flags.pop()
    reason = f"output '{layer.name}' has {layer.cumulative.sqnr:.1f} dB: errors add up from layer to layer"
    return Advice(layer, (reason,), tuple(shlex.join([*start, *more, "-o", files.integer]) for more in flags))


def lints(found: Measurement) -> list[str]:
    """What quantization noted, and what these samples and the weights show."""
    lines = list(found.notes)
    saturated = sorted((x for x in found.layers if x.saturation > MOST_SATURATED), key=lambda x: -x.saturation)
    lines += [f"'{layer.name}' saturates {100 * layer.saturation:.1f} % of its values" for layer in saturated]
    for layer in found.layers:
        ratio = unevenness(layer.peaks)
        if ratio > UNEVEN:
            scales = "each has a scale" if layer.per_channel else "all have one scale"
            lines.append(f"the weights of '{layer.name}' differ {ratio:.0f} times between channels: {scales}")
    return lines


def unevenness(peaks: Sequence[float]) -> float:
    """The largest channel by the smallest that isn't zero; 1 where there is nothing to compare."""
    used = [peak for peak in peaks if peak > 0]
    return max(used) / min(used) if used else 1.0


def outliers(layer: Measured) -> float:
    """How many times narrower than the chosen range the range of all but 0.1 % of the values is; 1 at least."""
    values, counts = layer.seen.histogram()
    if not len(values):
        return 1.0
    order = abs(values).argsort(kind="stable")
    below = counts[order].cumsum()
    bulk = float(abs(values)[order][min(int((below < BULK * below[-1]).sum()), len(values) - 1)])
    widest = max(abs(bound) for bound in layer.range)
    return max(widest / bulk, 1.0) if bulk > 0 else 1.0


def _about(layer: Measured, found: Measurement, files: Files) -> Advice:
    reasons, flags = [f"alone it has {layer.local.sqnr:.1f} dB"], list[tuple[str, ...]]()
    narrower = outliers(layer)
    if layer.saturation > MOST_SATURATED:
        reasons.append(f"{100 * layer.saturation:.1f} % of its values lie beyond its range")
        flags.append(("--method", "minmax"))
    elif narrower > NARROW:
        reasons.append(f"99.9 % of its values would fit a range {narrower:.0f} times narrower")
        flags.append(("--method", "percentile", "--percentile", "99.9"))
    if unevenness(layer.peaks) > UNEVEN:
        reasons.append(f"its weights differ {unevenness(layer.peaks):.0f} times between channels")
        flags.append(("--equalize",) if layer.per_channel else ("--weights", "per-channel"))
    before = _before(layer, found)
    if before is not None:
        reasons.append(f"most of the error that it passes on comes from before it, '{before.name}' first")
    if layer.dtype != "i16":
        flags.append(("--layer", f"{layer.layer}=int16"))
    start = ("tosa-engine", "quantize", files.model, "--data", files.data)
    return Advice(layer, tuple(reasons), tuple(shlex.join([*start, *more, "-o", files.integer]) for more in flags))


def _before(layer: Measured, found: Measurement) -> Measured | None:
    """The layer before with the largest error of its own, where the cumulative error is much larger than the own."""
    if layer.cumulative.sqnr > layer.local.sqnr - FROM_BEFORE:
        return None
    earlier = [other for other in found.layers[: found.layers.index(layer)] if other.operator]
    return min(earlier, key=lambda other: other.local.sqnr, default=None)


def decibels(value: float) -> str:
    """For people: `exact` where there is no noise."""
    return "exact" if value == math.inf else "-" if value == -math.inf else f"{value:.1f}"
