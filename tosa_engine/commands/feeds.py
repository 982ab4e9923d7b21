"""What `-i` says: arrays and bare elements of files, for the inputs of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import DataError, UsageError, raise_all

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from ..arrays import Stored
    from ..device import Device
    from ..layouts import Form
    from ..runtime.ports import Port
    from ..types import Array, DType, Shape

RAW: Final = ".bin"
INPUT_METAVAR: Final = "X.npy|NAME=@X.npy|BUNDLE.npz"
INPUT_HELP: Final = (
    "X.npy without a name goes to the next input in order. X.bin in place of X.npy holds bare elements, little-endian"
)


def find_feeds(given: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, Stored | Path]:
    """What the `-i` arguments name, by input name: arrays of which nothing but the header is read, or files of bare
    elements.

    A bundle may hold expected outputs beside the inputs; any other name is a UsageError, as is an input that is given
    twice or not at all.
    """
    from .. import arrays

    feeds: dict[str, Stored | Path] = {}
    unnamed: list[str] = []

    def feed(name: str, array: Stored | Path, text: str) -> None:
        if name not in inputs:
            raise UsageError(f"-i {text}: the model has no input '{name}'; its inputs are {listed(inputs)}")
        if name in feeds:
            raise UsageError(f"-i {text}: input '{name}' is given twice")
        feeds[name] = array

    for text in given:
        name, named, path = text.rpartition("=@")
        if named:
            feed(name, _found(path), text)
        elif text.endswith(".npz"):
            for member, array in arrays.stored_bundle(text).items():
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
        feed(name, _found(text), text)
    missing = [name for name in inputs if name not in feeds]
    if missing:
        raise UsageError(f"no array for input {listed(missing)}; give one as -i NAME=@FILE.npy or in a bundle")
    return feeds


def read_feeds(
    found: Mapping[str, Stored | Path], ports: Sequence[Port], *, real: bool = False, device: Device | None = None
) -> dict[str, Array]:
    """The arrays that `find_feeds` found, as values of the formats that the model's inputs have, or `real` as floats.
    `device` says how bare elements lie.

    Raises DataError (all of them, before an element is read) for other types and shapes than the inputs have, and
    where bare elements are too many, too few, or no values of the format.
    """
    forms = {port.name: _form(device, port) for port in ports}
    raise_all([p for port in ports if (p := _problem(found[port.name], port, forms[port.name], real=real)) is not None])
    return {port.name: _values(found[port.name], port, forms[port.name]) for port in ports}


def _form(device: Device | None, port: Port) -> Form:
    """How the bare elements of an input lie. Raises DataError for a device that says more of it."""
    from ..layouts import Form

    if device is None:
        return Form()
    entry = device.entry(port.name)
    if entry.dtype not in (None, port.tosa_type) or entry.shape not in (None, port.shape):
        message = f"--device says another type or shape than the model, which takes {port.tosa_type}{list(port.shape)}"
        raise DataError(message, tensor=port.name)
    return entry.form


def _problem(one: Stored | Path, port: Port, form: Form, *, real: bool) -> DataError | None:
    """What is wrong with an input's type, shape or size, before an element is read."""
    from ..feeds import wrong_form
    from ..layouts import wrong_size

    if isinstance(one, Path):
        size = one.stat().st_size
        if size == form.size(port.tosa_type, port.shape):
            return None
        return DataError(wrong_size(port.tosa_type, port.shape, form, size), label="DATA.bin", tensor=port.name)
    if fits(one, port, real=real):
        return None
    return DataError(wrong_form(port.tosa_type, port.shape, one.dtype, one.shape), tensor=port.name)


def fits(one: Stored, port: Port, *, real: bool = False) -> bool:
    """Whether an array has the shape of an input or output, and elements that can be its values."""
    from ..types import are_bits

    bits = _is_unsigned(one.dtype, port) or are_bits(one.dtype, port.tosa_type)
    floats = real and one.dtype.kind == "f"
    return one.shape == port.shape and (one.dtype == port.dtype or bits or floats or _is_long(one.dtype, port))


def _values(one: Stored | Path, port: Port, form: Form) -> Array:
    return (
        read_elements(one, port.name, port.tosa_type, port.shape, form)
        if isinstance(one, Path)
        else in_format(one.read(), port)
    )


def in_format(array: Array, port: Port) -> Array:
    """An array of a file in the format of an input or output, where it holds the format's bits."""
    from ..types import of_bits

    if _is_long(array.dtype, port):
        return _short(array, port)
    return array.view(port.dtype) if _is_unsigned(array.dtype, port) else of_bits(array, port.tosa_type)


def _is_long(dtype: np.dtype[Any], port: Port) -> bool:
    """Whether integers of 64 bits, as token ids are, or unsigned ones of 32 come for an input or output of 32."""
    wide = dtype.itemsize == 8 or (dtype.kind == "u" and dtype.itemsize == 4 and not port.unsigned)
    return dtype.kind in "iu" and wide and port.tosa_type.storage.kind == "i" and port.dtype.itemsize == 4


def _short(array: Array, port: Port) -> Array:
    """Wide integers that are values of a format of 32 bits. Raises DataError for others."""
    low, high = port.tosa_type.minimum, port.tosa_type.maximum
    if array.size and not low <= array.min() <= array.max() <= high:
        message = f"{array.dtype} values from {array.min()} to {array.max()} don't fit {port.tosa_type}"
        raise DataError(message, label="DATA.int64", tensor=port.name)
    return array.astype(port.dtype)


def _is_unsigned(dtype: np.dtype[Any], port: Port) -> bool:
    return port.unsigned and dtype.kind == "u" and dtype.itemsize == port.dtype.itemsize


def read_elements(path: Path, name: str, dtype: DType, shape: Shape, form: Form | None = None) -> Array:
    """The bare elements of a file, as values of an input. Raises DataError for too many or too few bytes, and for bits
    that are no value of the format. No more is read than the input takes, and a byte.
    """
    from ..layouts import Form, unpack, wrong_size
    from ..serialize.data import ValueProblem

    form = form or Form()
    size = form.size(dtype, shape)
    with path.open("rb") as file:
        raw = file.read(size + 1)
    if len(raw) != size:
        found = max(len(raw), path.stat().st_size)
        raise DataError(wrong_size(dtype, shape, form, found), label="DATA.bin", tensor=name)
    try:
        return unpack(raw, dtype, shape, form)
    except ValueProblem as problem:
        raise DataError(str(problem), label="DATA.bin", tensor=name) from problem


def _found(path: str) -> Stored | Path:
    from .. import arrays

    return Path(path) if path.endswith(RAW) else arrays.stored(path)


def listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
