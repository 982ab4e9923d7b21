"""Arrays in files: `.npy` and `.npz`. Declared sizes are checked before memory is taken; nothing is unpickled.

Such files have no names for bf16 and fp8. As the official tools do, bf16 and fp8e4m3 are written as elements without a
type (`V2`, `V1`), fp8e5m2 as unsigned bytes; `types.of_bits` makes them values again where their format is known.
"""

from __future__ import annotations

import ast
import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from . import types
from .errors import DataError, UsageError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from .types import Array

MAX_BUNDLE_BYTES = 1 << 32
MAX_HEADER_BYTES = 1 << 16
MAGIC = b"\x93NUMPY"
NAMELESS = (np.dtype("V1"), np.dtype("V2"))
_LENGTH_BYTES = {1: 2, 2: 4, 3: 4}


def read(path: str | os.PathLike[str]) -> Array:
    """The array of an `.npy` file, in native byte order and C order. Numbers, booleans, and elements of 1 or 2 bytes
    without a type only.

    Raises OSError, or DataError when the file isn't an `.npy` file or its size is not what its header says.
    """
    found = Path(path)
    with found.open("rb") as stream:
        return _read_stream(stream, found.stat().st_size, str(path))


def read_bundle(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The arrays of an `.npz` file by name, at most `MAX_BUNDLE_BYTES` together. Errors as of `read`."""
    arrays: dict[str, Array] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_bundle(members, str(path))
            for member in members:
                where = f"{path}, member '{member.filename}'"
                with archive.open(member) as stream:
                    arrays[member.filename.removesuffix(".npy")] = _read_stream(stream, member.file_size, where)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: not an .npz file, or damaged: {error}", label="DATA.npz") from error
    return arrays


def write(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Write arrays by name to an `.npz` file, or a single one to an `.npy` file. Equal arrays give equal files."""
    found = Path(path)
    if found.suffix == ".npy":
        if len(arrays) != 1:
            raise UsageError(f"'{found}' holds one array, not {len(arrays)}; use an .npz file", label="DATA.npy")
        with found.open("wb") as stream:
            _write_stream(stream, next(iter(arrays.values())))
    elif found.suffix == ".npz":
        with zipfile.ZipFile(found, "w") as archive:
            for name, array in arrays.items():
                info = zipfile.ZipInfo(f"{name}.npy")
                with archive.open(info, "w", force_zip64=True) as stream:
                    _write_stream(stream, array)
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
        if member.flag_bits & 1 or member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(f"{path}: member '{name}' is encrypted or packed in an unknown way", label="DATA.npz")
        seen.add(name)


def _read_stream(stream: IO[bytes], size: int, where: str) -> Array:
    dtype, shape, fortran, start = read_header(stream, where)
    if dtype.kind not in "biuf" and dtype not in NAMELESS:
        raise DataError(f"{where}: elements must be numbers or booleans, not '{dtype.str}'", label="DATA.npy")
    count = math.prod(shape)
    if count * dtype.itemsize != size - start:
        declared = f"{dtype} of shape {list(shape)} takes {count * dtype.itemsize} bytes"
        raise DataError(f"{where}: {declared}, the file has {size - start}", label="DATA.npy")
    flat: Array = np.frombuffer(bytearray(stream.read(size - start)), dtype)
    if flat.size != count:
        raise DataError(f"{where}: the file ends early", label="DATA.npy")
    shaped = flat.reshape(shape, order="F" if fortran else "C")
    return np.asarray(shaped, dtype.newbyteorder("="), order="C")


def read_header(stream: IO[bytes], where: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """dtype, shape, whether in Fortran order, and the position of the first element; the stream then stands there.

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
        raise DataError(f"{where}: {shape!r} is no shape", label="DATA.npy")
    return dtype, shape, bool(header["fortran_order"]), 8 + width + length


def _dtype(descr: object, where: str) -> np.dtype[Any]:
    if descr == "<f1":  # what numpy writes for fp8e5m2, and can't read
        return NAMELESS[0]
    try:
        dtype = np.dtype(descr) if isinstance(descr, str) else None
    except (TypeError, ValueError, SyntaxError):
        dtype = None
    if dtype is None:
        raise DataError(f"{where}: elements must be numbers or booleans, not {descr!r}", label="DATA.npy")
    return dtype


def _write_stream(stream: IO[bytes], array: Array) -> None:
    if array.dtype == types.fp8e5m2.storage:
        array = array.view(np.uint8)
    npy: Any = np.lib.format  # untyped in some versions of numpy
    npy.write_array(stream, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
