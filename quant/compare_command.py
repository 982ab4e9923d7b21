"""The verb `compare` of the command `tosa-engine`."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.commands.common import at_least
from tosa_engine.errors import UsageError

from .command_tools import warn

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from tosa_engine.compare.exact import Exactly
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    from .comparison import Comparison, Row
    from .sides import Side

SHOWN_NAMES: Final = 5
ORDER: Final = "order"


class _Compare:
    """`compare A B [C ...] [-i ARRAYS | --data FILE]`."""

    name = "compare"
    help = "line up the tensors of models and dumps; name the first that differs, and what may be the cause"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "sides", nargs="+", metavar="SIDE",
            help="a model, which is run here, or tensors that others wrote: an .npz, a folder of .npy. "
            "Each is compared with the one before it",
        )  # fmt: skip
        parser.add_argument(
            "-i", "--input", action="append", default=[], metavar="X.npy|NAME=@X.npy|BUNDLE.npz",
            help="inputs of the models, as in run; default: arrays of the inputs' names in the dumps",
        )  # fmt: skip
        parser.add_argument("--data", metavar="FILE|DIR", help="samples as in calibrate, instead of -i")
        parser.add_argument("--sample", type=at_least(0), default=0, metavar="N", help="of --data; default: 0")
        parser.add_argument(
            "--map", metavar="FILE.json|order",
            help="names of dumped tensors -> names of the model's; `order`: what is left goes by order and shape",
        )  # fmt: skip
        parser.add_argument("--quant", metavar="FILE", help="a graph.quant with the scales of tensors")
        parser.add_argument("--tensors", metavar="REGEX", help="only tensors of the first side in whose name this is")
        parser.add_argument("--atol", type=_tolerance, default=0.0, help="floats may differ by ATOL + RTOL * |value|")
        parser.add_argument("--rtol", type=_tolerance, default=0.0)
        parser.add_argument("--min-sqnr", type=float, metavar="DB", help="integers beside floats: exit 1 below this")
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def run(self, args: argparse.Namespace) -> int:
        from tosa_engine.compare.arrays import Tolerance

        from .comparison import compare_sides

        if len(args.sides) < 2:
            raise UsageError("compare needs two sides or more")
        sides = _read(args)
        mapping = _map(args.map)
        found = []
        for here, there in pairwise(sides):
            turned = {v: k for k, v in mapping.items()} if here.graph is None and there.graph is not None else mapping
            found.append(
                compare_sides(
                    here, there, mapping=turned, by_order=args.map == ORDER, tensors=args.tensors,
                    tolerance=Tolerance(args.atol, args.rtol),
                )
            )  # fmt: skip
        if args.format == "json":
            print(json.dumps([_json(c) for c in found], indent=2))
        else:
            print("\n\n".join(_text(c) for c in found))
        bad = [c for c in found if c.different or _below(c, args.min_sqnr)]
        return 1 if bad else 0


def _read(args: argparse.Namespace) -> list[Side]:
    """Dumps are read first: they may hold the models' inputs."""
    from tosa_engine.compare.dumps import is_dump

    from . import graph_quant
    from .sides import read_dump, read_model, run_model

    quant = graph_quant.read(args.quant) if args.quant is not None else {}
    dumps = {path: read_dump(path) for path in args.sides if is_dump(path)}
    models = {path: read_model(path, quant) for path in args.sides if path not in dumps}
    given: dict[str, Array] = {}
    for dump in dumps.values():
        given = dump.tensors | given
    for graph in models.values():
        given |= _inputs(args, graph)
    ran = {path: run_model(path, graph, given) for path, graph in models.items()}
    return [dumps[path] if path in dumps else ran[path] for path in args.sides]


def _inputs(args: argparse.Namespace, graph: Graph) -> dict[str, Array]:
    """What -i or --data give for a model."""
    from tosa_engine.commands.run import read_feeds

    if args.input and args.data:
        raise UsageError("-i and --data both say what the inputs are: give one of them")
    names = [t.name for t in graph.inputs]
    if args.data:
        from .data import array_samples

        samples = array_samples(args.data, graph.inputs)
        if args.sample >= samples.total:
            raise UsageError(f"--sample {args.sample}: {args.data} has {samples.total} samples, from 0")
        return dict(next(iter(samples.read([args.sample])))[1])
    if not args.input:
        return {}
    found = read_feeds(args.input, names, [t.name for t in graph.outputs])
    raw = [name for name, array in found.items() if isinstance(array, bytes)]
    if raw:
        raise UsageError(f"compare takes .npy and .npz inputs, not .bin (input {', '.join(raw)})")
    return {name: array for name, array in found.items() if not isinstance(array, bytes)}


def _map(given: str | None) -> dict[str, str]:
    from tosa_engine.compare.names import read_map

    if given is None or given == ORDER:
        return {}
    if not Path(given).exists():
        raise FileNotFoundError(2, "no such map", given)
    return read_map(given)


def _below(found: Comparison, least: float | None) -> bool:
    return least is not None and any(r.agreement is not None and r.agreement.sqnr < least for r in found.rows)


def _text(found: Comparison) -> str:
    lines = [f"here   {found.here.label} ({found.here.kind})", f"there  {found.there.label} ({found.there.kind})"]
    lineup = found.lineup
    lines.append(f"{len(lineup.pairs)} tensors lined up ({', '.join(f'{n} by {h}' for h, n in lineup.how.items())})")
    for what, alone in (("here", lineup.alone_here), ("there", lineup.alone_there)):
        if alone:
            more = f" and {len(alone) - SHOWN_NAMES} more" if len(alone) > SHOWN_NAMES else ""
            lines.append(f"only {what}: {', '.join(alone[:SHOWN_NAMES])}{more}")
    lines += ["", *_table(found.rows)]
    if found.first is not None:
        lines += ["", *_first(found)]
    unknown = [row.here for row in found.rows if row.relation == "unknown"]
    if unknown:
        warn(f"{len(unknown)} tensors are integers on one side and their scale is unknown, so nothing is said of them")
    lines += ["", _verdict(found)]
    return "\n".join(lines)


