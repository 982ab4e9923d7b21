"""A checked document as one list of operators on tensors: functions are inlined, collections taken apart.

Declarations are held against what is known of the operands on the way: element types and shapes, unified over each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import Unsupported
from .collections import DOMAIN, OPERATORS
from .data import value_of
from .document import UNSAID, Attribute, Function
from .kinds import AnyKind, ListKind, MapKind, TensorKind, TupleKind, called
from .rules import FORM, TYPE, RuleError
from .shapes import Unifier

if TYPE_CHECKING:
    from ...types import Array
    from .document import Node, Port, Signature
    from .imports import Loaded
    from .kinds import Kind
    from .shapes import Known
    from .validity import Definition, Names

OWN: Final = "ai.onnx"  # the domain of ONNX's own operators, "" in ONNX
NEWEST: Final = 20  # the operator set of a model without operators
DEEPEST: Final = 32
MOST_NODES: Final = 1 << 16


@dataclass(frozen=True)
class Single:
    """A tensor under its name in the flat graph; what isn't known of it is None."""

    name: str
    element: str | None = None
    shape: Known = None


Item = Any  # Single, or lists, tuples and dictionaries of items


@dataclass(frozen=True)
class FlatNode:
    name: str
    operator: str
    domain: str
    version: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]


@dataclass
class Flat:
    """Inputs and outputs have the types of the document."""

    inputs: list[tuple[str, TensorKind]] = field(default_factory=list)
    outputs: list[tuple[str, TensorKind]] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[FlatNode] = field(default_factory=list)


def flatten(
    root: Loaded, names: Mapping[int, Names], shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]
) -> Flat:
    """Raises RuleError where types or shapes don't fit, Unsupported for what can't be static."""
    return _Flattening(root, names).run(shapes, dims)


