"""Five networks from training in PyTorch to int8 and int16, beside ONNX Runtime's static int8: `make networks`.

Each is trained on data that scikit-learn ships, exported by torch.onnx, torch_to_nnef and nnef_tools, and quantized
from these files by `tosa-engine quantize`, with its defaults. The table says what is left of the task's metric on test
samples. Exit code 1: a file is refused, an int8 network is worse than ONNX Runtime's, or floats aren't PyTorch's.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import peer
import torch
from export import OPSET, to_khronos, to_onnx, to_tract
from table import PEER, Row, page, problems
from tasks import TASKS

from quant.metrics import parse
from tosa_engine import Session, cli
from tosa_engine.errors import TosaEngineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from data import Data
    from peer import Array
    from tasks import Task
    from torch import nn

OUT = Path("out/networks")
FLOAT_ONNX = "float.onnx"
PAGE = Path(__file__).parents[2] / "docs" / "torch-networks.md"


def run_task(task: Task, out: Path) -> Iterator[Row]:
    """A row for PyTorch, each exporter's document and ONNX Runtime."""
    folder = out / task.name
    folder.mkdir(parents=True, exist_ok=True)
    samples, start = task.samples(), time.perf_counter()
    network = task.train(samples)
    print(f"  trained in {time.perf_counter() - start:.0f} s")
    with torch.no_grad():
        wanted = np.concatenate([network(torch.from_numpy(x[None])).numpy() for x in samples.test_x])
    np.save(folder / "calibration.npy", samples.calibration)

    def judged(by: str, floats: Array, int8: Array | None = None, int16: Array | None = None) -> Row:
        metric = [None if y is None else measure(task, y, samples) for y in (floats, int8, int16)]
        noise = [None if y is None else sqnr(wanted, y) for y in (floats, int8, int16)]
        return Row(task.words, task.metric, by, metric, noise)

    for by, document in documents(network, samples, folder):
        print(f"  {by}", flush=True)
        if isinstance(document, str):
            yield Row(task.words, task.metric, by, missing=document)
            continue
        try:
            floats = run(Session(document), samples.test_x, wanted.shape)
            integers = [quantized(document, folder, bits, samples, wanted.shape) for bits in (8, 16)]
        except TosaEngineError as error:
            yield Row(task.words, task.metric, by, refused=str(error).splitlines()[0])
        else:
            yield judged(by, floats, *integers)
    onnx = folder / FLOAT_ONNX
    int8 = peer.quantize(onnx, samples.calibration, folder / "int8.onnx")
    yield judged(PEER, peer.run(onnx, samples.test_x), peer.run(int8, samples.test_x))
    yield judged("PyTorch", wanted)


def documents(network: nn.Module, samples: Data, folder: Path) -> Iterator[tuple[str, Path | str]]:
    """What each exporter writes, or why it writes nothing."""
    sample = torch.from_numpy(samples.test_x[:1])
    yield "torch.onnx", to_onnx(network, sample, folder / FLOAT_ONNX)
    yield "torch_to_nnef", to_tract(network, sample, folder / "tract.nnef.tgz")
    onnx = to_onnx(network, sample, folder / "for_nnef_tools.onnx", OPSET)
    khronos = folder / "khronos.nnef"
    yield "nnef_tools", to_khronos(onnx, khronos) or khronos


def quantized(document: Path, folder: Path, bits: int, samples: Data, shape: tuple[int, ...]) -> Array:
    """Real outputs of the integer network that `tosa-engine quantize` makes of a document."""
    made = folder / f"{document.name}.int{bits}.tosa"
    verb("quantize", document, "--data", folder / "calibration.npy", "--bits", bits, "-o", made)
    session = Session(made)
    (port,) = session.inputs
    outputs = [session.run_real(None, {port.name: sample.reshape(port.shape)})[0] for sample in samples.test_x]
    return np.stack(outputs).reshape(shape)


def run(session: Session, samples: Array, shape: tuple[int, ...]) -> Array:
    (port,) = session.inputs
    outputs = [session.run(None, {port.name: sample.reshape(port.shape)})[0] for sample in samples]
    return np.stack(outputs).reshape(shape)


def measure(task: Task, outputs: Array, samples: Data) -> float:
    tally = parse(task.metric).tally()
    for output, target in zip(outputs, samples.test_y, strict=True):
        tally.add({"y": output}, target)
    return tally.value()


def sqnr(wanted: Array, found: Array) -> float:
    """Of all outputs, in dB."""
    noise = float(np.square(found.astype(np.float64) - wanted).sum())
    return float(10 * np.log10(np.square(wanted.astype(np.float64)).sum() / noise)) if noise else float("inf")


def verb(*arguments: object) -> None:
    """Run a command line of tosa-engine, shown before."""
    print("  $ tosa-engine", *arguments, flush=True)
    if code := cli.main([str(a) for a in arguments]):
        raise TosaEngineError(f"quantize ended with exit code {code}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(t.name for t in TASKS)}; default: all")
    parser.add_argument("--out", type=Path, default=OUT, help=f"folder for the files; default: {OUT}")
    parser.add_argument(
        "--markdown", type=Path, help=f"write the page, as {PAGE.relative_to(Path(__file__).parents[2])}"
    )
    args = parser.parse_args(arguments)
    if unknown := set(args.names) - {t.name for t in TASKS}:
        parser.error(f"no network {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    rows: list[Row] = []
    for task in (t for t in TASKS if not args.names or t.name in args.names):
        print(f"\n{task.words}", flush=True)
        rows += run_task(task, args.out)
    text = page(rows)
    print("\n" + text)
    if args.markdown is not None:
        args.markdown.write_text(text, encoding="utf-8")
    found = problems(rows)
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
