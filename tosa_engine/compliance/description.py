"""A conformance test's description: the JSON file that names its graph, its inputs and its outputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import arrays
from ..errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ..types import Array


@dataclass(frozen=True, slots=True)
class Description:
    """One test. `inputs` and `outputs` map names of graph inputs and outputs to `.npy` files.

    `expected_failure`: the graph is an error, and an implementation must say so.
    """

    name: str
    graph: Path
    inputs: Mapping[str, Path]
    outputs: Mapping[str, Path]
    expected_failure: bool

    @classmethod
    def read(cls, path: Path) -> Description:
        """The description in a JSON file; the files that it names lie beside it.

        Raises:
            DataError: the file can't be read, isn't JSON, or lacks an entry.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as problem:
            raise DataError(f"{path}: {problem.strerror}") from problem
        except ValueError as problem:
            raise DataError(f"{path}: not JSON: {problem}") from problem
        return cls.of(content, path.parent, str(path))

    @classmethod
    def of(cls, content: Any, folder: Path, where: str) -> Description:
        """The description in parsed JSON; `where` is what errors call it."""
        if not isinstance(content, dict):
            raise DataError(f"{where}: a test description is an object")
        return cls(
            folder.name,
            folder / _entry(content, "tosa_file", str, where),
            _files(content, "ifm", folder, where),
            _files(content, "ofm", folder, where),
            _entry(content, "expected_failure", bool, where),
        )

    def feeds(self) -> dict[str, Array]:
        """The inputs by name. Raises DataError where a file can't be read."""
        return {name: _load(path) for name, path in self.inputs.items()}

    def recorded(self) -> dict[str, Array]:
        """The outputs that lie beside the description, by name. Raises DataError where a file can't be read."""
        return {name: _load(path) for name, path in self.outputs.items()}


def _entry(content: dict[str, Any], name: str, kind: type, where: str) -> Any:
    if not isinstance(content.get(name), kind):
        raise DataError(f"{where}: '{name}' must be a {kind.__name__}, got {content.get(name)!r}")
    return content[name]


def _files(content: dict[str, Any], kind: str, folder: Path, where: str) -> dict[str, Path]:
    names = _entry(content, f"{kind}_name", list, where)
    files = _entry(content, f"{kind}_file", list, where)
    if len(names) != len(files) or not all(isinstance(entry, str) for entry in (*names, *files)):
        raise DataError(f"{where}: '{kind}_name' and '{kind}_file' must be lists of text, equally long")
    return {name: folder / file for name, file in zip(names, files, strict=True)}


def _load(path: Path) -> Array:
    try:
        return arrays.read(path)
    except OSError as problem:
        raise DataError(f"{path}: {problem.strerror}") from problem
