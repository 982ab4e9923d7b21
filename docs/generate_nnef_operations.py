"""Writes docs/nnef-operations.md: what becomes of every NNEF operation. `make docs` runs it, a test keeps it fresh."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from nnef_examples import EXAMPLES

from quant.calibration.calibrate import Scheme, attach
from quant.calibration.methods import Method
from quant.calibration.observe import digest, finite
from quant.calibration.records import Statistics
from quant.calibration.statistics import TensorStatistics
from quant.legalize.quantize import float_tensors, prepared, quantize, unbounded
from tosa_engine import oracle
from tosa_engine.compare.agreement import Agreement
from tosa_engine.errors import DataError, Problems, TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.language.library import standard_library
from tosa_engine.qparams.arrays import dequantize_array, quantize_array
from tosa_engine.spec import is_constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nnef_examples import Example

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

PAGE = Path(__file__).with_name("nnef-operations.md")
SAMPLES: Final = 2
BITS: Final = (8, 16)
INTRODUCTION = """# NNEF operations

Made by `make docs` from an example of every operation (`docs/nnef_examples.py`): change that, not this page.

- *rank*: of the tensors of the example; 3, 4 and 5 are one, two and three spatial axes.
- *format*: `float` is TOSA-FP; `int8` and `int16` are TOSA-INT, made by `quant` from the same document.
- *TOSA form*: the operators in order of their first use, without constants, and their number where some are used more
  than once. Those in lower case are composites: files and plans hold the operators of their bodies.
- *SQNR*: of the integers against float in dB, rank by rank; or the share of equal elements, where the result is a
  logical value or an index.

Inputs are uniformly distributed in the example's domain. The ranges are those of {samples} samples (method `minmax`),
the SQNR is that of the last of them, against float on inputs that aren't rounded to integers: a function that is steep
somewhere has a low one. Functions of one tensor are quantized at rank 4 only, because a TABLE doesn't depend on the
rank. A form that says *refused* is refused with this message, before anything runs.

"""


@dataclass(frozen=True)
class Cell:
    """One example of one rank in one format: `form`, or the message of the refusal; `quality` of the integers."""

    form: str
    quality: str = ""


def cells(example: Example, n: int, folder: Path) -> dict[str, Cell]:
    """By format."""
    graph = nnef.load(example.write(folder, n))
    samples = [example.samples(n, seed) for seed in range(SAMPLES)]
    wanted = oracle.run(graph, samples[-1])
    found = {"float": Cell(form(graph))}
    for bits in BITS if n in example.integers else ():
        try:
            made = quantized(graph, samples, bits)
        except TosaEngineError as error:
            found[f"int{bits}"] = Cell(f"refused: {refusal(error)}")
        else:
            found[f"int{bits}"] = Cell(form(made), quality(wanted, made, samples[-1]))
    return found


def quantized(graph: Graph, samples: Sequence[Mapping[str, Array]], bits: int) -> Graph:
    scheme = Scheme(Method("minmax", bits=bits), symmetric=bits == 16)
    return quantize(attach(graph, calibrated(graph, samples), scheme))


def calibrated(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> Statistics:
    """What `quant.calibration.observe.collect` finds, by the oracle, which needs no compiler."""
    statistics, ready, endless = Statistics(digest(graph)), prepared(graph), unbounded(graph)
    watched = {t.name for t in float_tensors(graph)}

    def see(_: str, tensor: str, array: Array) -> None:
        if tensor in watched:
            if tensor in endless:
                array = finite(array)
            if not np.isfinite(array).all():
                raise DataError("calibration gives NaN or infinity", tensor=tensor)
            statistics.tensors.setdefault(tensor, TensorStatistics()).see(array)

    for number, sample in enumerate(samples):
        statistics.mark(number, number + 1)
        for name, array in sample.items():
            see("", name, array)
        oracle.run(ready, sample, see)
    return statistics


def form(graph: Graph) -> str:
    names = [op.op for op in graph.main.operators if not is_constant(op)]
    distinct = list(dict.fromkeys(names))
    count = f" ({len(names)})" if len(names) > len(distinct) else ""
    return (", ".join(distinct) or "CONST") + count


def refusal(error: TosaEngineError) -> str:
    """The reasons, without the places."""
    problems = error.problems if isinstance(error, Problems) else [error]
    texts = [re.sub(r" ?\((?:node|tensor|/)[^)]*\)", "", str(problem)) for problem in problems]
    return "; ".join(dict.fromkeys(texts))


def quality(wanted: Mapping[str, Array], made: Graph, sample: Mapping[str, Array]) -> str:
    """Signal to noise in whole dB, or the share of equal elements, of the first output."""
    stored = {t.name: quantize_array(sample[t.name], t.quant) for t in made.inputs if t.quant is not None}
    tensor = made.outputs[0]
    got, exact = oracle.run(made, stored)[tensor.name], wanted[tensor.name]
    if tensor.quant is None:
        return f"{100 * np.mean(exact == got):.0f} %"
    agreement = Agreement()
    agreement.add_floats(dequantize_array(got, tensor.quant), exact)
    return f"{agreement.sqnr:.0f}" if agreement.noise else "exact"


def rows(name: str, example: Example, folder: Path) -> Iterator[str]:
    """Ranks of the same form share a row."""
    found = {n: cells(example, n, folder / str(n)) for n in example.axes}
    title = f"`{name}`" + (f", {example.variant}" if example.variant else "")
    for format_ in ("float", *(f"int{bits}" for bits in BITS)):
        made = [n for n in found if format_ in found[n]]
        for shape, group in groupby(made, lambda n, f=format_: found[n][f].form):
            ranks = list(group)
            numbers = " / ".join(found[n][format_].quality for n in ranks if found[n][format_].quality)
            shown = f"{ranks[0] + 2} - {ranks[-1] + 2}" if len(ranks) > 1 else f"{ranks[0] + 2}"
            yield f"| {title} | {shown} | {format_} | {shape} | {numbers} |"
            title = ""


def rows_of(name: str) -> list[str]:
    """The rows of all examples of an operation."""
    examples = EXAMPLES[name]
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for i, example in enumerate(examples if isinstance(examples, tuple) else (examples,)):
            found += rows(name, example, Path(folder) / str(i))
    return found


def page() -> str:
    """The whole page as Markdown."""
    lines = ["| operation | rank | format | TOSA form | SQNR |", "|---|---|---|---|---|"]
    for name in standard_library():
        lines += rows_of(name)
    return INTRODUCTION.format(samples=SAMPLES) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
