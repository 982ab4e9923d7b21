"""What the files of a device hold: one form for all tensors, and what is different for some, in a small TOML file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from .errors import DataError, raise_all
from .layouts import ENDIANS, LAYOUTS, Form
from .toml import read_toml
from .types import BY_NAME

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from .types import DType, Shape

TENSORS: Final = "tensors"
GENERAL: Final = ("layout", "channels", "endian")
MOST: Final = 1 << 16  # of channels in a group, and of a dimension's digits in messages


@dataclass(frozen=True)
class Entry:
    """One tensor: how it lies, which tensor of the model it is, and the type and shape that it has there, where these
    aren't the model's.
    """

    form: Form
    tensor: str = ""
    dtype: DType | None = None
    shape: Shape | None = None


@dataclass(frozen=True)
class Device:
    """`given`: something was said about the files."""

    form: Form = field(default_factory=Form)
    own: Mapping[str, Entry] = field(default_factory=dict)
    given: bool = False

    def entry(self, name: str) -> Entry:
        return self.own.get(name) or Entry(self.form)


def describe(path: str | os.PathLike[str] | None = None, **flags: str | int | None) -> Device:
    """The device of a TOML file; `flags` (layout, channels, endian) that aren't None go before what it says of all.

    Raises OSError, and DataError for all that is wrong with the file.
    """
    said: dict[str, Any] = {} if path is None else read_toml(path)
    tables = said.pop(TENSORS, {})
    problems = list(_wrong(said, GENERAL))
    if not isinstance(tables, dict):
        problems.append(f"'{TENSORS}' is a table of tables, [{TENSORS}.\"name\"]")
        tables = {}
    for name, table in tables.items():
        if isinstance(table, dict):
            problems += [f"tensor '{name}': {one}" for one in _wrong(table, (*GENERAL, "tensor", "dtype", "shape"))]
        else:
            problems.append(f"tensor '{name}' needs a table, [{TENSORS}.\"{name}\"]")
    raise_all([DataError(f"{path}: {one}") for one in problems])
    flags = {name: value for name, value in flags.items() if value is not None}
    form = replace(Form(), **(said | flags))
    return Device(form, {n: _entry(t, form) for n, t in tables.items()}, given=path is not None or bool(flags))


def _entry(table: Mapping[str, Any], form: Form) -> Entry:
    shape, dtype = table.get("shape"), table.get("dtype")
    own = {name: table[name] for name in GENERAL if name in table}
    return Entry(
        replace(form, **own), table.get("tensor", ""), None if dtype is None else BY_NAME[dtype],
        None if shape is None else tuple(shape),
    )  # fmt: skip


def _wrong(table: Mapping[str, Any], known: tuple[str, ...]) -> Iterator[str]:
    choices = {"layout": LAYOUTS, "endian": ENDIANS, "dtype": tuple(BY_NAME)}
    for name, value in table.items():
        if name not in known:
            yield f"'{name}' is none of {', '.join(known)}"
        elif name in choices and value not in choices[name]:
            yield f"{name} is one of {', '.join(choices[name])}, not {value!r}"
        elif name == "tensor" and not (isinstance(value, str) and value):
            yield f"tensor is the name of a tensor of the model, not {value!r}"
        elif name == "channels" and not _is_size(value):
            yield f"channels is a whole number from 1 to {MOST}, not {value!r}"
        elif name == "shape" and not (isinstance(value, list) and all(_is_size(d, 1 << 48) for d in value)):
            yield f"shape is a list of sizes, not {value!r}"


def _is_size(value: object, most: int = MOST) -> bool:
    return type(value) is int and 1 <= value <= most
