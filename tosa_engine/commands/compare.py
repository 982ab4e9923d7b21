"""The verb `compare` of the command `tosa-engine`."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import UsageError
from ..formats import hint_file
from ..text import say
from .common import add_memory, add_options, at_least
from .device import add_device
from .feeds import INPUT_HELP, INPUT_METAVAR
from .samples import add_data
from .told import warn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from ..compare.comparison import Comparison
    from ..compare.rows import Row
    from ..compare.samples_comparison import SamplesComparison
    from ..compare.sides import Side
    from ..oracle import Overflow
    from .compare_sources import Sources

ORDER: Final = "order"


class _Compare:
    """`compare A B [C ...] [-i ARRAYS | --data FILE|DIR]`."""

    name = "compare"
    help = "line up the tensors of models and dumps; name the first that differs, and what may be the cause"
    example = "compare net.onnx net.tosa --data test.npz\ncompare net.tosa device.npz -i x.npy"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "sides", nargs="+", metavar="SIDE",
            help="a model, which is run here, or tensors that others wrote: an .npz, one or a folder of .npy "
            "and .bin. Each is compared with the one before it",
        )  # fmt: skip
        parser.add_argument(
            "-i", "--input", action="append", default=[], metavar=INPUT_METAVAR,
            help="inputs of the models, one sample, as in run; default: arrays of the inputs' names in the dumps. "
            f"{INPUT_HELP}",
        )  # fmt: skip
        add_data(parser)
        parser.add_argument("--sample", type=at_least(0), metavar="N", help="sample N alone, counted from 0")
        lined = parser.add_argument_group("what is lined up")
        lined.add_argument(
            "--map", metavar="FILE.json|order",
            help="names of dumped tensors -> names of the model's; `order`: what is left goes by order and shape",
        )  # fmt: skip
        lined.add_argument("--quant", metavar="FILE", help=f"a {hint_file().name} with the scales of tensors")
        lined.add_argument("--tensors", metavar="REGEX", help="only tensors of the first side in whose name this is")
        parser.add_argument(
            "--assume", type=_overflow, metavar="RULE",
            help="what a device does where a sum doesn't fit, which the specification leaves open: wrap, saturate, "
            "bits=N (accumulators of N bits wrap), or saturate,bits=N",
        )  # fmt: skip
        add_device(parser)
        verdict = parser.add_argument_group("verdict")
        verdict.add_argument("--atol", type=_tolerance, default=0.0, help="floats may differ by ATOL + RTOL * |value|")
        verdict.add_argument("--rtol", type=_tolerance, default=0.0, help="see --atol")
        verdict.add_argument(
            "--require", choices=("outputs", "all", "none"), default="outputs",
            help="exit 1 where these weren't compared: the models' outputs (of those that --tensors selects), all "
            "tensors but inputs, none; default: outputs",
        )  # fmt: skip
        verdict.add_argument(
            "--min-sqnr", type=float, metavar="DB", help="integers beside floats: exit 1 where a sample is below"
        )
        causes = parser.add_argument_group("causes of the first difference")
        causes.add_argument(
            "--causes-for", type=_seconds, default=30.0, metavar="SECONDS",
            help="how long they are looked for, after the table was printed: 30, 10s, 2m; default: 30s",
        )  # fmt: skip
        causes.add_argument("--no-causes", action="store_const", dest="causes_for", const=0.0, help="not at all")
        add_memory(parser)
        parser.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed")
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        from .compare_sources import Sources

        if len(args.sides) < 2:
            raise UsageError("compare needs two sides or more")
        mapping = _map(args.map)
        sources = Sources(args, mapping)
        if len(sources.numbers) == 1:
            [(_, sides)] = sources.sides(sources.numbers)
            return _one(args, _pairs(args, mapping, sides))
        return _several(args, mapping, sources)


def _one(args: argparse.Namespace, found: list[Comparison]) -> int:
    from ..compare.output import closing, overview, to_json, unknown_scales

    in_text = args.format == "text"
    try:
        for i, c in enumerate(found):
            if in_text:
                warn(unknown_scales(c.rows))
                say(*([""] if i else []), *overview(c))
            try:
                _explain(args, c)
            finally:
                if in_text:
                    say(*closing(c))
    finally:
        if not in_text:
            say(*json.dumps([to_json(c) for c in found], indent=2).split("\n"))
    return 1 if any(c.different or c.missing or _below(c.rows, args.min_sqnr) for c in found) else 0


def _several(args: argparse.Namespace, mapping: Mapping[str, str], sources: Sources) -> int:
    from ..compare.output import unknown_scales
    from ..compare.samples_output import closing, overview, to_json

    found, in_text = _over_samples(args, mapping, sources), args.format == "text"
    for c in found if in_text else ():
        warn(unknown_scales(c.tallies))
    try:
        for i, c in enumerate(found):
            if in_text:
                say(*([""] if i else []), *overview(c))
            try:
                _explain_worst(args, mapping, sources, c, i)
            finally:
                if in_text:
                    say(*closing(c))
    finally:
        if not in_text:
            say(*json.dumps([to_json(c) for c in found], indent=2).split("\n"))
    worst = [tally.worst_row for c in found for tally in c.tallies]
    return 1 if any(c.different or c.missing for c in found) or _below(worst, args.min_sqnr) else 0


def _explain_worst(
    args: argparse.Namespace, mapping: Mapping[str, str], sources: Sources, found: SamplesComparison, pair: int
) -> None:
    """Compares the worst sample again, and looks for what may be the cause."""
    if found.at is None:
        return
    [(_, sides)] = sources.sides([found.at])
    found.example = _pairs(args, mapping, sides)[pair]
    _explain(args, found.example)


def _explain(args: argparse.Namespace, found: Comparison) -> None:
    """With a bar on a terminal."""
    from tqdm import tqdm

    from ..compare.comparison import explain

    if args.causes_for:
        explain(found, args.causes_for, lambda calls: tqdm(calls, desc="causes", unit="op", leave=False, disable=None))


def _over_samples(args: argparse.Namespace, mapping: Mapping[str, str], sources: Sources) -> list[SamplesComparison]:
    """All samples, with a bar on a terminal."""
    from tqdm import tqdm

    from ..compare.samples_comparison import ComparisonCollector

    collectors = [ComparisonCollector() for _ in range(len(args.sides) - 1)]
    numbers = sources.numbers
    for number, sides in tqdm(sources.sides(numbers), total=len(numbers), desc="compare", unit="sample", disable=None):
        for collector, comparison in zip(collectors, _pairs(args, mapping, sides), strict=True):
            collector.add(number, comparison)
    return [collector.done() for collector in collectors]


def _pairs(args: argparse.Namespace, mapping: Mapping[str, str], sides: Sequence[Side]) -> list[Comparison]:
    """Each side beside the one before it."""
    from ..compare.arrays import Tolerance
    from ..compare.comparison import compare_sides
    from ..compare.requirement import Require

    found = []
    for here, there in pairwise(sides):
        turned = {v: k for k, v in mapping.items()} if here.graph is None and there.graph is not None else mapping
        found.append(
            compare_sides(
                here, there, mapping=turned, by_order=args.map == ORDER, tensors=args.tensors,
                tolerance=Tolerance(args.atol, args.rtol), require=Require(args.require), seconds=0,
            )
        )  # fmt: skip
    return found


def _below(rows: Iterable[Row], least: float | None) -> bool:
    return least is not None and any(r.agreement is not None and r.agreement.sqnr < least for r in rows)


def _map(given: str | None) -> dict[str, str]:
    from ..compare.names import read_map

    if given is None or given == ORDER:
        return {}
    if not Path(given).exists():
        raise FileNotFoundError(2, "no such map", given)
    return read_map(given)


def _seconds(text: str) -> float:
    units = {"s": 1.0, "m": 60.0, "h": 3600.0}
    value = float(text[:-1]) * units[text[-1]] if text[-1:] in units else float(text)
    if not 0 < value < math.inf:
        raise ValueError(text)
    return value


def _overflow(text: str) -> Overflow:
    from ..oracle import Overflow

    words = text.split(",")
    bits = [int(word.removeprefix("bits=")) for word in words if word.startswith("bits=")]
    rules = [word for word in words if not word.startswith("bits=")]
    if len(bits) > 1 or len(rules) > 1 or not set(rules) <= {"wrap", "saturate"} or not all(2 <= n <= 64 for n in bits):
        raise ValueError(text)
    return Overflow(rules == ["saturate"], bits[0] if bits else None)


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


command = _Compare()
