"""Changes to a quantization, each made and run: what it gains at the output.

Every network is made anew from the float model, with the ranges of the calibration data and the options of the model
that is reported, but for those that take long (AdaRound, bias correction); the change is one more option. The first
score is that of no change, so that both sides are made in the same way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from tosa_engine.errors import TosaEngineError

from ..calibration.calibrate import attach, resolved
from ..calibration.methods import PERCENTILE
from ..calibration.observe import collect
from ..improve.equalize import equalize
from ..improve.normalization import fold_normalization
from ..improve.smooth import smooth
from ..improve.trial import MOST_SAMPLES as SCALING
from ..improve.trial import Trial as Scales
from ..improve.trial import rescaled
from ..legalize.layers import FLOAT, INT16, layers_of, stay_float
from ..legalize.quantize import prepared, quantize
from ..legalize.refusals import is_refusal
from ..search.cost import Costs
from ..search.units import units_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    from ..calibration.records import Statistics
    from ..improve.post_training import Options
    from ..improve.trial import Kept
    from ..metrics import Judge, Reading, Score
    from ..search.units import Unit
    from .measured import Measured

    Sample = Mapping[str, Array]

LEAST_CALIBRATION: Final = 8  # samples that are calibrated with anew, however long they take
CALIBRATION_SHARE: Final = 0.25  # of the time
LEAST_JUDGES: Final = 8  # samples that judge a change, of so many ...
MOST_JUDGES: Final = 64  # ... where they are quick
FIRST: Final = 4  # layers that are tried before methods that take longer
PER_CHANNEL: Final = ("--weights", "per-channel")
EVERYWHERE: Final = "all layers in int16"
TOGETHER: Final = 0.8  # of what single layers gain, that those together are to gain
MOST_TOGETHER: Final = 8
MOST_READ: Final = 4  # changes of which the metric is read
NOTHING: Final = 0.5  # dB, which no change is worth


class OutOfTime(Exception):
    """The time for changes is over."""


@dataclass(frozen=True)
class Change:
    """`flags` are what `quantize` is told, `options` the same; `layers`: the names of those that alone get int16,
    `parts`: those of the changes that are made together; `instead`: what is tried where this one can't be had.
    """

    title: str
    flags: tuple[str, ...]
    options: Options
    layers: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    instead: Change | None = None


@dataclass(frozen=True)
class Trial:
    """`before` and `after` are measured on the same samples; `cost`: beside all layers in int8; `readings`: the metric
    before and after on all samples.
    """

    change: Change
    before: Score
    after: Score
    cost: float
    readings: tuple[Reading, Reading] | None = None

    @property
    def gain(self) -> float:
        """In dB."""
        return 0.0 if self.after.sqnr == self.before.sqnr else self.after.sqnr - self.before.sqnr


@dataclass
class Suggestions:
    """`tried` in the order of their gains; `left`: changes that there was no time for; `notes` say what the numbers
    are of.
    """

    before: Score
    samples: int
    tried: list[Trial] = field(default_factory=list)
    left: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def worth(self) -> list[Trial]:
        """Those that gain something; layers together only where they gain more than one of them."""
        best = max((trial.gain for trial in self.tried if trial.change.layers), default=0.0)
        return [t for t in self.tried if t.gain >= NOTHING and not (t.change.parts and t.gain < best + NOTHING)]

    def gain_of(self, layer: str) -> float | None:
        """Of the change of one layer, or of what shares a TABLE with it, alone; None where none was tried."""
        return next((trial.gain for trial in self.tried if layer in trial.change.layers), None)


class Workshop:
    """Makes integer networks of one float network by options, and has them judged."""

    def __init__(
        self,
        graph: Graph,
        calibration: Iterable[Sample],
        judge: Judge,
        seconds: float,
        statistics: Statistics | None = None,
    ) -> None:
        """`calibration` is read anew for each way to prepare the network; without samples there is one way."""
        self.graph, self.judge, self._calibration = graph, judge, calibration
        self._end, self._last = time.monotonic() + CALIBRATION_SHARE * seconds, time.monotonic() + seconds
        self.calibrated: int | None = None
        self._bases: dict[tuple[bool, float | None, tuple[str, ...]], tuple[Graph, Statistics]] = {}
        self._folds = statistics is None  # as `quantize` does with samples
        if statistics is not None:
            self._bases[False, None, ()] = graph, statistics
        self.can_hold_back = len([*islice(calibration, 2)]) == 2

    def _samples(self) -> Iterator[Sample]:
        """As many as the first network that was calibrated had time for."""
        for count, sample in enumerate(self._calibration):
            late = count >= LEAST_CALIBRATION and time.monotonic() > self._end
            if count == self.calibrated or (self.calibrated is None and late):
                return
            yield sample

    def prepare(self, options: Options, scales: Kept) -> None:
        """The scales that `--equalize` and `--smooth` of these options kept when the model was made."""
        graph, folded = self._folded(options)
        self._bases[options.equalize, options.smooth, folded] = self._observed(rescaled(graph, scales))

    def base(self, options: Options) -> tuple[Graph, Statistics]:
        """The float network as `--equalize` and `--smooth` leave it, and its statistics. Raises OutOfTime."""
        graph, folded = self._folded(options)
        key = options.equalize, options.smooth, folded
        if key not in self._bases:
            if options.equalize:
                graph = self._scaled(graph, equalize(graph)[1], options)
            if options.smooth is not None:
                graph = self._scaled(graph, smooth(graph, self._few(), options.smooth)[1], options)
            self._bases[key] = self._observed(graph)
        return self._bases[key]

    def _folded(self, options: Options) -> tuple[Graph, tuple[str, ...]]:
        if not self._folds:
            return self.graph, ()
        graph, told = fold_normalization(self.graph, options.scheme, options.rules, options.weight_bits)
        return graph, tuple(told)

    def _scaled(self, graph: Graph, totals: Mapping[str, Array], options: Options) -> Graph:
        ready = prepared(graph)
        floats = stay_float(ready.main, resolved(ready, options.scheme, options.rules, options.weight_bits))
        judged = Scales(self._few(), options.scheme, options.rules, options.weight_bits, floats)
        return judged.keep_what_helps(graph, totals, self._in_time)[0]

    def _in_time(self, _: object) -> None:
        if time.monotonic() > self._last:
            raise OutOfTime

    def _few(self) -> list[Sample]:
        return [*islice(self._samples(), SCALING)]

    def _observed(self, graph: Graph) -> tuple[Graph, Statistics]:
        statistics = collect(graph, enumerate(self._samples()))
        self.calibrated = statistics.samples
        return graph, statistics

    def precisions(self, options: Options) -> dict[str, str]:
        return resolved(prepared(self.base(options)[0]), options.scheme, options.rules, options.weight_bits)

    def units(self, options: Options) -> list[Unit]:
        graph, statistics = self.base(options)
        return units_of(attach(graph, statistics, options.scheme))

    def make(self, options: Options) -> Graph:
        """Raises what `quantize` raises."""
        graph, statistics = self.base(options)
        ready = attach(graph, statistics, options.scheme, options.rules, options.weight_bits)
        return quantize(ready, floats=stay_float(prepared(graph).main, self.precisions(options)))

    def score(self, options: Options) -> Score:
        return self.judge.score(self.make(options))


def try_changes(
    workshop: Workshop,
    options: Options,
    layers: Sequence[Measured],
    seconds: float,
    done: Callable[[], None] = lambda: None,
    everything: Judge | None = None,
) -> Suggestions:
    """Try changes for as long as there is time: ranges, 16 bits, the layers that harm the outputs most, methods that
    run the calibration samples again, the other layers. After these the best layers together; at last, while there is
    time, `everything`, a judge with all samples and a metric, reads the metric of the best.

    What quantization refuses of a change, as a form in int16, is among the notes. Raises what `quantize` raises of the
    network without changes, and everything else that goes wrong.
    """
    end = time.monotonic() + seconds
    found = Suggestions(workshop.score(options), workshop.judge.count)
    costs = Costs(prepared(workshop.graph).main)
    done()

    def attempt(change: Change, *, late: bool = False) -> Trial | None:
        if time.monotonic() > end and not late:
            found.left += 1
            return None
        try:
            after = workshop.score(change.options)
            cost = costs.of(_named(workshop.precisions(change.options), costs)).relative(costs.usual, "both")
        except OutOfTime:
            found.left += 1
            return None
        except TosaEngineError as problem:
            if not is_refusal(problem):
                raise
            if change.instead is not None:
                return attempt(change.instead, late=True)
            found.notes.append(f"{change.title}: {' '.join(str(problem).splitlines()[:2])}")
            return None
        finally:
            done()
        found.tried.append(Trial(change, found.before, after, cost))
        return found.tried[-1]

    quick, slow = _general(workshop, options)
    layer_changes = _layers(workshop, options, layers)
    for change in (*quick, *layer_changes[:FIRST], *slow, *layer_changes[FIRST:]):
        attempt(change)
    single = [trial for trial in found.tried if trial.change.layers]
    best = _together(single, options)
    if best is not None:
        attempt(best, late=True)
    found.tried.sort(key=lambda trial: -trial.gain)
    if everything is not None and found.worth and time.monotonic() < end:
        before = everything.score(workshop.make(options)).reading
        for trial in found.worth[:MOST_READ]:
            if time.monotonic() < end:
                after = everything.score(workshop.make(trial.change.options)).reading
                assert before is not None
                assert after is not None
                found.tried[found.tried.index(trial)] = replace(trial, readings=(before, after))
                done()
    return found


def _named(precisions: Mapping[str, str], costs: Costs) -> dict[str, str]:
    """By the layers that costs are of: `--smooth` adds some."""
    return {layer.name: precisions.get(layer.name, "int8") for layer in costs.layers}


def _general(workshop: Workshop, options: Options) -> tuple[list[Change], list[Change]]:
    """What is about the whole network: what needs statistics only, and what runs the calibration samples again."""
    scheme = options.scheme
    method = scheme.method
    quick, slow = list[Change](), list[Change]()
    for name in ("minmax", "mse", "percentile"):
        if name != method.name:
            other = replace(scheme, method=replace(method, name=name, percentile=PERCENTILE))
            quick.append(Change(f"ranges by {name}", ("--method", name), replace(options, scheme=other)))
    if not scheme.weights_per_channel:
        other = replace(scheme, weights_per_channel=True)
        quick.append(Change("a scale for each channel of weights", PER_CHANNEL, replace(options, scheme=other)))
    if method.bits == 8 and options.weight_bits == 8:
        wide = scheme.with_bits(16)
        flags = ("--bits", "16", "--method", wide.method.name)
        quick.append(Change(EVERYWHERE, flags, replace(options, scheme=wide)))
    if workshop.can_hold_back and not options.equalize:
        slow.append(Change("channels equalized between layers", ("--equalize",), replace(options, equalize=True)))
    if workshop.can_hold_back and options.smooth is None and _products(workshop.graph):
        slow.append(Change("outliers moved into weights", ("--smooth", "0.5"), replace(options, smooth=0.5)))
    return quick, slow


def _products(graph: Graph) -> bool:
    return any(layer.op.op == "MATMUL" for layer in layers_of(prepared(graph).main))


def _layers(workshop: Workshop, options: Options, layers: Sequence[Measured]) -> list[Change]:
    """Each unit that isn't int16 yet, in int16, else in float; those that harm the outputs most first."""
    place = {layer.layer: i for i, layer in reversed([*enumerate(sorted(layers, key=_effect_first))])}
    now = workshop.precisions(options)
    units = [unit for unit in workshop.units(options) if any(now[name] != INT16 for name in unit.layers)]
    units.sort(key=lambda unit: min(place.get(name, len(layers)) for name in unit.layers))
    return [_single(unit, INT16, options, _single(unit, FLOAT, options)) for unit in units]


