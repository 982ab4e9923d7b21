"""A trained network from float to integers: calibrate, quantize, run both, compare. `make demo` runs this."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quant import quantize_array, read_hints, report
from tosa_engine import Session, cli
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.graph import QParams

Array = np.ndarray[Any, np.dtype[Any]]
HERE = Path(__file__).parent
MODEL = HERE / "digits.nnef"
DATA = HERE / "digits_data.npz"
OUT = Path("out")
REFERENCE_IMAGES = 50


@dataclass(frozen=True)
class Result:
    """What the demo found. `agrees` is None where the reference model isn't installed."""

    images: int
    float_accuracy: float
    integer_accuracy: float
    largest_layer_error: float
    agrees: bool | None


def run_demo(out: Path = OUT, images: int | None = None, calibration: int = 200) -> Result:
    """The whole demo. Writes graph.quant and digits.tosa to `out`; `images` limits the test images."""
    out.mkdir(parents=True, exist_ok=True)
    with np.load(DATA, allow_pickle=False) as data:
        test_images, labels = data["test_images"][:images, None], data["test_labels"][:images]

    heading("Calibrate on", calibration, "training images")
    verb("calibrate", MODEL, "--data", DATA, "--samples", calibration, "-o", out / "graph.quant")

    heading("Quantize")
    verb("quantize", MODEL, "--quant", out / "graph.quant", "-o", out / "digits.tosa")
    verb("check", out / "digits.tosa", "--profile", "PRO-INT")

    heading("Run", len(test_images), "test images in float and in integers")
    qparams = read_hints(out / "graph.quant")
    stored_images = quantize_array(test_images, qparams["input"])
    float_scores = classify("float", MODEL, test_images, labels)
    integer_scores = classify("integer", out / "digits.tosa", stored_images, labels)

    return Result(
        len(test_images),
        accuracy(float_scores, labels),
        accuracy(integer_scores, labels),
        report_layers(out / "digits.tosa", qparams, test_images[:REFERENCE_IMAGES]),
        ask_reference(out, stored_images[:REFERENCE_IMAGES], integer_scores[:REFERENCE_IMAGES]),
    )


def classify(name: str, model: Path, images: Array, labels: Array) -> Array:
    """Scores of all images, one run each, after a first run that compiles. Prints accuracy and speed."""
    session = Session(model)
    session.run(None, {"input": images[0]})
    start = time.perf_counter()
    scores = np.stack([session.run(None, {"input": image})[0] for image in images])
    seconds = time.perf_counter() - start
    correct = int(accuracy(scores, labels) * len(labels) / 100 + 0.5)
    share = f"{accuracy(scores, labels):6.2f} %  ({correct} of {len(labels)})"
    print(f"  {name:8} accuracy {share}   {len(images) / seconds:8.0f} images/s")
    return scores


def report_layers(model: Path, qparams: Mapping[str, QParams], images: Array) -> float:
    """The largest difference of any layer from the float network, in steps (LSB) of its integers; prints the layers."""
    heading("Error of each layer over", len(images), "images, in LSB, with those of the layers before it")
    errors = report.layer_errors(load(MODEL), load(model), [{"input": image} for image in images], qparams)
    for error in errors:
        print(f"  {error.tensor:12} largest {error.largest:6.2f}   mean {error.mean:6.3f}")
    print("  (a value beyond the calibrated range saturates, and counts with its full distance)")
    return max(error.largest for error in errors)


def accuracy(scores: Array, labels: Array) -> float:
    """The share of images whose highest score is the label's, in per cent."""
    return 100 * float(np.mean(scores.reshape(len(labels), -1).argmax(axis=1) == labels))


def ask_reference(out: Path, images: Array, scores: Array) -> bool | None:
    """Whether Arm's reference model computes the same bytes from digits.tosa; None where it isn't installed."""
    heading("Compare with tosa_reference_model")
    if importlib.util.find_spec("tosa_reference_model") is None:
        print(f"  not installed; {short(Path(sys.executable))} -m pip install tosa-tools, then run this again")
        return None
    np.save(out / "samples.npy", images)
    files: list[str | Path] = [out / name for name in ("digits.tosa", "samples.npy", "reference.npy")]
    done = subprocess.run([sys.executable, HERE / "reference.py", *files], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the reference model failed:\n{done.stderr}")
    reference: Array = np.load(files[-1], allow_pickle=False)
    agrees = reference.tobytes() == scores.tobytes()
    print(f"  {len(images)} images: {'the same bytes' if agrees else 'DIFFERENT BYTES'}")
    return agrees


def verb(*arguments: object) -> None:
    """Run a command line of tosa-engine, shown before; end the demo with its exit code when it fails."""
    words = [short(a) for a in arguments]
    print("  $ tosa-engine", " ".join(words), flush=True)
    code = cli.main(words)
    if code:
        sys.exit(code)


def short(argument: object) -> str:
    """A path below the current folder as seen from there."""
    here = Path.cwd()
    if isinstance(argument, Path) and argument.is_relative_to(here):
        return str(argument.relative_to(here))
    return str(argument)


def heading(*words: object) -> None:
    print("\n" + " ".join(str(w) for w in words), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, help="how many test images; default: all 597")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for the files; default: out")
    args = parser.parse_args(arguments)
    result = run_demo(args.out, args.images)
    heading("Files:", ", ".join(str(args.out / name) for name in ("graph.quant", "digits.tosa")))
    lost = result.float_accuracy - result.integer_accuracy
    print(
        f"Integers lose {lost:.2f} points of accuracy. Largest error of a layer: {result.largest_layer_error:.2f} LSB."
    )
    return 1 if lost > 0.5 or result.agrees is False else 0


if __name__ == "__main__":
    sys.exit(main())
