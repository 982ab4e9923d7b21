"""Tensors that a device or another program wrote: an `.npz`, or a folder of `.npy` files; of several samples, stacked
along a first axis, or a folder of such dumps.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .. import arrays
from ..errors import DataError
from ..formats import is_model_folder

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterator

    import numpy as np

    from ..arrays import Stored
    from ..types import Array, Shape

INDEX: Final = "index.json"
SHOWN: Final = 3


def is_dump(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an `.npz`, or a folder that isn't a model."""
    found = Path(path)
    return found.suffix == ".npz" or (found.is_dir() and not is_model_folder(found))


class Dumped(Mapping[str, "Array"]):
    """The arrays of a dump by tensor name, or entry `number` of each along the first axis. Each is read when it is
    asked for; what several samples have entries in is `held`.
    """

    def __init__(
        self, stored: Mapping[str, Stored], number: int | None = None, held: dict[str, Array] | None = None
    ) -> None:
        self._stored, self._number, self._held = stored, number, held

    def __getitem__(self, name: str) -> Array:
        if self._number is None or self._held is None:
            return self._stored[name].read()
        if name not in self._held:
            self._held[name] = self._stored[name].read()
        found: Array = self._held[name][self._number]
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._stored

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)

    def dtype(self, name: str) -> np.dtype[Any]:
        return self._stored[name].dtype

    def shape(self, name: str) -> Shape:
        shape = self._stored[name].shape
        return shape if self._number is None else shape[1:]


def read(path: str | os.PathLike[str]) -> Dumped:
    """Arrays by tensor name, whose headers are read. See `stored`."""
    return Dumped(stored(path))


def stored(path: str | os.PathLike[str]) -> dict[str, Stored]:
    """Arrays by tensor name, of which nothing but the headers is read. A folder's names are those of its `index.json`
    (`run --dump-intermediates` writes one: tensor name to `{"file": ...}`, in execution order), else the
    files' names without `.npy`, sorted.

    Raises OSError, and DataError for a folder without arrays or with a bad index, and for damaged files.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(2, "no such dump", str(path))
    if not found.is_dir():
        return arrays.stored_bundle(found)
    files = _indexed(found) if (found / INDEX).exists() else {f.stem: f for f in sorted(found.glob("*.npy"))}
    if not files:
        raise DataError(f"{found}: the folder has no .npy files")
    total = sum(file.stat().st_size for file in files.values())
    if total > arrays.MAX_BUNDLE_BYTES:
        raise DataError(f"{found}: {total} bytes are more than the {arrays.MAX_BUNDLE_BYTES} that are read at once")
    return {name: arrays.stored(file) for name, file in files.items()}


@dataclass(frozen=True)
class Dump:
    """`parts` are the dumps of one sample each; where there are none, `whole` has the arrays of all."""

    label: str
    parts: tuple[Path, ...]
    whole: dict[str, Stored]

    @property
    def stacked(self) -> int:
        """How many entries all arrays have along their first axis; 0 where that isn't one number above 1."""
        lengths = {array.shape[0] if array.shape else 0 for array in self.whole.values()}
        return lengths.pop() if len(lengths) == 1 and max(lengths) > 1 else 0

    @cached_property
    def _held(self) -> dict[str, Array]:
        """Arrays of several samples that were read."""
        return {}

    def sample(self, number: int, totals: Container[int], *, alone: bool) -> Dumped:
        """The arrays of one sample. Arrays with one of `totals` entries along their first axis hold several samples;
        with `alone`, others are those of the only sample that is looked at.

        Raises OSError, and DataError where the dump isn't of several samples.
        """
        if self.parts:
            return read(self.parts[number])
        if self.stacked and self.stacked in totals:
            return Dumped(self.whole, number, self._held)
        if alone:
            return Dumped(self.whole)
        shapes = ", ".join(f"'{name}' {list(array.shape)}" for name, array in list(self.whole.items())[:SHOWN])
        raise DataError(
            f"{self.label}: the dump is of one sample, or not stacked along the first axis (it has {shapes}): give its "
            "sample with --sample, or a folder with one dump per sample"
        )


def open_dump(path: str | os.PathLike[str]) -> Dump:
    """A folder of `.npz` files or folders, sorted by name, is one dump per sample. Raises what `read` raises."""
    found = Path(path)
    parts: list[Path] = []
    if found.is_dir() and not (found / INDEX).exists() and not any(found.glob("*.npy")):
        parts = sorted(p for p in found.iterdir() if p.suffix == ".npz" or p.is_dir())
    return Dump(str(path), tuple(parts), {} if parts else stored(found))


def _indexed(folder: Path) -> dict[str, Path]:
    """The files that index.json names: of this folder, nowhere else."""
    where = folder / INDEX
    try:
        content: Any = json.loads(where.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{where}: not JSON: {problem}") from problem
    files: dict[str, Path] = {}
    for name, entry in content.items() if isinstance(content, dict) else [("", None)]:
        file = entry.get("file") if isinstance(entry, dict) else None
        if not isinstance(file, str) or not file.isprintable() or Path(file).name != file:
            raise DataError(f"{where}: '{name}' needs a 'file' in this folder")
        files[name] = folder / file
    return files
