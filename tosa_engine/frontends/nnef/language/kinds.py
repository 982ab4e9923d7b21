"""The types of NNEF (section 3.3.1): what they are called, what may be cast to what, what `?` stands for.

They are called kinds here, because `type` and `types` have other meanings in the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind: TypeAlias = "Primitive | TensorOf | ArrayOf | TupleOf | Unknown"
GENERIC: Final = "?"
KEPT: Final = 1024  # types whose answers are kept: a document has few of them, and asks for every argument


@dataclass(frozen=True, slots=True)
class Primitive:
    """integer, scalar, logical, string, or the generic `?`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class TensorOf:
    """A tensor; `item` is a primitive's name, `?`, or empty for the unbound `tensor<>`."""

    item: str

    def __str__(self) -> str:
        return f"tensor<{self.item}>"


@dataclass(frozen=True, slots=True)
class ArrayOf:
    """An array; `item` is None for the literal `[]`, whose type has no name."""

    item: Kind | None

    def __str__(self) -> str:
        return f"{self.item or ''}[]"


@dataclass(frozen=True, slots=True)
class TupleOf:
    items: tuple[Kind, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.items)) + ")"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The type of what had an error: it agrees with everything, so that one mistake is told once."""

    def __str__(self) -> str:
        return "an unknown type"


INTEGER, SCALAR, LOGICAL, STRING = (Primitive(name) for name in ("integer", "scalar", "logical", "string"))
UNKNOWN: Final = Unknown()
EMPTY_ARRAY: Final = ArrayOf(None)
OF_PYTHON: Final = {int: INTEGER, float: SCALAR, bool: LOGICAL, str: STRING}


def parts(kind: Kind) -> Iterator[Kind]:
    """A type and everything it is built of."""
    yield kind
    if isinstance(kind, ArrayOf) and kind.item is not None:
        yield from parts(kind.item)
    elif isinstance(kind, TupleOf):
        for item in kind.items:
            yield from parts(item)


@lru_cache(KEPT)
def is_generic(kind: Kind) -> bool:
    return any(part in (Primitive(GENERIC), TensorOf(GENERIC)) for part in parts(kind))


@lru_cache(KEPT)
def has_tensor(kind: Kind) -> bool:
    """Whether it isn't an attribute type."""
    return any(isinstance(part, TensorOf) for part in parts(kind))


@lru_cache(KEPT)
def has_unknown(kind: Kind) -> bool:
    return any(part is UNKNOWN for part in parts(kind))


def only_tensors(kind: Kind) -> bool:
    """Whether the type consists of tensors alone, as results must."""
    if isinstance(kind, ArrayOf):
        return kind.item is not None and only_tensors(kind.item)
    if isinstance(kind, TupleOf):
        return all(map(only_tensors, kind.items))
    return isinstance(kind, (TensorOf, Unknown))


def castable(source: Kind, target: Kind) -> bool:
    """Whether an expression of type `source` may stand where `target` is declared."""
    if source == target or source is UNKNOWN or target is UNKNOWN:
        return True
    if isinstance(source, Primitive):
        if isinstance(target, Primitive):
            return target.name == GENERIC
        return isinstance(target, TensorOf) and target.item in (source.name, GENERIC, "")
    if isinstance(source, TensorOf):
        if not isinstance(target, TensorOf):
            return False
        return target.item == "" or (target.item == GENERIC and source.item != "")
    if isinstance(source, ArrayOf) and isinstance(target, ArrayOf):
        return source.item is None or (target.item is not None and castable(source.item, target.item))
    if isinstance(source, TupleOf) and isinstance(target, TupleOf):
        return len(source.items) == len(target.items) and all(map(castable, source.items, target.items))
    return False


def common(first: Kind, second: Kind) -> Kind | None:
    """The one of two types that the other can be cast to, or None."""
    if castable(first, second):
        return second if first is not UNKNOWN else first
    return first if castable(second, first) else None


def substitute(kind: Kind, name: str) -> Kind:
    """The type with `name` in place of `?`."""
    if isinstance(kind, Primitive):
        return Primitive(name) if kind.name == GENERIC else kind
    if isinstance(kind, TensorOf):
        return TensorOf(name) if kind.item == GENERIC else kind
    if isinstance(kind, ArrayOf):
        return kind if kind.item is None else ArrayOf(substitute(kind.item, name))
    if isinstance(kind, TupleOf):
        return TupleOf(tuple(substitute(item, name) for item in kind.items))
    return kind


def candidates(declared: Kind, actual: Kind) -> Iterator[str]:
    """What `?` in a declared type stands for, where an expression of the type `actual` takes its place."""
    if declared in (Primitive(GENERIC), TensorOf(GENERIC)):
        if isinstance(actual, Primitive):
            yield actual.name
        elif isinstance(actual, TensorOf) and actual.item:
            yield actual.item
    elif isinstance(declared, ArrayOf) and isinstance(actual, ArrayOf):
        if declared.item is not None and actual.item is not None:
            yield from candidates(declared.item, actual.item)
    elif isinstance(declared, TupleOf) and isinstance(actual, TupleOf):
        for one, other in zip(declared.items, actual.items):
            yield from candidates(one, other)


def conforms(value: Any, kind: Kind) -> bool:
    """Whether a compile-time value (tuples for arrays and tuples) has an attribute type."""
    if isinstance(kind, ArrayOf):
        return isinstance(value, tuple) and (kind.item is None or all(conforms(v, kind.item) for v in value))
    if isinstance(kind, TupleOf):
        return isinstance(value, tuple) and len(value) == len(kind.items) and all(map(conforms, value, kind.items))
    return type(value) in OF_PYTHON and (kind == Primitive(GENERIC) or OF_PYTHON[type(value)] == kind)


_ONE: Final = {
    INTEGER: "an integer", SCALAR: "a scalar (like 1.0)", LOGICAL: "true or false", STRING: "a string",
    Primitive(GENERIC): "a value",
}  # fmt: skip
_MANY: Final = {Primitive(GENERIC): "values", LOGICAL: "logical values"}


def described(kind: Kind) -> str:
    """A type in words: "an array of integers"."""
    if isinstance(kind, Primitive):
        return _ONE[kind]
    if isinstance(kind, TensorOf):
        return "a tensor" if kind.item in ("", GENERIC) else f"a tensor of {_plural(Primitive(kind.item))}"
    if isinstance(kind, ArrayOf):
        return "an empty array" if kind.item is None else f"an array of {_plural(kind.item)}"
    if isinstance(kind, TupleOf):
        if kind.items == (INTEGER, INTEGER):
            return "a pair of integers like (1, 1)"
        return f"a tuple {kind}"
    return str(kind)


def _plural(kind: Kind) -> str:
    if isinstance(kind, Primitive):
        return _MANY.get(kind, f"{kind}s")
    if isinstance(kind, TensorOf):
        return "tensors" if kind.item in ("", GENERIC) else f"tensors of {_plural(Primitive(kind.item))}"
    if isinstance(kind, TupleOf):
        return "pairs of integers like [(1, 1), (0, 0)]" if kind.items == (INTEGER, INTEGER) else f"tuples {kind}"
    if isinstance(kind, ArrayOf):
        return "arrays" if kind.item is None else f"arrays of {_plural(kind.item)}"
    return "values"
