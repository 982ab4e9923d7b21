"""What a composed graph computes: formulas point by point, in Python's own numbers. Slow; other ways are held to it."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import Unsupported
from .language.evaluation import WHOLE, Bound, Evaluator
from .language.scalars import Wrong, binary, bound_of, kind_of
from .tensors import STORAGE, BranchNode, ChooseNode, Instance, TensorRef, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...types import Array
    from .compose import Composer
    from .language.syntax import Lowering
    from .tensors import Body, Composed

NEUTRAL: Final = {"+": 0, "*": 1, "&&": True, "||": False, "<?": float("inf"), ">?": float("-inf")}
MOST_TURNS: Final = 100_000


class _Skipped(Exception):
    """A guarded index is outside: the point doesn't count."""


class Interpreter:
    """Runs a graph on arrays by tensor name. Operators without a formula are taken apart, or refused by name."""

    def __init__(self, composed: Composed, composer: Composer, variables: Callable[[TensorRef], Array]) -> None:
        self.composed, self.composer, self.variables = composed, composer, variables
        self.arrays: dict[TensorRef, Array] = {}

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs by name. Raises Unsupported for operators without a formula."""
        for ref in self.composed.inputs:
            self.arrays[ref] = np.asarray(inputs[ref.name]).astype(STORAGE[ref.dtype])
        self._nodes(self.composed.nodes)
        return {ref.name: self.array(ref) for ref in self.composed.outputs}

    def array(self, ref: TensorRef) -> Array:
        if ref not in self.arrays:
            data = ref.array if ref.data is not None else self.variables(ref)
            self.arrays[ref] = np.array(data, STORAGE[ref.dtype])
        return self.arrays[ref]

    def _nodes(self, nodes: Sequence[Any]) -> None:
        for node in nodes:
            if isinstance(node, Instance):
                self._instance(node)
            elif isinstance(node, ChooseNode):
                yes = bool(self.array(node.condition).reshape(-1)[0])
                self.arrays[node.output] = self.array(node.yes if yes else node.no)
            elif isinstance(node, BranchNode):
                body = node.yes if self.array(node.condition).reshape(-1)[0] else node.no
                self._take(node.outputs, self._body(body))
            else:
                self._loop(node)

    def _body(self, body: Body) -> list[Array]:
        self._nodes(body.nodes)
        return [self.array(ref) for ref in body.results]

    def _take(self, refs: Sequence[TensorRef], arrays: Sequence[Array]) -> None:
        for ref, array in zip(refs, arrays, strict=False):
            self.arrays[ref] = array

    def _loop(self, node: Any) -> None:
        values = [self.array(ref) for ref in node.initial]
        for _ in range(MOST_TURNS):
            self._take(node.carried, values)
            if not self._body(node.condition)[0].reshape(-1)[0]:
                break
            values = self._body(node.body)
        self._take(node.outputs, values)

    # instances

    def _instance(self, instance: Instance) -> None:
        operator = instance.operator
        if operator.components:
            body = self.composer.parts(instance)
            self._nodes(body.nodes)
            for o, r in zip(instance.outputs, body.results, strict=True):
                self._take(tensors_of(o), [self.array(t) for t in tensors_of(r)])
            return
        if not operator.lowerings:
            raise Unsupported(f"'{instance.name}' has no formula")
        symbols = dict(instance.symbols)
        for d, value in zip(operator.outputs, instance.outputs, strict=True):
            symbols[d.name] = value
        for ref in (t for o in instance.outputs for t in tensors_of(o)):
            self.arrays.pop(ref, None)
        for statement in operator.lowerings:
            self._formula(instance, statement, symbols)

    def _formula(self, instance: Instance, statement: Lowering, symbols: dict[str, Any]) -> None:
        bounds = list(statement.bounds)
        if statement.unroll is not None:
            bounds.insert(0, statement.unroll)
        evaluator = Evaluator(symbols, instance.operator.text, instance.types, access=self._read)
        target = evaluator.value(statement.target.value) if not bounds else None
        for ref in tensors_of(target):
            self._start(ref, statement.op)
        try:
            for point in _points(bounds, symbols, evaluator):
                self._point(statement, Evaluator(point, instance.operator.text, instance.types, access=self._read))
        except Wrong as wrong:
            raise instance.operator.text.error(wrong.message, statement.place, wrong.label) from None

    def _start(self, ref: TensorRef, op: str) -> None:
        if ref not in self.arrays:
            fill = NEUTRAL.get(op, 0)
            if ref.dtype == "int" and op in ("<?", ">?"):
                fill = (1 << 31) - 1 if op == "<?" else -(1 << 31)
            self.arrays[ref] = np.full(ref.shape, fill, STORAGE[ref.dtype])

    def _point(self, statement: Lowering, evaluator: Evaluator) -> None:
        symbols: dict[str, Any] = evaluator.symbols  # type: ignore[assignment]
        target = evaluator.value(statement.target.value)
        for ref in tensors_of(target):
            self._start(ref, statement.op)
        try:
            for name, e in statement.locals:
                symbols[name] = evaluator.value(e)
            if statement.condition is not None and not evaluator.value(statement.condition):
                return
            value = evaluator.value(statement.value)
            index = evaluator.indices(statement.target.items)
            if value is None or index is None:
                raise Wrong("the value of a formula is null; '??' gives it another", "SKND.L4")
            flat = [one for item in index for one in (item if isinstance(item, list) else [item])]
            self._write(statement.op, target, flat, value)
        except _Skipped:
            return

    def _write(self, op: str, target: Any, index: list[Any], value: Any) -> None:
        tensors = tensors_of(target)
        if len(tensors) > 1 or isinstance(target, list):
            values = value if isinstance(value, list) else [value] * len(tensors)
            for ref, one in zip(tensors, values, strict=True):
                self._put(op, ref, index, one)
            return
        if any(i is WHOLE for i in index):
            at = next(n for n, i in enumerate(index) if i is WHOLE)
            extent = tensors[0].shape[at]
            values = value if isinstance(value, list) else [value] * extent
            for k, one in enumerate(values):
                self._put(op, tensors[0], [*index[:at], k, *index[at + 1 :]], one)
            return
        self._put(op, tensors[0], index, value)

    def _put(self, op: str, ref: TensorRef, index: list[Any], value: Any) -> None:
        if kind_of(value) != ref.dtype:
            raise Wrong(f"'{ref.name}' is {ref.dtype}, its formula {kind_of(value)}", "SKND.Y2")
        place, array = self._place(ref, index), self.arrays[ref]
        array[place] = value if op in ("=", ":=") else binary(op, _item(array[place]), value)

    def _place(self, ref: TensorRef, index: list[Any]) -> tuple[int, ...]:
        if len(index) != len(ref.shape):
            raise Wrong(f"'{ref.name}' has {len(ref.shape)} dimensions, not {len(index)}", "SKND.L5")
        return tuple(_inside(i, n, ref) for i, n in zip(index, ref.shape, strict=True))

    def _read(self, ref: TensorRef, index: list[Any]) -> Any:
        if any(i is WHOLE for i in index):
            at = next(n for n, i in enumerate(index) if i is WHOLE)
            return [self._read(ref, [*index[:at], k, *index[at + 1 :]]) for k in range(ref.shape[at])]
        return _item(self.array(ref)[self._place(ref, index)])


def _item(value: Any) -> Any:
    return value.item()


def _inside(index: Any, extent: int, ref: TensorRef) -> int:
    if isinstance(index, Bound):
        if 0 <= index.index < extent:
            return int(index.index)
        if index.low is None:
            raise _Skipped
        index = index.low if index.index < 0 else index.high
    if not 0 <= index < extent:
        raise Wrong(f"index {index} of '{ref.name}' leaves its extent of {extent}; guard it: '|i|'", "SKND.E6")
    return int(index)


def _points(bounds: Sequence[Any], symbols: dict[str, Any], evaluator: Evaluator) -> Iterator[dict[str, Any]]:
    """The symbols at each point; a bound may depend on the loops before it."""
    if not bounds:
        yield dict(symbols)
        return
    (name, e), rest = bounds[0], bounds[1:]
    limit = Evaluator(symbols, evaluator.text, evaluator.types).value(e)
    if isinstance(limit, list):
        for index in itertools.product(*(range(bound_of(name, n)) for n in limit)):
            yield from _points(rest, {**symbols, name: list(index)}, evaluator)
    elif limit is not None:
        for turn in range(bound_of(name, limit)):
            yield from _points(rest, {**symbols, name: turn}, evaluator)
