"""Calibration data: samples by input name from `.npz`, `.npy` or a folder of them, one sample in memory at a time.

Which array feeds which input: the one whose name is the input's; for a model with one input else `calibration_images`;
else the only array that fits. An array fits when its first axis counts samples and the others are the input's shape,
but for dimensions of 1. Each sample becomes an array of the input's shape: fp32 for a real input, whose arrays are
floats or, with `as_real`, integers that are taken as the numbers that they are; integers in the input's type for an
integer input. Where stored integers are allowed for any input (`compare`), they stay what they are.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from ..arrays import DAMAGED, Header, check_packing, check_size, read_header
from ..errors import DataError
from ..types import bool_, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..graph import Tensor
    from ..types import Array, Shape

USUAL_KEY: Final = "calibration_images"
SUFFIXES: Final = (".npy", ".npz")
FLOATS: Final = "f"  # kinds of numpy's dtypes
INTEGERS: Final = "iub"
Sample = dict[str, "Array"]


@dataclass(frozen=True)
class Entry:
    """An array in a file, by its header and the bytes of its elements: `key` is its name in an .npz, "" in an .npy."""

    file: Path
    key: str
    header: Header
    size: int

    @property
    def label(self) -> str:
        return self.header.where

    @property
    def shape(self) -> Shape:
        return self.header.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.stored


class Samples(Protocol):
    """Numbered samples: `total` of them, 0 to total - 1."""

    @property
    def total(self) -> int: ...

    def describe(self) -> dict[str, Any]:
        """What the samples are, for the record: plain data, the same wherever the files lie."""

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Sample]]:
        """The samples of these numbers, which ascend, each with its number. Raises DataError for a bad one."""


@dataclass(frozen=True)
class ArraySamples:
    """Samples along the first axis of arrays in files, file by file."""

    files: list[Path]
    chosen: list[dict[str, Entry]]
    counts: list[int]
    inputs: Mapping[str, Tensor]
    as_real: bool = False

    @property
    def total(self) -> int:
        return sum(self.counts)

    def describe(self) -> dict[str, Any]:
        files = [
            {"name": file.name, "sha256": sha256(file), "samples": number}
            for file, number in zip(self.files, self.counts, strict=True)
        ]
        return {"kind": "arrays", "files": files} | ({"as_real": True} if self.as_real else {})

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Sample]]:
        wanted = iter(numbers)
        number, first = next(wanted, None), 0
        for entries, count_ in zip(self.chosen, self.counts, strict=True):
            with ExitStack() as stack:
                readers: dict[str, _Reader] = {}
                while number is not None and number < first + count_:
                    readers = readers or {name: _Reader(stack, entry, count_) for name, entry in entries.items()}
                    index = number - first
                    yield (
                        number,
                        {
                            name: _checked(r.read(index), r.entry, index, self.inputs[name], as_real=self.as_real)
                            for name, r in readers.items()
                        },
                    )
                    number = next(wanted, None)
            first += count_


def array_samples(
    path: str | os.PathLike[str], inputs: Sequence[Tensor], *, integers: bool = False, as_real: bool = False
) -> ArraySamples:
    """The samples of an .npz, an .npy or a folder: files sorted by name, then along the first axis. With `integers`
    arrays of them are samples of real inputs as they are stored, with `as_real` as the numbers that they are.

    Raises UsageError and DataError (here, before the first sample) when there is no data, or it doesn't fit the inputs.
    """
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(2, "no such data", str(path))
    files = sorted(f for f in found.iterdir() if f.suffix in SUFFIXES) if found.is_dir() else [found]
    if not files:
        raise DataError(f"{found}: the folder has no .npy, no .npz and no pictures")
    allowed = integers or as_real
    kinds = {t.name: INTEGERS if not t.dtype.is_float else FLOATS + INTEGERS * allowed for t in inputs}
    if integers:
        kinds = dict.fromkeys(kinds, FLOATS + INTEGERS)
    chosen = [_assigned(file, inputs, kinds) for file in files]
    counts = [_sample_count(entries, inputs) for entries in chosen]
    if sum(counts) == 0:
        raise DataError(f"{found}: there are no samples in it")
    return ArraySamples(files, chosen, counts, {t.name: t for t in inputs}, as_real)


@dataclass(frozen=True)
class RandomSamples:
    """Normally distributed numbers, good for nothing but trying things out. Sample i depends on i and `seed` alone.

    Integer inputs without QParams get integers: 0 or 1 for bool, below `below[name]` where they are indices, else those
    that 8 bits hold.
    """

    total: int
    seed: int
    inputs: Sequence[Tensor]
    below: Mapping[str, int] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        return {"kind": "random", "seed": self.seed}

    def read(self, numbers: Iterable[int]) -> Iterator[tuple[int, Sample]]:
        for number in numbers:
            rng = np.random.default_rng([self.seed, number])
            yield number, {t.name: self._of(t, rng) for t in self.inputs}

    def _of(self, tensor: Tensor, rng: np.random.Generator) -> Array:
        shape, dtype = tensor.shape or (), tensor.dtype
        if dtype.is_float or tensor.quant is not None:
            return rng.normal(size=shape).astype(np.float32)
        low, high = (0, 2) if dtype is bool_ else (max(dtype.minimum, -128), min(dtype.maximum, 127) + 1)
        if tensor.name in self.below:
            low, high = 0, self.below[tensor.name]
        return rng.integers(low, high, shape).astype(dtype.storage)


def sha256(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def _checked(array: Array, entry: Entry, index: int, tensor: Tensor, *, as_real: bool = False) -> Array:
    assert tensor.shape is not None
    if array.dtype.kind in INTEGERS and not tensor.dtype.is_float:
        return _in_type(array, entry, index, tensor).reshape(tensor.shape)
    if array.dtype.kind in INTEGERS and not as_real:
        return array.reshape(tensor.shape)
    with np.errstate(over="ignore"):
        sample = array.astype(np.float32).reshape(tensor.shape)
    bad = ~np.isfinite(sample)
    if bad.any():
        value = "NaN" if np.isnan(sample[bad][0]) else "infinity"
        raise DataError(f"{entry.label}: sample {index} has {value} in it", tensor=tensor.name)
    return sample


def _in_type(array: Array, entry: Entry, index: int, tensor: Tensor) -> Array:
    """Integers in the type of an integer input, where it holds them; stored bits of the same width stay."""
    wanted = tensor.dtype.storage
    if array.dtype.itemsize == wanted.itemsize:
        return array
    found = array.astype(wanted)
    if (found != array).any():
        value = array[found != array].reshape(-1)[0]
        raise DataError(
            f"{entry.label}: sample {index} has {value}, which {tensor.dtype} can't hold", tensor=tensor.name
        )
    return found


def _entries(file: Path) -> list[Entry]:
    if file.suffix == ".npy":
        with file.open("rb") as stream:
            return [_entry(file, "", stream, file.stat().st_size)]
    if file.suffix != ".npz":
        raise DataError(f"{file}: data is an .npz, an .npy, or a folder of them or of pictures")
    try:
        with zipfile.ZipFile(file) as archive:
            found = []
            for member in archive.infolist():
                check_packing(member, str(file))
                with archive.open(member) as stream:
                    found.append(_entry(file, member.filename.removesuffix(".npy"), stream, member.file_size))
            return found
    except DAMAGED as error:
        raise DataError(f"{file}: not an .npz file, or damaged: {error}") from error


def _entry(file: Path, key: str, stream: IO[bytes], size: int) -> Entry:
    header, start = read_header(stream, f"{file}, array '{key}'" if key else str(file))
    return Entry(file, key, header, size - start)


def _fits(entry: Entry, tensor: Tensor) -> bool:
    return len(entry.shape) > 0 and _squeezed(entry.shape[1:]) == _squeezed(tensor.shape or ())


def _squeezed(shape: Shape) -> Shape:
    return tuple(d for d in shape if d != 1)


def _assigned(file: Path, inputs: Sequence[Tensor], kinds: Mapping[str, str]) -> dict[str, Entry]:
    """Input name -> the array of this file that feeds it."""
    entries = {entry.key: entry for entry in _entries(file)}
    return {tensor.name: _chosen(file, entries, tensor, kinds[tensor.name], only=len(inputs) == 1) for tensor in inputs}


def _chosen(file: Path, entries: Mapping[str, Entry], tensor: Tensor, kinds: str, *, only: bool) -> Entry:
    name = tensor.name
    named = entries.get(name) or (entries.get(USUAL_KEY) if only else None)
    if named is None and only and len(entries) == 1:
        named = next(iter(entries.values()))
    if named is None:
        fitting = [e for e in entries.values() if only and _fits(e, tensor) and e.dtype.kind in kinds]
        if len(fitting) != 1:
            keys = ", ".join(f"'{e.key}' {list(e.shape)}" for e in entries.values())
            problem = f"{len(fitting)} arrays fit it" if only else "no array has its name"
            raise DataError(
                f"{file}: which array is for input '{name}' {list(tensor.shape or ())}? {problem}; arrays: {keys}",
                tensor=name,
            )
        named = fitting[0]
    if named.dtype.kind not in kinds:
        must = {
            FLOATS: "calibration data must be floats",
            INTEGERS: f"data for an input of type {tensor.dtype} must be integers",
        }
        hint = (
            "; --as-real takes integers as the numbers that they are"
            if kinds == FLOATS and named.dtype.kind in INTEGERS
            else ""
        )
        raise DataError(
            f"{named.label}: {must.get(kinds, 'samples must be numbers')}, got {named.dtype}{hint}", tensor=name
        )
    if not _fits(named, tensor):
        raise DataError(
            f"{named.label}: shape {list(named.shape)} is not a number of samples of shape {list(tensor.shape or ())}",
            tensor=name,
        )
    check_size(named.header, named.size)
    return named


def _sample_count(entries: Mapping[str, Entry], inputs: Sequence[Tensor]) -> int:
    counts = {tensor.name: entries[tensor.name].shape[0] for tensor in inputs}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"'{name}' {n}" for name, n in counts.items())
        file = entries[inputs[0].name].file
        raise DataError(f"{file}: the inputs have different numbers of samples: {shown}")
    return next(iter(counts.values()))


class _Reader:
    """Reads an array sample by sample, in ascending order, from its place in the file."""

    def __init__(self, stack: ExitStack, entry: Entry, number: int) -> None:
        self.entry = entry
        self._whole: Array | None = None
        if entry.key:
            archive = stack.enter_context(zipfile.ZipFile(entry.file))
            member = f"{entry.key}.npy" if f"{entry.key}.npy" in archive.namelist() else entry.key
            self._stream: IO[bytes] = stack.enter_context(archive.open(member))
        else:
            self._stream = stack.enter_context(entry.file.open("rb"))
        read_header(self._stream, entry.label)
        self._next = 0
        if entry.header.fortran:  # samples aren't contiguous in it
            flat = np.frombuffer(self._bytes(count(entry.shape)), entry.dtype)
            self._whole = flat.reshape(entry.shape, order="F")
        self._size = count(entry.shape) // max(number, 1)

    def read(self, index: int) -> Array:
        if self._whole is not None:
            sample: Array = self._whole[index]
            return sample
        if index > self._next:
            self._stream.seek((index - self._next) * self._size * self.entry.dtype.itemsize, os.SEEK_CUR)
        self._next = index + 1
        return np.frombuffer(self._bytes(self._size), self.entry.dtype)

    def _bytes(self, elements: int) -> bytes:
        wanted = elements * self.entry.dtype.itemsize
        try:
            data = self._stream.read(wanted)
        except DAMAGED as error:
            raise DataError(f"{self.entry.label}: damaged: {error}") from error
        if len(data) < wanted:
            raise DataError(f"{self.entry.label}: the file ends before its last sample")
        return data