class _Flattening:
    def __init__(self, root: Loaded, names: Mapping[int, Names]) -> None:
        self.root, self.names = root, names
        self.flat = Flat()
        self.taken: set[str] = set()  # names of values

    def run(self, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]) -> Flat:
        document = self.root.document
        sources = document.sources
        if len(document.nodes) > MOST_NODES:
            raise self._too_many()
        dims = {**dims, **{one: dims[said] for one, said in sources.items() if said in dims}}
        scope: dict[str, Item] = {}
        for port in document.inputs:
            scope[port.name] = self._input(sources.get(port.name, port.name), port.kind, port.name, shapes, dims)
        for one in document.initializers:
            value = value_of(one.kind, one.data, one.place)
            scope[one.name] = self._constant(sources.get(one.name, one.name), value, one.kind)
        self._nodes(document.nodes, scope, self.root, {}, "", sources, 0)
        for port in document.outputs:
            self._output(port.kind, scope[port.name], document.file, sources.get(port.name, port.name))
        return self.flat

    def _input(
        self, name: str, kind: Kind, port: str, shapes: Mapping[str, Sequence[int]], dims: Mapping[str, int]
    ) -> Item:
        """An input; a tuple has one for each of its items."""
        place = f"{self.root.place}: input '{port}'"
        if isinstance(kind, TupleKind):
            parts = enumerate(kind.items)
            return tuple(self._input(f"{name}_{index}", one, port, shapes, dims) for index, one in parts)
        if not isinstance(kind, TensorKind) or kind.sparse:
            raise Unsupported(f"{place}: a {called(kind)} isn't known before the graph runs")
        self.flat.inputs.append((name, kind))
        self.taken.add(name)
        shape = shapes.get(name)
        bound = Unifier(place)
        bound.extents.update(dims)
        return Single(name, kind.element, bound.shape(kind.shape) if shape is None else tuple(shape))

    def _constant(self, name: str, value: Any, kind: Kind) -> Item:
        if isinstance(value, Mapping):
            assert isinstance(kind, MapKind)
            parts = value.items()
            return {key: self._constant(f"{name}_{key}", one, TensorKind(kind.value, ())) for key, one in parts}
        if isinstance(value, list | tuple):
            kinds = kind.items if isinstance(kind, TupleKind) else [kind.item] * len(value)  # type: ignore[union-attr]
            return type(value)(self._constant(f"{name}_{i}", v, kinds[i]) for i, v in enumerate(value))
        if not isinstance(kind, TensorKind):
            raise RuleError(TYPE, self.root.place, f"'{name}' is {called(kind)}: a scalar is a tensor of shape []")
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.flat.constants[name] = value
        return Single(name, kind.element, np.shape(value))

    def _output(self, kind: Kind, item: Item, place: str, port: str) -> None:
        """An output; lists and tuples have one for each of their items."""
        if isinstance(item, list | tuple):
            kinds = kind.items if isinstance(kind, TupleKind) else [getattr(kind, "item", None)] * len(item)
            if len(kinds) != len(item) or isinstance(item, tuple) != isinstance(kind, TupleKind):
                raise RuleError(TYPE, place, f"the output '{port}' isn't a {called(kind)}")
            for index, (one, inner) in enumerate(zip(kinds, item, strict=True)):
                if one is None:
                    raise RuleError(TYPE, place, f"the output '{port}' isn't a {called(kind)}")
                self._output(one, inner, place, f"{port}_{index}")
            return
        if not isinstance(item, Single) or not isinstance(kind, TensorKind) or kind.sparse:
            raise Unsupported(f"{place}: the output '{port}' is a {called(kind)}")
        if item.element not in (None, kind.element):
            raise RuleError(TYPE, place, f"the output '{port}' is a {called(kind)}, not of {item.element}")
        if item.name != port:  # a result of a function, or an item of a collection
            version = next((one.version for one in self.flat.nodes if one.domain == OWN), NEWEST)
            self._add(FlatNode("", "Identity", OWN, version, (item.name,), (port,), ()))
        self.flat.outputs.append((port, kind))

    def _too_many(self) -> Unsupported:
        return Unsupported(f"{self.root.place}: has more than {MOST_NODES} nodes, with those of its functions")

    def _add(self, node: FlatNode) -> None:
        if len(self.flat.nodes) >= MOST_NODES:
            raise self._too_many()
        for name in node.outputs:
            if name in self.taken:
                raise RuleError(FORM, self.root.place, f"two values are called '{name}' without functions")
            if name:
                self.taken.add(name)
        self.flat.nodes.append(node)

    def _nodes(
        self, nodes: Sequence[Node], scope: dict[str, Item], home: Loaded, given: Mapping[str, Attribute],
        prefix: str, sources: Mapping[str, str], depth: int,
    ) -> None:  # fmt: skip
        if depth > DEEPEST:
            raise Unsupported(f"{home.place}: functions are nested more than {DEEPEST} deep, or call themselves")
        for node in nodes:
            definition = self.names[id(home)].of(node)
            node = replace(node, attributes=_attributes(node, given))
            groups = _groups(node, scope)
            call = _Call(node, definition, groups, prefix, sources)
            results = self._results(call, depth)
            scope.update(zip(node.outputs, results, strict=False))

    def _results(self, call: _Call, depth: int) -> list[Item]:
        item = call.definition.item
        typing = _Typing(item, call.node.place)
        typing.read(call.groups)
        if isinstance(item, Function):
            results = self._inlined(call, item, depth)
            typing.hold(results)
            return results
        if call.definition.domain == DOMAIN:
            return [OPERATORS[item.name](call.node, call.groups)]
        name = call.prefix + call.sources.get(call.node.name, call.node.name)
        outputs = [call.sources.get(one, one) for one in call.node.outputs]
        outputs = [call.prefix + one if one else "" for one in outputs]
        self._add(
            FlatNode(name, item.name, call.definition.domain, call.definition.version, _row(call),
                     tuple(outputs), call.node.attributes)
        )  # fmt: skip
        return typing.results(outputs)

    def _inlined(self, call: _Call, function: Function, depth: int) -> list[Item]:
        scope: dict[str, Item] = {}
        for port, group in zip(function.inputs, call.groups, strict=True):
            if port.count == "repeated":
                scope[port.name] = list(group)
            elif group:
                scope[port.name] = group[0]
        defaults = {one.name: one for one in function.attributes if one.value is not UNSAID}
        given = {**defaults, **{one.name: one for one in call.node.attributes}}
        prefix = f"{call.prefix}{call.sources.get(call.node.name, call.node.name)}/"
        self._nodes(function.nodes, scope, call.definition.home, given, prefix, function.sources, depth + 1)
        return [scope[port.name] for port in function.outputs]


@dataclass(frozen=True)
class _Call:
    node: Node
    definition: Definition
    groups: list[list[Item]]
    prefix: str
    sources: Mapping[str, str]


def _attributes(node: Node, given: Mapping[str, Attribute]) -> tuple[Attribute, ...]:
    """The attributes of a node, those of the call in place of what is taken; what that doesn't give is left out."""
    taken = (
        replace(given[one.taken], name=one.name) if one.taken else one
        for one in node.attributes if not one.taken or one.taken in given
    )  # fmt: skip
    return tuple(taken)


