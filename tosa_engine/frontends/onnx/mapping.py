"""From an ONNX model to a TOSA-FP graph: nodes one after the other, all problems raised together.

A value that depends on no input is known: an array, computed here (`evaluator`). Shapes are such values, so that what
computes shapes folds away. All other values are tensors. Nodes that no output needs are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, GraphError, Problems, TosaEngineError, Unsupported, UsageError, raise_all
from . import bodies, evaluator, narrowing, ports, signature
from .call import Call
from .nodes import domain_of, label_of, needed
from .operators import IMPOSSIBLE, OPERATORS
from .values import Value, known
from .writer import OnnxWriter, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...graph import Graph, Tensor
    from ...types import Array
    from .model import TensorReader
    from .ports import Bindings

    Result = Value | Tensor | Array | None

MOST_INNER: Final = 1 << 16  # nodes of functions, branches and loops that are mapped
MOST_PROBLEMS: Final = 1000  # that are looked for
MOST_KNOWN: Final = 1 << 29  # bytes of arrays that are computed here, beside four times those of the initializers
LONGEST_WAY: Final = 8
NONPAD: Final = 6  # the input nonpad_kv_seqlen of Attention


class ModelMapper:
    """What is one for a whole model: its functions, the writer, and where values come from."""

    def __init__(
        self, model: Any, reader: TensorReader, file: str, bindings: Bindings, *, for_integers: bool = False
    ) -> None:
        self.model, self.reader, self.file, self.bindings = model, reader, file, bindings
        self.writer = OnnxWriter(file, for_integers=for_integers)
        self.functions = {(domain_of(f.domain), f.name): f for f in model.functions}
        self.ways: dict[int, tuple[str, list[Value]]] = {}  # id of a value -> its node, what that reads
        self.kept: list[Value] = []  # so that no id is used again
        self.inner = self.failed = 0
        self.room = MOST_KNOWN
        self.told: set[str] = set()  # values of which a range is told
        self._signatures: dict[tuple[str, str, int], signature.Signature | None] = {}

    def graph(self) -> Graph:
        """Map the model. Raises Problems with everything that is wrong, DataError or Unsupported for a single one."""
        model, graph = self.model, self.model.graph
        sets = {domain_of(one.domain): one.version for one in model.opset_import}
        scope = Scope(self, sets, {})
        problems: list[TosaEngineError] = []
        scope.add_constants(graph)
        held = scope.values
        given = ports.inputs(self.writer, [i for i in graph.input if i.name not in held], self.bindings)
        scope.values.update({name: self.within(name, value) for name, value in given.items()})
        wanted = [output.name for output in graph.output]
        scope.map_nodes(graph.node, wanted, problems)
        raise_all(problems, f"{self.file}: {len(problems)} problems")
        ports.outputs(self.writer, [(name, scope.value(name)) for name in wanted])
        if unknown := [name for name in self.bindings.ranges if name not in self.told]:
            raise UsageError(f"the model has no value '{unknown[0]}' that its outputs need, to be within a range")
        raise_all(narrowing.problems(self.writer), f"{self.file}: integers that int32 may lack")
        self.writer.graph.warnings += narrowing.warnings(self.writer)
        return self.writer.graph

    def signature(self, op: str, domain: str, version: int) -> signature.Signature | None:
        """What an operator takes; None where `onnx` has no schema of it."""
        key = (op, domain, version)
        if key not in self._signatures:
            if not 0 < version <= signature.NEWEST_SET:
                raise DataError(f"there is no operator set {version}")
            self._signatures[key] = signature.signature_of(op, domain, version)
        return self._signatures[key]

    def within(self, name: str, value: Value) -> Value:
        """A value, tested to lie in the range that is told of it."""
        if name not in self.bindings.ranges:
            return value
        self.told.add(name)
        return narrowing.within(self.writer, name, value, self.bindings.ranges[name])

    def comes_from(self, value: Value, node: str, inputs: Iterable[Value | None]) -> None:
        if not value.is_known and id(value) not in self.ways:
            self.kept.append(value)
            self.ways[id(value)] = (node, [one for one in inputs if one is not None and not one.is_known])


class Scope:
    """The values of a graph, of a branch or of a body. Names that it doesn't have are the enclosing scope's."""

    def __init__(
        self, model: ModelMapper, sets: Mapping[str, int], values: dict[str, Value | None], outer: Scope | None = None,
        prefix: str = "", defaults: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.model, self.sets, self.values, self.outer = model, sets, values, outer
        self.prefix, self.defaults = prefix, defaults
        self.lost: set[str] = set()
        self.checked: bool = outer.checked if outer is not None else True
        self.depth: int = outer.depth + 1 if outer is not None else 0
        if self.depth > bodies.DEEPEST:
            raise Unsupported(f"functions and branches are nested more than {bodies.DEEPEST} deep")

    def find(self, name: str) -> Value | None:
        if name in self.values:
            return self.values[name]
        if self.outer is not None:
            return self.outer.find(name)
        raise KeyError(name)

    def value(self, name: str) -> Value:
        try:
            found = self.find(name)
        except KeyError:
            raise GraphError(f"'{name}' is used before anything computes it") from None
        if found is None:
            raise GraphError(f"'{name}' isn't given")
        return found

    def add_constants(self, graph: Any) -> None:
        """The initializers of a graph."""
        for proto in graph.initializer:
            array = self.model.reader.array(proto, f"initializer '{proto.name}'")
            self.model.room += 4 * array.nbytes
            self.values[proto.name] = known(array)
        for proto in graph.sparse_initializer:
            self.values[proto.values.name] = known(self.model.reader.dense(proto))

    def map_nodes(self, nodes: Sequence[Any], wanted: Iterable[str], problems: list[TosaEngineError]) -> None:
        """Map what `wanted` needs. What has a problem is added to `problems`, what depends on it is left out."""
        for node in needed(nodes, wanted):
            if self.model.failed > MOST_PROBLEMS:
                return
            if any(self.is_lost(name) for name in node.input):
                self.lost.update(node.output)
                continue
            try:
                self._map(node)
            except TosaEngineError as problem:
                self.model.failed += 1
                problems.append(self._at(problem, node))
                self.lost.update(node.output)

    def is_lost(self, name: str) -> bool:
        """Whether a value has a problem, or depends on one that has."""
        return name in self.lost or (name not in self.values and self.outer is not None and self.outer.is_lost(name))

    def _map(self, node: Any) -> None:
        model = self.model
        model.inner += self.depth > 0
        if model.inner > MOST_INNER:
            raise Unsupported(f"functions, branches and loops make more than {MOST_INNER} nodes")
        if self.defaults is not None:
            node = bodies.bound(node, self.defaults)
        inputs = self._given(node)
        results = self._called(node, inputs)
        for name, value in zip(node.output, results, strict=False):
            if name and value is not None:
                model.writer.finish(self.prefix + name, value)
                self.values[name] = found = model.within(self.prefix + name, value)
                model.comes_from(found, label_of(node), inputs)

    def _given(self, node: Any) -> list[Value | None]:
        try:
            return [self.find(name) if name else None for name in node.input]
        except KeyError as missing:
            raise GraphError(f"reads '{missing.args[0]}', which nothing before it computes") from None

    def _called(self, node: Any, inputs: list[Value | None]) -> Sequence[Value | None]:
        """The results of a node: computed, mapped, or those of its body."""
        model, domain = self.model, domain_of(node.domain)
        function = model.functions.get((domain, node.op_type))
        if function is not None:
            return self._of_body(node, bodies.of_function(function), inputs)
        if domain not in self.sets:
            raise DataError(f"the model imports no operator set of the domain '{domain}'")
        version = self.sets[domain]
        its = model.signature(node.op_type, domain, version)
        if its is not None and self.checked:
            signature.check_attributes(node, its)
            signature.check_inputs(node, its, inputs)
        since, attributes = (its.since, its.defaults) if its is not None else (version, {})
        if node.attribute:
            attributes = {**attributes, **{one.name: self._attribute(one) for one in node.attribute}}
        outputs = list(node.output)
        model.writer.begin(self.prefix + (outputs[0] if outputs else node.name))
        call = Call(model.writer, node.op_type, inputs, attributes, since, outputs, self)
        found = evaluator.evaluate(call, domain)
        if found is not None:
            self._make_room(found, inputs)
            return [known(array) for array in found]
        operator = OPERATORS.get((domain, node.op_type))
        if operator is not None:
            return _as_values(operator(call), call)
        if reason := IMPOSSIBLE.get((domain, node.op_type)):
            raise Unsupported(f"TOSA can't express it: {reason}")
        if node.op_type == "Attention" and len(inputs) > NONPAD:
            _bound_lengths(model.writer, inputs)
        body = bodies.of_schema(its.schema, version, node, inputs) if its is not None else None
        if body is None:
            raise Unsupported("this operator isn't supported" if its is not None else "this operator is unknown")
        return self._of_body(node, body, inputs)

    def _make_room(self, found: Sequence[Array], inputs: Sequence[Value | None]) -> None:
        """Computed arrays are kept. Raises Unsupported where they take too much memory together."""
        given = [one.data for one in inputs if one is not None]
        self.model.room -= sum(one.nbytes for one in found if one.base is None and all(one is not g for g in given))
        if self.model.room < 0:
            raise Unsupported(
                f"the arrays that are computed of constants take more than {MOST_KNOWN >> 20} MB together"
            )

    def _of_body(self, node: Any, body: bodies.Body, inputs: list[Value | None]) -> list[Value | None]:
        """The results of a body; None where the node doesn't want one."""
        names = dict.fromkeys(body.inputs)
        values: dict[str, Value | None] = {**names, **dict(zip(body.inputs, inputs, strict=False))}
        given = {**body.defaults, **{one.name: one for one in node.attribute}}
        sets = {domain_of(name): version for name, version in body.sets.items()}
        inner = Scope(self.model, sets, values, None, self._inner_prefix(node), given)
        inner.depth, inner.checked = self.depth + 1, body.checked
        if inner.depth > bodies.DEEPEST:
            raise Unsupported(f"functions and branches are nested more than {bodies.DEEPEST} deep")
        wanted = [name if given else "" for name, given in zip(body.outputs, node.output, strict=False)]
        found = iter(inner.results(body.nodes, [name for name in wanted if name]))
        return [next(found) if name else None for name in wanted]

    def branch(self, graph: Any, inputs: Sequence[Value], name: str) -> list[Value]:
        """The outputs of a graph that is an attribute, given its inputs."""
        if len(graph.input) != len(inputs):
            raise GraphError(f"'{name}' has {len(graph.input)} inputs, of which {len(inputs)} are given")
        given = {port.name: value for port, value in zip(graph.input, inputs, strict=True)}
        inner = Scope(self.model, self.sets, {**given}, self, f"{self.prefix}{name}/", self.defaults)
        inner.add_constants(graph)
        return inner.results(graph.node, [output.name for output in graph.output])

    def results(self, nodes: Sequence[Any], wanted: Sequence[str]) -> list[Value]:
        problems: list[TosaEngineError] = []
        self.map_nodes(nodes, [name for name in wanted if name], problems)
        raise_all(problems, f"{len(problems)} problems inside")
        return [self.value(name) for name in wanted]

    def _inner_prefix(self, node: Any) -> str:
        return f"{self.prefix}{node.name or next((name for name in node.output if name), node.op_type)}/"

    def _attribute(self, proto: Any) -> Any:
        from onnx import AttributeProto, helper

        try:
            found = helper.get_attribute_value(proto)
        except ValueError as problem:
            raise DataError(f"attribute '{proto.name}': {problem}") from None
        if proto.type == AttributeProto.TENSOR:
            return self.model.reader.array(found, f"attribute '{proto.name}'")
        if proto.type == AttributeProto.SPARSE_TENSOR:
            return self.model.reader.dense(found)
        return signature.decoded(found)

    def _at(self, problem: TosaEngineError, node: Any) -> TosaEngineError:
        """The problem at its node."""
        if isinstance(problem, Problems):
            return Problems([self._at(one, node) for one in problem.problems])
        place = f"{self.prefix}{label_of(node)}"
        message = problem.message.removeprefix(f"{self.model.file}: ")
        kind = DataError if isinstance(problem, (GraphError, DataError)) else type(problem)
        return kind(f"{self.model.file}: {place}: {message}")

    def way_to(self, value: Value) -> str:
        """How a value comes from the model's inputs: its node, one that this one reads, and so on."""
        steps: list[str] = []
        at: Value | None = value
        while at is not None and len(steps) < LONGEST_WAY:
            node, reads = self.model.ways.get(id(at), ("", []))
            steps.append(node or f"'{at.tensor.name if at.tensor is not None else '?'}'")
            at = reads[0] if reads else None
        return " <- ".join(steps) + (" <- ..." if at is not None else "")


def _bound_lengths(g: OnnxWriter, inputs: Sequence[Value | None]) -> None:
    """Attention's numbers of valid keys are at most the keys, which have three axes or four."""
    lengths, keys = inputs[NONPAD], inputs[1]
    if lengths is not None and not lengths.is_known and keys is not None:
        g.bound(g.tensor_of(lengths), 0, keys.shape[1 if len(keys.shape) == 3 else 2])


def _as_values(found: Any, call: Call) -> list[Value | None]:
    items = found if isinstance(found, (list, tuple)) else [found]
    values: list[Value | None] = []
    for item in items:
        if isinstance(item, Value):
            values.append(item)
        elif isinstance(item, np.ndarray):
            values.append(known(item))
        elif item is None:  # what follows keeps its place
            values.append(None)
        else:
            values.append(value_of(item, call.inputs[0].element if call.inputs and call.inputs[0] else None))
    return values
