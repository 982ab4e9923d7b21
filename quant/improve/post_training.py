"""From a float network and samples to the best integer network that the chosen methods give.

    options = Options(equalize=True, rounding="adaround", bias_correction=True)
    result = quantize_from_samples(load("net.tosa"), samples, options)

In this order: normalisation of inputs into weights, equalisation, balancing, calibration, the precision of layers,
rounding, bias correction, quantization.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import TosaEngineError, UsageError, raise_all
from tosa_engine.journal import Journal

from ..calibration.calibrate import Scheme, attach, resolved
from ..calibration.given import Given
from ..calibration.lints import of_statistics
from ..calibration.observe import collect
from ..legalize import wider
from ..legalize.layers import LayerRule, described, layers_of, stay_float
from ..legalize.quantize import Report, prepared, quantize
from .bias import Correction, correct_bias, has_bias
from .equalize import equalize
from .normalization import fold_normalization
from .rounding import adaround, can_round
from .runs import check_rereadable
from .smooth import smooth
from .trial import Kept, Trial, nothing_to_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tosa_engine.graph import Block, Graph
    from tosa_engine.types import Array

    from ..calibration.records import Statistics

Bars = Callable[[str, int | None], AbstractContextManager[Callable[[], object]]]  # what is done, of how many steps

ROUNDINGS: Final = ("nearest", "adaround")


def no_bars(what: str, total: int | None) -> AbstractContextManager[Callable[[], object]]:
    """Progress that nobody sees."""
    del what, total
    return nullcontext(lambda: None)


@dataclass(frozen=True)
class Options:
    """What to do. `scheme`: how ranges become QParams; `equalize`: cross-layer equalisation; `smooth`: the alpha of
    balancing, None without; `rounding`: `nearest` or `adaround`; `bias_correction`.

    `rules` and `weight_bits` (8 or 4) give layers their precision; `rounding_layers` and `bias_layers` are selectors of
    the layers for those methods, all by default; `seed` is that of `adaround`.
    """

    scheme: Scheme = field(default_factory=Scheme)
    equalize: bool = False
    smooth: float | None = None
    rounding: str = "nearest"
    bias_correction: bool = False
    rules: tuple[LayerRule, ...] = ()
    weight_bits: int = 8
    rounding_layers: tuple[str, ...] = ("*",)
    bias_layers: tuple[str, ...] = ("*",)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounding not in ROUNDINGS:
            raise UsageError(f"unknown rounding '{self.rounding}'; choose from: {', '.join(ROUNDINGS)}")
        if self.weight_bits not in (4, 8):
            raise UsageError(f"weights have 4 or 8 bits, got {self.weight_bits}")
        if not isinstance(self.scheme, Scheme):
            raise UsageError(f"a scheme is a Scheme, such as Scheme(Method('mse')), got {self.scheme!r}")
        if self.smooth is not None and not (type(self.smooth) in (int, float) and 0 <= self.smooth <= 1):
            raise UsageError(f"smooth is a number from 0 to 1, or None, got {self.smooth!r}")
        if not all(isinstance(rule, LayerRule) for rule in self.rules):
            raise UsageError(f"rules are LayerRules, such as LayerRule('conv1', 'int16'), got {self.rules!r}")
        for name in ("rounding_layers", "bias_layers"):
            if isinstance(given := getattr(self, name), str):
                raise UsageError(f"{name} are several selectors, ({given!r},), got a str")
        for name in ("equalize", "bias_correction"):
            if not isinstance(given := getattr(self, name), bool):
                raise UsageError(f"{name} is True or False, got {given!r}")

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self) | {"rules": [str(rule) for rule in self.rules]}


@dataclass
class Result:
    """`graph`: the integer network; `ready`: the float network with QParams that it was made from, weights rounded and
    biases corrected; `precisions` by layer; `notes`: what each method did; `report` of the last step; `scales` that
    equalisation and balancing kept.
    """

    graph: Graph
    ready: Graph
    precisions: dict[str, str]
    notes: list[str]
    report: Report
    scales: Kept = field(default_factory=list)


def quantize_from_samples(
    graph: Graph,
    samples: Iterable[Any],
    options: Options | None = None,
    tell: Callable[[str], None] = lambda _: None,
    journal: Journal | None = None,
    bars: Bars = no_bars,
) -> Result:
    """Quantize a TOSA-FP graph with samples, as `calibrate` takes them, several times read.

    `tell` gets each of the notes as soon as it is known: long methods report layer by layer. Finished layers are kept
    in `journal`; with the one of an interrupted run of the same graph, samples and options the result has the same
    bytes.

    Raises:
        UsageError: selectors that match no layer (Problems for several), an iterator instead of a list of samples.
        DataError: no sample, NaN or infinity in an activation; a journal of something else.
        Problems: what `quant.quantize` finds.
    """
    check_rereadable(samples)
    given, kept = Given(graph, samples), Journal() if journal is None else journal
    return _Work(graph, given, options or Options(), tell, kept, bars).run()


class _Work:
    """One call of `quantize_from_samples`."""

    def __init__(
        self,
        graph: Graph,
        samples: Given,
        options: Options,
        tell: Callable[[str], None],
        journal: Journal,
        bars: Bars,
    ) -> None:
        self.graph, self.samples, self.options = graph, samples, options
        self.tell, self.journal, self.bars = tell, journal, bars
        self.notes, self.scales = list[str](), Kept()

    def run(self) -> Result:
        options = self.options
        self.graph, folded = fold_normalization(self.graph, options.scheme, options.rules, options.weight_bits)
        ready = prepared(self.graph)
        block = ready.main
        precisions = resolved(ready, options.scheme, options.rules, options.weight_bits)
        floats = stay_float(block, precisions)
        for_rounding, for_bias = _chosen(block, options)
        self.note(f"precision: {described(precisions)}")
        if options.scheme.method.bits == 8:
            for text in wider.told(ready, precisions):
                self.note(text)
        for text in folded:
            self.note(text)
        if options.equalize:
            self._scale("equalize", equalize(self.graph)[1], floats)
        if options.smooth is not None:
            self._scale("smooth", smooth(self.graph, self.samples, options.smooth)[1], floats)
        statistics = self._observed()
        reference = ready = attach(self.graph, statistics, options.scheme, options.rules, options.weight_bits)
        if options.rounding == "adaround":
            ready = self._round(reference, [out for out in for_rounding if out not in floats], floats)
        if options.bias_correction:
            ready = self._correct(reference, ready, [out for out in for_bias if out not in floats], floats)
        report = Report()
        network = quantize(ready, report, floats)
        report.lints += of_statistics(ready, statistics.tensors, floats | report.inside)
        return Result(network, ready, precisions, self.notes, report, self.scales)

    def note(self, text: str) -> None:
        self.notes.append(text)
        self.tell(text)

    def _scale(self, method: str, totals: Mapping[str, Array], floats: frozenset[str]) -> None:
        """Keep those scales that help on held-out samples; what was done to each set of channels is told."""
        count = sum(bool((scales != 1).any()) for scales in totals.values())
        if not count:
            self.note(f"{method}: {nothing_to_scale(self.graph, method)}")
            return
        options = self.options
        trial = Trial(self.samples, options.scheme, options.rules, options.weight_bits, floats, self.journal)
        with self.bars(method, count) as step:
            done = self._after(method, step)
            self.graph, kept = trial.keep_what_helps(self.graph, totals, done, method)
        self.scales += kept

    def _observed(self) -> Statistics:
        total = len(self.samples.samples) if isinstance(self.samples.samples, Sized) else None
        with self.bars("calibrate", total) as step:

            def stepped() -> Iterator[tuple[int, Mapping[str, Array]]]:
                for numbered in enumerate(self.samples):
                    yield numbered
                    step()

            return collect(self.graph, stepped())

    def _round(self, reference: Graph, layers: Sequence[str], floats: frozenset[str]) -> Graph:
        with self.bars("adaround", len(layers)) as step:
            return adaround(
                reference, reference, self.samples, layers=layers, floats=floats, seed=self.options.seed,
                done=self._after("adaround", step), journal=self.journal,
            )  # fmt: skip

    def _correct(self, reference: Graph, ready: Graph, layers: Sequence[str], floats: frozenset[str]) -> Graph:
        found: list[Correction] = []
        with self.bars("bias", len(layers)) as step:
            told = self._after("bias", step)

            def done(correction: Correction) -> None:
                found.append(correction)
                told(correction)

            made = correct_bias(
                reference, ready, self.samples, layers=layers, floats=floats, done=done, journal=self.journal
            )
        self.note(f"bias: {sum(c.kept for c in found)} of {len(found)} corrections kept")
        return made

    def _after(self, method: str, step: Callable[[], object]) -> Callable[[object], None]:
        def done(found: object) -> None:
            self.note(f"{method}: {found}")
            step()

        return done


def _chosen(block: Block, options: Options) -> tuple[list[str], list[str]]:
    """The results of the operators that rounding and bias correction work on."""
    layers, problems = layers_of(block), list[TosaEngineError]()
    found = []
    wanted = (
        ("adaround", options.rounding == "adaround", options.rounding_layers, can_round),
        ("bias correction", options.bias_correction, options.bias_layers, has_bias),
    )
    for method, asked, selectors, works_on in wanted:
        able = [layer for layer in layers if works_on(layer.op)]
        chosen = []
        for selector in selectors if asked else ():
            matched = [layer.op.outputs[0] for layer in able if layer.matches(selector)]
            if not matched:
                names = ", ".join(layer.name for layer in able[:8]) or "none"
                problems.append(UsageError(f"'{selector}' matches no layer for {method}; there are {names}"))
            chosen += matched
        found.append(chosen)
    raise_all(problems, f"{len(problems)} selectors match no layer:")
    return found[0], found[1]
