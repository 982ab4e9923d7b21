"""Arrays in files: `.npy` and `.npz`. Declared sizes are checked before memory is taken; nothing is unpickled.

Such files have no names for bf16 and fp8. As the official tools do, bf16 and fp8e4m3 are written as elements without a
type (`V2`, `V1`), fp8e5m2 as unsigned bytes; `types.of_bits` makes them values again where their format is known.
"""

from __future__ import annotations

import ast
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from . import types
from .errors import DataError, UsageError
from .memory import allowed, refuse_more
from .types import count

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from .types import Array, Shape

MAX_BUNDLE_BYTES = 1 << 32
MAX_HEADER_BYTES = 1 << 16
PIECE = 1 << 20  # bytes that are read at once
SHOWN = 200  # characters of what a header has in place of a shape
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError)
MAGIC = b"\x93NUMPY"
NAMELESS = (np.dtype("V1"), np.dtype("V2"))
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of an array, before it is read: `dtype` in native byte order, `stored` as in the file."""

    where: str
    stored: np.dtype[Any]
    shape: Shape
    fortran: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.newbyteorder("=")


class Stored:
    """An `.npy` file, or a member of an `.npz` file, whose header is read and whose elements aren't."""

    def __init__(self, path: Path, header: Header, member: str = "") -> None:
        self.path, self.header, self.member = path, header, member
        self.dtype, self.shape = header.dtype, header.shape

    def read(self) -> Array:
        """The array, in native byte order and C order. Raises OSError, and DataError for a damaged file."""
        if not self.member:
            with self.path.open("rb") as stream:
                return _read_stream(stream, self.path.stat().st_size, str(self.path))
        with _opened(self.path) as archive, archive.open(self.member) as stream:
            return _read_stream(stream, archive.getinfo(self.member).file_size, self.header.where)


def stored(path: str | os.PathLike[str]) -> Stored:
    """The array of an `.npy` file. Numbers, booleans, and elements of 1 or 2 bytes without a type only.

    Raises OSError, or DataError when the file isn't an `.npy` file or its size is not what its header says.
    """
    found = Path(path)
    with found.open("rb") as stream:
        return Stored(found, _checked_header(stream, found.stat().st_size, str(path)))


def stored_bundle(path: str | os.PathLike[str]) -> dict[str, Stored]:
    """The arrays of an `.npz` file by name, at most `MAX_BUNDLE_BYTES` together. Errors as of `stored`."""
    found: dict[str, Stored] = {}
    with _opened(Path(path)) as archive:
        members = archive.infolist()
        _check_bundle(members, str(path))
        for member in members:
            where = f"{path}, member '{member.filename}'"
            with archive.open(member) as stream:
                header = _checked_header(stream, member.file_size, where)
            found[member.filename.removesuffix(".npy")] = Stored(Path(path), header, member.filename)
    return found


def read(path: str | os.PathLike[str]) -> Array:
    """The array of an `.npy` file, in native byte order and C order. Errors as of `stored`."""
    return stored(path).read()


