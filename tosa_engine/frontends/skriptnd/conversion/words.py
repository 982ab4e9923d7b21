"""Identifiers and literal values of both languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...nnef.language.parser import format_literal
from ..language import lexer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...nnef.language.flat import Document, Operation
    from ..tensors import TensorRef

TYPES: Final = {"scalar": "real", "integer": "int", "logical": "bool"}
TYPES_OF_NNEF: Final = {theirs: own for own, theirs in TYPES.items()}
OF_SKRIPTND: Final = frozenset((*lexer.WORDS, *lexer.TYPES, "dynamic", "static", "main"))
OF_NNEF: Final = frozenset(
    (
        "version", "extension", "graph", "fragment", "tensor", "integer", "scalar", "logical", "string", "true",
        "false", "for", "in", "if", "else", "yield", "lengthof", "length_of", "shape_of", "range_of",
    )
)  # fmt: skip


class Unsayable(Exception):
    """An operation that the other language has no words for; the argument says what of it."""


class Names:
    """Identifiers of one language for names of the other: the same where that is possible, each once."""

    def __init__(self, reserved: Iterable[str], taken: Iterable[str] = ()) -> None:
        self._reserved = frozenset(reserved)
        self._used = {name for name in taken if self._fits(name)}
        self._of: dict[str, str] = {name: name for name in self._used}

    def _fits(self, name: str) -> bool:
        return re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is not None and name not in self._reserved

    def __call__(self, name: str) -> str:
        if name not in self._of:
            self._of[name] = self.fresh(name)
        return self._of[name]

    def fresh(self, name: str) -> str:
        """An identifier that nothing has yet."""
        base = re.sub(r"\W", "_", name, flags=re.ASCII)
        base = base if self._fits(base) else f"{base}_" if re.match(r"[A-Za-z_]", base) else f"_{base}"
        found, number = base, 0
        while found in self._used or found in self._reserved:
            number += 1
            found = f"{base}_{number}"
        self._used.add(found)
        return found


class InSkriptnd(Protocol):
    """The SkriptND text that rules of operations write."""

    document: Document
    names: Names
    updates: list[str]

    def shape(self, value: Any) -> tuple[int, ...]: ...
    def tensor(self, value: Any) -> str: ...
    def vector(self, value: Any, size: int) -> str: ...
    def matrix(self, value: Any) -> str: ...
    def reshaped(self, name: str, shape: Iterable[int]) -> str: ...
    def fresh(self, operation: Operation, what: str) -> str: ...
    def invoke(self, results: str | Iterable[str], name: str, inputs: Iterable[str], **attributes: Any) -> str: ...


class InNnef(Protocol):
    """The text in NNEF 1 that rules of operators write."""

    def known(self, ref: TensorRef | None) -> bool: ...
    def tensor(self, ref: TensorRef) -> str: ...
    def operand(self, ref: TensorRef) -> str: ...
    def vector(self, ref: TensorRef | None, missing: float = 0.0) -> str: ...
    def fresh(self, ref: TensorRef, what: str) -> str: ...
    def emit(self, results: Iterable[TensorRef | str], operation: str, *inputs: str, **arguments: Any) -> str: ...


def literal(value: Any) -> str:
    """A value of a document as SkriptND writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("{", "\\{")
        return f'"{escaped}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    return repr(float(value)) if isinstance(value, float) else str(int(value))


class Pairs(tuple[tuple[int, int], ...]):
    """Padding, which NNEF 1 writes as tuples."""

    __slots__ = ()


def nnef_literal(value: Any) -> str:
    """A value of an attribute as NNEF 1 writes it."""
    if isinstance(value, Pairs):
        return f"[{', '.join(f'({before}, {after})' for before, after in value)}]"
    return format_literal(tuple(value) if isinstance(value, list) else value)
