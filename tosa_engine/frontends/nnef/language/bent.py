"""What exporters write where the standard wants another type, and yet means but one thing.

`means` says of two types whether one may stand for the other, with a warning; `fitted` makes of a value what was meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .kinds import (
    INTEGER,
    LOGICAL,
    OF_PYTHON,
    SCALAR,
    ArrayOf,
    Kind,
    Primitive,
    TensorOf,
    TupleOf,
    castable,
    has_tensor,
)
from .syntax import Name
from .tree import Wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .library import Declaration
    from .syntax import Argument, Place
    from .vendor import Expander

_NUMBERS: Final = (INTEGER, SCALAR)


def means(got: Kind, wanted: Kind) -> bool:
    """Whether an expression of the type `got` means one thing where `wanted` is declared: a single item for an array of
    one, an array for a pair, an array of numbers for the tensor of these, an integer for a scalar, a logical value for
    an integer, and a tensor for a number, which must then be known before the graph runs.
    """
    if isinstance(wanted, ArrayOf):
        if wanted.item is None or has_tensor(wanted):
            return False
        items = isinstance(got, ArrayOf) and got.item is not None and means_or_is(got.item, wanted.item)
        return items or got == wanted.item
    if isinstance(wanted, TupleOf):
        return isinstance(got, ArrayOf) and got.item is not None and all(castable(got.item, w) for w in wanted.items)
    if isinstance(wanted, TensorOf):
        got = as_tensor(got) or got
        return castable(got, wanted) or (wanted == TensorOf("scalar") and got in (INTEGER, TensorOf("integer")))
    if got == TensorOf(str(wanted)):
        return wanted in _NUMBERS
    return (got, wanted) in ((INTEGER, SCALAR), (LOGICAL, INTEGER))


def means_or_is(got: Kind, wanted: Kind) -> bool:
    return castable(got, wanted) or means(got, wanted)


def as_tensor(kind: Kind) -> TensorOf | None:
    """The tensor that an array of numbers, or of arrays of them, stands for."""
    if not isinstance(kind, ArrayOf):
        return None
    item = kind.item
    while isinstance(item, ArrayOf):
        item = item.item
    return TensorOf(item.name) if isinstance(item, Primitive) and item in _NUMBERS else None


def mixed(types: set[str]) -> set[str]:
    """The data types of a generic invocation; integers among scalars are scalars."""
    return {"scalar"} if types == {"integer", "scalar"} else types


def idle(declaration: Declaration, argument: Argument) -> bool:
    """Whether an argument that isn't declared changes nothing: the axes of an elementwise function."""
    if argument.name != "axes" or not declaration.standard or len(declaration.parameters) != 1:
        return False
    return isinstance(declaration.parameters[0].kind, TensorOf) and declaration.returns_one_tensor


def fitted(e: Expander, value: Any, kind: Kind, name: str, place: Place) -> Any:
    """What a value stands for where `kind` is declared; tensors that are made for it begin with `name`.

    Raises Wrong where it stands for nothing.
    """
    if isinstance(kind, TensorOf):
        return _tensor(e, value, kind, name, place)
    if isinstance(kind, Primitive):
        return _number(value, kind)
    if isinstance(kind, TupleOf):
        if len(value) != len(kind.items):
            raise Wrong("NNEF.T4", f"argument '{name}' needs {len(kind.items)} items here, got {len(value)}", place)
        return tuple(fitted(e, item, k, name, place) for item, k in zip(value, kind.items))
    if not isinstance(kind, ArrayOf) or kind.item is None:
        return value
    if not isinstance(value, tuple):
        return value if has_tensor(kind) else (_number(value, kind.item),)
    if isinstance(kind.item, Primitive):
        return tuple(_number(item, kind.item) for item in value)
    return tuple(fitted(e, item, kind.item, name, place) for item in value)


def _number(value: Any, kind: Kind) -> Any:
    if kind == SCALAR and type(value) is int:
        return float(value)
    return int(value) if kind == INTEGER and type(value) is bool else value


def _tensor(e: Expander, value: Any, kind: TensorOf, name: str, place: Place) -> Any:
    if isinstance(value, tuple):
        items, shape = list(_items(value)), _shape(value)
        if shape is None or not items:
            raise Wrong("NNEF.T4", f"argument '{name}': the arrays don't have one shape", place)
        if kind.item == "scalar" or float in map(type, items):
            items = [_number(item, SCALAR) for item in items]
        given = {"shape": shape, "value": tuple(items)}
        return e.invoke(e.library["constant"], given, OF_PYTHON[type(items[0])].name, place, _beside(e, name))
    if kind.item == "scalar":
        if isinstance(value, Name) and e.types[value.text] == "integer":
            return e.invoke(e.library["cast"], {"input": value}, "scalar", place, _beside(e, name))
        return _number(value, SCALAR)
    return value


def _beside(e: Expander, name: str) -> str:
    return f"{e.frames[-1].stem}_{name}"


def _items(value: tuple[Any, ...]) -> Iterator[Any]:
    for item in value:
        if isinstance(item, tuple):
            yield from _items(item)
        else:
            yield item


def _shape(value: Any) -> tuple[int, ...] | None:
    """The extents of arrays in arrays; None where they differ."""
    if not isinstance(value, tuple):
        return ()
    inner = {_shape(item) for item in value}
    if len(inner) != 1:
        return None
    (shape,) = inner
    return None if shape is None else (len(value), *shape)
