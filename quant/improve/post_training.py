"""From a float network and samples to the best integer network that the chosen methods give.

    options = Options(equalize=True, rounding="adaround", bias_correction=True)
    result = quantize_from_samples(load("net.tosa"), samples, options)

In this order: equalisation, balancing, calibration, the precision of layers, rounding, bias correction, quantization.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.errors import TosaEngineError, UsageError, raise_all

from ..calibration.calibrate import Scheme, attach, resolved
from ..calibration.given import Given
from ..calibration.lints import of_statistics
from ..calibration.observe import collect
from ..legalize.layers import LayerRule, described, layers_of, stay_float
from ..legalize.quantize import Report, prepared, quantize
from ..legalize.uneven import find as find_uneven
from .bias import Correction, correct_bias, has_bias
from .equalize import equalize
from .rounding import adaround, can_round
from .runs import check_rereadable
from .smooth import smooth
from .trial import Kept, Trial, nothing_to_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tosa_engine.graph import Block, Graph
    from tosa_engine.types import Array

ROUNDINGS: Final = ("nearest", "adaround")


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
) -> Result:
    """Quantize a TOSA-FP graph with samples, as `calibrate` takes them, several times read.

    `tell` gets each of the notes as soon as it is known: long methods report layer by layer.

    Raises:
        UsageError: selectors that match no layer (Problems for several), an iterator instead of a list of samples.
        DataError: no sample, NaN or infinity in an activation.
        Problems: what `quant.quantize` finds.
    """
    options = options or Options()
    check_rereadable(samples)
    samples = Given(graph, samples)
    notes: list[str] = []

    def note(text: str) -> None:
        notes.append(text)
        tell(text)

    block = prepared(graph).main
    precisions = resolved(block, options.scheme, options.rules, options.weight_bits)
    floats = stay_float(block, precisions)
    for_rounding, for_bias = _chosen(block, options)
    note(f"precision: {described(precisions)}")
    if options.scheme.method.bits == 8:
        for uneven in find_uneven(block):
            note(uneven.described(precisions))
    trial = Trial(samples, options.scheme, options.rules, options.weight_bits, floats)
    scales = Kept()
    if options.equalize:
        graph, kept = _scaled("equalize", graph, equalize(graph)[1], trial, note)
        scales += kept
    if options.smooth is not None:
        graph, kept = _scaled("smooth", graph, smooth(graph, samples, options.smooth)[1], trial, note)
        scales += kept
    statistics = collect(graph, enumerate(samples))
    reference = ready = attach(graph, statistics, options.scheme, options.rules, options.weight_bits)
    if options.rounding == "adaround":
        ready = adaround(
            reference, ready, samples,
            layers=for_rounding, floats=floats, seed=options.seed, done=lambda r: note(f"adaround: {r}"),
        )  # fmt: skip
    if options.bias_correction:
        corrections: list[Correction] = []

        def corrected(found: Correction) -> None:
            corrections.append(found)
            note(f"bias: {found}")

        ready = correct_bias(reference, ready, samples, layers=for_bias, floats=floats, done=corrected)
        note(f"bias: {sum(c.kept for c in corrections)} of {len(corrections)} corrections kept")
    report = Report()
    network = quantize(ready, report, floats)
    report.lints += of_statistics(ready, statistics.tensors, floats | report.inside)
    return Result(network, ready, precisions, notes, report, scales)


def _scaled(
    method: str, graph: Graph, totals: Mapping[str, Array], trial: Trial, note: Callable[[str], None]
) -> tuple[Graph, Kept]:
    """The network with those scales that help on held-out samples; what was done to each set of channels is told."""
    if all((scales == 1).all() for scales in totals.values()):
        note(f"{method}: {nothing_to_scale(graph, method)}")
        return graph, []
    return trial.keep_what_helps(graph, totals, lambda found: note(f"{method}: {found}"))


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
