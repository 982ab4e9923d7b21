"""The verbs `sensitivity` and `search` of the command `tosa-engine`."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosa_engine.commands.common import add_memory, add_model, add_npu, add_options
from tosa_engine.commands.samples import add_data, samples_of
from tosa_engine.errors import Unsupported, UsageError
from tosa_engine.files import write_atomically
from tosa_engine.text import joined, say

from .calibrate import add_scheme, scheme_of
from .metric_flags import add_metric, metric_of
from .resume import add_resume, bar, finished, journal_path, kept
from .tools import float_graph, needs_floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..legalize.layers import LayerRule
    from ..metrics import Score
    from ..search.cheapest import Found, Target
    from ..search.cycles import Cycles
    from ..search.evaluate import Evaluator
    from ..search.journal import Scores
    from ..search.sensitivity import Sensitivity
    from ..search.units import Unit

USUAL: Final = "int8"


class _Sensitivity:
    """`sensitivity MODEL --statistics FILE --data DATA [-o layers.txt]`."""

    name = "sensitivity"
    help = "measure what each layer's integers cost, one at a time, and which should have 16 bits"
    example = "sensitivity net.onnx --statistics net.stats.json --data test.npz"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_common(parser, self.name)
        parser.add_argument(
            "--share", type=_percent, default=50.0, metavar="PERCENT",
            help="of the noise that layers which get int16 bring together; default: 50",
        )  # fmt: skip

    def run(self, args: argparse.Namespace) -> int:
        from ..search.sensitivity import analyse, measurements

        evaluator, units, journal = _prepared(args)
        with kept(journal.journal), bar("sensitivity", measurements(units), "network") as steps:
            found = analyse(evaluator, journal, units, args.share / 100, steps.update)
        _print_float(evaluator)
        say(*_table(found))
        _finish(args, found.rules(), f"{found.mended} with", _as_json(found))
        finished(args, journal.journal)
        return 0


class _Search:
    """`search MODEL --statistics FILE --data DATA --sqnr DB [-o layers.txt]`."""

    name = "search"
    help = "find the cheapest precision of each layer that reaches a target, measured in integers"
    example = (
        "search net.onnx --statistics net.stats.json --data test.npz --sqnr 40 -o layers.txt\n"
        "search net.onnx --statistics net.stats.json --data test.npz --sqnr 40 --target ethos-u85-256 --max-ms 5"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        _add_common(parser, self.name)
        target = parser.add_argument_group("target").add_mutually_exclusive_group(required=True)
        target.add_argument("--sqnr", type=_number, metavar="DB", help="of the outputs against the float network's")
        target.add_argument(
            "--goal", type=_number, metavar="VALUE", help="of the metric: at least this; of rmse: at most"
        )
        target.add_argument(
            "--drop", type=_number, metavar="VALUE", help="the metric this much worse than in float, at most"
        )
        parser.add_argument(
            "--cost", choices=("both", "macs", "bytes"), default="both",
            help="what is made least: multiplications by their bits, bytes, or the mean of both; default: both",
        )  # fmt: skip
        add_npu(parser)
        parser.add_argument(
            "--max-ms",
            type=_number,
            metavar="MS",
            help="at most this on the --target, whose cycles are made least",
        )
        parser.add_argument(
            "--precisions", type=_precisions, default=("int4", "int8", "int16"), metavar="NAME[,NAME]",
            help="that layers may have; default: int4,int8,int16",
        )  # fmt: skip

    def run(self, args: argparse.Namespace) -> int:
        from ..search.cheapest import Search
        from ..search.cost import Costs
        from ..search.cycles import Cycles

        if args.sqnr is None and args.metric is None and args.targets is None:
            raise UsageError("--goal and --drop are of a --metric, such as accuracy or r2")
        if args.max_ms is not None and args.target is None:
            raise UsageError("--max-ms is time on a --target")
        if args.target is not None:
            _check_clock(args.target, args.max_ms)
        evaluator, units, journal = _prepared(args)
        target, noise = _target(args, evaluator)
        with kept(journal.journal), bar("search", None, "network") as steps:
            cycles = None
            if args.target is not None:
                cycles = Cycles(evaluator, units, args.precisions, args.target, steps.update)
            search = Search(
                evaluator, journal, units, Costs(evaluator.block), args.precisions, args.cost, cycles, steps.update
            )  # fmt: skip
            found = search.run(target, noise)
        _print_float(evaluator)
        say(f"{len(units)} layers, {found.tried} choices measured as a whole")
        rules = _rules(units, found.chosen)
        content = _found_json(found)
        if cycles is None:
            in_time, spent = True, f"{100 * found.cost:.1f} % of the cost of int8"
        else:
            in_time, spent = _timed(cycles, found, args.max_ms, content)
        verdict = "" if found.reached and in_time else "the target is out of reach; nearest: "
        _finish(args, rules, f"{verdict}{found.score}, {spent} with", content)
        finished(args, journal.journal)
        return 0 if found.reached and in_time else 1


def _check_clock(name: str, most: float | None) -> None:
    """Before anything is measured: the target is known, and has a clock where milliseconds are asked for."""
    from tosa_engine.npu import npu

    if not npu(name).clock and most is not None:
        raise UsageError(f"--max-ms: {name} has no clock; 'mhz' in the file says it")


def _timed(cycles: Cycles, found: Found, most: float | None, content: dict[str, Any]) -> tuple[bool, str]:
    """Whether the choice takes no longer than it may; what it takes, compiled as a whole, beside int8 and int16."""
    from ..legalize.layers import INT16

    wide = {unit.name: INT16 for unit in cycles.units if cycles.possible(unit.name, INT16)}
    times = {"found": cycles.of(found.chosen), "int8": cycles.usual, "int16": cycles.of(wide)}
    content["times"] = {name: str(time) if isinstance(time, str) else vars(time) for name, time in times.items()}
    content["target"], content["cycles_by"] = cycles.name, cycles.by
    own = times["found"]
    if isinstance(own, str):
        raise Unsupported(f"{cycles.name}: what was found can't be compiled: {own}", label="TARGET.vela")
    beside = f"int8 {times['int8']}, int16 {times['int16']}"
    in_time = most is None or (own.milliseconds is not None and own.milliseconds <= most)
    return in_time, f"{own} on {cycles.name} by {cycles.by} (every layer in {beside})"


def _add_common(parser: argparse.ArgumentParser, verb: str) -> None:
    add_model(parser)
    parser.add_argument("--statistics", required=True, metavar="FILE", help="what calibrate --statistics kept")
    add_data(parser)
    add_metric(parser)
    add_scheme(parser)
    output = parser.add_argument_group("output")
    output.add_argument("-o", "--output", metavar="FILE", help="write the layers for quantize --layers here, too")
    output.add_argument("--json", metavar="FILE", help="write all numbers here")
    add_memory(parser)
    add_resume(parser, "measurements")
    add_options(parser, verb)


def _prepared(args: argparse.Namespace) -> tuple[Evaluator, list[Unit], Scores]:
    """All that both verbs need; what is wrong with the files is said before the first measurement."""
    from ..calibration import records
    from ..calibration.calibrate import attach
    from ..search.evaluate import Evaluator
    from ..search.journal import Scores, belongs_to
    from ..search.units import units_of

    if bool(args.data) == bool(args.random):
        raise UsageError("samples to measure with come from one of --data and --random")
    journal = journal_path(args)
    for path in (args.output, args.json):
        if path is not None and not Path(path).parent.is_dir():
            raise FileNotFoundError(2, "no such folder", str(Path(path).parent))
    graph, statistics, scheme = float_graph(args), records.read(args.statistics), scheme_of(args)
    needs_floats(graph, args.model)
    units = units_of(attach(graph, statistics, scheme))
    samples = samples_of(args, graph)
    evaluator = Evaluator(graph, statistics, scheme, samples, args.samples, *metric_of(args, samples))
    return evaluator, units, Scores(journal, belongs_to(evaluator), resume=args.resume)


def _target(args: argparse.Namespace, evaluator: Evaluator) -> tuple[Target, float]:
    """Whether a score will do, and the noise that a search begins with."""
    if args.sqnr is not None:
        return lambda score: score.sqnr >= args.sqnr, 10 ** (-args.sqnr / 10)
    metric, real = evaluator.judge.metric, evaluator.judge.real
    assert metric is not None
    assert real is not None
    best, slack = (real.value, args.drop) if args.drop is not None else (args.goal, 0.0)
    allowed = slack + 1e-9 * max(abs(best), 1.0)  # sums of shares of whole samples aren't exact

    def reached(score: Score) -> bool:
        return score.reading is not None and metric.loss(best, score.reading.value) <= allowed

    return reached, math.inf


def _print_float(evaluator: Evaluator) -> None:
    judge = evaluator.judge
    say(f"{judge.count} samples{'' if judge.real is None else f'; in float {judge.real}'}")


def _table(found: Sensitivity) -> list[str]:
    """What a person reads."""
    rows: list[tuple[str, ...]] = [
        ("layer", "operator", "it alone in int8", "it in float, others int8", "it in int16, others int8")
    ]
    rows += [(r.unit.name, r.unit.op, *map(_cell, (r.only, r.without, r.wide))) for r in found.rows]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [f"all layers in int8: {_cell(found.whole)}", "", *lines, ""]


def _cell(found: Score | str | None) -> str:
    return found.splitlines()[0][:60] if isinstance(found, str) else str(found)


def _rules(units: Sequence[Unit], chosen: dict[str, str]) -> list[str]:
    from ..search.units import paste_ready

    return paste_ready(units, chosen, USUAL)


def _finish(args: argparse.Namespace, rules: Sequence[str | LayerRule], title: str, content: dict[str, Any]) -> None:
    """Print the layers, and write what files were asked for."""
    lines = [f"# {title}", *(map(str, rules) if rules else ["# every layer in int8"])]
    say(*lines)
    if args.output is not None:
        write_atomically(args.output, (joined(lines) + "\n").encode())
    if args.json is not None:
        write_atomically(args.json, (json.dumps({**content, "rules": list(map(str, rules))}, indent=1) + "\n").encode())


def _score_json(found: Score | str | None) -> Any:
    if found is None or isinstance(found, str):
        return {"problem": found}
    metric = None if found.reading is None else {found.reading.name: _finite(found.reading.value)}
    return {"sqnr_db": _finite(found.sqnr), "metric": metric}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _as_json(found: Sensitivity) -> dict[str, Any]:
    rows = [
        {
            "layer": r.unit.name, "layers": r.unit.layers, "operator": r.unit.op,
            "only_int8": _score_json(r.only),
            "all_but_it_int8": _score_json(r.without),
            "it_int16": _score_json(r.wide),
        }
        for r in found.rows
    ]  # fmt: skip
    return {"all_int8": _score_json(found.whole), "layers": rows, "chosen": _score_json(found.mended)}


def _found_json(found: Found) -> dict[str, Any]:
    return {"reached": found.reached, "score": _score_json(found.score), "cost": found.cost, "layers": found.chosen}


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise argparse.ArgumentTypeError(f"'{text}' isn't a number")
    return found


def _percent(text: str) -> float:
    found = _number(text)
    if not 0 <= found <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' isn't in 0 .. 100")
    return found


def _precisions(text: str) -> tuple[str, ...]:
    from ..legalize.layers import FLOAT, PRECISIONS

    names = tuple(name.strip() for name in text.split(","))
    unknown = [name for name in names if name not in PRECISIONS or name == FLOAT]
    if unknown:
        raise argparse.ArgumentTypeError(f"'{', '.join(unknown)}': choose from int4, int8, int16")
    return names


sensitivity = _Sensitivity()
search = _Search()
