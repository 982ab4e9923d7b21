"""Well-known image networks as NNEF documents with random weights: AlexNet, VGG-16, GoogLeNet, ResNet-50, MobileNetV2.

    python examples/networks/networks.py resnet50 out/resnet50.nnef [--size 224]

Layers and shapes are those of the papers; weights are random, scaled so that activations keep their size.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine.frontends.nnef import write_dat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Document:
    """The lines of a flat document and its weights; every method adds one operation and returns its result's name."""

    folder: Path
    size: int
    seed: int = 0
    lines: list[str] = field(default_factory=list)
    channels: dict[str, int] = field(default_factory=dict)
    extents: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.rng = np.random.default_rng(self.seed)
        self.lines.append(f"x = external(shape = [1, 3, {self.size}, {self.size}]);")
        self.channels["x"], self.extents["x"] = 3, self.size

    def add(self, text: str, channels: int, extent: int) -> str:
        name = f"t{len(self.lines)}"
        self.lines.append(f"{name} = {text};")
        self.channels[name], self.extents[name] = channels, extent
        return name

    def variable(self, shape: Sequence[int], spread: float) -> str:
        name = f"v{len(self.lines)}"
        values = self.rng.normal(scale=spread, size=shape).astype(np.float32)
        (self.folder / f"{name}.dat").write_bytes(write_dat(values))
        self.lines.append(f"{name} = variable(shape = {list(shape)}, label = '{name}');")
        return name

    def conv(
        self, x: str, outputs: int, size: int, stride: int = 1, padding: int | None = None, groups: int = 1
    ) -> str:
        inputs = self.channels[x] // (groups or self.channels[x])
        around = size // 2 if padding is None else padding
        spread = math.sqrt(2.0 / (inputs * size * size))
        w, b = self.variable((outputs, inputs, size, size), spread), self.variable((1, outputs), 0.1)
        extent = (self.extents[x] + 2 * around - size) // stride + 1
        pads = f"padding = [({around}, {around}), ({around}, {around})]"
        text = f"conv({x}, {w}, {b}, stride = [{stride}, {stride}], {pads}, groups = {groups})"
        return self.add(text, outputs, extent)

    def relu(self, x: str, most: float | None = None) -> str:
        text = f"relu({x})" if most is None else f"clamp({x}, 0.0, {most})"
        return self.add(text, self.channels[x], self.extents[x])

    def pool(self, kind: str, x: str, size: int, stride: int, around: int = 0) -> str:
        extent = (self.extents[x] + 2 * around - size) // stride + 1
        pads = f"padding = [(0, 0), (0, 0), ({around}, {around}), ({around}, {around})]"
        window = f"size = [1, 1, {size}, {size}], stride = [1, 1, {stride}, {stride}], {pads}, border = 'ignore'"
        text = f"{kind}({x}, {window})"
        return self.add(text, self.channels[x], extent)

    def sum(self, x: str, y: str) -> str:
        return self.add(f"add({x}, {y})", self.channels[x], self.extents[x])

    def concat(self, parts: Sequence[str]) -> str:
        text = f"concat([{', '.join(parts)}], axis = 1)"
        return self.add(text, sum(self.channels[p] for p in parts), self.extents[parts[0]])

    def normalized(self, x: str) -> str:
        text = f"local_response_normalization({x}, size = [1, 5, 1, 1], alpha = 0.0005, beta = 0.75, bias = 2.0)"
        return self.add(text, self.channels[x], self.extents[x])

    def mean(self, x: str) -> str:
        return self.add(f"mean_reduce({x}, axes = [2, 3])", self.channels[x], 1)

    def linear(self, x: str, outputs: int) -> str:
        inputs = self.channels[x] * self.extents[x] ** 2
        flat = self.add(f"reshape({x}, shape = [1, {inputs}])", inputs, 1)
        w, b = self.variable((outputs, inputs), math.sqrt(2.0 / inputs)), self.variable((1, outputs), 0.1)
        return self.add(f"linear({flat}, {w}, {b})", outputs, 1)

    def write(self, x: str) -> None:
        y = self.add(f"softmax({x})", self.channels[x], 1)
        body = "\n".join(f"    {line}" for line in self.lines)
        text = f"version 1.0;\n\ngraph network(x) -> ({y})\n{{\n{body}\n}}\n"
        (self.folder / "graph.nnef").write_text(text, encoding="utf-8")


