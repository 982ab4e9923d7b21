"""`tosa-engine lut`: the table of a function, its errors over all inputs, and a plot of them."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError, UsageError
from ..plugins import function_at
from ..text import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lut import Table, TableError

SUFFIXES = (".npy", ".json", ".csv")


class _Lut:
    """`lut FUNCTION --in-scale S --out-scale S [--int16] [-o FILE] [--plot FILE]`, `lut --list`."""

    name = "lut"
    help = "make the TABLE of a function and measure its error over all inputs"
    example = (
        "lut tanh --in-scale 4/128 --out-scale 1/128 -o tanh.npy\n"
        "lut leaky_relu --alpha 0.2 --in-scale 1/4096 --out-scale 1/4096 --int16"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "function",
            metavar="FUNCTION",
            nargs="?",
            help="its name (--list shows all), or MODULE:NAME, a Python function of a number; the module is imported",
        )
        parser.add_argument("--list", action="store_true", help="print the names of all functions")
        scales = parser.add_argument_group("quantization")
        scales.add_argument(
            "--in-scale", type=_scale, metavar="S", help="real size of one step of the input, such as 8/256"
        )
        scales.add_argument("--out-scale", type=_scale, metavar="S", help="real size of one step of the output")
        parser.add_argument(
            "--alpha", type=_number, metavar="A", help="of leaky_relu the slope, default: 0.01; of elu, default: 1"
        )
        scales.add_argument(
            "--in-zero-point", type=int, default=0, metavar="Z", help="stored integer that stands for 0, of int8"
        )
        scales.add_argument(
            "--out-zero-point", type=int, default=0, metavar="Z", help="stored integer that stands for 0, of int8"
        )
        scales.add_argument("--int16", action="store_true", help="513 entries with interpolation, not 256 of int8")
        parser.add_argument(
            "--build", choices=("sampled", "fitted"), help="what to write; default: fitted for int16, sampled for int8"
        )
        output = parser.add_argument_group("output")
        output.add_argument("-o", "--output", metavar="FILE", help=f"write the entries: {', '.join(SUFFIXES)}")
        output.add_argument("--plot", metavar="FILE", help="draw table and errors: .svg, .png or .pdf (extra 'plot')")
        output.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed")

    def run(self, args: argparse.Namespace) -> int:
        if args.list:
            from lut import FUNCTIONS

            say(*sorted(FUNCTIONS))
            return 0
        called, function = _function(args)
        _check(args)
        tables = _tables(args, called, function)
        kind = args.build or ("fitted" if args.int16 else "sampled")
        chosen = next((table for table in tables if table.kind == kind), tables[-1])
        if args.format == "json":
            say(*json.dumps(chosen.to_json(), indent=2).split("\n"))
        else:
            say(*_lines(tables, chosen))
        if args.output is not None:
            _write(chosen, Path(args.output))
        if args.plot is not None:
            _plot(tables, function, args.plot)
        return 0


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"'{text}' isn't a finite number")
    return value


def _function(args: argparse.Namespace) -> tuple[str, Callable[[float], float]]:
    """What the function is called, and itself."""
    from lut import ALPHAS, FUNCTIONS, with_alpha

    name = args.function
    if name is None:
        raise UsageError("give the name of a function; tosa-engine lut --list shows all")
    if args.alpha is not None:
        if name not in ALPHAS:
            raise UsageError(f"--alpha is for {' and '.join(sorted(ALPHAS))}, not for '{name}'")
        return f"{name}(alpha = {args.alpha:g})", with_alpha(name, args.alpha)
    module, _, member = name.partition(":")
    if module and member:
        try:
            return name, function_at(module, member)
        except ValueError as problem:
            raise UsageError(f"{name}: {problem}") from problem
    if name not in FUNCTIONS:
        raise UsageError(f"unknown function '{name}'; choose from: {', '.join(sorted(FUNCTIONS))}, or MODULE:NAME")
    return name, FUNCTIONS[name]


def _scale(text: str) -> float:
    """A positive number, or a quotient of two: 1/256."""
    top, slash, bottom = text.partition("/")
    try:
        value = float(top) / float(bottom) if slash else float(top)
    except (ValueError, ZeroDivisionError):
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"'{text}' isn't a positive number, or a quotient such as 1/256")
    return value


def _check(args: argparse.Namespace) -> None:
    missing = [f"--{name.replace('_', '-')}" for name in ("in_scale", "out_scale") if getattr(args, name) is None]
    if missing:
        raise UsageError(f"{' and '.join(missing)} missing: a table belongs to two scales")
    if args.build == "fitted" and not args.int16:
        raise UsageError("--build fitted is for --int16: with 256 entries every input has an entry of its own")
    if args.output is not None and Path(args.output).suffix not in SUFFIXES:
        raise UsageError(f"can't tell what to write to '{args.output}': the name must end in {', '.join(SUFFIXES)}")


def _tables(args: argparse.Namespace, called: str, function: Callable[[float], float]) -> list[Table]:
    """The sampled table (where the function has one, a warning tells), and of int16 the fitted one."""
    from lut import Quantization, TableRangeError, build

    quantization = Quantization(args.in_scale, args.out_scale, args.in_zero_point, args.out_zero_point)
    bits, kinds = (16, ("sampled", "fitted")) if args.int16 else (8, ("sampled",))
    found, problems = [], []
    for kind in kinds:
        try:
            found.append(build(called, function, quantization, bits=bits, kind=kind))
        except TableRangeError as problem:
            problems.append(f"no {kind} table for {called}: {problem}")
    if problems and (not found or (args.build and args.build not in {table.kind for table in found})):
        raise DataError(problems[0])
    for text in problems:
        say(f"warning: {text}", file=sys.stderr)
    return found


def _lines(tables: Sequence[Table], chosen: Table) -> list[str]:
    q = chosen.quantization
    zeros = "" if len(chosen.entries) == 513 else f", zero points {q.in_zero_point} and {q.out_zero_point}"
    head = (
        f"{chosen.function}: {len(chosen.entries)} entries of {chosen.entries.dtype}, "
        f"input scale {q.in_scale!r}, output scale {q.out_scale!r}{zeros}"
    )
    count = len(chosen.inputs)
    lines = [head, f"errors over all {count:,} inputs, in LSB of the output (1 LSB = {q.out_scale:.6g}):"]
    lines.append(f"{'':9}{'largest':>10} {'at':>7} {'mean':>9} {'rms':>9} {'within 1':>10} {'largest, real':>14}")
    for table in tables:
        e = table.error
        lines.append(
            f"{table.kind:9}{e.largest:10.4f} {e.at:7d} {e.mean:9.4f} {e.rms:9.4f} {100 * e.within_1:9.3f}% "
            f"{e.largest * e.lsb:14.4g}"
        )
    return [*lines, _saturation(chosen.error)]


def _saturation(error: TableError) -> str:
    """Where the end of the range counts as right, above, and what that hides."""
    if not error.saturated:
        return "no input saturates"
    share = 100 * error.saturated / error.inputs
    return (
        f"{error.saturated:,} of {error.inputs:,} inputs saturate ({share:.1f} %): the function is up to "
        f"{error.beyond:.6g} LSB ({error.beyond * error.lsb:.4g}) beyond the entries; above, their end counts as right"
    )


def _write(table: Table, path: Path) -> None:
    if path.suffix == ".npy":
        import numpy as np

        np.save(path, table.entries)
    elif path.suffix == ".json":
        path.write_text(json.dumps(table.to_json(), indent=2) + "\n", encoding="utf-8")
    else:
        path.write_text("".join(f"{entry}\n" for entry in table.entries.tolist()), encoding="utf-8")


def _plot(tables: Sequence[Table], function: Callable[[float], float], path: str) -> None:
    """Above the function and the table's results, below the errors in LSB."""
    if Path(path).suffix not in (".svg", ".png", ".pdf"):
        raise UsageError(f"can't draw '{path}': the name must end in .svg, .png or .pdf")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("--plot needs matplotlib; try: pip install 'tosa-engine[plot]'") from None
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    truth = tables[0].truth(function)
    above.plot(tables[0].inputs, truth, color="#bbbbbb", linewidth=4, label=tables[0].function, rasterized=True)
    for table, colour in zip(tables, ("#d55e00", "#0072b2"), strict=False):
        found = table.results()
        above.plot(table.inputs, found, color=colour, linewidth=1, label=f"table, {table.kind}", rasterized=True)
        label = f"{table.kind}: at most {table.error.largest:.3f}"
        below.plot(table.inputs, (found - truth) / table.error.lsb, color=colour, linewidth=0.8, label=label,
                   rasterized=True)  # fmt: skip
    above.set_ylabel("output")
    below.set_ylabel("error, LSB of the output")
    below.set_xlabel("input")
    for axes in (above, below):
        axes.grid(visible=True, linewidth=0.4)
        axes.legend(loc="best")
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.endswith(".svg") else None)


command = _Lut()
