"""Composing a graph (chapter 3): invocations become instances, operators that aren't kept are replaced by their parts.

Problems of the graph's statements are raised together; what depends on a statement with a problem is passed over.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import TosaEngineError, raise_all
from . import control
from .binding import FAMILIES, Instantiation
from .frames import Frame
from .language.evaluation import LOST, Evaluator, Lost, is_tensor
from .language.lexer import FUNCTIONS
from .language.scalars import Wrong, kind_of
from .language.syntax import BlockOf, Branch, Call, Expression, Invocation, Loop, Step
from .tensors import STORAGE, Body, Composed, Instance, TensorRef, constant_of, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ...types import Array
    from .language.syntax import Component, Declaration, Operator, Target
    from .library import Library

MOST_NESTED: Final = 40
MOST_NODES: Final = 20_000
MOST_MADE: Final = 1 << 26


class Composer:
    """Composes one graph. `keep` says which instances stay as they are, if they have an @compose block."""

    def __init__(self, library: Library, keep: Callable[[Instance], bool]) -> None:
        self.library, self.keep = library, keep
        self.nodes: list[Any] = []
        self.variables: list[TensorRef] = []
        self.updates: list[tuple[TensorRef, TensorRef]] = []
        self.made = 0
        self._depth = 0
        self._scopes: set[str] = set()

    # graphs

    def graph(self, operator: Operator, attributes: Mapping[str, Any] | None = None) -> Composed:
        """Raises ParseError, or Problems."""
        bound = Instantiation(operator, operator.place, operator.text)
        inputs = self._graph_inputs(bound, attributes or {})
        frame = Frame(operator, bound.symbols, bound.types, "")
        problems: list[TosaEngineError] = []
        try:
            instance = bound.run(attributes or {}, inputs, early=False)
            self._locals(frame, bound)
        except TosaEngineError as problem:
            raise_all([problem])
        self._statements(operator.components, frame, problems)
        outputs = [] if problems else self._graph_outputs(frame, bound, problems)
        self._updates(operator, frame, problems)
        quantizations = [] if problems else self._quantizations(operator, frame, problems)
        raise_all(problems, f"{operator.text.file}: {len(problems)} problems")
        flat = [t for value in instance.inputs for t in tensors_of(value)]
        return Composed(operator, flat, outputs, self.variables, self.nodes, self.updates, quantizations)

    def _graph_inputs(self, bound: Instantiation, attributes: Mapping[str, Any]) -> list[Any]:
        operator = bound.operator
        try:
            bound._given_attributes(attributes)
            for d in operator.attributes:
                if d.name not in bound.symbols and d.default is not None:
                    bound._finish_attribute(d, attributes, {})
            for declared in operator.types:
                if declared.default:
                    bound._bind_type(declared.name, declared.default)
            return [self._graph_input(bound, d) for d in operator.inputs]
        except Wrong as wrong:
            raise operator.text.error(wrong.message, operator.place, wrong.label) from None

    def _graph_input(self, bound: Instantiation, d: Declaration) -> Any:
        operator, spec = bound.operator, d.type
        try:
            dtype = bound.types.get(spec.name, spec.name)
            if dtype not in FAMILIES["arith"]:
                raise Wrong(f"input '{d.name}' of type {dtype}", "SKND.I3")
            if spec.shape is None:
                raise Wrong(f"the shape of input '{d.name}' isn't given", "SKND.S8")
            if not spec.packed:
                shape = tuple(bound.binder.evaluated(spec.shape, 0))
                return TensorRef(d.name, dtype, shape, kind="input", named=True)
            e = spec.bound if spec.bound is not None else spec.length
            if e is None:
                raise Wrong(f"the number of tensors of '{d.name}' isn't given", "SKND.S8")
            count = bound.evaluator.value(e)
            bound.binder.check_pack(count)
            if spec.length is not None:
                bound.binder.length(spec.length, count, f"input '{d.name}'")
            shapes = [tuple(bound.binder.evaluated(spec.shape, i)) for i in range(count)]
            return [
                TensorRef(f"{d.name}.{i}", dtype, shape, kind="input", named=True) for i, shape in enumerate(shapes)
            ]
        except Wrong as wrong:
            raise operator.text.error(wrong.message, d.place, wrong.label) from None

    def _graph_outputs(self, frame: Frame, bound: Instantiation, problems: list[TosaEngineError]) -> list[TensorRef]:
        found: list[TensorRef] = []
        for d in frame.operator.outputs:
            try:
                value = self._declared_output(frame, bound, d)
            except TosaEngineError as problem:
                problems.append(problem)
                continue
            found += tensors_of(value)
        return found

    def _declared_output(self, frame: Frame, bound: Instantiation, d: Declaration) -> Any:
        """The tensors of an output, held against its declaration."""
        if d.name not in frame.symbols:
            raise frame.text.error(f"output '{d.name}' isn't assigned", d.place, "SKND.O1")
        value = frame.symbols[d.name]
        if value is LOST:
            raise Lost
        try:
            items = value if isinstance(value, list) else [value]
            dtype = bound.types.get(d.type.name, d.type.name)
            known = d.type.shape is not None and all(e.value is not None or e.bound is not None for e in d.type.shape)
            for i, item in enumerate(items):
                if not is_tensor(item):
                    items[i] = item = constant_of(item, dtype if kind_of(item) == "int" else kind_of(item), d.name)
                    if not isinstance(value, list):
                        value = item
                if item.dtype != dtype and dtype in STORAGE:
                    raise Wrong(f"output '{d.name}' is {item.dtype}, not {dtype}", "SKND.O2")
                if known:
                    shape = tuple(bound.binder.evaluated(d.type.shape or (), i))
                    if shape != item.shape:
                        raise Wrong(f"output '{d.name}' has shape {list(item.shape)}, not {list(shape)}", "SKND.O3")
            if d.type.packed != isinstance(value, list):
                raise Wrong(f"output '{d.name}' is{'' if isinstance(value, list) else ' not'} a pack", "SKND.O4")
            if d.type.packed and d.type.length is not None:
                bound.binder.length(d.type.length, len(value), f"output '{d.name}'")
        except Wrong as wrong:
            raise frame.text.error(wrong.message, d.place, wrong.label) from None
        return value

    def _updates(self, operator: Operator, frame: Frame, problems: list[TosaEngineError]) -> None:
        if not operator.updates or problems:
            return
        variables = {d.name: frame.symbols[d.name] for d in operator.variables}
        scope = frame.inner()
        for component in operator.updates:
            self._statements([component], scope, problems)
            for target in component.targets:
                value = scope.symbols.get(target.name)
                if target.name in variables and is_tensor(value):
                    old = variables[target.name]
                    if value.shape != old.shape or value.dtype != old.dtype:
                        shown = f"{value.dtype}{list(value.shape)}"
                        message = f"variable '{target.name}' is {old.dtype}{list(old.shape)}, its update {shown}"
                        problems.append(frame.text.error(message, target.place, "SKND.U1"))
                    self.updates.append((old, value))

    def _quantizations(
        self, operator: Operator, frame: Frame, problems: list[TosaEngineError]
    ) -> list[tuple[str, Instance]]:
        found = []
        root = f"main.{operator.name}."
        for q in operator.quantizations:
            try:
                name = q.tensor.removeprefix(root)
                used = self._operator(q.invocation, frame)
                values = self._attributes(q.invocation, frame)
                tensor = self._tensor_called(name, frame)
                if tensor is None:
                    raise frame.text.error(f"there is no tensor '{q.tensor}'", q.place, "SKND.Q1")
                bound = Instantiation(used, q.place, frame.text)
                found.append((tensor.name, bound.run(values, [tensor], q.invocation.types)))
            except TosaEngineError as problem:
                problems.append(problem)
        return found

    def _tensor_called(self, name: str, frame: Frame) -> TensorRef | None:
        value = frame.symbols.get(name)
        if is_tensor(value):
            found: TensorRef = value
            return found
        for node in self.nodes:
            if isinstance(node, Instance):
                for tensor in (t for o in node.outputs for t in tensors_of(o)):
                    if tensor.name == name and tensor.accessible:
                        return tensor
        return next((t for t in self.variables if t.name == name), None)

    # statements

    def _statements(self, components: Sequence[Component], frame: Frame, problems: list[TosaEngineError]) -> None:
        for component in components:
            try:
                self.component(component, frame)
            except Lost:
                pass
            except TosaEngineError as problem:
                problems.append(problem)
            else:
                continue
            for target in component.targets:
                for one in (target, *(target.items or ())):
                    if one.name:
                        frame.symbols[one.name] = LOST

    def component(self, component: Component, frame: Frame) -> None:
        single = component.targets[0].name if len(component.targets) == 1 else ""
        values = self._results(component, frame, single)
        for target, value in zip(component.targets, values, strict=False):
            self._assign(target, value, frame)

    def _results(self, component: Component, frame: Frame, single: str) -> list[Any]:
        values = self.step(component.value, frame, single)
        if len(values) < len(component.targets):
            message = f"{len(component.targets)} results are assigned, there are {len(values)}"
            raise frame.text.error(message, component.place, "SKND.C1")
        return values

    def _assign(self, target: Target, value: Any, frame: Frame) -> None:
        if target.items is not None:
            if not isinstance(value, list):
                raise frame.text.error("one tensor is taken apart as if it were a pack", target.place, "SKND.C2")
            self._assign_pack(target.items, value, frame)
            return
        if not target.name:
            return
        if (
            target.name in frame.symbols
            and frame.symbols[target.name] is not LOST
            and not self._may_hide(target, frame)
        ):
            raise frame.text.error(f"'{target.name}' is assigned twice", target.place, "SKND.C3")
        if target.length is not None:
            wanted = self.evaluator(frame).value(target.length)
            if not isinstance(value, list) or len(value) != wanted:
                found = len(value) if isinstance(value, list) else "no"
                raise frame.text.error(f"'{target.name}' has {wanted} tensors, not {found}", target.place, "SKND.C4")
        self._call(value, target.name, frame)
        frame.symbols[target.name] = value

    def _may_hide(self, target: Target, frame: Frame) -> bool:
        known = frame.symbols[target.name]
        variables = {d.name for d in frame.operator.variables}
        return target.name in variables or not (is_tensor(known) or isinstance(known, list))

    def _assign_pack(self, targets: Sequence[Target], values: list[Any], frame: Frame) -> None:
        rest = len(values) - sum(1 for t in targets if not t.packed)
        for target in targets:
            if target.packed:
                size = rest if target.length is None else int(self.evaluator(frame).value(target.length))
                self._assign(replace_length(target), values[:size], frame)
                values, rest = values[size:], rest - size
            else:
                if not values:
                    raise frame.text.error("a pack has fewer tensors than names", target.place, "SKND.C4")
                self._assign(target, values[0], frame)
                values = values[1:]
        if values:
            raise frame.text.error(f"{len(values)} tensors of a pack aren't assigned", targets[0].place, "SKND.C4")

    def _call(self, value: Any, name: str, frame: Frame) -> None:
        """Tensors that have no name of the model yet get one."""
        scope = frame.scope
        for i, tensor in enumerate(tensors_of(value) if isinstance(value, (list, TensorRef)) else []):
            if is_tensor(tensor) and not tensor.named:
                tensor.name = f"{scope}{name}.{i}" if isinstance(value, list) else f"{scope}{name}"
                tensor.named, tensor.accessible = True, frame.accessible

    # steps; each gives a list of results

    def step(self, step: Step, frame: Frame, target: str = "") -> list[Any]:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise frame.text.error(f"operators nest deeper than {MOST_NESTED}", step.place, "SKND.C5")
        try:
            if isinstance(step, Invocation):
                return self._invoke(step, frame, target)
            if isinstance(step, BlockOf):
                scope = f"{frame.scope}{step.label}." if step.label else frame.scope
                return self.block(step, frame.inner(scope))
            if isinstance(step, Branch):
                return control.branch(self, step, frame, target)
            if isinstance(step, Loop):
                return control.loop(self, step, frame, target)
            return [self.expression(step, frame)]
        finally:
            self._depth -= 1

    def expression(self, e: Expression, frame: Frame) -> Any:
        return self.evaluator(frame).value(e)

    def block(self, block: BlockOf, frame: Frame) -> list[Any]:
        """The results of a block; `frame` is its own."""
        own: set[str] = set()
        for component in block.components:
            single = component.targets[0].name if len(component.targets) == 1 else ""
            values = self._results(component, frame, single)
            for target, value in zip(component.targets, values, strict=False):
                for one in (target, *(target.items or ())):
                    if one.name not in own:  # what is outside is hidden
                        frame.symbols.pop(one.name, None)
                        own.add(one.name)
                self._assign(target, value, frame)
        return [self.expression(e, frame) for e in block.results]

    def evaluator(self, frame: Frame) -> Evaluator:
        return Evaluator(frame.symbols, frame.text, frame.types)

    # invocations

    def _operator(self, step: Invocation, frame: Frame) -> Operator:
        home = frame.operator
        found = self.library.find(step.operator, home.module, standard_module=home.standard)
        if found is None:
            raise frame.text.error(f"there is no operator '{step.operator}' here", step.place, "SKND.N4")
        return found

    def _attributes(self, step: Invocation, frame: Frame) -> dict[str, Any]:
        evaluator = self.evaluator(frame)
        return {name: evaluator.value(e) for name, e in step.attributes.items()}

    def _invoke(self, step: Invocation, frame: Frame, target: str) -> list[Any]:
        name = step.operator
        home, alone = frame.operator, step.arguments[0] if len(step.arguments) == 1 else None
        is_cast = alone is not None and (name in frame.types or name in FUNCTIONS)
        if is_cast and self.library.find(name, home.module, standard_module=home.standard) is None:
            assert alone is not None
            return [self.expression(Call(step.place, name, alone), frame)]
        operator = self._operator(step, frame)
        arguments = [None if e is None else self.expression(e, frame) for e in step.arguments]
        values = self._attributes(step, frame)
        types = [frame.types.get(t, t) for t in step.types]
        scope = self._scope(step, operator, frame, target)
        bound = Instantiation(operator, step.place, frame.text, scope)
        return self.instantiate(bound, values, arguments, types, frame)

    def instantiate(
        self, bound: Instantiation, values: Mapping[str, Any], arguments: list[Any], types: Sequence[str], frame: Frame
    ) -> list[Any]:
        self.made += 1
        if self.made > MOST_NODES:
            raise bound.fail(f"the graph has more than {MOST_NODES} operators", "SKND.C5")
        instance = bound.run(values, arguments, types)
        operator = instance.operator
        for tensor in (t for o in instance.outputs for t in tensors_of(o)):
            tensor.name = f"{bound.scope}{tensor.name}"
        if not operator.components or (not operator.variables and self.keep(instance)):
            self.nodes.append(instance)
            return list(instance.outputs)
        return self.expand(bound, instance, frame.accessible)

    def expand(self, bound: Instantiation, instance: Instance, accessible: bool) -> list[Any]:
        """An instance replaced by what it is composed of."""
        operator = instance.operator
        inner = Frame(
            operator,
            dict(instance.symbols),
            instance.types,
            bound.scope,
            accessible and (operator.public or operator.graph),
        )
        self._locals(inner, bound)
        for component in operator.components:
            self.component(component, inner)
        found = []
        for d, declared in zip(operator.outputs, instance.outputs, strict=True):
            value = self._declared_output(inner, bound, d)
            for tensor, wanted in zip(tensors_of(value), tensors_of(declared), strict=False):
                if tensor.kind == "inner" and tensor.shape == wanted.shape:
                    tensor.named = False
            found.append(value)
        problems: list[TosaEngineError] = []
        self._updates(operator, inner, problems)
        raise_all(problems)
        return found

    def parts(self, instance: Instance) -> Body:
        """What a kept instance is composed of."""
        bound = Instantiation(instance.operator, instance.place, instance.text, instance.scope)
        bound.symbols.update(instance.symbols)
        bound.types.update(instance.types)
        found = Body()
        with self.body() as found.nodes:
            found.results = self.expand(bound, instance, accessible=False)
        return found

    def _scope(self, step: Invocation, operator: Operator, frame: Frame, target: str) -> str:
        base = frame.scope
        if step.label:
            return f"{base}{step.label}."
        if operator.graph:
            return f"{operator.name}."
        host = frame.operator
        alone = len(host.components) == 1 and not host.variables and not host.constants and not host.graph
        if alone or not target:
            return base
        return f"{base}{target}."

    # variables and constants

    def _locals(self, frame: Frame, bound: Instantiation) -> None:
        for family, kind in ((frame.operator.constants, "constant"), (frame.operator.variables, "variable")):
            for d in family:
                try:
                    value = self._constant(frame, bound, d) if kind == "constant" else self._variable(frame, bound, d)
                except Wrong as wrong:
                    raise frame.text.error(wrong.message, d.place, wrong.label) from None
                frame.symbols[d.name] = bound.symbols[d.name] = value

    def _variable(self, frame: Frame, bound: Instantiation, d: Declaration) -> Any:
        dtype = bound.types.get(d.type.name, d.type.name)
        if d.default is not None:
            raise Wrong(f"variable '{d.name}' has a value; its file gives it", "SKND.W1")
        count = int(bound.evaluator.value(d.type.length)) if d.type.packed and d.type.length is not None else 1
        found = []
        for i in range(count):
            shape = tuple(bound.binder.evaluated(d.type.shape or (), i))
            name = f"{frame.scope}{d.name}.{i}" if d.type.packed else f"{frame.scope}{d.name}"
            if name in self._scopes:
                raise Wrong(f"two variables are '{name}'; give the operators labels", "SKND.W2")
            self._scopes.add(name)
            found.append(TensorRef(name, dtype, shape, kind="variable", named=True))
        self.variables += found
        return found if d.type.packed else found[0]

    def _constant(self, frame: Frame, bound: Instantiation, d: Declaration) -> Any:
        dtype = bound.types.get(d.type.name, d.type.name)
        if d.default is None:
            raise Wrong(f"constant '{d.name}' has no value", "SKND.W3")
        if d.type.packed:
            values = bound.evaluator.value(d.default)
            if not isinstance(values, list):
                raise Wrong(f"constant '{d.name}' needs a list of values", "SKND.W3")
            return [
                self._filled(d, dtype, tuple(bound.binder.evaluated(d.type.shape or (), i)), value, frame)
                for i, value in enumerate(values)
            ]
        shape = tuple(bound.binder.evaluated(d.type.shape or (), 0))
        if d.bounds:
            return self._formula(d, dtype, shape, frame, bound)
        return self._filled(d, dtype, shape, bound.evaluator.value(d.default), frame)

    @staticmethod
    def _filled(d: Declaration, dtype: str, shape: tuple[int, ...], value: Any, frame: Frame) -> TensorRef:
        found = constant_of(0, dtype, f"{frame.scope}{d.name}", shape)
        items = value if isinstance(value, list) else [value]
        if dtype == "str" or any(kind_of(v) != dtype and not (dtype == "real" and kind_of(v) == "int") for v in items):
            raise Wrong(f"constant '{d.name}' must be {dtype}", "SKND.W4")
        data: Array = np.asarray(value, STORAGE[dtype])
        if data.size not in (1, int(np.prod(shape))):
            raise Wrong(f"constant '{d.name}' has {data.size} values for shape {list(shape)}", "SKND.W5")
        found.data = data.reshape(shape) if data.size == int(np.prod(shape)) else data.reshape(())
        found.named = True
        return found

    def _formula(
        self, d: Declaration, dtype: str, shape: tuple[int, ...], frame: Frame, bound: Instantiation
    ) -> TensorRef:
        """Values that depend on index symbols."""
        limits = [(name, bound.evaluator.value(e)) for name, e in d.bounds]
        flat = [n for _, value in limits for n in (value if isinstance(value, list) else [value])]
        if tuple(flat) != shape:
            raise Wrong(f"the indices of constant '{d.name}' run over {flat}, its shape is {list(shape)}", "SKND.W5")
        if int(np.prod(shape)) > 1 << 16:
            raise Wrong(f"constant '{d.name}' of {int(np.prod(shape))} values by a formula", "SKND.E5")
        data: Array = np.empty(shape, STORAGE[dtype])
        assert d.default is not None
        for index in np.ndindex(*shape):
            symbols, at = dict(bound.symbols), 0
            for name, limit in limits:
                size = len(limit) if isinstance(limit, list) else 1
                symbols[name] = list(index[at : at + size]) if isinstance(limit, list) else index[at]
                at += size
            data[index] = Evaluator(symbols, frame.text, bound.types).value(d.default)
        found = constant_of(0, dtype, f"{frame.scope}{d.name}", shape)
        found.data, found.named = data, True
        return found

    # bodies of control flow

    @contextmanager
    def body(self) -> Iterator[list[Any]]:
        """What is composed meanwhile is a body of its own."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer


def replace_length(target: Target) -> Target:
    return replace(target, packed=False, length=None)
