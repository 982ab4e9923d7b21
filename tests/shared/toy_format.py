"""A format of another package: `NAME.toy` has a line `chains 3 4 2`, the channels of 1x1 convolutions with CLAMPs.

This module alone makes it a format. An entry point of the group `tosa_engine.formats`, or a package in
`tosa_engine/frontends` whose module `format` has it, is all that it takes besides.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tosa_engine.errors import DataError
from tosa_engine.formats import FileSource, Format, Option, Source, Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tosa_engine.graph import Graph

READS: list[Path] = []


def _shape(text: str) -> tuple[int, int]:
    height, width = text.split("x")
    return int(height), int(width)


class Toy(FileSource):
    """`size` is the height and width of the input."""

    def __init__(self, path: Path, *, toy_size: tuple[int, int] | None = None, upside_down: bool = False) -> None:
        READS.append(path)
        self.words = path.read_text().split()
        self.size, self.sign = toy_size or (2, 2), -1 if upside_down else 1
        super().__init__(path, lambda _: self._graph())
        if self.words[:1] != ["chains"]:
            raise DataError(f"{path}: no toy")

    def steps(self) -> Iterator[Step]:
        yield Step("words", f"{len(self.words)} words")

    def listing(self, **options: bool) -> str:
        return " ".join(reversed(self.words) if options["backwards"] else self.words) + "\n"

    def rewrite(self, path: Path, **options: bool) -> str:
        path.write_text(self.listing(backwards=bool(options["turned"])))
        return f"{len(self.words)} words"

    def _graph(self) -> Graph:
        import numpy as np

        from tosa_engine import types
        from tosa_engine.builder import Builder

        rng, channels = np.random.default_rng(0), [int(word) for word in self.words[1:]]
        b = Builder(str(self.path))
        x = b.input(types.fp32, (1, *self.size, channels[0]), "x")
        for before, after in itertools.pairwise(channels):
            weight = b.const(self.sign * rng.standard_normal((after, 1, 1, before)), types.fp32)
            bias = b.const(np.zeros(after), types.fp32)
            x = b.op("CONV2D", x, weight, bias, 0, 0, pad=(0, 0, 0, 0), stride=(1, 1), dilation=(1, 1),
                     acc_type=types.fp32, local_bound=False)  # fmt: skip
            x = b.op("CLAMP", x, min_val=0.0, max_val=6.0, nan_mode="PROPAGATE")
        b.output(x)
        return b.graph()


def _open(path: Path, **options: Any) -> Source:
    return Toy(path, **options)


FORMAT = Format(
    "toy", "a .toy file", (".toy",), _open,
    options=(
        Option("toy_size", "of a toy's input", parse=_shape, metavar="HxW"),
        Option("upside_down", "whether a toy's weights have the other sign", {"no": False, "yes": True}),
    ),
    listing=(Option("backwards", "only print a toy's words, the last one first"),),
    writes=(".toy",),
    rewriting=(Option("turned", "the words of a toy in the other order"),),
)  # fmt: skip
