"""All networks beside the fastest other runtime: python benchmarks/overview.py MODELS [NAME...] [OPTIONS]

MODELS has the folders `perf` (QDQ and float ONNX, TFLite), `perf_tflite` (TFLite and the `.tosa` of it), `real` (ONNX
with recorded cases) and `tosa`. Every runtime that takes a network's files and is installed runs on one thread in this
process, in rounds that take turns. Where nothing but ours takes a file, our time stands alone.

Our network has the integers that the file has: from QDQ by `quantize`, from TFLite by Arm's converter. Inputs are the
first recorded case, or random numbers. *ratio* is our best time to the best of the fastest other; *by turn* the median
over the rounds of the ratio of medians, which other work of the machine changes less. Below 1 we are faster. The last
lines of the groups are geometric means. The first line says what a run costs besides its steps.

With `--avx2`, ours (TOSA_ENGINE_KERNELS) and OpenVINO (ONEDNN_MAX_CPU_ISA) use vectors of AVX2 alone; the others can't
be limited. `--batch 8`: a batch of the model's own, or as many runs where the file or the runtime takes none.

Needs what `pip install tosa-engine[bench]` installs. Exit code 1: a network that another runtime takes is refused.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
from all_networks import PEERS, Network, Run, networks, ours
from pages import record
from results import environment

from tosa_engine import Session, types
from tosa_engine.builder import Builder
from tosa_engine.errors import TosaEngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

HEADING = "All networks, one thread"
AVX2_HEADING = "Vectors of AVX2 alone, one thread"
AVX2_NOTE = """OpenVINO obeys `ONEDNN_MAX_CPU_ISA=AVX2`: its int8 networks take about twice as long with it (ResNet-18
60 ms instead of 25, MobileNetV2 16 instead of 9, minutes apart on the same busy machine). ONNX Runtime and LiteRT are
left out: no variable for it is documented, and none was found in ONNX Runtime's library."""
HEAD = ("network", "ours", "median", "fastest other", "its time", "median", "ratio", "by turn")
PACKAGES = ("ai-edge-litert", "onnxruntime", "openvino")
OURS, WIDTH, ROW = "tosa_engine", 900, 20
TURNS_SECONDS, ROUNDS = 0.1, 12


@dataclass
class Times:
    """Seconds of single runs, round by round."""

    name: str
    run: Run
    rounds: list[list[float]] = field(default_factory=list)

    @property
    def best(self) -> float:
        return min(min(one) for one in self.rounds)

    @property
    def middle(self) -> float:
        return median(seconds for one in self.rounds for seconds in one)


def contenders(network: Network, scratch: Path, absent: set[str], peers: Collection[str]) -> list[Times]:
    found = [Times(OURS, ours(network, scratch))]
    for name, (kind, prepare) in PEERS.items():
        if getattr(network, kind) is None or name not in peers:
            continue
        try:
            run = prepare(network)
            run()
        except ImportError:
            absent.add(name)
        except Exception as error:  # noqa: BLE001  # the errors of ONNX Runtime have no other class in common
            print(f"{network.name}: {name} doesn't take it: {str(error).splitlines()[0]}", file=sys.stderr)
        else:
            found.append(Times(name, run))
    return found


def measure(sides: Sequence[Times]) -> None:
    for side in sides:
        side.run()
    for _ in range(ROUNDS):
        for side in sides:
            seconds, until = list[float](), time.perf_counter() + TURNS_SECONDS
            while time.perf_counter() < until:
                begin = time.perf_counter()
                side.run()
                seconds.append(time.perf_counter() - begin)
            side.rounds.append(seconds)


@dataclass(frozen=True)
class Row:
    network: Network
    mine: Times
    other: Times | None

    @property
    def ratio(self) -> float:
        return self.mine.best / self.other.best if self.other else math.nan

    @property
    def by_turn(self) -> float:
        if self.other is None:
            return math.nan
        return median(median(a) / median(b) for a, b in zip(self.mine.rounds, self.other.rounds, strict=True))

    def cells(self) -> list[str]:
        mine = [self.network.name, f"{self.mine.best * 1e3:.4g} ms", f"{self.mine.middle * 1e3:.4g} ms"]
        if self.other is None:
            return [*mine, "-", "-", "-", "-", "-"]
        theirs = [self.other.name, f"{self.other.best * 1e3:.4g} ms", f"{self.other.middle * 1e3:.4g} ms"]
        return [*mine, *theirs, f"{self.ratio:.2f}", f"{self.by_turn:.2f}"]


def geometric_mean(values: Iterable[float]) -> float:
    return math.exp(float(np.mean([math.log(value) for value in values])))


def table(rows: Sequence[Row]) -> list[str]:
    """Groups one after the other, each with its geometric means."""
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"]
    for group in dict.fromkeys(row.network.group for row in rows):
        mine = [row for row in rows if row.network.group == group]
        lines += [f"| {' | '.join(row.cells())} |" for row in mine]
        compared = [row for row in mine if row.other is not None]
        if compared:
            means = [math.exp(np.mean(np.log([getattr(row, key) for row in compared]))) for key in ("ratio", "by_turn")]
            lines.append(
                f"| **{group}, {len(compared)} networks** | | | | | | **{means[0]:.2f}** | **{means[1]:.2f}** |"
            )
    return lines


