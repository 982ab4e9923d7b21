"""From a composed graph to TOSA: by the operators of `operators/`, else by their formulas; control flow as regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import TosaEngineError, Unsupported, raise_all
from ...graph import Operator as TosaOperator
from ...lower.elementary import chosen
from ...lower.problems import Misfit, Unlowered
from ...lower.views import shape_of
from .hints import is_quantization
from .lowering import lower_formulas
from .operators import MAPPERS
from .tensors import BranchNode, ChooseNode, Instance, LoopNode, TensorRef, tensors_of
from .writer import FORMATS, Call, SkndWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ...graph import Graph, QParams
    from ...types import Array
    from .compose import Composer
    from .tensors import Body, Composed


def has_mapper(instance: Instance) -> bool:
    return instance.operator.standard and instance.name in MAPPERS


class Mapper:
    """Maps one graph. `read` gives the values of a variable; without it they are ones, and shapes are all that counts.

    `mapped`: whether operators of the standard library are mapped; else all go by their formulas.
    """

    def __init__(
        self,
        composed: Composed,
        composer: Composer,
        quant: Mapping[str, QParams],
        read: Callable[[TensorRef], Array] | None,
        *,
        mapped: bool = True,
    ) -> None:
        self.composed, self.composer, self.read, self.mapped = composed, composer, read, mapped
        refs = (*composed.inputs, *composed.variables, *(ref for node in composed.nodes for ref in _gives(node)))
        self.b = SkndWriter(composed.operator.text.file, quant, {ref.name for ref in refs})
        self._updated = {old for old, new in composed.updates if new is not old}

    def graph(self, *, for_integers: bool = False) -> Graph:
        """Raises Problems with those of all operators. `for_integers`: hints say what operators do that quantize."""
        self._passed = for_integers
        b, composed, problems = self.b, self.composed, list[TosaEngineError]()
        for ref in composed.inputs:
            b.begin(ref.name, composed.operator.place.line)
            self._finish(ref, b.output("input", FORMATS[ref.dtype], ref.shape))
        self._variables = set(composed.variables)
        self._nodes(composed.nodes, problems)
        raise_all(problems, f"{b.file}: {len(problems)} problems")
        self._write_updates()
        b.graph.warnings = list(composed.warnings)
        b.graph.main.inputs = [b.values[ref].name for ref in composed.inputs]
        b.graph.main.outputs = [self._output(ref).name for ref in composed.outputs]
        return b.graph

    def _output(self, ref: TensorRef) -> Any:
        """An output is a tensor of its own, also where it is an input or a constant."""
        tensor = self._value(ref)
        if tensor.data is not None or tensor.name in self.b.graph.main.inputs:
            self.b.begin(ref.name, self.composed.operator.place.line)
            tensor = self.b.unary("IDENTITY", tensor)
        return tensor

    # tensors

    def _value(self, ref: TensorRef) -> Any:
        if ref in self._variables and ref not in self.b.values:
            self._variable(ref)
        return self.b.value(ref)

    def _variable(self, ref: TensorRef) -> None:
        b = self.b
        dtype = FORMATS[ref.dtype]
        kept = b.stem, b.location
        b.begin(ref.name, self.composed.operator.place.line)
        data = self.read(ref) if self.read is not None else np.broadcast_to(np.ones((), dtype.storage), ref.shape)
        if ref in self._updated:
            name = f"main.{self.composed.operator.name}.{ref.name}"
            attributes = {"name": name, "var_shape": ref.shape, "type": dtype, "initial_value": np.asarray(data)}
            b.append(TosaOperator("VARIABLE", [], [], attributes, b.location))
            tensor = b.operator("VARIABLE_READ", [], ref.shape, dtype, name=name)
        else:
            tensor = b.const(data, dtype)
        b.finish(ref, tensor)
        b.stem, b.location = kept

    def _finish(self, ref: TensorRef, tensor: Any) -> None:
        if tuple(shape_of(tensor)) != ref.shape:
            raise Misfit(f"'{ref.name}' has shape {list(shape_of(tensor))}, not {list(ref.shape)}")
        self.b.finish(ref, tensor)

    def _write_updates(self) -> None:
        for old, new in self.composed.updates:
            if old in self._updated and new is not old:
                self._value(old)
                name = f"main.{self.composed.operator.name}.{old.name}"
                tensor = self._value(new)
                self.b.append(TosaOperator("VARIABLE_WRITE", [tensor.name], [], {"name": name}, tensor.source))

    # nodes

    def _nodes(self, nodes: Sequence[Any], problems: list[TosaEngineError] | None) -> None:
        lost: set[TensorRef] = set()
        for node in nodes:
            if not lost.isdisjoint(_reads(node)):
                lost.update(_gives(node))
                continue
            try:
                self._node(node)
            except TosaEngineError as problem:
                if problems is None:
                    raise
                problems.append(problem)
                lost.update(_gives(node))

    def _node(self, node: Any) -> None:
        if isinstance(node, Instance):
            self._instance(node)
        elif isinstance(node, ChooseNode):
            self._choose(node)
        elif isinstance(node, BranchNode):
            self._branch(node)
        else:
            self._loop(node)

    def _instance(self, instance: Instance) -> None:
        outputs = [t for o in instance.outputs for t in tensors_of(o)]
        self.b.begin(outputs[0].name if outputs else instance.name, instance.place.line)
        try:
            for ref in _reads(instance):
                self._value(ref)
            for ref in outputs:
                if 0 in ref.shape:
                    raise Unlowered(f"'{ref.name}' of shape {list(ref.shape)} has no elements, TOSA needs one at least")
            found = self._own(instance) if self.mapped and has_mapper(instance) else None
            if found is None:
                found = self._general(instance)
            if found is None:
                return
            for ref, tensor in zip(outputs, found if isinstance(found, list) else [found], strict=True):
                if not self.b.has(ref):
                    self._finish(ref, tensor)
        except Misfit as problem:
            raise instance.text.error(f"'{instance.operator.name}': {problem.message}", instance.place) from None
        except Unsupported as problem:
            if problem.message.startswith(instance.text.file):
                raise
            raise instance.text.unsupported(f"'{instance.name}': {problem.message}", instance.place) from None

    def _own(self, instance: Instance) -> Any:
        call = Call(self.b, instance)
        return call.x() if self._passed and is_quantization(instance) else MAPPERS[instance.name](call)

    def _general(self, instance: Instance) -> list[Any] | None:
        operator = instance.operator
        if operator.components:
            body = self.composer.parts(instance)
            self._nodes(body.nodes, None)
            pairs = zip(instance.outputs, body.results, strict=True)
            for ref, inner in ((a, b) for o, r in pairs for a, b in zip(tensors_of(o), tensors_of(r), strict=True)):
                self.b.begin(ref.name, instance.place.line)
                self._finish(ref, self._value(inner))
            return None
        if not operator.lowerings:
            raise Unlowered("it has neither a formula nor a way to TOSA")
        return lower_formulas(self.b, instance)

    def _choose(self, node: ChooseNode) -> None:
        b = self.b
        b.begin(node.output.name, 0)
        yes, no = self._value(node.yes), self._value(node.no)
        condition = b.reshape(self._value(node.condition), (1,) * len(node.output.shape))
        self._finish(node.output, chosen(b, condition, yes, no))

    # control flow

    def _body(self, stem: str, body: Body, carried: Sequence[TensorRef] = ()) -> Any:
        """A region with its results as outputs."""
        with self.b.region(stem) as opened:
            self.b.stem = stem
            for ref in carried:
                self.b.carry(opened, ref)
            self._nodes(body.nodes, None)
            results = [self._result(ref, opened.block) for ref in body.results]
            opened.block.outputs = [tensor.name for tensor in results]
        return opened

    def _result(self, ref: TensorRef, block: Any) -> Any:
        """Every output of a region is a tensor of its own."""
        return self.b.unary("IDENTITY", self.b.value(ref))

    def _aligned(self, opened: Sequence[Any], carried: int = 0) -> list[TensorRef]:
        """The same inputs for several regions: those of each, in one order."""
        outer = list(dict.fromkeys(ref for one in opened for ref in one.outer))
        for one in opened:
            names = {ref: one.values[ref].name for ref in one.outer}
            for ref in outer:
                if ref not in names:
                    names[ref] = self.b.carry(one, ref, self.b.value(ref).dtype).name
            one.block.inputs = [*one.block.inputs[:carried], *(names[ref] for ref in outer)]
        return outer

    def _branch(self, node: BranchNode) -> None:
        b = self.b
        for ref in _inner_reads(node):
            self._prepare(ref)
        yes, no = self._body("then", node.yes), self._body("else", node.no)
        outer = self._aligned([yes, no])
        b.begin(node.outputs[0].name, node.place.line)
        condition = b.reshape(self._value(node.condition), (1,))
        outputs = [b.output("branch", FORMATS[ref.dtype], ref.shape) for ref in node.outputs]
        names = {"then_graph": yes.block.name, "else_graph": no.block.name}
        inputs = [condition.name, *(b.value(ref).name for ref in outer)]
        b.append(TosaOperator("COND_IF", inputs, [t.name for t in outputs], names, b.location))
        for ref, tensor in zip(node.outputs, outputs, strict=True):
            self._finish(ref, tensor)

    def _prepare(self, ref: TensorRef) -> None:
        if ref in self._variables:
            self._value(ref)

    def _loop(self, node: LoopNode) -> None:
        b = self.b
        for ref in _inner_reads(node):
            self._prepare(ref)
        condition = self._body("condition", node.condition, node.carried)
        body = self._body("body", node.body, node.carried)
        outer = self._aligned([condition, body], len(node.carried))
        for one in (condition,):
            found = one.block.tensors[one.block.outputs[0]]
            if found.shape != (1,):
                with self.b._at(one.block):
                    one.block.outputs = [b.reshape(found, (1,)).name]
        body.block.outputs += [body.values[ref].name for ref in outer]
        b.begin(node.outputs[0].name, node.place.line)
        initial = [self._value(ref) for ref in (*node.initial, *outer)]
        outputs = [b.output("loop", t.dtype, shape_of(t)) for t in initial]
        names = {"cond_graph": condition.block.name, "body_graph": body.block.name}
        b.append(TosaOperator("WHILE_LOOP", [t.name for t in initial], [t.name for t in outputs], names, b.location))
        for ref, tensor in zip(node.outputs, outputs, strict=False):
            self._finish(ref, tensor)


def _reads(node: Any) -> list[TensorRef]:
    if isinstance(node, Instance):
        return [t for value in node.inputs for t in tensors_of(value)]
    if isinstance(node, ChooseNode):
        return [node.condition, node.yes, node.no]
    return _inner_reads(node)


def _inner_reads(node: Any) -> list[TensorRef]:
    """What control flow reads from around it."""
    bodies = (node.yes, node.no) if isinstance(node, BranchNode) else (node.condition, node.body)
    found = [node.condition] if isinstance(node, BranchNode) else list(node.initial)
    inside = set() if isinstance(node, BranchNode) else set(node.carried)
    for body in bodies:
        given = set(inside)
        for inner in body.nodes:
            found += [ref for ref in _reads(inner) if ref not in given]
            given.update(_gives(inner))
        found += [ref for ref in body.results if isinstance(ref, TensorRef) and ref not in given]
    return found


def _gives(node: Any) -> list[TensorRef]:
    if isinstance(node, Instance):
        return [t for value in node.outputs for t in tensors_of(value)]
    return [node.output] if isinstance(node, ChooseNode) else list(node.outputs)
