"""One operator's formulas, statement by statement."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....lower.problems import Unlowered
from ..language.affine import names_in
from ..language.evaluation import Bound, Evaluator, is_tensor
from ..language.scalars import Wrong, bound_of
from ..language.syntax import Binary, Name, Subscript
from ..tensors import TensorRef, tensors_of
from .access import Reader
from .arithmetic import Arithmetic
from .contraction import is_product, product_sum
from .placing import Store
from .space import Choice, Lane, Space, merged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ....graph import Tensor
    from ..language.syntax import Expression, Lowering
    from ..tensors import Instance
    from ..writer import SkndWriter

MOST_STEPS: Final = 4096
MOST_AXES: Final = 5


def lower_formulas(b: SkndWriter, instance: Instance) -> list[Tensor]:
    """The outputs of an instance. Raises ParseError, or Unlowered."""
    store = Store(b)
    symbols = dict(instance.symbols)
    for d, value in zip(instance.operator.outputs, instance.outputs, strict=True):
        symbols[d.name] = value
    for statement in instance.operator.lowerings:
        Formula(b, instance, statement, symbols, store).run()
    outputs = [ref for o in instance.outputs for ref in tensors_of(o)]
    for ref in outputs:
        if ref not in store.tensors:
            raise Unlowered(f"no formula gives '{ref.name}'")
    return [store.tensors[ref] for ref in outputs]


class _ByData(Exception):
    """An index depends on data."""


class Formula:
    """A statement of @lower."""

    def __init__(
        self, b: SkndWriter, instance: Instance, statement: Lowering, symbols: Mapping[str, Any], store: Store
    ) -> None:
        self.b, self.instance, self.statement = b, instance, statement
        self.symbols, self.store = symbols, store
        self.text = instance.operator.text
        self._locals = dict(statement.locals)
        self.loops: dict[str, int] = {}
        self.packs: dict[str, list[str]] = {}  # loops of a packed index
        self._outer: set[str] = set()

    def run(self) -> None:
        try:
            for fixed in self._unrolled():
                self._block(fixed)
        except Wrong as wrong:
            raise self.text.error(wrong.message, self.statement.place, wrong.label) from None

    # what depends on what

    def _uses(self, *expressions: Any) -> set[str]:
        """The identifiers that expressions read, through local values."""
        found: set[str] = set()
        waiting = [n for e in expressions if e is not None for n in names_in(e)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                if name in self._locals:
                    waiting += names_in(self._locals[name])
        return found

    def _pack_indices(self) -> set[str]:
        """Loop indices that choose a tensor of a pack."""
        found: set[str] = set()
        statement = self.statement
        for e in (statement.target, statement.value, statement.condition, *self._locals.values()):
            for node in _subscripts(e):
                inner = node.value
                if isinstance(inner, Subscript) and isinstance(inner.value, Name):
                    value = self.symbols.get(inner.value.text)
                    by_data = any(True for _ in _subscripts(inner.items))
                    if isinstance(value, list) and value and is_tensor(value[0]) and not by_data:
                        found |= self._uses(*inner.items)
        return found

    # loops that are unrolled

    def _unrolled(self) -> Iterator[dict[str, Any]]:
        statement, plain = self.statement, dict(self.symbols)
        chosen = self._pack_indices()
        names = [name for name, _ in statement.bounds if name in chosen]
        outer: list[tuple[str, Any]] = [] if statement.unroll is None else [statement.unroll]
        outer += [(name, e) for name, e in statement.bounds if name in names]
        yield from self._turns(outer, plain, {})

    def _turns(self, outer: Sequence[tuple[str, Any]], symbols: dict[str, Any], fixed: dict[str, Any]) -> Any:
        if not outer:
            yield fixed
            return
        (name, e), rest = outer[0], outer[1:]
        limit = Evaluator(symbols, self.text, self.instance.types).value(e)
        if isinstance(limit, list) or limit is None:
            raise Wrong(f"'{name}' chooses a tensor of a pack and is a pack itself", "SKND.L3")
        limit = bound_of(name, limit)
        if limit > MOST_STEPS:
            raise Unlowered(f"a loop of {limit} turns is unrolled; at most {MOST_STEPS} are")
        for turn in range(limit):
            yield from self._turns(rest, {**symbols, name: turn}, {**fixed, name: turn})

    # the other loops

    def _block(self, fixed: dict[str, Any]) -> None:
        """All points of the loops that aren't fixed."""
        statement = self.statement
        symbols = {**self.symbols, **fixed}
        evaluator = Evaluator(symbols, self.text, self.instance.types)
        self.loops, self.packs = {}, {}
        for name, e in statement.bounds:
            if name in fixed:
                continue
            limit = evaluator.value(e)
            if limit is None:
                raise Wrong(f"the bound of '{name}' is null", "SKND.L4")
            parts = [f"{name}.{i}" for i in range(len(limit))] if isinstance(limit, list) else [name]
            for part, n in zip(parts, limit if isinstance(limit, list) else [limit], strict=True):
                self.loops[part] = bound_of(name, n)
            if isinstance(limit, list):
                self.packs[name] = parts
        if 0 in self.loops.values():
            return
        self._outer = self._result_loops(symbols)
        steps = self._steps()
        self._check_steps(steps)
        rest = [name for name in self.loops if name not in steps]
        for indices in itertools.product(*(range(self.loops[name]) for name in steps)):
            self._points(symbols, rest, dict(zip(steps, indices, strict=True)))

    def _check_steps(self, steps: Sequence[str]) -> None:
        count = int(np.prod([self.loops[n] for n in steps], dtype=np.int64))
        if count > MOST_STEPS:
            raise Unlowered(f"{count} steps, each of which reads what those before it wrote; at most {MOST_STEPS}")

    def _parts(self, names: set[str]) -> list[str]:
        """Loops of the identifiers."""
        found = []
        for name, _ in self.statement.bounds:
            if name in names:
                found += self.packs.get(name, [name])
        return [n for n in found if n in self.loops]

    def _steps(self) -> list[str]:
        """The loops that go step by step."""
        statement = self.statement
        base = _base(statement.target)
        if base in self._uses(statement.value, statement.condition, *statement.target.items):
            same = self._same_places(base) & self._outer
            return [n for n in self.loops if n not in same]
        if statement.op in ("=", ":="):
            return [n for n in self.loops if n not in self._outer]  # the last one counts
        return []

    def _result_loops(self, symbols: Mapping[str, Any]) -> set[str]:
        """The loops on which the place of the result depends."""
        space = Space([[n] for n in self.loops], self.loops)
        arithmetic, inner = Arithmetic(self.b, len(space.groups)), dict(symbols)
        self._bind(inner, {n: space.counter(n) for n in self.loops})

        def read(ref: Any, index: list[Any]) -> Any:
            raise _ByData

        evaluator = Evaluator(inner, self.text, self.instance.types, arithmetic, read)
        named = set(self._parts(self._uses(self.statement.target)))
        try:
            for name, e in self.statement.locals:
                if name in self._uses(*self.statement.target.items):
                    inner[name] = evaluator.value(e)
            index = self._index(evaluator, arithmetic)
        except _ByData:
            return named
        found: set[int] = set()
        for one in index:
            lane = one.index if isinstance(one, Bound) else one
            if isinstance(lane, Lane):
                found.update(space.depends(lane))
        wide = {n for n, extent in self.loops.items() if extent == 1}
        return {n for i, n in enumerate(self.loops) if i in found} | (wide & named)

    def _bind(self, symbols: dict[str, Any], counters: Mapping[str, Any]) -> None:
        for name, _ in self.statement.bounds:
            if name in self.packs:
                symbols[name] = [counters[part] for part in self.packs[name]]
            elif name in counters:
                symbols[name] = counters[name]

    def _same_places(self, base: str) -> set[str]:
        """Loops of the target at whose own place only the result is read."""
        statement = self.statement
        mine = [_plain(i) for i in statement.target.items]
        same = set(self._parts(self._uses(*statement.target.items)))
        for e in (statement.value, statement.condition, *self._locals.values()):
            for node in _subscripts(e):
                if _base(node) == base and node.items and not _chooses(node, self.symbols):
                    other = [_plain(i) for i in node.items]
                    if other != mine:
                        return set()
        return same

    # points

    def _points(self, symbols: dict[str, Any], names: Sequence[str], fixed: dict[str, int]) -> None:
        statement = self.statement
        outer = self._outer & set(names)
        product = is_product(statement) and not any(n in fixed for n in names)
        sides = [self._parts(self._uses(f)) for f in (_factors(statement) if product else ())]
        classes = {n: (n not in outer, *(n in side for side in sides)) for n in names}
        space = merged(names, classes, self.loops, MOST_AXES)
        arithmetic = Arithmetic(self.b, len(space.groups))
        reader = Reader(arithmetic, space.shape)
        inner = dict(symbols)
        counters: dict[str, Any] = {n: space.counter(n) for n in names}
        counters.update(fixed)
        self._bind(inner, counters)
        evaluator = Evaluator(inner, self.text, self.instance.types, arithmetic, self._access(reader))
        for name, e in statement.locals:
            inner[name] = evaluator.value(e)
        self._assign(evaluator, arithmetic, reader, space, outer, product)

    def _access(self, reader: Reader) -> Any:
        def read(ref: Any, index: list[Any]) -> Any:
            if isinstance(ref, Choice):
                found = read(ref.refs[0], index)
                for k, one in enumerate(ref.refs[1:], 1):
                    here = reader.a.binary("==", ref.index, k)
                    found = reader.a.chosen(here, read(one, index), found)
                return found
            tensor = self.store.current(ref, self.b) if ref in self.store.tensors or ref.data is None else None
            if tensor is None:
                tensor = self.b.value(ref)
            return reader.read(ref, tensor, index)

        return read

    def _assign(
        self, evaluator: Evaluator, a: Arithmetic, reader: Reader, space: Space, outer: set[str], product: bool
    ) -> None:
        statement = self.statement
        condition = None
        if statement.condition is not None:
            condition = evaluator.value(statement.condition)
            if condition is None or isinstance(condition, list):
                raise Wrong("the condition of a formula is one bool", "SKND.Y7")
            condition = a.lane(condition)
            if condition.data is not None and not condition.data.any():
                return
        kept = [i for i, group in enumerate(space.groups) if group[0] in outer]
        if product and condition is None:
            value: Any = self._product(evaluator, a, reader, kept)
            reader.reset()
        else:
            if condition is not None:
                a.active.append(condition)
            value = evaluator.value(statement.value)
            if condition is not None:
                a.active.pop()
                reader.keep(condition)
        if value is None:
            raise Wrong("the value of a formula is null; '??' gives it another", "SKND.L4")
        tensors = evaluator.value(statement.target.value)
        index = self._index(evaluator, a)
        summed = product and condition is None
        targets = self._targets(tensors, index, value)
        self.store.assign(targets, statement.op, a, reader, space, kept, summed=summed)

    def _index(self, evaluator: Evaluator, a: Arithmetic) -> list[Any]:
        items = self.statement.target.items
        found = evaluator.indices(items)
        if found is None:
            raise Wrong("an index of the result is null", "SKND.L4")
        return [one for item in found for one in (item if isinstance(item, list) else [item])]

    def _product(self, evaluator: Evaluator, a: Arithmetic, reader: Reader, kept: list[int]) -> Any:
        value = self.statement.value
        assert isinstance(value, Binary)
        sides = []
        for e in (value.left, value.right):
            reader.reset()
            found = evaluator.value(e)
            if found is None or isinstance(found, list):
                raise Wrong("a factor of a formula isn't one value", "SKND.L4")
            lane = a.lane(found)
            if reader.kept is not None:
                lane = a.chosen(reader.kept, lane, 0.0 if lane.dtype == "real" else 0)
            sides.append(lane)
        return product_sum(a, reader.shape, sides[0], sides[1], kept)

    @staticmethod
    def _targets(tensors: Any, index: list[Any], value: Any) -> list[tuple[TensorRef, list[Any], Any]]:
        """What each value goes to; the values of a pack go to the tensors of a pack, or along the index ':'."""
        from ..language.evaluation import WHOLE

        if isinstance(tensors, list):
            values = value if isinstance(value, list) else [value] * len(tensors)
            if len(values) != len(tensors):
                raise Wrong(f"{len(values)} values for {len(tensors)} tensors", "SKND.E4")
            return [(t, index, v) for t, v in zip(tensors, values, strict=True)]
        if not isinstance(tensors, TensorRef):
            raise Wrong("the left side isn't a tensor", "SKND.L1")
        if any(i is WHOLE for i in index):
            at = next(n for n, i in enumerate(index) if i is WHOLE)
            extent = tensors.shape[at]
            values = value if isinstance(value, list) else [value] * extent
            if len(values) != extent:
                raise Wrong(f"{len(values)} values for {extent} places", "SKND.E4")
            return [(tensors, [*index[:at], k, *index[at + 1 :]], v) for k, v in enumerate(values)]
        if isinstance(value, list):
            raise Wrong("a pack of values for one tensor", "SKND.E4")
        return [(tensors, index, value)]


