"""Tensors that a device or another program wrote: an `.npz`, an `.npy`, bare elements, or a folder of such files; of
several samples, stacked along a first axis, or a folder of such dumps.
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
from ..layouts import ENDIANS, LAYOUTS, LINEAR, NHWC, Form
from ..types import BY_NAME
from .device_dumps import Reading, Restored, bare

if TYPE_CHECKING:
    import os
    from collections.abc import Container, Iterator

    import numpy as np

    from ..arrays import Stored
    from ..types import Array, Shape
    from .device_dumps import Held

INDEX: Final = "index.json"
SHOWN: Final = 3
RAW: Final = ".bin"
SINGLE: Final = (".npy", RAW)


def is_dump(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an `.npz`, an `.npy`, a `.bin`, or a folder that isn't a model."""
    found = Path(path)
    return found.suffix in (".npz", *SINGLE) or (found.is_dir() and not is_model_folder(found))


class Dumped(Mapping[str, "Array"]):
    """The arrays of a dump by tensor name, or entry `number` of each along the first axis. Each is read when it is
    asked for; what several samples have entries in is `held`.
    """

    def __init__(
        self, stored: Mapping[str, Held], number: int | None = None, held: dict[str, Array] | None = None
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


def read(path: str | os.PathLike[str], reading: Reading | None = None) -> Dumped:
    """Arrays by tensor name, whose headers are read. See `stored`."""
    return Dumped(stored(path, reading))


def stored(path: str | os.PathLike[str], reading: Reading | None = None) -> dict[str, Held]:
    """Arrays by tensor name, of which nothing but the headers is read. A folder's names are those of its `index.json`
    (`run --dump-intermediates` and `run --vectors` write one, in execution order), else the files' names without
    `.npy` and `.bin`, sorted. `reading` says how a device's files are read.

    Raises OSError, and DataError for a folder without arrays or with a bad index, and for damaged files.
    """
    found, reading = Path(path), reading or Reading()
    if not found.exists():
        raise FileNotFoundError(2, "no such dump", str(path))
    if not found.is_dir():
        single = found.suffix in SINGLE
        return reading.read(_files({found.stem: found}) if single else arrays.stored_bundle(found), single=single)
    if (found / INDEX).exists():
        index = _read_index(found)
        if isinstance(index.get("operators"), list):
            return _vectors(found, index)
        return reading.read(_files(_within(_indexed(found, index), found)))
    files: dict[str, Path] = {}
    for file in sorted(f for f in found.iterdir() if f.suffix in SINGLE):
        if file.stem in files:
            raise DataError(f"{found}: '{file.stem}' is both {files[file.stem].name} and {file.name}")
        files[file.stem] = file
    if not files:
        raise DataError(f"{found}: the folder has no .npy and no .bin files")
    return reading.read(_files(_within(files, found)))


def _files(files: Mapping[str, Path]) -> dict[str, Path | Stored]:
    return {name: file if file.suffix == RAW else arrays.stored(file) for name, file in files.items()}


def _within(files: dict[str, Path], folder: Path) -> dict[str, Path]:
    """Raise DataError for files that are too many bytes together."""
    total = sum(file.stat().st_size for file in files.values())
    if total > arrays.MAX_BUNDLE_BYTES:
        raise DataError(f"{folder}: {total} bytes are more than the {arrays.MAX_BUNDLE_BYTES} that are read at once")
    return files


@dataclass(frozen=True)
class Dump:
    """`parts` are the dumps of one sample each; where there are none, `whole` has the arrays of all."""

    label: str
    parts: tuple[Path, ...]
    whole: dict[str, Held]
    reading: Reading

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
            return read(self.parts[number], self.reading)
        if self.stacked and self.stacked in totals:
            return Dumped(self.whole, number, self._held)
        if alone:
            return Dumped(self.whole)
        shapes = ", ".join(f"'{name}' {list(array.shape)}" for name, array in list(self.whole.items())[:SHOWN])
        raise DataError(
            f"{self.label}: the dump is of one sample, or not stacked along the first axis (it has {shapes}): give its "
            "sample with --sample, or a folder with one dump per sample"
        )


def open_dump(path: str | os.PathLike[str], reading: Reading | None = None) -> Dump:
    """A folder of `.npz` files or folders, sorted by name, is one dump per sample. Raises what `read` raises."""
    found, reading = Path(path), reading or Reading()
    parts: list[Path] = []
    flat = found.is_dir() and any(f.suffix in SINGLE for f in found.iterdir())
    if found.is_dir() and not (found / INDEX).exists() and not flat:
        parts = sorted(p for p in found.iterdir() if p.suffix == ".npz" or p.is_dir())
    return Dump(str(path), tuple(parts), {} if parts else stored(found, reading), reading)


def _read_index(folder: Path) -> dict[str, Any]:
    where = folder / INDEX
    try:
        content: Any = json.loads(where.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{where}: not JSON: {problem}") from problem
    return content if isinstance(content, dict) else {"": None}


def _indexed(folder: Path, index: Mapping[str, Any]) -> dict[str, Path]:
    """The files that index.json names: of this folder, nowhere else."""
    files: dict[str, Path] = {}
    for name, entry in index.items():
        file = entry.get("file") if isinstance(entry, dict) else None
        if not isinstance(file, str) or not file.isprintable() or Path(file).name != file:
            raise DataError(f"{folder / INDEX}: '{name}' needs a 'file' in this folder")
        files[name] = folder / file
    return files


def _vectors(folder: Path, index: Mapping[str, Any]) -> dict[str, Held]:
    """What `run --vectors` wrote, without constants: it says itself how its files are read."""
    tensors, how, endian = index.get("tensors"), index.get("format"), index.get("endian")
    if not isinstance(tensors, dict) or how not in ("npy", "bin") or endian not in ENDIANS:
        raise DataError(f"{folder / INDEX}: vectors in '{how}' aren't read; those in npy and bin are")
    tensors = {n: t for n, t in tensors.items() if not (isinstance(t, dict) and t.get("role") == "constant")}
    files = _within(_indexed(folder, tensors), folder)
    return {name: _vector(folder, name, file, tensors[name], str(endian)) for name, file in files.items()}


def _vector(folder: Path, name: str, file: Path, said: Mapping[str, Any], endian: str) -> Held:
    shape, dtype, layout = said.get("shape"), said.get("dtype"), said.get("layout")
    sizes = isinstance(shape, list) and all(type(d) is int and d >= 0 for d in shape)
    if not sizes or not isinstance(dtype, str) or dtype not in BY_NAME or layout not in (*LAYOUTS, LINEAR):
        raise DataError(f"{folder / INDEX}: '{name}' needs a 'shape', a 'dtype' and a 'layout'")
    assert isinstance(shape, list)
    form = Form(NHWC if layout == LINEAR else str(layout), endian=endian)
    if file.suffix == RAW:
        return bare(file, [(BY_NAME[dtype], tuple(shape))], form)
    one = arrays.stored(file)
    if one.shape != form.stored(tuple(shape)):
        raise DataError(f"{file}: {list(one.shape)}, and the index says {list(form.stored(tuple(shape)))}")
    return Restored(one, tuple(shape), form)
