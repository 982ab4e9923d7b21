"""Coverage of what lies about: our own suite, folders in the form of Arm's runner, graphs of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import arrays, serialize
from ..errors import DataError, TosaEngineError
from ..types import of_bits
from .coverage import Coverage
from .description import Description
from .suite import finite, fits, make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ..graph import Graph
    from ..target import Target
    from ..types import Array
    from .suite import Selection

    Told = Callable[[int], object]
    Found = tuple[Graph, dict[str, Array] | None]


def of_suite(selection: Selection, seed: int = 0, names: Iterable[str] | None = None, told: Told = id) -> Coverage:
    """What our own tests exercise: those of the names, or all of the finite part."""
    coverage = Coverage(selection.target)
    for name in finite(selection) if names is None else names:
        test = make(name, seed, selection.target)
        if fits(test, selection.target):
            coverage.add(test.graph, test.feeds)
            told(coverage.tests)
    return coverage


def of_folder(folder: Path, target: Target, told: Told = id, every: int = 1) -> Coverage:
    """What the tests in a folder exercise, at any depth: descriptions as Arm's runner has them, and files `NAME.tosa`
    or `NAME.json` of graphs, with inputs in `NAME.npz` or in a folder `NAME` (`INPUT.npy`). Of `every` so many tests
    one is looked at.

    Raises:
        DataError: there is no test.
    """
    coverage, found = Coverage(target), False
    for number, test in enumerate(_tests(folder)):
        found = True
        if number % every:
            continue
        try:
            graph, feeds = test()
        except (TosaEngineError, OSError, ValueError):
            coverage.unread += 1
            continue
        coverage.add(graph, feeds)
        told(coverage.tests)
    if not found:
        raise DataError(f"{folder}: no desc.json and no .tosa at any depth")
    return coverage


def _tests(folder: Path) -> Iterator[Callable[[], Found]]:
    described = sorted(folder.rglob("desc.json"))
    for path in described:
        yield lambda path=path: _described(path)  # type: ignore[misc]
    taken = {path.parent for path in described}
    for path in sorted(folder.rglob("*.tosa")):
        if path.parent not in taken:
            yield lambda path=path: (serialize.read(path), _beside(path))  # type: ignore[misc]


def _described(path: Path) -> Found:
    """A test as its description says; one without its data has no feeds."""
    description = Description.read(path)
    graph = serialize.read(description.graph)
    if not all(file.is_file() for file in description.inputs.values()):
        return graph, None
    return graph, _stored(graph, description.feeds())


def _beside(path: Path) -> dict[str, Array] | None:
    """The inputs that lie beside a graph; None where there are none."""
    archive, folder = path.with_suffix(".npz"), path.with_suffix("")
    graph = serialize.read(path)
    if archive.is_file():
        with np.load(archive, allow_pickle=False) as stored:
            return _stored(graph, dict(stored))
    files = {name: folder / f"{name}.npy" for name in graph.main.inputs}
    if graph.main.inputs and all(file.is_file() for file in files.values()):
        return _stored(graph, {name: arrays.read(file) for name, file in files.items()})
    return {} if not graph.main.inputs else None


def _stored(graph: Graph, feeds: dict[str, Any]) -> dict[str, Array]:
    formats = {tensor.name: tensor.dtype for tensor in graph.inputs}
    return {name: of_bits(array, formats[name]) for name, array in feeds.items() if name in formats}
