"""Small NNEF documents for tests, and the standard's formulae for their operations in plain numpy (NCHW, doubles)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import check, oracle
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.mapping import map_document

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tosa_engine.graph import Graph, QParams

Array = np.ndarray[Any, np.dtype[Any]]


def write_nnef(folder: Path, text: str, tensors: Mapping[str, Array] | None = None) -> Path:
    """A document folder; `tensors` are by label."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.nnef").write_text(text, encoding="utf-8")
    for label, array in (tensors or {}).items():
        file = folder / f"{label}.dat"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(nnef.write_dat(array))
    return folder


def document(body: str, inputs: Mapping[str, Sequence[int]], results: str = "y") -> str:
    """The text of a document: externals for `inputs` by shape, then `body`."""
    externals = "".join(f"    {name} = external(shape = {list(shape)});\n" for name, shape in inputs.items())
    return f"version 1.0;\ngraph g({', '.join(inputs)}) -> ({results})\n{{\n{externals}    {body}\n}}\n"


class Run:
    """A document with variables `wN` for `tensors`, mapped, run by the oracle before and after the passes."""

    def __init__(
        self,
        folder: Path,
        body: str,
        inputs: Mapping[str, Array],
        tensors: Mapping[str, Array] | None = None,
        results: str = "y",
        quant: Mapping[str, QParams] | None = None,
    ) -> None:
        kinds = {"f": "scalar", "i": "integer", "b": "logical"}
        variables = "".join(
            f"{name} = variable<{kinds[a.dtype.kind]}>(shape = {list(a.shape)}, label = '{name}');\n    "
            for name, a in (tensors or {}).items()
        )
        text = document(variables + body, {n: a.shape for n, a in inputs.items()}, results)
        self.path = write_nnef(folder, text, tensors)
        self.mapped = map_document(nnef.load_document(self.path), quant)
        self.graph: Graph = nnef.load(self.path, quant)
        self.feeds = {n: np.asarray(a, np.float32) for n, a in inputs.items()}
        check.validate(self.mapped)
        check.validate(self.graph)
        self.before = oracle.run(self.mapped, self.feeds)
        self.after = oracle.run(self.graph, self.feeds)

    def agrees(self, name: str, wanted: Array, tolerance: float = 1e-5) -> None:
        for got in (self.before[name], self.after[name]):
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)

    @property
    def operators(self) -> list[str]:
        return [op.op for op in self.graph.main.operators if not op.op.startswith("CONST")]


def random(shape: Sequence[int], seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(tuple(shape)).astype(np.float32)


def automatic(extent: int, size: int, stride: int, dilation: int) -> tuple[int, int]:
    """The padding of `padding = []`."""
    reach = (size - 1) * dilation + 1
    total = max((-(-extent // stride) - 1) * stride + reach - extent, 0)
    return total // 2, total - total // 2


def _windows(
    x: Array, size: Sequence[int], padding: Sequence[tuple[int, int]], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[list[int], Any]:
    """Output extents, and a function from output position to the (rows, columns) that the window covers."""
    extents = x.shape[2:]
    outputs = [
        (p + n + q - (f - 1) * d - 1) // s + 1
        for n, f, (p, q), s, d in zip(extents, size, padding, stride, dilation, strict=True)
    ]

    def covered(position: tuple[int, ...]) -> list[list[int]]:
        return [
            [i * s + j * d - p for j in range(f)]
            for i, f, (p, _), s, d in zip(position, size, padding, stride, dilation, strict=True)
        ]

    return outputs, covered


def conv(
    x: Array, filter_: Array, bias: Array | None, padding: Sequence[tuple[int, int]], stride: Sequence[int],
    dilation: Sequence[int], groups: int,
) -> Array:  # fmt: skip
    """Section 4.3.1 with border 'constant'. groups = 0 is depthwise."""
    groups = groups or x.shape[1]
    outputs, covered = _windows(x, filter_.shape[2:], padding, stride, dilation)
    per_group, inputs = filter_.shape[0] // groups, x.shape[1] // groups
    result = np.zeros((x.shape[0], filter_.shape[0], *outputs))
    for position in itertools.product(*map(range, outputs)):
        places = covered(position)
        for taps in itertools.product(*(range(f) for f in filter_.shape[2:])):
            at = tuple(place[tap] for place, tap in zip(places, taps, strict=True))
            if all(0 <= i < n for i, n in zip(at, x.shape[2:], strict=True)):
                for o in range(filter_.shape[0]):
                    g = o // per_group
                    values = x[(slice(None), slice(g * inputs, (g + 1) * inputs), *at)].astype(np.float64)
                    result[(slice(None), o, *position)] += values @ filter_[(o, slice(None), *taps)].astype(np.float64)
    if bias is not None:
        result += bias.reshape((1, -1) + (1,) * len(outputs))
    return result


def pool(
    kind: str, x: Array, size: Sequence[int], padding: Sequence[tuple[int, int]], stride: Sequence[int], border: str
) -> Array:
    """max_pool and avg_pool over the spatial axes; border 'constant' counts zeros, 'ignore' leaves them out."""
    outputs, covered = _windows(x, size, padding, stride, [1] * len(size))
    result = np.zeros((*x.shape[:2], *outputs))
    for position in itertools.product(*map(range, outputs)):
        values = []
        for at in itertools.product(*covered(position)):
            if all(0 <= i < n for i, n in zip(at, x.shape[2:], strict=True)):
                values.append(x[(slice(None), slice(None), *at)].astype(np.float64))
            elif border == "constant":
                values.append(np.zeros(x.shape[:2]))
        reduce = np.max if kind == "max_pool" else np.mean
        result[(slice(None), slice(None), *position)] = reduce(np.stack(values), axis=0)
    return result