def _factors(statement: Lowering) -> tuple[Expression, Expression]:
    assert isinstance(statement.value, Binary)
    return statement.value.left, statement.value.right


def _subscripts(e: Any) -> Iterator[Subscript]:
    """All accesses in an expression."""
    from dataclasses import fields, is_dataclass

    if isinstance(e, (tuple, list)):
        for item in e:
            yield from _subscripts(item)
    elif is_dataclass(e) and not isinstance(e, type):
        if isinstance(e, Subscript):
            yield e
        for f in fields(e):
            if f.name != "place":
                yield from _subscripts(getattr(e, f.name))


def _base(node: Subscript) -> str:
    value: Any = node.value
    while isinstance(value, Subscript):
        value = value.value
    return value.text if isinstance(value, Name) else ""


def _chooses(node: Subscript, symbols: Mapping[str, Any]) -> bool:
    """Whether a subscript only chooses a tensor of a pack."""
    value = symbols.get(node.value.text) if isinstance(node.value, Name) else None
    return isinstance(value, list) and len(node.items) == 1 and not node.open


def _plain(e: Any) -> Any:
    """An expression without its places, to compare."""
    from dataclasses import fields, is_dataclass

    if isinstance(e, tuple):
        return tuple(map(_plain, e))
    if is_dataclass(e) and not isinstance(e, type):
        return (type(e).__name__, *(_plain(getattr(e, f.name)) for f in fields(e) if f.name != "place"))
    return e