def picture(rows: Sequence[Row]) -> str:
    """A bar for each ratio, from 1: to the left where we are faster, each doubling as wide."""
    shown = [row for row in rows if row.other is not None]
    middle, unit, shapes = WIDTH * 0.62, WIDTH * 0.11, list[str]()
    for i, row in enumerate(shown):
        wide, y = math.log2(row.ratio) * unit, 30 + i * ROW
        left = middle + min(wide, 0)
        colour = "#0072b2" if wide < 0 else "#d55e00"
        shapes.append(f'<rect x="{left:.1f}" y="{y}" width="{abs(wide):.1f}" height="{ROW - 5}" fill="{colour}"/>')
        shapes.append(f'<text x="8" y="{y + 12}">{row.network.name}</text>')
        shapes.append(f'<text x="{WIDTH - 8}" y="{y + 12}" text-anchor="end">{row.ratio:.2f} {row.other.name}</text>')
    high = 40 + len(shown) * ROW
    marks = [
        f'<line x1="{middle + k * unit:.1f}" x2="{middle + k * unit:.1f}" y1="24" y2="{high - 8}" stroke="#bbb"/>'
        f'<text x="{middle + k * unit:.1f}" y="16" text-anchor="middle">{2.0**k:g}</text>'
        for k in (-2, -1, 0, 1, 2)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" font-family="sans-serif" '
        f'font-size="12"><rect width="100%" height="100%" fill="white"/>{"".join([*marks, *shapes])}</svg>\n'
    )


def limit_to_avx2() -> list[str]:
    """Before anything is loaded that looks at the processor: our kernels and oneDNN use AVX2 alone. The runtimes that
    can be limited: XNNPACK (LiteRT) and ONNX Runtime's kernels ask the processor, and no variable changes that.
    """
    os.environ["TOSA_ENGINE_KERNELS"] = "avx2"
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"
    return ["OpenVINO"]


def said(options: str, script: str = "overview.py", packages: Sequence[str] = PACKAGES) -> Iterator[str]:
    """What a record has to say beside its figures."""
    here = environment()
    yield f"{here['date']}, {here['processor']}, Python {here['python']}, load {here['load_average']}."
    for package in packages:
        try:
            yield f"{package} {metadata.version(package)}."
        except metadata.PackageNotFoundError:
            yield f"{package}: not installed."
    yield f"`python benchmarks/{script} MODELS {options}--record`:"


def best(run: Callable[[], object], times: int) -> float:
    found = math.inf
    for _ in range(times):
        start = time.perf_counter()
        run()
        found = min(found, time.perf_counter() - start)
    return found


def fixed_cost() -> tuple[float, float]:
    """Seconds of a run of one RESCALE, and of its step."""
    b = Builder()
    scale = b.const([1 << 30], types.i32), b.const([30], types.i8), b.const([0], types.i8), b.const([0], types.i8)
    x = b.input(types.i8, (1, 16), "x")
    b.output(
        b.op(
            "RESCALE", x, *scale, dtype=types.i8, scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False,
            input_unsigned=False, output_unsigned=False,
        )
    )  # fmt: skip
    session, feeds = Session(b.graph(), 1, compiled=True), {"x": np.zeros((1, 16), np.int8)}
    session.run(None, feeds)
    program = session._planner.prepared(frozenset()).borrow(1).main.program
    assert program.walk is not None
    walk, address = program.walk, program.address
    step = best(lambda: walk(address, 0, 1, 1, 0, 0), 20000) - best(lambda: walk(address, 0, 0, 1, 0, 0), 20000)
    return best(lambda: session.run(None, feeds), 20000) - best(lambda: None, 20000), step


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/RESULTS.md")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="a picture of the ratios")
    parser.add_argument("--avx2", action="store_true", help="vectors of AVX2 alone, beside what can be limited to them")
    parser.add_argument("--batch", type=int, default=1, help="samples of a run; times are those of all of them")
    args = parser.parse_intermixed_args(words)
    peers = limit_to_avx2() if args.avx2 else list(PEERS)
    whole, step = fixed_cost()
    cost = f"One RESCALE of 16 elements: {whole * 1e6:.2f} us, {(whole - step) * 1e6:.2f} us of them besides its step."
    print(cost)
    rows, refused, absent = list[Row](), 0, set[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for network in (replace(one, batch=args.batch) for one in networks(args.models)):
            if args.names and network.name not in args.names:
                continue
            try:
                sides = contenders(network, Path(scratch), absent, peers)
            except TosaEngineError as error:
                print(f"{network.name}: refused: {str(error).splitlines()[0]}", file=sys.stderr)
                refused += 1
                continue
            measure(sides)
            rows.append(Row(network, sides[0], min(sides[1:], key=lambda side: side.best, default=None)))
            print(" ".join(rows[-1].cells()), flush=True)
    lines = table(rows)
    lines += [f"Not installed: {', '.join(sorted(absent))}."] if absent else []
    print("\n".join(lines))
    if args.svg:
        args.svg.write_text(picture(rows), encoding="utf-8")
    shown = ["", f"![Ratios]({args.svg.name})"] if args.svg else []
    if args.record:
        options = ("--avx2 " if args.avx2 else "") + (f"--batch {args.batch} " if args.batch > 1 else "")
        heading = f"{AVX2_HEADING if args.avx2 else HEADING}{f', batch {args.batch}' if args.batch > 1 else ''}"
        note = ["", AVX2_NOTE] if args.avx2 else []
        record(heading, "\n".join([" ".join(said(options)), "", *lines, "", cost, *shown, *note]))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
