"""All networks at hand beside the fastest other runtime: python benchmarks/overview.py MODELS [NAME...] [--record]

MODELS has the folders `perf` (QDQ and float ONNX, TFLite), `perf_tflite` (TFLite and the `.tosa` of it), `real` (ONNX
with recorded cases) and `tosa`. Every runtime that takes a network's files and is installed runs on one thread in this
process, in rounds that take turns. Where nothing but ours takes a file, our time stands alone.

Our network has the integers that the file has: from QDQ by `quantize`, from TFLite by Arm's converter. Inputs are the
first recorded case, or random numbers. *ratio* is our best time to the best of the fastest other; *by turn* the median
over the rounds of the ratio of medians, which other work of the machine changes less. Below 1 we are faster. The last
lines are geometric means.

Needs what `pip install tosa-engine[bench]` installs. Exit code 1: a network that another runtime takes is refused.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from pages import record
from results import environment

from tosa_engine import Session, cli
from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

Array = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[], object]
HEADING = "All networks, one thread"
HEAD = ("network", "ours", "median", "fastest other", "its time", "median", "ratio", "by turn")
OURS, WIDTH, ROW = "tosa_engine", 900, 20
TURNS_SECONDS, ROUNDS = 0.1, 12


@dataclass
class Network:
    """A network of a group: how ours is made, the files of others, and a recorded case."""

    name: str
    group: str
    ours: Path
    quantized: bool = False  # made integers by `quantize`
    onnx: Path | None = None
    tflite: Path | None = None
    feeds: Mapping[str, Array] = field(default_factory=dict)
    constants: Mapping[str, Array] = field(default_factory=dict)


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


def networks(models: Path) -> Iterator[Network]:
    for folder in sorted(path for path in (models / "perf").glob("*") if path.is_dir()):
        if (folder / "int8_qdq.onnx").is_file():
            files = {"onnx": folder / "int8_qdq.onnx", "tflite": folder / "int8.tflite"}
            yield Network(f"{folder.name}.int8", "perf int8", files["onnx"], quantized=True, **files)
        if (folder / "float.onnx").is_file():
            yield Network(f"{folder.name}.fp32", "perf fp32", folder / "float.onnx", onnx=folder / "float.onnx")
    for folder in sorted(path.parent for path in (models / "perf_tflite").glob("*/model.tosa")):
        yield Network(folder.name, "perf_tflite", folder / "model.tosa", tflite=folder / "model.tflite")
    for folder in sorted(path.parent for path in (models / "real").glob("*/model.onnx")):
        from onnx_models import cases_of  # with ONNX and ONNX Runtime

        inputs = cases_of(folder / "io.npz")[0].inputs
        fed, fixed = ({n: a for n, a in inputs.items() if (a.ndim == 0) == scalar} for scalar in (False, True))
        yield Network(
            folder.name, "real", folder / "model.onnx", onnx=folder / "model.onnx", feeds=fed, constants=fixed
        )
    for folder in sorted(path.parent for path in (models / "tosa").glob("*/model.tosa")):
        yield Network(folder.name, "tosa", folder / "model.tosa")


def random_array(dtype: np.dtype[Any], shape: Sequence[int]) -> Array:
    rng = np.random.default_rng(0)
    if dtype.kind in "iu":
        return rng.integers(0, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def ours(network: Network, scratch: Path) -> Run:
    if network.quantized:
        made = scratch / f"{network.name}.tosa"
        if code := cli.main(["quantize", str(network.ours), "-q", "-o", str(made)]):
            raise SystemExit(code)
        session = Session(made, 1)
    else:
        shapes = {name: array.shape for name, array in network.feeds.items()}
        options: dict[str, Any] = {"shape": shapes, "constant": dict(network.constants)} if network.feeds else {}
        session = Session(load(network.ours, **options), 1)
    feeds = {
        port.name: network.feeds[port.name].astype(port.dtype)
        if port.name in network.feeds
        else random_array(port.dtype, port.shape)
        for port in session.inputs
    }
    return lambda: session.run(None, feeds)


def litert(network: Network) -> Run:
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(network.tflite), num_threads=1)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()
    arrays = [(one["index"], random_array(np.dtype(one["dtype"]), one["shape"])) for one in details]
    outputs = [one["index"] for one in interpreter.get_output_details()]

    def run() -> list[Array]:
        for index, array in arrays:
            interpreter.set_tensor(index, array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in outputs]

    return run


def onnxruntime(network: Network) -> Run:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 3
    session = ort.InferenceSession(str(network.onnx), options, providers=["CPUExecutionProvider"])
    feeds = {**network.feeds, **network.constants}
    for port in session.get_inputs():
        if port.name not in feeds:
            feeds[port.name] = random_array(np.dtype(np.float32), port.shape)
    return lambda: session.run(None, feeds)


def openvino(network: Network) -> Run:
    import openvino as ov

    core = ov.Core()
    model = core.read_model(str(network.onnx))
    feeds = {**network.feeds, **network.constants}
    if feeds:
        model.reshape({name: array.shape for name, array in feeds.items()})
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    given = {p.any_name: feeds.get(p.any_name, random_array(np.dtype(np.float32), p.shape)) for p in model.inputs}
    return lambda: list(request.infer(given).values())


PEERS: dict[str, tuple[str, Callable[[Network], Run]]] = {
    "LiteRT": ("tflite", litert), "ONNX Runtime": ("onnx", onnxruntime), "OpenVINO": ("onnx", openvino),
}  # fmt: skip


def contenders(network: Network, scratch: Path, absent: set[str]) -> list[Times]:
    found = [Times(OURS, ours(network, scratch))]
    for name, (kind, prepare) in PEERS.items():
        if getattr(network, kind) is None:
            continue
        try:
            run = prepare(network)
            run()
        except ImportError:
            absent.add(name)
        except (RuntimeError, ValueError) as error:
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


def said() -> Iterator[str]:
    """What a record has to say beside its figures."""
    here = environment()
    yield f"{here['date']}, {here['processor']}, Python {here['python']}, load {here['load_average']}."
    for package in ("ai-edge-litert", "onnxruntime", "openvino"):
        try:
            yield f"{package} {metadata.version(package)}."
        except metadata.PackageNotFoundError:
            yield f"{package}: not installed."
    yield "`python benchmarks/overview.py MODELS --record`:"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/RESULTS.md")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="a picture of the ratios")
    args = parser.parse_args(words)
    rows, refused, absent = list[Row](), 0, set[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for network in networks(args.models):
            if args.names and network.name not in args.names:
                continue
            try:
                sides = contenders(network, Path(scratch), absent)
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
    if args.record:
        record(HEADING, "\n".join([" ".join(said()), "", *lines]))
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
