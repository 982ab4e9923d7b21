"""What expressions mean. A pack is a list, null is None, a tensor is whatever the scope has for it.

Single values that are known are Python's. While a formula is computed, others are `Lanes` (one value for each point of
its loops): `lanes` computes with those.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeGuard

from . import scalars
from .lexer import FUNCTIONS, TYPES
from .scalars import Wrong, kind_of, shown
from .syntax import (
    Binary,
    Bounded,
    Call,
    Coalesce,
    Default,
    Expand,
    Expression,
    Fold,
    Formatted,
    List,
    Literal,
    Member,
    Name,
    Range,
    Select,
    Subscript,
    Substitute,
    Unary,
    Zip,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .syntax import Text

MOST_ITEMS: Final = 100_000  # of a pack that an expression makes


class Lanes(Protocol):
    """Values of a formula that aren't known as one Python value."""

    def holds(self, value: Any) -> bool: ...
    def binary(self, op: str, a: Any, b: Any) -> Any: ...
    def unary(self, op: str, a: Any) -> Any: ...
    def cast(self, wanted: str, a: Any) -> Any: ...
    def function(self, name: str, a: Any) -> Any: ...
    def select(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any: ...
    def lookup(self, values: Sequence[Any], index: Any) -> Any: ...


@dataclass(slots=True)
class Bound:
    """An index that may be outside: what stands for it then, or nothing, which skips the point."""

    index: Any
    low: Any = None
    high: Any = None


WHOLE: Final = object()  # the index `:`
LOST: Final = object()  # what a statement with a problem should have given


class Lost(Exception):
    """A statement reads what is lost: it has no problem of its own."""


def is_tensor(value: Any) -> TypeGuard[Any]:
    return hasattr(value, "dtype") and hasattr(value, "shape")


class Evaluator:
    """Evaluates expressions of one operator. `access` reads a tensor at an index, where that is allowed."""

    def __init__(
        self,
        symbols: Mapping[str, Any],
        text: Text,
        types: Mapping[str, str] | None = None,
        lanes: Lanes | None = None,
        access: Callable[[Any, list[Any]], Any] | None = None,
    ) -> None:
        self.symbols, self.text, self.types = symbols, text, {} if types is None else types
        self.lanes, self.access = lanes, access

    def value(self, e: Expression) -> Any:
        """Raises ParseError."""
        try:
            return _EVALUATE[type(e)](self, e)
        except Wrong as wrong:
            raise self.text.error(wrong.message, e.place, wrong.label) from None
        except RecursionError:
            raise self.text.error("an expression nests too deep", e.place, "SKND.P3") from None

    # single values

    def _lane(self, *values: Any) -> bool:
        return self.lanes is not None and any(map(self.lanes.holds, values))

    def _binary1(self, op: str, a: Any, b: Any) -> Any:
        if self._lane(a, b):
            assert self.lanes is not None
            return self.lanes.binary(op, a, b)
        return scalars.binary(op, a, b)

    def _unary1(self, op: str, a: Any) -> Any:
        if self._lane(a):
            assert self.lanes is not None
            return self.lanes.unary(op, a)
        return scalars.unary(op, a)

    def call1(self, name: str, a: Any) -> Any:
        name = self.types.get(name, name)
        lane = self._lane(a)
        if name in TYPES:
            return self.lanes.cast(name, a) if lane and self.lanes else scalars.cast(name, a)
        if name not in FUNCTIONS:
            raise Wrong(f"'{name}' is neither a type nor a built-in function", "SKND.N3")
        return self.lanes.function(name, a) if lane and self.lanes else scalars.function(name, a)

    @staticmethod
    def each(function: Callable[..., Any], *values: Any) -> Any:
        """Item by item; null where any value is."""
        lengths = set()
        for value in values:
            if value is None:
                return None
            if isinstance(value, list):
                lengths.add(len(value))
        if not lengths:
            return function(*values)
        if len(lengths) > 1:
            found = " and ".join(str(len(v)) for v in values if isinstance(v, list))
            raise Wrong(f"packs of different lengths: {found}", "SKND.E4")
        (length,) = lengths
        return [function(*(v[i] if isinstance(v, list) else v for v in values)) for i in range(length)]

    # expressions

    def _literal(self, e: Literal) -> Any:
        return e.value

    def _formatted(self, e: Formatted) -> Any:
        parts = [part if isinstance(part, str) else self.value(part) for part in e.parts]
        return "".join(part if isinstance(part, str) else shown(part) for part in parts)

    def _name(self, e: Name) -> Any:
        if e.text not in self.symbols:
            raise Wrong(f"'{e.text}' isn't known here", "SKND.N3")
        found = self.symbols[e.text]
        if found is LOST:
            raise Lost
        return found

    def _member(self, e: Member) -> Any:
        if e.name not in self.symbols:
            raise Wrong(f"'{e.name}' isn't known here", "SKND.N3")
        value = self.symbols[e.name]
        if value is None:
            return None
        if value is LOST:
            raise Lost
        if e.what == "size":
            if not isinstance(value, list):
                raise Wrong(f"'{e.name}' isn't a pack", "SKND.Y4")
            return len(value)
        if not is_tensor(value):
            raise Wrong(f"'{e.name}' isn't one tensor", "SKND.Y4")
        return list(value.shape) if e.what == "shape" else len(value.shape)

    def _default(self, e: Default) -> Any:
        kind = self.types.get(e.type, e.type)
        if kind not in TYPES:
            raise Wrong(f"'{e.type}' isn't a type", "SKND.Y1")
        return scalars.default(kind)

    def items(self, expressions: Sequence[Expression]) -> list[Any] | None:
        """The items of a list; None where one is null."""
        found: list[Any] = []
        for e in expressions:
            if isinstance(e, Expand):
                part = self.expanded(e)
            elif isinstance(e, Range):
                part = self._range(e)
            else:
                part = self.value(e)
                if isinstance(part, list):
                    raise self.text.error("a pack inside of a list must be expanded: 'x..'", e.place, "SKND.Y5")
                part = None if part is None else [part]
            if part is None:
                return None
            found.extend(part)
            if len(found) > MOST_ITEMS + len(expressions):
                raise Wrong(f"a pack of more than {MOST_ITEMS} items", "SKND.E5")
        return found

    def _list(self, e: List) -> Any:
        found = self.items(e.items)
        if found and len(kinds := {kind_of(v) for v in found} - {"?"}) > 1 and not self._lane(*found):
            raise Wrong(f"a list of {' and '.join(sorted(kinds))}", "SKND.Y5")
        return found

    def expanded(self, e: Expand) -> list[Any] | None:
        value = self._zip(e.value) if isinstance(e.value, Zip) else self.value(e.value)
        count = None
        if e.count is not None:
            count = self.value(e.count)
            if count is None:
                return None
            if not isinstance(count, int):
                raise Wrong(f"a number of items of type {kind_of(count)}", "SKND.Y6")
        if value is None:
            return [] if count is not None and not count else None
        if isinstance(value, list):
            if count is not None and len(value) != int(count) and not isinstance(count, bool):
                raise Wrong(f"a pack of {len(value)} items, not {count}", "SKND.E4")
            return value if count is not False else []
        if count is None:
            raise Wrong("what is expanded isn't a pack; '..' needs the number of items: 'x..(n)'", "SKND.Y6")
        if count > MOST_ITEMS:
            raise Wrong(f"a pack of {count} items; {MOST_ITEMS} at most", "SKND.E5")
        if count < 0:
            raise Wrong(f"a pack of {count} items", "SKND.E4")
        return [value] * int(count)

    def _zip(self, e: Zip) -> Any:
        packs = [self.value(item) for item in e.items]
        if any(p is None for p in packs):
            return None
        if not all(isinstance(p, list) for p in packs) or len({len(p) for p in packs}) > 1:
            raise Wrong("a zip needs packs of one length", "SKND.E4")
        return [item for group in zip(*packs, strict=True) for item in group]

    def _lone_zip(self, e: Zip) -> Any:
        del e
        raise Wrong("a zip stands in a list only: '[(a, b)..]'", "SKND.Y6")

    def _lone_range(self, e: Range) -> Any:
        del e
        raise Wrong("a range stands in a list, or as the index of a pack; of a tensor only ':' is", "SKND.Y6")

    def _bounds(self, e: Range) -> list[Any] | None:
        found = [None if part is None else self.value(part) for part in (e.first, e.last, e.step)]
        given = [part for part in (e.first, e.last, e.step) if part is not None]
        if sum(v is not None for v in found) < len(given):
            return None
        if any(v is not None and (not isinstance(v, int) or isinstance(v, bool)) for v in found):
            raise Wrong("the ends of a range must be integers", "SKND.Y6")
        if found[2] == 0:
            raise Wrong("a range in steps of 0", "SKND.E2")
        return found

    def _range(self, e: Range) -> list[Any] | None:
        found = self._bounds(e)
        if found is None:
            return None
        span = range(found[0] or 0, found[1] if found[1] is not None else 0, found[2] or 1)
        if len(span) > MOST_ITEMS:
            raise Wrong(f"a pack of {len(span)} items; {MOST_ITEMS} at most", "SKND.E5")
        return list(span)

    def _subscript(self, e: Subscript) -> Any:
        value = self.value(e.value)
        if value is None:
            return None
        if is_tensor(value) and not self._lane(value):
            return self._accessed(value, e)
        if isinstance(value, list) and value and is_tensor(value[0]) and not self._lane(value[0]):
            alone = len(e.items) == 1 and not e.open and not isinstance(e.items[0], Expand)
            if not alone:
                return [self._accessed(tensor, e) for tensor in value]
        return self._indexed(value, e)

    def _accessed(self, tensor: Any, e: Subscript) -> Any:
        if self.access is None:
            raise Wrong("the values of tensors are read in @lower only", "SKND.L2")
        index = self.indices(e.items)
        if index is None:
            return None
        at = next((n for n, i in enumerate(index) if isinstance(i, list)), None)
        if at is None:
            return self.access(tensor, index)
        access = self.access  # a pack that isn't expanded: a pack of values
        return [access(tensor, [*index[:at], one, *index[at + 1 :]]) for one in index[at]]

    def indices(self, items: Sequence[Expression]) -> list[Any] | None:
        """The indices of an access; `:` is WHOLE."""
        found: list[Any] = []
        for item in items:
            if isinstance(item, Range) and item.first is item.last is item.step is None:
                found.append(WHOLE)
                continue
            if isinstance(item, Expand):
                part = self.expanded(item)
            else:
                value = self.value(item)
                part = None if value is None else [value]
            if part is None:
                return None
            found.extend(part)
        return found

    def _indexed(self, value: Any, e: Subscript) -> Any:
        if not isinstance(value, (list, str)):
            raise Wrong(f"a value of type {kind_of(value)} has no items", "SKND.Y4")
        if len(e.items) != 1:
            raise Wrong("a pack has one index", "SKND.Y4")
        item = e.items[0]
        if isinstance(item, Range):
            bounds = self._bounds(item)
            return None if bounds is None else value[slice(*bounds)]
        index = self.value(item)
        if index is None:
            return None
        return self.picked(value, index)

    def picked(self, value: Any, index: Any) -> Any:
        if not isinstance(index, list):
            return self._item1(value, index)
        if index and all(isinstance(i, bool) for i in index):
            if len(index) != len(value):
                raise Wrong(f"a mask of {len(index)} for {len(value)} items", "SKND.E4")
            found = [v for v, kept in zip(value, index, strict=True) if kept]
        else:
            found = [self._item1(value, i) for i in index]
        return "".join(found) if isinstance(value, str) else found

    def _item1(self, value: Any, index: Any) -> Any:
        if self._lane(index):
            assert self.lanes is not None
            return self.lanes.lookup(value, index)
        if not isinstance(index, int) or isinstance(index, bool):
            raise Wrong(f"an index of type {kind_of(index)}", "SKND.Y6")
        if not -len(value) <= index < len(value):
            raise Wrong(f"index {index} of {len(value)} items", "SKND.E6")
        return value[index]

    def _substitute(self, e: Substitute) -> Any:
        pack, new = self.value(e.target.value), self.value(e.value)
        item = e.target.items[0] if len(e.target.items) == 1 else None
        if pack is None or new is None:
            return None
        if not isinstance(pack, list) or item is None:
            raise Wrong("only items of a pack are substituted", "SKND.Y4")
        where = self._range_of(item, len(pack)) if isinstance(item, Range) else self.value(item)
        if where is None:
            return None
        places = where if isinstance(where, list) else [where]
        if isinstance(new, list) and len(new) != len(places):
            raise Wrong(f"{len(new)} items for {len(places)} places", "SKND.E4")
        found = list(pack)
        for n, place in enumerate(places):
            self._item1(found, place)
            found[place] = new[n] if isinstance(new, list) else new
        return found

    def _range_of(self, item: Range, length: int) -> list[int] | None:
        bounds = self._bounds(item)
        return None if bounds is None else list(range(length))[slice(*bounds)]

    def _bounded(self, e: Bounded) -> Any:
        index = self.value(e.index)
        low = None if e.low is None else self.value(e.low)
        high = None if e.high is None else self.value(e.high)
        if e.low is None:
            return self.each(Bound, index)
        return self.each(Bound, index, low, high)

    def _unary(self, e: Unary) -> Any:
        if e.op == "?":
            return self.value(e.value) is not None
        return self.each(lambda a: self._unary1(e.op, a), self.value(e.value))

    def _binary(self, e: Binary) -> Any:
        left = self.value(e.left)
        if e.op in ("&&", "=>") and left is False:
            return e.op == "=>"
        if e.op == "||" and left is True:
            return True
        right = self.value(e.right)
        if e.op == "in":
            return self._contained(left, right)
        return self.each(lambda a, b: self._binary1(e.op, a, b), left, right)

    def _contained(self, left: Any, right: Any) -> Any:
        if left is None or right is None:
            return None
        if not isinstance(right, list):
            raise Wrong("the right side of 'in' isn't a pack", "SKND.Y4")
        return self.each(lambda a: any(scalars.binary("is", a, b) for b in right), left)

    def _select(self, e: Select) -> Any:
        condition = self.value(e.condition)
        if condition is None:
            return None
        if isinstance(condition, bool):
            chosen = e.yes if condition else e.no
            return None if chosen is None else self.value(chosen)
        if not isinstance(condition, list):
            if not self._lane(condition) or self.lanes is None:
                raise Wrong(f"a condition of type {kind_of(condition)}", "SKND.Y7")
            if e.no is None:
                raise Wrong("a condition that isn't known needs both arms", "SKND.Y7")
            no = e.no
            return self.lanes.select(condition, lambda: self.value(e.yes), lambda: self.value(no))
        if condition and all(c is condition[0] for c in condition) and isinstance(condition[0], bool):
            chosen = e.yes if condition[0] else e.no  # the other arm may have no value
            found = None if chosen is None else self.value(chosen)
            return found if found is None or isinstance(found, list) else [found] * len(condition)
        return self._selected(condition, self.value(e.yes), None if e.no is None else self.value(e.no))

    def _selected(self, condition: list[Any], yes: Any, no: Any) -> Any:
        if yes is None or no is None:
            return None

        def choose(c: Any, a: Any, b: Any) -> Any:
            if self._lane(c):
                assert self.lanes is not None
                return self.lanes.select(c, lambda: a, lambda: b)
            if not isinstance(c, bool):
                raise Wrong(f"a condition of type {kind_of(c)}", "SKND.Y7")
            return a if c else b

        return self.each(choose, condition, yes, no)

    def _coalesce(self, e: Coalesce) -> Any:
        value = self.value(e.value)
        return self.value(e.fallback) if value is None else value

    def _call(self, e: Call) -> Any:
        return self.each(lambda a: self.call1(e.function, a), self.value(e.argument))

    def _fold(self, e: Fold) -> Any:
        pack = self.value(e.value)
        if pack is None:
            return None
        if not isinstance(pack, list):
            raise Wrong("what is folded isn't a pack", "SKND.Y4")
        if e.cumulative:
            found: list[Any] = []
            for item in pack:
                found.append(item if not found else self._binary1(e.op, found[-1], item))
            return found
        if e.op in _PAIRS:
            return self._compared(e.op, pack)
        if e.op == ":=":
            same = all(scalars.binary("is", pack[0], item) for item in pack)
            return pack[0] if pack and same else None
        return self._folded(e.op, pack)

    def _folded(self, op: str, pack: list[Any]) -> Any:
        if not pack:
            return _EMPTY.get(op)
        found = pack[0]
        for item in pack[1:]:
            found = self._binary1(op, found, item)
        return found

    def _compared(self, op: str, pack: list[Any]) -> Any:
        if op == "!=":
            return all(self._binary1("!=", a, b) for i, a in enumerate(pack) for b in pack[:i])
        return all(self._binary1(op, a, b) for a, b in itertools.pairwise(pack))


_PAIRS: Final = frozenset(("<", "<=", ">", ">=", "==", "!="))
_EMPTY: Final = {"+": 0, "*": 1, "&&": True, "||": False}
_EVALUATE: Final[Mapping[type, Callable[[Evaluator, Any], Any]]] = {
    Literal: Evaluator._literal,
    Formatted: Evaluator._formatted,
    Name: Evaluator._name,
    Member: Evaluator._member,
    Default: Evaluator._default,
    List: Evaluator._list,
    Subscript: Evaluator._subscript,
    Substitute: Evaluator._substitute,
    Bounded: Evaluator._bounded,
    Unary: Evaluator._unary,
    Binary: Evaluator._binary,
    Select: Evaluator._select,
    Coalesce: Evaluator._coalesce,
    Call: Evaluator._call,
    Fold: Evaluator._fold,
    Zip: Evaluator._lone_zip,
    Range: Evaluator._lone_range,
}
