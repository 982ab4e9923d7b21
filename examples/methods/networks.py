"""Two networks that int8 finds hard, as NNEF documents: what docs/methods.md measures.

python examples/methods/networks.py two_layers out/two.nnef
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine.frontends.nnef import write_dat

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKENS, CHANNELS, HEADS, WIDE = 64, 64, 4, 192
OUTLIERS = 30.0


def write(folder: Path, name: str, weights: Mapping[str, Any], lines: str) -> Path:
    """The document of a graph from `x` to `y`; `weights` become variables."""
    folder.mkdir(parents=True, exist_ok=True)
    variables = ""
    for label, values in weights.items():
        (folder / f"{label}.dat").write_bytes(write_dat(np.asarray(values, np.float32)))
        variables += f"    {label} = variable(shape = {list(np.shape(values))}, label = '{label}');\n"
    head = "version 1.0;\nextension KHR_enable_operator_expressions;\n\n"
    text = f"{head}graph {name}( x ) -> ( y )\n{{\n{variables}{lines}}}\n"
    (folder / "graph.nnef").write_text(text, encoding="utf-8", newline="\n")
    return folder


def two_layers(folder: Path, ratio: float = 1000.0) -> Path:
    """conv - relu - conv: every other channel in between is `ratio` times larger, and its readers' weights as much
    smaller.
    """
    rng = np.random.default_rng(11)
    sizes = np.where(np.arange(16) % 2, ratio, 1.0)
    weights = {
        "first": rng.normal(size=(16, 8, 1, 1)) * sizes[:, None, None, None],
        "offset": rng.normal(size=(1, 16)) * sizes,
        "second": rng.normal(size=(4, 16, 1, 1)) / sizes[:, None, None],
    }
    lines = """    x = external(shape = [1, 8, 6, 6]);
    a = conv(x, first, offset);
    b = relu(a);
    y = conv(b, second);
"""
    return write(folder, "two_layers", weights, lines)


def block(folder: Path) -> Path:
    """Attention, then a feed-forward layer, each behind a normalization whose gain has six outliers."""
    rng = np.random.default_rng(4)
    large = np.isin(np.arange(CHANNELS), rng.choice(CHANNELS, 6, replace=False))
    shapes = {"q": (CHANNELS, CHANNELS), "k": (CHANNELS, CHANNELS), "v": (CHANNELS, CHANNELS),
              "o": (CHANNELS, CHANNELS), "up": (WIDE, CHANNELS), "down": (CHANNELS, WIDE)}  # fmt: skip
    weights = {}
    for name, shape in shapes.items():
        values = rng.normal(size=shape) / np.sqrt(shape[1])
        weights[name] = values / np.where(large, 8.0, 1.0) if name in ("q", "k", "v", "up") else values
        weights[f"{name}_bias"] = rng.normal(size=(1, shape[0])) * 0.1
    for i in (1, 2):
        weights[f"gain{i}"] = np.where(large, OUTLIERS, 1.0)[None] * rng.uniform(0.5, 1.5, (1, CHANNELS))
        weights[f"shift{i}"] = rng.normal(size=(1, CHANNELS)) * 0.1
    return write(folder, "block", weights, _normalized("x", 1) + _attention() + _normalized("r", 2) + _forward())


def _normalized(x: str, i: int) -> str:
    begin = f"    x = external(shape = [{TOKENS}, {CHANNELS}]);\n" if i == 1 else ""
    return (
        begin
        + f"""    m{i}, s{i} = moments({x}, axes = [1]);
    e{i} = s{i} + 1e-5;
    f{i} = rsqrt(e{i});
    c{i} = {x} - m{i};
    g{i} = c{i} * f{i};
    h{i} = g{i} * gain{i};
    n{i} = h{i} + shift{i};
"""
    )


def _attention() -> str:
    size = CHANNELS // HEADS
    text = ""
    for name in ("q", "k", "v"):
        text += f"""    {name}1 = linear(n1, {name}, {name}_bias);
    {name}2 = reshape({name}1, shape = [{TOKENS}, {HEADS}, {size}]);
    {name}3 = transpose({name}2, axes = [1, 0, 2]);
"""
    return (
        text
        + f"""    a1 = matmul(q3, k3, transposeA = false, transposeB = true);
    a2 = a1 * {size**-0.5};
    a3 = softmax(a2, axes = [2]);
    a4 = matmul(a3, v3, transposeA = false, transposeB = false);
    a5 = transpose(a4, axes = [1, 0, 2]);
    a6 = reshape(a5, shape = [{TOKENS}, {CHANNELS}]);
    a7 = linear(a6, o, o_bias);
    r = x + a7;
"""
    )


def _forward() -> str:
    """x * sigmoid(1.702 x) stands for gelu."""
    return """    u1 = linear(n2, up, up_bias);
    u2 = u1 * 1.702;
    u3 = sigmoid(u2);
    u4 = u1 * u3;
    u5 = linear(u4, down, down_bias);
    y = r + u5;
"""


if __name__ == "__main__":
    print({"two_layers": two_layers, "block": block}[sys.argv[1]](Path(sys.argv[2])))
