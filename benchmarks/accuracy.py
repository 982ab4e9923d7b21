"""How near int8 networks come to their float networks: ours beside LiteRT's and ONNX Runtime's own, on the same inputs.

    python benchmarks/accuracy.py MODELS [NAME ...] [--inputs N] [--markdown FILE]

MODELS holds `perf/NAME/` with what each peer's own tool quantized (`int8.tflite`, `int8_qdq.onnx`), the float network
(`float.onnx`, `float_io.npz`) and, here or in `tosa/NAME.fp/`, the float network that we read. We calibrate on 16
inputs of the kind that the peers' files were made with: crops of a photograph that scikit-learn ships, or normal random
numbers. None of them is among the inputs that are compared.

Output SQNR in dB: 10 * log10(sum of squares of the float outputs / sum of squares of the differences), over all inputs;
the float outputs are ONNX Runtime's. Exit code 1: a peer is nearer than our default.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quant import Method, Scheme, attach, dequantize_array, quantize, quantize_array
from quant.calibration.observe import collect
from tosa_engine import Session
from tosa_engine.compare import Agreement
from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from quant.calibration.records import Statistics
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

    Run = Callable[[Array], Array]

CALIBRATION = range(100, 116)  # seeds of inputs
FIRST = 200
MEAN, DEVIATION = 0.45, 0.225  # of pixels of 0 to 1
NETWORKS = {
    "mobilenet_v2_w100_224": ("perf/mobilenet_v2_w100_224/float.nnef", 224),
    "encoder_block_T64_D128": ("perf/encoder_block_T64_D128/float.nnef", None),
    "unet_64": ("perf/unet_64/float.nnef", 64),
}
OURS = "tosa-engine"
SCHEMES = {
    OURS: Scheme(),
    f"{OURS}, minmax": Scheme(Method("minmax")),
    f"{OURS}, percentile": Scheme(Method("percentile")),
    f"{OURS}, weights per tensor": Scheme(weights_per_channel=False),
    f"{OURS}, int16 activations": Scheme(Method("minmax", bits=16, symmetric=True), symmetric=True),
}


@dataclass(frozen=True)
class Inputs:
    """`size` of pictures [1,3,size,size]; None: normal random numbers of `shape`."""

    size: int | None
    shape: tuple[int, ...]

    def __call__(self, seed: int) -> Array:
        if self.size is None:
            return np.random.default_rng(seed).normal(size=self.shape).astype(np.float32)
        return crop(self.size, seed)


@cache
def photograph() -> Array:
    """Uint8 [height,width,3]."""
    from sklearn.datasets import load_sample_image

    return load_sample_image("china.jpg")


def crop(size: int, seed: int) -> Array:
    """A square of random place and extent of the photograph, scaled to `size`: float32 [1,3,size,size]."""
    from PIL import Image

    random, whole = np.random.RandomState(seed), photograph()
    side = int(random.randint(size, min(whole.shape[:2]) + 1))
    top, left = (random.randint(0, extent - side + 1) for extent in whole.shape[:2])
    square = Image.fromarray(whole[top : top + side, left : left + side])
    scaled = np.asarray(square.resize((size, size), Image.Resampling.BILINEAR), np.float32) / 255
    normal: Array = ((scaled - MEAN) / DEVIATION).transpose(2, 0, 1)[None].astype(np.float32)
    return normal


def onnx_run(path: Path) -> Run:
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    name = session.get_inputs()[0].name
    return lambda x: session.run(None, {name: x})[0]


def litert_run(path: Path, kernels: str) -> Run:
    """`kernels`: AUTO (XNNPACK) or BUILTIN_REF. Integers at the border are what the file's own scales say."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(str(path), experimental_op_resolver_type=OpResolverType[kernels])
    interpreter.allocate_tensors()
    (given,), (found,) = interpreter.get_input_details(), interpreter.get_output_details()

    def run(x: Array) -> Array:
        if x.shape != tuple(given["shape"]):
            x = x.transpose(0, 2, 3, 1)
        interpreter.set_tensor(given["index"], _stored(x, given))
        interpreter.invoke()
        return _real(interpreter.get_tensor(found["index"]), found)

    return run


def _stored(x: Array, details: dict[str, Any]) -> Array:
    if details["dtype"] is np.float32:
        return x
    scale, zero_point = details["quantization"]
    limits = np.iinfo(details["dtype"])
    return np.clip(np.rint(x / scale) + zero_point, limits.min, limits.max).astype(details["dtype"])


def _real(y: Array, details: dict[str, Any]) -> Array:
    scale, zero_point = details["quantization"]
    return y if details["dtype"] is np.float32 else (y.astype(np.float64) - zero_point) * scale


