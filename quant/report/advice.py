"""What the numbers of a report mean: lints, and the changes that gained most, each with its command line."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..calibration.lints import MOST_SATURATED
from .trials import EVERYWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .measure import Measurement
    from .measured import Measured
    from .trials import Trial

SHOWN: Final = 6  # changes
FROM_BEFORE: Final = 6.0  # dB by which the error of what comes before outweighs the layer's own
BULK: Final = 0.999  # of the values, which ...
NARROW: Final = 8.0  # ... a range this many times narrower would hold
UNEVEN: Final = 16.0  # between the channels of weights
PLACEHOLDER: Final = "CALIBRATION_DATA"  # where the record names none
LONG: Final = ("--rounding", "adaround", "--bias-correction")
REPEATED: Final = ("--layer",)  # flags that add to those before them
BELONGS: Final = {"--method": ("--percentile",)}  # what goes with a flag that is replaced


@dataclass(frozen=True)
class Advice:
    """A change, why it may help, what it gained where that was measured, and the command line that makes it."""

    title: str
    reasons: tuple[str, ...]
    command: str
    trial: Trial | None = None
    layers: tuple[Measured, ...] = ()


@dataclass(frozen=True)
class Files:
    """The float model, the integer one, and the words of `quantize` that made it, without its output."""

    model: str
    integer: str
    words: tuple[str, ...] = ()

    def command(self, flags: Sequence[str]) -> str:
        """What makes another model, with more flags, in another file."""
        words = self.words or ("quantize", self.model, "--data", PLACEHOLDER)
        return shlex.join(["tosa-engine", *with_flags(words, flags), "-o", another(self.integer)])


def with_flags(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """A command line with more flags; one that it has already is replaced."""
    groups = list(_groups(words))
    for group in _groups(flags):
        gone = () if group[0] in REPEATED else (group[0], *BELONGS.get(group[0], ()))
        groups = [other for other in groups if other[0] not in gone] + [group]
    return [word for group in groups for word in group]


def _groups(words: Sequence[str]) -> Iterator[list[str]]:
    """Flags with their values; other words alone."""
    group: list[str] = []
    for word in words:
        if not (group and group[0].startswith("--") and not word.startswith("--")):
            if group:
                yield group
            group = []
        group.append(word)
    if group:
        yield group


def another(path: str) -> str:
    """`net.tosa` -> `net-2.tosa` -> `net-3.tosa`, the first that isn't there: no command writes over a model."""
    file = Path(path)
    counted = re.fullmatch(r"(.*)-(\d{1,4})", file.stem)
    stem, number = (counted[1], int(counted[2]) + 1) if counted else (file.stem, 2)
    while (other := file.with_name(f"{stem}-{number}{file.suffix}")).exists():
        number += 1
    return str(other)


def advise(found: Measurement, files: Files) -> list[Advice]:
    """The changes that gained most first; at the end all layers in int16, and what wasn't measured."""
    if found.suggestions is None:
        return []
    worth = found.suggestions.worth
    chosen = [trial for trial in worth if trial.change.title != EVERYWHERE][:SHOWN]
    chosen += [trial for trial in worth if trial.change.title == EVERYWHERE]
    cards = [_about(trial, found, files) for trial in chosen]
    if not {"--rounding", "--bias-correction"} & set(files.words):
        reason = "not measured here: they run the samples again for each layer"
        cards.append(Advice("rounding and biases fitted to samples", (reason,), files.command(LONG)))
    return cards


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


def _about(trial: Trial, found: Measurement, files: Files) -> Advice:
    change = trial.change
    layers = tuple(x for x in found.layers if x.layer in change.layers and not x.moves)
    reasons = [reason for layer in layers[:1] for reason in _reasons(layer, found)]
    reasons += [f"together: {', '.join(change.parts)}"] if change.parts else []
    if change.layers or change.parts or change.title == EVERYWHERE:
        reasons.append(f"multiplications and bytes: {100 * trial.cost:.0f} % of all layers in int8")
    return Advice(change.title, tuple(reasons), files.command(change.flags), trial, layers)


def _reasons(layer: Measured, found: Measurement) -> Iterator[str]:
    yield f"alone it has {decibels(layer.local.sqnr)} dB"
    if layer.effect is not None:
        yield f"its own error alone leaves {decibels(layer.effect.sqnr)} dB at the outputs"
    narrower = outliers(layer)
    if layer.saturation > MOST_SATURATED:
        yield f"{100 * layer.saturation:.1f} % of its values lie beyond its range"
    elif narrower > NARROW:
        yield f"99.9 % of its values would fit a range {narrower:.0f} times narrower"
    if unevenness(layer.peaks) > UNEVEN:
        yield f"its weights differ {unevenness(layer.peaks):.0f} times between channels"
    before = _before(layer, found)
    if before is not None:
        yield f"most of the error that it passes on comes from before it, '{before.name}' first"


def _before(layer: Measured, found: Measurement) -> Measured | None:
    """The layer before with the largest error of its own, where the cumulative error is much larger than the own."""
    if layer.cumulative.sqnr > layer.local.sqnr - FROM_BEFORE:
        return None
    earlier = [other for other in found.layers[: found.layers.index(layer)] if other.operator]
    return min(earlier, key=lambda other: other.local.sqnr, default=None)


def signed(value: float) -> str:
    """A difference in dB, for people."""
    return "0.0" if abs(value) < 0.05 else f"{value:+.1f}"


def decibels(value: float) -> str:
    """For people: `exact` where there is no noise."""
    return "exact" if value == math.inf else "-" if value == -math.inf else f"{value:.1f}"