def _groups(node: Node, scope: Mapping[str, Item]) -> list[list[Item]]:
    """The inputs of each parameter. A parameter of the function around that isn't given is none."""
    row, groups = iter(node.inputs), []
    for count in node.arg_count:
        names = [next(row) for _ in range(count)]
        groups.append([scope[name] for name in names if name in scope])
    return groups


def _row(call: _Call) -> tuple[str, ...]:
    """The inputs of an operator in a row, "" for what is left out; a list fills a repeated parameter."""
    ports = call.definition.item.inputs
    row: list[str] = []
    for index, (port, group) in enumerate(zip(ports, call.groups, strict=True)):
        if port.count == "repeated" and index < len(ports) - 1:
            raise Unsupported(
                f"{call.node.place}: '{call.node.operator}' repeats the parameter '{port.name}', which isn't its last"
            )
        items = [inner for one in group for inner in (one if isinstance(one, list | tuple) else [one])]
        if any(not isinstance(one, Single) for one in items) or (port.count != "repeated" and len(items) > 1):
            raise Unsupported(f"{call.node.place}: '{port.name}' is a collection; operators of TOSA read tensors")
        row += [one.name for one in items] if items or port.count == "repeated" else [""]
    while row and not row[-1]:
        row.pop()
    return tuple(row)


class _Typing:
    """The type variables and dimension variables of one declaration in one call."""

    def __init__(self, item: Signature, place: str) -> None:
        self.item, self.place = item, place
        self.elements: dict[str, str] = {}
        self.shapes = Unifier(place)

    def read(self, groups: Sequence[Sequence[Item]]) -> None:
        self._unify(zip(self.item.inputs, groups, strict=True))

    def hold(self, results: Sequence[Item]) -> None:
        """What a function gives, against what it declares."""
        self._unify((port, [result]) for port, result in zip(self.item.outputs, results, strict=True))

    def _unify(self, pairs: Any) -> None:
        operands = []
        for port, group in pairs:
            for item in group:
                several = port.count == "repeated" and isinstance(item, list) and not isinstance(port.kind, ListKind)
                for one in item if several else [item]:
                    operands += self._operand(port, port.kind, one)
        self.shapes.unify(operands)

    def _operand(self, port: Port, kind: Kind, item: Item) -> list[Any]:
        """The tensors of an operand with the shapes that are declared of them."""
        if isinstance(kind, AnyKind):
            return []
        if isinstance(kind, ListKind) and isinstance(item, list):
            return [pair for one in item for pair in self._operand(port, kind.item, one)]
        if isinstance(kind, TupleKind) and isinstance(item, tuple) and len(item) == len(kind.items):
            parts = zip(kind.items, item, strict=True)
            return [pair for inner, one in parts for pair in self._operand(port, inner, one)]
        if isinstance(kind, MapKind) and isinstance(item, dict):
            return []
        if not isinstance(kind, TensorKind) or not isinstance(item, Single):
            raise RuleError(TYPE, self.place, f"'{port.name}' isn't a {called(kind)}")
        self._element(port, kind, item)
        return [] if kind.shape is None else [(f"'{port.name}'", kind.shape, item.shape)]

    def _element(self, port: Port, kind: TensorKind, item: Single) -> None:
        if item.element is None:
            return
        allowed = self.item.variables.get(kind.element)
        wanted = kind.element if allowed is None else self.elements.setdefault(kind.element, item.element)
        if item.element != wanted or (allowed is not None and item.element not in allowed):
            listed = wanted if item.element != wanted or allowed is None else ", ".join(allowed)
            raise RuleError(TYPE, self.place, f"'{port.name}' is a tensor of {item.element}, not of {listed}")

    def results(self, outputs: Sequence[str]) -> list[Item]:
        """The tensors that an operator gives, with what its declaration says of them."""
        ports = self.item.outputs
        found: list[Item] = []
        for index, name in enumerate(outputs):
            kind = ports[min(index, len(ports) - 1)].kind
            if not isinstance(kind, TensorKind):
                raise Unsupported(f"{self.place}: gives a {called(kind)}, which isn't known before the graph runs")
            open_ = kind.element in self.item.variables
            element = self.elements.get(kind.element) if open_ else kind.element
            found.append(Single(name, element, self.shapes.shape(kind.shape)))
        return found
