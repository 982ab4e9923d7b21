"""The right answers of samples: where they are found, and how they are read.

Without a name they are looked for where the samples are:

- next to the input's array in its `.npz`: `y`, `targets`, `labels`, or `..._labels` next to `..._images`;
- next to an `.npy`: `y.npy`, `targets.npy` or `labels.npy` in the same folder;
- a folder of class folders: the number of the picture's folder, in the order of their names;
- a function that gives samples: what stands second in its pairs.

The first axis counts samples, as in the arrays of inputs.
"""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.arrays import read, stored_bundle
from tosa_engine.errors import DataError, UsageError
from tosa_engine.samples.arrays import ArraySamples
from tosa_engine.samples.images import ImageSamples
from tosa_engine.samples.loader import LoaderSamples

if TYPE_CHECKING:
    from tosa_engine.samples.arrays import Samples
    from tosa_engine.types import Array

USUAL: Final = ("y", "targets", "labels")
BUNDLE: Final = ".npz:"


@dataclass(frozen=True)
class Targets:
    """One for each sample, along the first axis; `source` says where they come from."""

    array: Array
    source: str

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, number: int) -> Array:
        found: Array = np.asarray(self.array[number])
        return found

    @property
    def are_labels(self) -> bool:
        """Whether they are one integer each."""
        return self.array.dtype.kind in "iu" and self.array.size == len(self.array)

    def digest(self, count: int) -> str:
        """Of the first ones, for the record."""
        part = np.ascontiguousarray(self.array[:count])
        return hashlib.sha256(f"{part.dtype} {part.shape} ".encode() + part.tobytes()).hexdigest()


def read_targets(text: str) -> Targets:
    """The targets of an `.npy`, or of an array of an `.npz`: `FILE.npz:NAME`. Raises OSError, DataError."""
    path, bundle, key = text.rpartition(BUNDLE)
    if bundle:
        return Targets(_array(Path(f"{path}.npz"), key), text)
    file = Path(text)
    return Targets(_array(file, "" if file.suffix == ".npy" else _usual(file, "")), text)


def find_targets(samples: Samples) -> Targets:
    """Those that lie where the samples are. Raises UsageError where there are none, DataError for bad ones."""
    if isinstance(samples, ArraySamples):
        return _beside_arrays(samples)
    if isinstance(samples, ImageSamples):
        folders = sorted({file.parent.name for file in samples.files})
        if samples.files[0].parent != samples.folder:
            numbers = [folders.index(file.parent.name) for file in samples.files]
            return Targets(np.array(numbers), f"{len(folders)} class folders: {', '.join(folders[:8])}")
    if isinstance(samples, LoaderSamples):
        return _of_pairs(samples)
    raise UsageError("a metric needs the right answers: give --targets FILE.npy or FILE.npz:NAME")


def _of_pairs(samples: LoaderSamples) -> Targets:
    found = samples.answers()
    if len(found) != samples.total:
        raise UsageError(f"{samples.text}: a metric needs the right answers: give pairs of an array and a label")
    try:
        stacked = np.stack([np.asarray(answer) for answer in found])
    except ValueError as problem:
        raise DataError(f"{samples.text}: labels of different shapes: {problem}") from problem
    if stacked.dtype.kind not in "iubf":
        raise DataError(f"{samples.text}: labels are numbers, got {stacked.dtype}")
    return Targets(stacked, samples.text)


def _beside_arrays(samples: ArraySamples) -> Targets:
    parts, sources = [], []
    for file, entries, count in zip(samples.files, samples.chosen, samples.counts, strict=True):
        place, key = (
            (file, _usual(file, next(iter(entries.values())).key)) if file.suffix == ".npz" else (_sibling(file), "")
        )
        array = _array(place, key)
        if len(array) != count:
            raise DataError(f"{place}{f', array {key!r}' if key else ''}: {len(array)} targets for {count} samples")
        parts.append(array)
        sources.append(f"{place}:{key}" if key else str(place))
    if len({(part.dtype, part.shape[1:]) for part in parts}) > 1:
        raise DataError(f"targets of different shapes or types: {', '.join(sources[:4])}")
    return Targets(np.concatenate(parts) if len(parts) > 1 else parts[0], ", ".join(sources[:4]))


def _usual(file: Path, of: str) -> str:
    """The array of an .npz that has the targets; `of`: the one with the samples, where that is known."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
    except zipfile.BadZipFile as problem:
        raise DataError(f"{file}: no targets there: {problem}") from problem
    paired = [of.removesuffix("_images") + "_labels"] if of.endswith("_images") else []
    found = [name for name in [*paired, *USUAL] if name in names and name != of]
    if not found or (len(found) > 1 and found[0] not in paired):
        which = f"it has {', '.join(found)}" if found else f"none of {', '.join([*paired, *USUAL])} is in it"
        raise UsageError(f"{file}: which array has the targets? {which}; give --targets FILE.npz:NAME")
    return found[0]


def _sibling(file: Path) -> Path:
    found = [other for name in USUAL if (other := file.with_name(f"{name}.npy")) != file and other.is_file()]
    if len(found) != 1:
        which = f"there are {', '.join(map(str, found))}" if found else f"no {', '.join(USUAL)}.npy is next to {file}"
        raise UsageError(f"a metric needs the right answers: {which}; give --targets FILE.npy or FILE.npz:NAME")
    return found[0]


def _array(path: Path, key: str) -> Array:
    where = f"{path}:{key}" if key else str(path)
    if key:
        stored = stored_bundle(path)
        if key not in stored:
            raise DataError(f"{where}: no such array; there are {', '.join(stored) or 'none'}")
        found = stored[key].read()
    else:
        found = read(path)
    if found.ndim == 0 or found.size == 0 or found.dtype.kind not in "iubf":
        raise DataError(
            f"{where}: targets are numbers, their first axis counts samples; got {found.dtype} {found.shape}"
        )
    return found
