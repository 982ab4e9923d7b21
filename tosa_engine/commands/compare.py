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
from .feeds import INPUT_HELP, INPUT_METAVAR
from .samples import add_data
from .told import warn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from ..compare.comparison import Comparison, Row
    from ..compare.samples_comparison import SamplesComparison
    from ..compare.sides import Side
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
            help="a model, which is run here, or tensors that others wrote: an .npz, a folder of .npy. "
            "Each is compared with the one before it",
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
        verdict = parser.add_argument_group("verdict")
        verdict.add_argument("--atol", type=_tolerance, default=0.0, help="floats may differ by ATOL + RTOL * |value|")
        verdict.add_argument("--rtol", type=_tolerance, default=0.0, help="see --atol")
        verdict.add_argument(
            "--min-sqnr", type=float, metavar="DB", help="integers beside floats: exit 1 where a sample is below"
        )
        add_memory(parser)
        parser.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed")
        add_options(parser, self.name)

    def run(self, args: argparse.Namespace) -> int:
        from .compare_sources import Sources

        if len(args.sides) < 2:
            raise UsageError("compare needs two sides or more")
        mapping, sources = _map(args.map), Sources(args)
        if len(sources.numbers) == 1:
            [(_, sides)] = sources.sides(sources.numbers)
            return _one(args, _pairs(args, mapping, sides, explain=True))
        return _several(args, _over_samples(args, mapping, sources))


def _one(args: argparse.Namespace, found: list[Comparison]) -> int:
    from ..compare.output import not_compared, text, to_json

    if args.format == "json":
        say(*json.dumps([to_json(c) for c in found], indent=2).split("\n"))
    else:
        for c in found:
            warn(not_compared(c.rows))
        say(*"\n\n".join(text(c) for c in found).split("\n"))
    return 1 if any(c.different or _below(c.rows, args.min_sqnr) for c in found) else 0


def _several(args: argparse.Namespace, found: list[SamplesComparison]) -> int:
    from ..compare.output import not_compared
    from ..compare.samples_output import text, to_json

    if args.format == "json":
        say(*json.dumps([to_json(c) for c in found], indent=2).split("\n"))
    else:
        for c in found:
            warn(not_compared(c.tallies))
        say(*"\n\n".join(text(c) for c in found).split("\n"))
    worst = [tally.worst_row for c in found for tally in c.tallies]
    return 1 if any(c.different for c in found) or _below(worst, args.min_sqnr) else 0


def _over_samples(args: argparse.Namespace, mapping: Mapping[str, str], sources: Sources) -> list[SamplesComparison]:
    """All samples, with a bar on a terminal; then, of the worst ones, what may be the cause."""
    from tqdm import tqdm

    from ..compare.samples_comparison import ComparisonCollector

    collectors = [ComparisonCollector() for _ in range(len(args.sides) - 1)]
    numbers = sources.numbers
    for number, sides in tqdm(sources.sides(numbers), total=len(numbers), desc="compare", unit="sample", disable=None):
        for collector, comparison in zip(collectors, _pairs(args, mapping, sides, explain=False), strict=True):
            collector.add(number, comparison)
    found = [collector.done() for collector in collectors]
    for number, sides in sources.sides(sorted({c.at for c in found if c.at is not None})):
        for i, comparison in enumerate(_pairs(args, mapping, sides, explain=True)):
            if found[i].at == number:
                found[i].example = comparison
    return found


def _pairs(
    args: argparse.Namespace, mapping: Mapping[str, str], sides: Sequence[Side], *, explain: bool
) -> list[Comparison]:
    """Each side beside the one before it."""
    from ..compare.arrays import Tolerance
    from ..compare.comparison import compare_sides

    found = []
    for here, there in pairwise(sides):
        turned = {v: k for k, v in mapping.items()} if here.graph is None and there.graph is not None else mapping
        found.append(
            compare_sides(
                here, there, mapping=turned, by_order=args.map == ORDER, tensors=args.tensors,
                tolerance=Tolerance(args.atol, args.rtol), explain=explain,
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


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


command = _Compare()
