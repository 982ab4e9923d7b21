"""Scales between layers that are kept only where they help: one set of channels after the other, on held-out samples.

Each set is tried with those that were kept before it: statistics of the scaled network, its integers, and the
difference of its outputs (before a softmax or ARGMAX at its end) from the float ones on samples that the statistics
weren't made from.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.errors import DataError
from tosa_engine.journal import Journal
from tosa_engine.passes import dead_code

from ..calibration.calibrate import attach
from ..calibration.observe import collect
from ..legalize.quantize import prepared
from ..pieces import Pieces, Plans
from .channels import channels_of, scale
from .runs import ChangingNetwork, SamplePart, decibels_gained, distance, judged_tensors, runs_of, subgraph_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    from ..calibration.calibrate import Scheme
    from ..legalize.layers import LayerRule

    Sample = Mapping[str, Array]

Kept = list[tuple[str, list[int]]]  # what writes a set of channels, and the powers of two that divide them

MOST_SAMPLES: Final = 32
EVERY: Final = 4
MOST_EXPONENT: Final = 126


@dataclass(frozen=True)
class Scaled:
    """What was tried with the channels that `layer` writes: `channels` of `size` by up to `most`; `before` and `after`
    are the errors of the network's outputs on held-out samples, in parts of the outputs' own power.
    """

    layer: str
    channels: int
    size: int
    most: float
    before: float
    after: float

    @property
    def kept(self) -> bool:
        return self.after < self.before

    def __str__(self) -> str:
        gain = decibels_gained(self.before, self.after)
        verdict = "kept" if self.kept else "dropped"
        return (
            f"{self.layer}: {self.channels} of {self.size} channels scaled by up to 2^{self.most:.0f}, "
            f"{gain:+.2f} dB on held-out samples: {verdict}"
        )


@dataclass(frozen=True)
class Trial:
    """How networks are judged: as the integers that they become. What the `journal` of an earlier run has isn't tried
    again.
    """

    samples: Iterable[Sample]
    scheme: Scheme
    rules: Sequence[LayerRule]
    weight_bits: int
    floats: frozenset[str]
    journal: Journal = field(default_factory=Journal)

    def keep_what_helps(
        self,
        graph: Graph,
        totals: Mapping[str, Array],
        done: Callable[[Scaled], None] = lambda _: None,
        method: str = "",
    ) -> tuple[Graph, Kept]:
        """`graph`, prepared, with those of the scales (by the name of what writes the channels) that help, and these.

        `done` is called for each; `method` is what found them, for the journal.

        Raises UsageError when there are fewer than two samples.
        """
        few = list(islice(self.samples, MOST_SAMPLES))
        count = min(len(few), EVERY)
        fit, judges = SamplePart(few, count, judges=False), runs_of(SamplePart(few, count, judges=True), Plans())
        made = prepared(graph)
        judged = judged_tensors(made)
        real = Pieces(subgraph_for(made, *judged))

        def error(tried: Graph) -> float:
            ready = attach(tried, collect(tried, enumerate(fit)), self.scheme, self.rules, self.weight_bits)
            return distance(real, ChangingNetwork(subgraph_for(ready, *judged), self.floats), judges)

        moved = {name: scales for name, scales in totals.items() if (scales != 1).any()}
        before, kept = None, Kept()
        for name, scales in moved.items():
            key, powers = f"{method} {name}", np.log2(scales)
            tried, known = rescaled(made, [(name, powers.astype(int).tolist())]), self.journal.get(key)
            if known is None:
                before = error(made) if before is None else before
                channels, most = int((scales != 1).sum()), float(np.abs(powers).max())
                found = Scaled(name, channels, scales.size, most, before, error(tried))
                self.journal.put(key, asdict(found))
            else:
                with self.journal.reading(key):
                    found = Scaled(**known)
            done(found)
            before = found.after if found.kept else found.before
            if found.kept:
                made = tried
                kept.append((name, powers.astype(int).tolist()))
        return made, kept


def rescaled(graph: Graph, scales: Kept) -> Graph:
    """The network, prepared, whose channels are divided by powers of two, one set after the other.

    Raises DataError where it has no such channels.
    """
    made = prepared(graph)
    for name, exponents in scales:
        if any(abs(exponent) > MOST_EXPONENT for exponent in exponents):
            raise DataError(f"the channels of '{name}' are divided by more than 2^{MOST_EXPONENT}")
        channels = next((c for c in channels_of(made.main) if c.name == name and c.size == len(exponents)), None)
        if channels is None or channels.pinned:
            raise DataError(f"there are no {len(exponents)} channels to scale in '{name}'")
        scale(made, channels, np.exp2(np.asarray(exponents, np.float64)))
        dead_code.change(made)
    return made


def nothing_to_scale(graph: Graph, method: str) -> str:
    """Why a method found nothing, in one line."""
    sets = channels_of(prepared(graph).main)
    pinned = [channels for channels in sets if channels.pinned]
    if not sets:
        return "nothing was changed: no layer writes channels that could be scaled"
    if len(pinned) < len(sets):
        readers = "what reads them are no matrix products" if method == "smooth" else "their ranges are alike already"
        return f"nothing was changed: {len(sets)} sets of channels, {len(pinned)} can't be scaled; of others {readers}"
    shown = "; ".join(f"'{channels.name}': {channels.pinned}" for channels in pinned[:2])
    more = f"; and {len(pinned) - 2} more" if len(pinned) > 2 else ""
    return f"nothing was changed: no channels can be scaled ({shown}{more})"