def alexnet(d: Document) -> str:
    x = d.pool("max_pool", d.normalized(d.relu(d.conv("x", 96, 11, 4, 2))), 3, 2)
    x = d.pool("max_pool", d.normalized(d.relu(d.conv(x, 256, 5, groups=2))), 3, 2)
    for outputs, groups in ((384, 1), (384, 2), (256, 2)):
        x = d.relu(d.conv(x, outputs, 3, groups=groups))
    x = d.pool("max_pool", x, 3, 2)
    return d.linear(d.relu(d.linear(d.relu(d.linear(x, 4096)), 4096)), 1000)


def vgg16(d: Document) -> str:
    x = "x"
    for outputs, times in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(times):
            x = d.relu(d.conv(x, outputs, 3))
        x = d.pool("max_pool", x, 2, 2)
    return d.linear(d.relu(d.linear(d.relu(d.linear(x, 4096)), 4096)), 1000)


INCEPTIONS = {
    "3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64), "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128), "5b": (384, 192, 384, 48, 128, 128),
}  # fmt: skip


def googlenet(d: Document) -> str:
    x = d.normalized(d.pool("max_pool", d.relu(d.conv("x", 64, 7, 2)), 3, 2, 1))
    x = d.normalized(d.relu(d.conv(d.relu(d.conv(x, 64, 1)), 192, 3)))
    x = d.pool("max_pool", x, 3, 2, 1)
    for name, (one, before_three, three, before_five, five, after_pool) in INCEPTIONS.items():
        parts = [
            d.relu(d.conv(x, one, 1)),
            d.relu(d.conv(d.relu(d.conv(x, before_three, 1)), three, 3)),
            d.relu(d.conv(d.relu(d.conv(x, before_five, 1)), five, 5)),
            d.relu(d.conv(d.pool("max_pool", x, 3, 1, 1), after_pool, 1)),
        ]
        x = d.concat(parts)
        if name in ("3b", "4e"):
            x = d.pool("max_pool", x, 3, 2, 1)
    return d.linear(d.mean(x), 1000)


def resnet50(d: Document) -> str:
    x = d.pool("max_pool", d.relu(d.conv("x", 64, 7, 2)), 3, 2, 1)
    for stage, (width, times) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(times):
            stride = 2 if block == 0 and stage > 0 else 1
            y = d.relu(d.conv(x, width, 1))
            y = d.conv(d.relu(d.conv(y, width, 3, stride)), 4 * width, 1)
            x = d.relu(d.sum(y, d.conv(x, 4 * width, 1, stride) if block == 0 else x))
    return d.linear(d.mean(x), 1000)


def mobilenet_v2(d: Document) -> str:
    x = d.relu(d.conv("x", 32, 3, 2), 6.0)
    for expand, outputs, times, first in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for block in range(times):
            stride, inputs = first if block == 0 else 1, d.channels[x]
            y = d.relu(d.conv(x, inputs * expand, 1), 6.0) if expand > 1 else x
            y = d.relu(d.conv(y, d.channels[y], 3, stride, groups=0), 6.0)
            y = d.conv(y, outputs, 1)
            x = d.sum(x, y) if stride == 1 and inputs == outputs else y
    return d.linear(d.mean(d.relu(d.conv(x, 1280, 1), 6.0)), 1000)


NETWORKS: dict[str, Callable[[Document], str]] = {
    "alexnet": alexnet, "vgg16": vgg16, "googlenet": googlenet, "resnet50": resnet50, "mobilenet_v2": mobilenet_v2,
}  # fmt: skip


def write(name: str, folder: Path, size: int = 224, seed: int = 0) -> Path:
    """Write the document of a network for images of [1, 3, size, size] to a folder."""
    document = Document(folder, size, seed)
    document.write(NETWORKS[name](document))
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Well-known image networks as NNEF documents with random weights.")
    parser.add_argument("network", choices=list(NETWORKS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=224, help="height and width of the images; default: 224")
    args = parser.parse_args()
    write(args.network, args.folder, args.size)
    print(f"wrote {args.folder}")


if __name__ == "__main__":
    main()
