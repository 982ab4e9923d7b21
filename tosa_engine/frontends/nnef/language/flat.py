"""A document in flat form: its operations with plain arguments, in their order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .library import Declaration
    from .syntax import Name, Place, Text


@dataclass(frozen=True, slots=True)
class Operation:
    """One checked invocation.

    `arguments` has every parameter of the declaration: a Name or a number for a tensor, a tuple of them for an array
    of tensors, plain values for attributes (tuples for arrays and tuples). `results` are the tensors one after the
    other, `types` their data types (scalar, integer or logical), `generic` what `?` of a generic declaration is.
    """

    declaration: Declaration
    arguments: dict[str, Any]
    results: tuple[Name, ...]
    types: tuple[str, ...]
    generic: str
    place: Place

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def result(self) -> str:
        return self.results[0].text

    @property
    def type(self) -> str:
        """The data type of the first result."""
        return self.types[0]


class Container(Protocol):
    """The files of one document. `label` is what errors call the container."""

    label: str

    def has(self, name: str) -> bool:
        """Whether the file `name` (with `/` between folders) is there."""

    def read(self, name: str) -> bytes:
        """The bytes of a file; DataError if it isn't there or can't be read."""


@dataclass(slots=True)
class Document:
    """A checked document: `inputs` and `outputs` are the graph's, `operations` in their order.

    The operations are those of the standard and those that the document only declares; fragments with a body are
    expanded. `warnings` say what is deprecated or unusual, each with its place; where a `strict` document bends the
    standard, it is an error instead. `own` are the fragments that the document defines, `extensions` those that it
    enables.
    """

    text: Text
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operations: list[Operation]
    container: Container | None = None
    warnings: list[str] = field(default_factory=list)
    strict: bool = True
    own: Mapping[str, Declaration] = field(default_factory=dict)
    extensions: frozenset[str] = frozenset()
    _warned: set[str] = field(default_factory=set, repr=False)

    def warn(self, *warnings: str) -> None:
        """Add warnings, each once."""
        for warning in warnings:
            if warning not in self._warned:
                self._warned.add(warning)
                self.warnings.append(warning)

    @property
    def tensors(self) -> list[str]:
        """The names of all tensors, in the order of their definition."""
        return [result.text for operation in self.operations for result in operation.results]

    @property
    def variables(self) -> dict[str, Operation]:
        """Tensor name -> the `variable` operation that introduces it."""
        return {op.result: op for op in self.operations if op.name == "variable"}
