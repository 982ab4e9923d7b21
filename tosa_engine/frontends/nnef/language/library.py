"""Declarations of operations: those of the standard (`standard.nnef`, chapter 4) and those that a document defines."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .kinds import TensorOf, has_tensor
from .parser import parse_fragment
from .syntax import literal_value

if TYPE_CHECKING:
    from .kinds import Kind
    from .syntax import Assignment, FragmentDefinition, Place

REQUIRED: Final = object()
DEPRECATED: Final = {"linear_quantize": "min_max_linear_quantize"}  # section 4.9.5
_SOURCE: Final = "standard.nnef"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter or result; `default` is a plain value, or REQUIRED."""

    name: str
    kind: Kind
    default: Any
    place: Place

    @property
    def is_tensor(self) -> bool:
        """Whether it takes tensors, and so may be given by position."""
        return has_tensor(self.kind)


@dataclass(frozen=True, slots=True)
class Declaration:
    """An operation. `generic` ones take a type name, `generic_type` where none is written; `body` None: primitive.

    `standard`: this engine knows what it means, which it also does of the operations of `vendor.nnef`.
    """

    name: str
    generic: bool
    generic_type: str
    parameters: tuple[Parameter, ...]
    results: tuple[Parameter, ...]
    body: tuple[Assignment, ...] | None
    place: Place
    standard: bool
    vendor: bool = False

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def returns_one_tensor(self) -> bool:
        return len(self.results) == 1 and isinstance(self.results[0].kind, TensorOf)


def declare(fragment: FragmentDefinition, *, standard: bool = False, vendor: bool = False) -> Declaration:
    """The declaration of a fragment definition."""

    def members(definitions: Any) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(d.name, d.kind, REQUIRED if d.default is None else literal_value(d.default), d.place)
            for d in definitions
        )

    generic_type = fragment.generic.removeprefix("? = ") if len(fragment.generic) > 1 else ""
    return Declaration(
        fragment.name, bool(fragment.generic), generic_type, members(fragment.parameters), members(fragment.results),
        fragment.body, fragment.place, standard, vendor,
    )  # fmt: skip


class Library(Mapping[str, Declaration]):
    """The operations of a file of fragments; each is parsed when it is first asked for."""

    def __init__(self, text: str, file: str, vendor: bool = False) -> None:
        self._file, self._vendor = file, vendor
        pieces = re.split(r"^(?=fragment )", text, flags=re.MULTILINE)
        self._texts = {re.match(r"fragment (\w+)", piece)[1]: piece for piece in pieces[1:]}  # type: ignore[index]
        self._parsed: dict[str, Declaration] = {}

    def __getitem__(self, name: str) -> Declaration:
        if name not in self._parsed:
            fragment = parse_fragment(self._texts[name], self._file)
            self._parsed[name] = declare(fragment, standard=True, vendor=self._vendor)
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._texts

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)


def deprecation(name: str) -> str:
    """What is said of a deprecated operation."""
    return f"'{name}' is deprecated: its name is '{DEPRECATED[name]}' now"


@functools.cache
def standard_library() -> Library:
    """The operations of NNEF 1.0.4."""
    return Library((Path(__file__).parent / _SOURCE).read_text(encoding="utf-8"), _SOURCE)