def read_bundle(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The arrays of an `.npz` file by name. Every header is read before the first element. Errors as of `stored`."""
    return {name: one.read() for name, one in stored_bundle(path).items()}


def write(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write arrays by name to an `.npz` file, or a single one to an `.npy` file. Equal arrays give equal files."""
    found = Path(path)
    if found.suffix == ".npy":
        if len(arrays) != 1:
            raise UsageError(f"'{found}' holds one array, not {len(arrays)}; use an .npz file", label="DATA.npy")
        with found.open("wb") as stream:
            write_stream(stream, next(iter(arrays.values())))
    elif found.suffix == ".npz":
        with zipfile.ZipFile(found, "w") as archive:
            for name, array in arrays.items():
                info = zipfile.ZipInfo(f"{name}.npy")
                with archive.open(info, "w", force_zip64=True) as stream:
                    write_stream(stream, array)
    else:
        raise UsageError(f"can't write arrays to '{found}'; the name must end in .npy or .npz", label="DATA.suffix")


def _check_bundle(members: list[zipfile.ZipInfo], path: str) -> None:
    total = sum(member.file_size for member in members)
    if total > MAX_BUNDLE_BYTES:
        message = f"{path}: {total} bytes unpacked are more than the {MAX_BUNDLE_BYTES} that are read at once"
        raise DataError(message, label="DATA.npz")
    seen: set[str] = set()
    for member in members:
        name = member.filename
        if not name.endswith(".npy"):
            raise DataError(f"{path}: member '{name}' is not an .npy array", label="DATA.npz")
        if name in seen:
            raise DataError(f"{path}: two members have the name '{name}'", label="DATA.npz")
        check_packing(member, path)
        seen.add(name)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """An `.npz` file; what is wrong with it while it is open is a DataError."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (*DAMAGED, UnicodeDecodeError) as error:  # names of members
        raise DataError(f"{path}: not an .npz file, or damaged: {error}", label="DATA.npz") from error


def check_packing(member: zipfile.ZipInfo, path: str) -> None:
    """Raise DataError for a member that zipfile can't open."""
    if member.flag_bits & 0x61 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        message = f"{path}: member '{member.filename}' is encrypted or packed in an unknown way"
        raise DataError(message, label="DATA.npz")


def _checked_header(stream: IO[bytes], size: int, where: str) -> Header:
    """The header of an `.npy` file of `size` bytes. The stream then stands at the first element."""
    header, start = read_header(stream, where)
    dtype = header.stored
    if dtype.kind not in "biuf" and dtype not in NAMELESS:
        raise DataError(f"{where}: elements must be numbers or booleans, not '{dtype.str}'", label="DATA.npy")
    check_size(header, size - start)
    return header


def check_size(header: Header, size: int) -> None:
    """Raise DataError unless the elements take `size` bytes."""
    wanted = count(header.shape) * header.stored.itemsize
    if wanted != size:
        declared = f"{header.stored} of shape {list(header.shape)} takes {wanted} bytes"
        raise DataError(f"{header.where}: {declared}, the file has {size}", label="DATA.npy")


def _read_stream(stream: IO[bytes], size: int, where: str) -> Array:
    """The array in a stream of `size` bytes, read in pieces: nothing is in memory twice."""
    header = _checked_header(stream, size, where)
    taken = count(header.shape) * header.stored.itemsize
    if taken > PIECE:
        refuse_more(taken, f"{where}: {header.dtype}{list(header.shape)} takes {taken:,} bytes", allowed())
    found: Array = np.empty(header.shape, header.dtype)
    flat: Any = found.T.flat if header.fortran else found.reshape(-1)
    total, step, at = found.size, max(1, PIECE // header.stored.itemsize), 0
    while at < total:
        elements = min(step, total - at)
        piece = stream.read(elements * header.stored.itemsize)
        if len(piece) < elements * header.stored.itemsize:
            raise DataError(f"{where}: the file ends early", label="DATA.npy")
        flat[at : at + elements] = np.frombuffer(piece, header.stored)
        at += elements
    if stream.read(1):  # the end of a packed member, where its checksum is compared
        raise DataError(f"{where}: the file goes on behind its elements", label="DATA.npy")
    return found


def read_header(stream: IO[bytes], where: str) -> tuple[Header, int]:
    """The header, and the position of the first element, where the stream then stands.

    Raises DataError (naming `where`) when no header of an `.npy` file is there.
    """
    start = stream.read(8)
    width = _LENGTH_BYTES.get(start[6]) if len(start) == 8 and start.startswith(MAGIC) else None
    if width is None:
        raise DataError(f"{where}: not an .npy file", label="DATA.npy")
    length = int.from_bytes(stream.read(width), "little")
    if length > MAX_HEADER_BYTES:
        raise DataError(f"{where}: a header of {length} bytes", label="DATA.npy")
    text = stream.read(length).decode("latin-1")
    try:
        header = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError) as error:
        raise DataError(f"{where}: the header can't be read: {error}", label="DATA.npy") from error
    if not isinstance(header, dict) or header.keys() != {"descr", "fortran_order", "shape"}:
        raise DataError(f"{where}: the header lacks descr, fortran_order or shape", label="DATA.npy")
    dtype = _dtype(header["descr"], where)
    shape = header["shape"]
    if not isinstance(shape, tuple) or not all(type(d) is int and d >= 0 for d in shape):
        raise DataError(f"{where}: {_shown(shape)} is no shape", label="DATA.npy")
    problem = types.impossible(shape)
    if problem:
        raise DataError(f"{where}: {problem}", label="DATA.npy")
    return Header(where, dtype, shape, bool(header["fortran_order"])), 8 + width + length


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _dtype(descr: object, where: str) -> np.dtype[Any]:
    if descr == "<f1":  # what numpy writes for fp8e5m2, and can't read
        return NAMELESS[0]
    try:
        dtype = np.dtype(descr) if isinstance(descr, str) else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None:
        raise DataError(f"{where}: elements must be numbers or booleans, not {_shown(descr)}", label="DATA.npy")
    return dtype


def write_stream(stream: IO[bytes], array: Array) -> None:
    """Write the `.npy` form of an array, in its own order of bytes."""
    if array.dtype == types.fp8e5m2.storage:
        array = array.view(np.uint8)
    npy: Any = np.lib.format  # untyped in some versions of numpy
    npy.write_array(stream, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
