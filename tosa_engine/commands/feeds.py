"""What `-i` says: arrays and bare elements of files, for the inputs of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..types import Array, DType, Shape

RAW: Final = ".bin"
INPUT_METAVAR: Final = "X.npy|NAME=@X.npy|BUNDLE.npz"
INPUT_HELP: Final = (
    "X.npy without a name goes to the next input in order. X.bin in place of X.npy holds bare elements, little-endian"
)


def read_feeds(given: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, Array | Path]:
    """The arrays that the `-i` arguments name, or the files of bare elements, by input name.

    A bundle may hold expected outputs beside the inputs; any other name is a UsageError, as is an input that is given
    twice or not at all.
    """
    from .. import arrays

    feeds: dict[str, Array | Path] = {}
    unnamed: list[str] = []

    def feed(name: str, array: Array | Path, text: str) -> None:
        if name not in inputs:
            raise UsageError(f"-i {text}: the model has no input '{name}'; its inputs are {listed(inputs)}")
        if name in feeds:
            raise UsageError(f"-i {text}: input '{name}' is given twice")
        feeds[name] = array

    for text in given:
        name, named, path = text.rpartition("=@")
        if named:
            feed(name, _read(path), text)
        elif text.endswith(".npz"):
            for member, array in arrays.read_bundle(text).items():
                if member not in outputs or member in inputs:
                    feed(member, array, text)
        elif text.endswith((".npy", RAW)):
            unnamed.append(text)
        else:
            raise UsageError(f"-i {text}: an input is X.npy, X.bin, NAME=@X.npy, NAME=@X.bin or BUNDLE.npz")
    free = [name for name in inputs if name not in feeds]
    if len(unnamed) > len(free):
        raise UsageError(f"-i {unnamed[len(free)]}: the model has no further input; its inputs are {listed(inputs)}")
    for name, text in zip(free, unnamed, strict=False):
        feed(name, _read(text), text)
    missing = [name for name in inputs if name not in feeds]
    if missing:
        raise UsageError(f"no array for input {listed(missing)}; give one as -i NAME=@FILE.npy or in a bundle")
    return feeds


def read_elements(path: Path, name: str, dtype: DType, shape: Shape) -> Array:
    """The bare elements of a file, as values of an input. Raises DataError for too many or too few bytes, and for bits
    that are no value of the format. No more is read than the input takes, and a byte.
    """
    from ..serialize import data
    from ..types import count

    size = data.byte_size(dtype, count(shape))
    with path.open("rb") as file:
        raw = file.read(size + 1)
    if len(raw) != size:
        found = max(len(raw), path.stat().st_size)
        raise DataError(f"{dtype}{list(shape)} takes {size} bytes, the file has {found}", label="DATA.bin", tensor=name)
    try:
        return data.decode(raw, dtype, shape)
    except data.ValueProblem as problem:
        raise DataError(str(problem), label="DATA.bin", tensor=name) from problem


def _read(path: str) -> Array | Path:
    from .. import arrays

    return Path(path) if path.endswith(RAW) else arrays.read(path)


def listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