def _table(rows: Sequence[Row]) -> list[str]:
    width = min(max((len(row.here) for row in rows), default=6), 40)
    lines = [f"{'tensor':{width}}  {'elements':>9}  {'different':>9}  {'largest':>10}  {'SQNR':>8}  {'cosine':>8}"]
    for row in rows:
        agreement = row.agreement
        lsb = f"{agreement.largest:.2f} LSB" if agreement and row.relation == "real" else _largest(row)
        sqnr = f"{agreement.sqnr:.1f} dB" if agreement is not None else ""
        cosine = f"{agreement.cosine:.6f}" if agreement is not None else ""
        different = "" if row.different is None else str(row.different)
        line = f"{row.here:{width}}  {row.elements:9}  {different:>9}  {lsb:>10}  {sqnr:>8}  {cosine:>8}"
        lines.append(f"{line.rstrip()}{'  ' + row.note if row.note else ''}")
    return lines


def _largest(row: Row) -> str:
    from .comparison import TAIL

    if not row.lsb:
        return "" if row.relation != "exact" else "0 LSB"
    most = max(abs(d) for d in row.lsb)
    return f"> {TAIL} LSB" if most > TAIL else f"{most} LSB"


def _first(found: Comparison) -> list[str]:
    from .comparison import TAIL

    row = found.first
    assert row is not None
    if row.relation == "form":
        return [f"first difference: '{row.here}' is {row.note}"]
    here, there = row.values
    where = f"'{row.here}' at {list(row.index)}: {here} here, {there} there"
    lines = [f"first difference: {where}; {row.different} of {row.elements} elements differ"]
    if row.lsb:
        shown = (f"{'more' if abs(d) > TAIL else format(d, '+')}: {n}" for d, n in sorted(row.lsb.items()))
        lines.append(f"LSB, there - here: {', '.join(shown)}")
    if found.exactly is not None and set(row.lsb) <= {-1, 1}:
        lines += _exactly(found.exactly, row)
    if row.relation == "exact":
        lines += [f"cause: {cause}" for cause in found.causes] or ["cause: none of the known ones"]
    return lines


def _exactly(found: Exactly, row: Row) -> list[str]:
    here, there = row.values
    lines = [f"exactly: {found} (RESCALE '{found.node}')"]
    for side, value in (("here", here), ("there", there)):
        names = [r.rule for r in found.rules if r.result == value]
        lines.append(f"  {value} ({side}) by: {'; '.join(names) or 'no rule that we know'}")
    low, high = found.inexact
    lines.append(f"  INEXACT_ROUND allows {low if low == high else f'{low} .. {high}'} before the clip")
    lines += [
        f"  of the {found.differing} differing elements {r.there} are there by {r.rule}"
        for r in found.rules if r.there
    ]  # fmt: skip
    return lines


def _verdict(found: Comparison) -> str:
    exact = [row for row in found.rows if row.relation in ("exact", "floats", "form")]
    real = [row for row in found.rows if row.relation == "real" and row.agreement is not None]
    lines = []
    if exact:
        different = len(found.different)
        lines.append(f"DIFFERENT: {different} of {len(exact)} tensors" if different else f"EQUAL: {len(exact)} tensors")
    if real:
        worst = min(real, key=lambda row: row.agreement.sqnr if row.agreement else math.inf)
        assert worst.agreement is not None
        lines.append(f"integers beside floats: least SQNR {worst.agreement.sqnr:.1f} dB, of '{worst.here}'")
    return "\n".join(lines) or "nothing could be compared"


def _json(found: Comparison) -> dict[str, Any]:
    return {
        "here": {"path": found.here.label, "kind": found.here.kind},
        "there": {"path": found.there.label, "kind": found.there.kind},
        "only_here": found.lineup.alone_here,
        "only_there": found.lineup.alone_there,
        "tensors": [_row(row) for row in found.rows],
        "first": found.first.here if found.first is not None else None,
        "exact": None if found.exactly is None else {
            "index": list(found.exactly.index), "value": str(found.exactly.exact), "tie": found.exactly.is_tie,
            "rules": {r.rule: {"result": r.result, "here": r.here, "there": r.there} for r in found.exactly.rules},
        },
        "causes": [
            {"label": c.label, "text": c.text, "operator": c.operator, "node": c.node, "reproduced": c.reproduced,
             "size": c.size} for c in found.causes
        ],
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    entry: dict[str, Any] = {"here": row.here, "there": row.there, "relation": row.relation, "elements": row.elements}
    if row.different is not None:
        entry |= {"different": row.different, "index": list(row.index), "lsb": {str(d): n for d, n in row.lsb.items()}}
    if row.agreement is not None:
        sqnr = row.agreement.sqnr
        entry |= {"sqnr": sqnr if math.isfinite(sqnr) else None, "cosine": row.agreement.cosine}
        entry |= {"largest_lsb": row.agreement.largest} if row.relation == "real" else {}
    return entry


def _tolerance(text: str) -> float:
    value = float(text)
    if not 0 <= value < math.inf:
        raise ValueError(text)
    return value


compare = _Compare()