def _single(unit: Unit, precision: str, options: Options, instead: Change | None = None) -> Change:
    """A unit in another precision."""
    rules = tuple(unit.rules(precision))
    flags = tuple(word for rule in rules for word in ("--layer", f"{rule.selector}={rule.precision}"))
    of = unit.name if len(unit.layers) == 1 else f"{unit.name} and what shares its table"
    return Change(
        f"{of} in {precision}", flags, replace(options, rules=(*options.rules, *rules)), unit.layers, instead=instead
    )


def _effect_first(layer: Measured) -> tuple[bool, float]:
    """Layers whose own error was run to the outputs before the others, the worst first."""
    return layer.effect is None, (layer.local if layer.effect is None else layer.effect).sqnr


def _together(single: Iterable[Trial], options: Options) -> Change | None:
    """The changes of single layers that gain most, as few as gain most of what all do."""
    gains = [(trial.before.noise - trial.after.noise, trial.change) for trial in single if trial.gain > 0]
    total, sum_, chosen = sum(gain for gain, _ in gains), 0.0, list[Change]()
    for gain, change in sorted(gains, key=lambda pair: -pair[0])[:MOST_TOGETHER]:
        if sum_ >= TOGETHER * total:
            break
        sum_ += gain
        chosen.append(change)
    if len(chosen) < 2:
        return None
    rules = tuple(rule for change in chosen for rule in change.options.rules[len(options.rules) :])
    flags = tuple(word for change in chosen for word in change.flags)
    parts = tuple(change.title for change in chosen)
    title = f"{len(chosen)} layers together"
    return Change(title, flags, replace(options, rules=(*options.rules, *rules)), parts=parts)
