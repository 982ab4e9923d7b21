"""From a module to a TOSA graph. What doesn't depend on inputs is computed here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError, GraphError, Problems, TosaEngineError, Unsupported, UsageError
from ...passes import dead_code
from . import ports, rules
from .call import Call
from .module import word
from .operators import OPERATORS, POINTWISE, REFUSED, quantized
from .values import Value, known
from .writer import HloWriter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ...graph import Graph
    from .module import Body, Function, Module, Operation

DEEPEST: Final = 100  # functions and regions inside each other
MOST_INNER: Final = 1 << 17  # operations of functions, regions and loops that are mapped
ENDS: Final = ("func.return", "stablehlo.return", "mhlo.return")


class ModuleMapper:
    """What is one for a whole module."""

    def __init__(
        self, module: Module, file: str, within: Mapping[str, tuple[int, int]] | None = None, *,
        for_integers: bool = False,
    ) -> None:  # fmt: skip
        self.module, self.file = module, file
        self.writer = HloWriter(file, for_integers=for_integers)
        self.within = dict(within or {})
        self.mapped = 0

    def graph(self) -> Graph:
        """Map the module. Raises DataError or Unsupported with the place of what can't be."""
        function, g = self.module.main, self.writer
        given = ports.inputs(g, function, self.within)
        for value, (_, kind) in zip(given, function.body.arguments, strict=True):
            if kind.quantized is not None:
                quantized.mark(g, value, kind.quantized)
        wanted = output_names(function, len(function.body.results))
        names = dict(zip(function.body.results, wanted, strict=True))
        results = Scope(self, [], names=names).run(function.body, given)
        ports.outputs(g, wanted, results)
        dead_code.change(g.graph)  # what `recognized` has made otherwise
        g.graph.warnings += g.warnings()
        return g.graph


def output_names(function: Function, count: int) -> list[str]:
    """The names of the outputs: what JAX calls them, else their numbers."""
    told = function.results if len(set(function.results)) == count and all(function.results) else []
    return list(told) or (["output"] if count == 1 else [f"output{i}" for i in range(count)])


def _everything(body: Body) -> Iterator[Operation]:
    """The operations of a block and of those inside of it."""
    for op in body.operations:
        yield op
        for region in op.regions:
            yield from _everything(region)


@dataclass
class Scope:
    """The values of a block and of those around it."""

    model: ModuleMapper
    path: list[str]
    values: dict[int, Value] = field(default_factory=dict)
    pointwise: bool = False
    names: Mapping[int, str] = field(default_factory=dict)  # of values that are outputs
    body: Body | None = None  # which is run

    def run(self, body: Body, given: Sequence[Value]) -> list[Value]:
        """The results of a block, given its arguments."""
        if len(given) != len(body.arguments):
            raise GraphError(f"a block of {len(body.arguments)} arguments, of which {len(given)} are given")
        if len(self.path) > DEEPEST:
            raise Unsupported(f"functions and regions are nested more than {DEEPEST} deep")
        self.body = body
        self.values.update({number: value for (number, _), value in zip(body.arguments, given, strict=True)})
        for operation in body.operations:
            if operation.name in ENDS:
                return [self.values[number] for number in operation.operands]
            self._map(operation)
        raise GraphError("a block without an end")

    def inner(self, name: str, *, pointwise: bool | None = None) -> Scope:
        """A scope for a region, which sees the values around it."""
        return Scope(
            self.model, [*self.path, name], dict(self.values), self.pointwise if pointwise is None else pointwise
        )

    def guarded(self, operation: Operation) -> list[int]:
        """Operands of a sum that is read only where they are below 0: select(x < 0, x + n, x), of an index."""
        assert self.body is not None
        ((result, _),) = operation.results
        makers = {number: op for op in self.body.operations for number, _ in op.results}
        readers = [op for op in _everything(self.body) if result in op.operands]
        return [
            index
            for index, x in enumerate(operation.operands)
            if readers and all(self._below_zero(op, makers.get(op.operands[0]), result, x) for op in readers)
        ]

    def _below_zero(self, reader: Operation, test: Operation | None, result: int, x: int) -> bool:
        if reader.name != "stablehlo.select" or reader.operands[1:] != [result, x] or test is None:
            return False
        if test.name != "stablehlo.compare" or word(test.attributes.get("comparison_direction")) != "LT":
            return False
        zero = self.values.get(test.operands[1])
        return test.operands[0] == x and zero is not None and zero.data is not None and not zero.data.any()

    def _map(self, operation: Operation) -> None:
        model = self.model
        model.mapped += 1
        label = operation.label or operation.name.partition(".")[2]
        try:
            if model.mapped > MOST_INNER:
                raise Unsupported(f"functions, regions and loops make more than {MOST_INNER} operations")
            inputs = [self.values[number] for number in operation.operands]
            model.writer.begin(label)
            results = self._called(operation, inputs)
        except TosaEngineError as problem:
            raise self._at(problem, operation) from None
        for (number, kind), value in zip(operation.results, results, strict=True):
            if not (kind.is_token or value.parts is not None):
                model.writer.finish(self.names.get(number, label), value)
                if kind.quantized is not None:
                    quantized.mark(model.writer, value, kind.quantized)
            self.values[number] = value

    def _called(self, operation: Operation, inputs: list[Value]) -> list[Value]:
        name = operation.name.partition(".")[2]
        if operation.name == "func.call":
            return self._function(operation, inputs)
        call = Call(self.model.writer, name, operation, inputs, self, self.pointwise)
        if name in REFUSED:
            raise Unsupported(f"TOSA can't express it: {REFUSED[name]}")
        if call.pointwise and name not in POINTWISE:
            raise Unsupported("this operation in a body that is computed for all elements at once")
        kinds = call.kinds
        if kinds and all(0 in kind.shape and kind.element is not None for kind in kinds):
            return [known(kind.element, np.zeros(kind.shape, kind.element.storage)) for kind in kinds if kind.element]
        found = rules.evaluate(call)
        if found is not None:
            return [known(call.element, array) for array in found]
        operator = OPERATORS.get(name)
        if operator is None:
            raise Unsupported("this operation isn't supported")
        results = operator(call)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    def _function(self, operation: Operation, inputs: list[Value]) -> list[Value]:
        name = str(operation.attributes.get("callee", "")).removeprefix("@")
        function = self.model.module.functions.get(name)
        if function is None:
            raise GraphError(f"calls the function '{name}', which the module doesn't have")
        return Scope(self.model, [*self.path, name], {}, self.pointwise).run(function.body, inputs)

    def _at(self, problem: TosaEngineError, operation: Operation) -> TosaEngineError:
        """The problem at its operation; inner ones have their place already."""
        if isinstance(problem, (Problems, UsageError)) or getattr(problem, "placed", False):
            return problem
        label = f" '{operation.label}'" if operation.label else ""
        file = f"{self.model.file}:{operation.line}" if operation.line else self.model.file
        types = ", ".join(dict.fromkeys(kind.text for _, kind in operation.results[:2]))
        kind: Any = DataError if isinstance(problem, (GraphError, DataError)) else type(problem)
        found: TosaEngineError = kind(
            f"{file}: {operation.name}{label}{f' ({types})' if types else ''}: {problem.message}"
        )
        found.placed = True  # type: ignore[attr-defined]
        return found
