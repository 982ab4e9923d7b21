"""How long the methods of quantization take: python benchmarks/quantizing.py [--network vit] [--what adaround ...]

AdaRound with bias correction on 32 samples, and sensitivity on 16, of a vision transformer (0.46 M weights) and of
MobileNetV2 at 96 x 96 (width 0.5, 0.58 M weights), both with random weights. Processor seconds of this process, with
all its threads; and a digest of what came out (rounded weights, biases, ranking), to hold checkouts against each other.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.observe import collect
from quant.improve.post_training import Options, quantize_from_samples
from quant.search.evaluate import Evaluator
from quant.search.journal import Scores
from quant.search.sensitivity import analyse
from quant.search.units import units_of
from tosa_engine.frontends.nnef import write_dat
from tosa_engine.load import load
from tosa_engine.samples.arrays import RandomSamples

if TYPE_CHECKING:
    from tosa_engine.graph import Graph

TOKENS, WIDTH, HEADS, DEPTH = 64, 96, 4, 4
BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


class Document:
    """An NNEF document in the making: its lines, and its weights in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.rng = folder, np.random.default_rng(1)
        self.variables, self.lines, self.weights = list[str](), list[str](), 0

    def variable(self, values: Any) -> str:
        name = f"w{len(self.variables)}"
        (self.folder / f"{name}.dat").write_bytes(write_dat(np.asarray(values, np.float32)))
        self.variables.append(f"{name} = variable(shape = {list(np.shape(values))}, label = '{name}');")
        self.weights += np.size(values)
        return name

    def normal(self, *shape: int, scale: float = 1.0) -> str:
        return self.variable(self.rng.normal(size=shape) * scale)

    def line(self, expression: str) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {expression};")
        return name

    def linear(self, x: str, depth: int, wide: int) -> str:
        weight, bias = self.normal(wide, depth, scale=depth**-0.5), self.normal(1, wide, scale=0.1)
        return self.line(f"linear({x}, {weight}, {bias})")

    def conv(self, x: str, depth: int, wide: int, kernel: int, stride: int = 1, groups: int = 1) -> str:
        weight = self.normal(wide, depth // groups, kernel, kernel, scale=(2 * groups / depth) ** 0.5 / kernel)
        bias, end = self.normal(1, wide, scale=0.1), kernel // 2
        pads = f"padding = [({end}, {end}), ({end}, {end})], stride = [{stride}, {stride}], groups = {groups}"
        return self.line(f"conv({x}, {weight}, {bias}, {pads})")

    def written(self, shape: list[int], result: str) -> Graph:
        body = "\n    ".join([f"x = external(shape = {shape});", *self.variables, *self.lines, f"y = copy({result});"])
        head = "version 1.0;\nextension KHR_enable_operator_expressions;\n\n"
        text = f"{head}graph net( x ) -> ( y )\n{{\n    {body}\n}}\n"
        (self.folder / "graph.nnef").write_text(text, encoding="utf-8")
        return load(self.folder)


def vision_transformer(folder: Path) -> Graph:
    """32 x 32 pictures in patches of 4 x 4: 64 tokens of 96 channels, four blocks of four heads."""
    d = Document(folder)
    x = d.line(f"conv(x, {d.normal(WIDTH, 3, 4, 4, scale=48**-0.5)}, {d.normal(1, WIDTH)}, stride = [4, 4])")
    x = d.line(f"reshape({x}, shape = [{WIDTH}, {TOKENS}])")
    x = d.line(f"transpose({x}, axes = [1, 0])")
    x = d.line(f"{x} + {d.normal(TOKENS, WIDTH, scale=0.3)}")
    for _ in range(DEPTH):
        x = d.line(f"{x} + {_attention(d, _normalized(d, x))}")
        up = d.linear(_normalized(d, x), WIDTH, 4 * WIDTH)
        gate = d.line(f"sigmoid({d.line(f'{up} * 1.702')})")
        x = d.line(f"{x} + {d.linear(d.line(f'{up} * {gate}'), 4 * WIDTH, WIDTH)}")
    x = d.line(f"mean_reduce({_normalized(d, x)}, axes = [0])")
    return d.written([1, 3, 32, 32], d.linear(x, WIDTH, 10))


def _normalized(d: Document, x: str) -> str:
    mean = d.line(f"mean_reduce({x}, axes = [1])")
    centred = d.line(f"{x} - {mean}")
    power = d.line(f"mean_reduce({d.line(f'{centred} * {centred}')}, axes = [1])")
    scaled = d.line(f"{centred} * {d.line(f'rsqrt({power} + 1e-5)')}")
    gain = d.line(f"{scaled} * {d.variable(d.rng.uniform(0.5, 1.5, (1, WIDTH)))}")
    return d.line(f"{gain} + {d.normal(1, WIDTH, scale=0.1)}")


def _attention(d: Document, x: str) -> str:
    size = WIDTH // HEADS
    q, k, v = (
        d.line(f"transpose({d.line(f'reshape({d.linear(x, WIDTH, WIDTH)}, shape = [{TOKENS}, {HEADS}, {size}])')}, "
               "axes = [1, 0, 2])")
        for _ in range(3)
    )  # fmt: skip
    scores = d.line(f"matmul({q}, {k}, transposeA = false, transposeB = true)")
    share = d.line(f"softmax({d.line(f'{scores} * {size**-0.5}')}, axes = [2])")
    mixed = d.line(f"transpose({d.line(f'matmul({share}, {v})')}, axes = [1, 0, 2])")
    return d.linear(d.line(f"reshape({mixed}, shape = [{TOKENS}, {WIDTH}])"), WIDTH, WIDTH)


def mobilenet(folder: Path) -> Graph:
    """MobileNetV2, width 0.5, pictures of 96 x 96, 10 classes; batch normalizations folded."""
    d = Document(folder)

    def relu6(x: str) -> str:
        return d.line(f"clamp({x}, 0.0, 6.0)")

    x, depth = relu6(d.conv("x", 3, 16, 3, 2)), 16
    for expand, wide, repeats, first in BLOCKS:
        wide //= 2
        for i in range(repeats):
            stride, inside, into = first if i == 0 else 1, depth * expand, x
            if expand > 1:
                x = relu6(d.conv(x, depth, inside, 1))
            x = relu6(d.conv(x, inside, inside, 3, stride, inside))
            x = d.conv(x, inside, wide, 1)
            if stride == 1 and depth == wide:
                x = d.line(f"{into} + {x}")
            depth = wide
    x = d.line(f"mean_reduce({relu6(d.conv(x, depth, 640, 1))}, axes = [2, 3])")
    return d.written([1, 3, 96, 96], d.linear(d.line(f"reshape({x}, shape = [1, 640])"), 640, 10))


def adaround(graph: Graph, count: int) -> str:
    samples = [sample for _, sample in RandomSamples(count, 0, graph.inputs).read(range(count))]
    result = quantize_from_samples(graph, samples, Options(rounding="adaround", bias_correction=True))
    found = hashlib.sha256()
    for name in sorted(result.graph.main.tensors):
        data = result.graph.main.tensors[name].data
        if data is not None:
            found.update(np.ascontiguousarray(data).tobytes())
    return found.hexdigest()[:16]


def sensitivity(graph: Graph, count: int) -> str:
    samples, scheme = RandomSamples(count, 0, graph.inputs), Scheme()
    statistics = collect(graph, samples.read(range(count)))
    evaluator = Evaluator(graph, statistics, scheme, samples)
    found = analyse(evaluator, Scores(None, {}), units_of(attach(graph, statistics, scheme)))
    rows = [(row.unit.name, str(row.only), str(row.without), str(row.wide)) for row in found.rows]
    return hashlib.sha256(repr((str(found.whole), rows, str(found.mended))).encode()).hexdigest()[:16]


NETWORKS = {"vit": vision_transformer, "mobilenet": mobilenet}
WORK = {"adaround": (adaround, 32), "sensitivity": (sensitivity, 16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--network", action="append", choices=sorted(NETWORKS))
    parser.add_argument("--what", action="append", choices=sorted(WORK))
    parser.add_argument("--samples", type=int)
    options = parser.parse_args()
    print("| network | work | samples | processor seconds | seconds | digest |\n|---|---|---:|---:|---:|---|")
    for name in options.network or NETWORKS:
        with tempfile.TemporaryDirectory() as folder:
            graph = NETWORKS[name](Path(folder))
        for what in options.what or WORK:
            work, usual = WORK[what]
            count = options.samples or usual
            begin, clock = time.process_time(), time.perf_counter()
            digest = work(graph, count)
            spent, passed = time.process_time() - begin, time.perf_counter() - clock
            print(f"| {name} | {what} | {count} | {spent:.1f} | {passed:.1f} | `{digest}` |", flush=True)


if __name__ == "__main__":
    main()