def our_run(graph: Graph, statistics: Statistics, scheme: Scheme) -> Run:
    integer = quantize(attach(graph, statistics, scheme))
    session, (given,), (found,) = Session(integer), integer.inputs, integer.outputs
    assert given.quant is not None
    assert found.quant is not None
    before, after = given.quant, found.quant
    return lambda x: dequantize_array(session.run(None, {given.name: quantize_array(x, before)})[0], after)


def sqnr(wanted: list[Array], got: list[Array]) -> float:
    """In dB, over all arrays together."""
    agreement = Agreement()
    for w, g in zip(wanted, got, strict=True):
        agreement.add_floats(g, w)
    return agreement.sqnr


def measure(models: Path, name: str, count: int) -> Iterator[tuple[str, float, float]]:
    """(who, SQNR of the recorded input, of `count` other inputs)."""
    file, size = NETWORKS[name]
    folder = models / "perf" / name
    recorded = np.load(folder / "float_io.npz")["in0"]
    inputs = Inputs(size, recorded.shape)
    samples = [recorded, *(inputs(FIRST + i) for i in range(count))]
    exact = onnx_run(folder / "float.onnx")
    wanted = [exact(x) for x in samples]
    graph = load(models / file)
    statistics = collect(graph, ((i, {graph.main.inputs[0]: inputs(seed)}) for i, seed in enumerate(CALIBRATION)))
    floats = Session(graph)
    assert sqnr(wanted[:1], floats.run(None, {graph.main.inputs[0]: recorded})) > 100, "not the same float network"
    runs: dict[str, Callable[[], Run]] = {
        "LiteRT": lambda: litert_run(folder / "int8.tflite", "AUTO"),
        "LiteRT, reference kernels": lambda: litert_run(folder / "int8.tflite", "BUILTIN_REF"),
        "ONNX Runtime": lambda: onnx_run(folder / "int8_qdq.onnx"),
        **{who: (lambda scheme=scheme: our_run(graph, statistics, scheme)) for who, scheme in SCHEMES.items()},
    }
    for who, make in runs.items():
        try:
            run = make()
        except TosaEngineError as problem:
            print(f"{name}: {who}: left out: {problem}")
            yield who, np.nan, np.nan
            continue
        got = [run(x) for x in samples]
        yield who, sqnr(wanted[:1], got[:1]), sqnr(wanted[1:], got[1:])


def table(found: dict[str, dict[str, tuple[float, float]]]) -> list[str]:
    """Markdown: a row for each of those who compute, two columns for each network."""
    names = list(found)
    lines = [
        f"| int8 | {' | '.join(f'{name}: recorded input | other inputs' for name in names)} |",
        f"|---|{'---:|---:|' * len(names)}",
    ]
    for who in found[names[0]]:
        cells = ["-" if np.isnan(value) else f"{value:.2f}" for name in names for value in found[name][who]]
        lines.append(f"| {who} | {' | '.join(cells)} |")
    return lines


def behind(found: dict[str, dict[str, tuple[float, float]]]) -> list[str]:
    """Where a peer is nearer to the float network than our default."""
    return [
        f"{name}: {who} {theirs[i]:.2f} dB on the {what}, {OURS} {rows[OURS][i]:.2f} dB"
        for name, rows in found.items()
        for who, theirs in rows.items()
        if not who.startswith(OURS)
        for i, what in enumerate(("recorded input", "other inputs"))
        if not theirs[i] <= rows[OURS][i]
    ]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NETWORKS)}; default: all")
    parser.add_argument("--inputs", type=int, default=16, metavar="N", help="beside the recorded one; default: 16")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    args = parser.parse_args(words)
    unknown = [name for name in args.names if name not in NETWORKS]
    if unknown:
        parser.error(f"unknown network: {', '.join(unknown)}; choose from: {', '.join(NETWORKS)}")
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name in args.names or NETWORKS:
        found[name] = {}
        for who, recorded, others in measure(args.models, name, args.inputs):
            found[name][who] = recorded, others
            if not np.isnan(others):
                print(f"{name}: {who}: {recorded:.2f} dB recorded input, {others:.2f} dB {args.inputs} others")
    lines = table(found)
    packages = ("ai-edge-litert", "onnxruntime")
    print("\n".join(["", *lines, "", *(f"{package} {metadata.version(package)}" for package in packages)]))
    if args.markdown is not None:
        args.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for line in behind(found):
        print(f"behind: {line}")
    return 1 if behind(found) else 0


if __name__ == "__main__":
    sys.exit(main())
