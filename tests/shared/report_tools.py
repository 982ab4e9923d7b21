"""A small network measured for reports, and a reader of their pages."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING

import numpy as np
from quant_tools import Floats

from quant.calibration.calibrate import attach
from quant.calibration.observe import collect
from quant.legalize.quantize import quantize
from quant.report import Files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

FILES = Files("model.nnef", "model.tosa", ("quantize", "model.nnef", "--data", "calib data.npz", "--method", "mse"))
HOSTILE = '=<script>alert("1")</script>&\x00\u202eeman'
VOID = {"meta", "rect", "line", "polyline", "input"}


def samples(count: int = 6) -> list[dict[str, Array]]:
    rng = np.random.default_rng(5)
    return [{"x": rng.normal(size=(1, 4, 4, 3)).astype(np.float32)} for _ in range(count)]


def network(layers: int = 3, names: Sequence[str] = ()) -> tuple[Graph, Graph]:
    """A chain of convolutions with TANH behind each: the float graph with QParams, and its integer graph."""
    rng = np.random.default_rng(2)
    f = Floats()
    x = f.input((1, 4, 4, 3))
    for i in range(layers):
        weight = rng.normal(size=(3, 1, 1, 3)).astype(np.float32)
        x = f.op("TANH", [f.conv(x, weight, np.zeros(3, np.float32))], name=names[i] if i < len(names) else f"layer{i}")
    graph = f.outputs(x)
    ready = attach(graph, collect(graph, enumerate(samples())))
    return ready, quantize(ready)


class Page(HTMLParser):
    """Checks that tags are closed in order; collects what tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.rows: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.ids += [found["id"]] if found.get("id") else []  # type: ignore[list-item]
        self.links += [v for k, v in attrs if k in ("href", "src") and v]
        if tag == "tr" and "id" in found:
            self.rows.append(found["id"] or "")
        assert not any(name.startswith("on") for name in found)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
