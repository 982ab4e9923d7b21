"""From a checked NNEF document to a TOSA-FP graph: one function per operation, all problems raised together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ...errors import TosaEngineError, UsageError, raise_all
from ...lower.problems import Misfit, Unlowered
from ...lower.views import shape_of
from . import updates
from .build import NnefWriter
from .flattening import lower
from .language.kinds import INTEGER, parts
from .language.syntax import Name
from .operations import (
    attention,
    choosing,
    convolution,
    data,
    elementary,
    elementwise,
    layout,
    linear,
    pool,
    regions_of_interest,
    resize,
    vendor,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...graph import Graph, QParams
    from ...types import Shape
    from .build import Mapper
    from .language.flat import Document, Operation
    from .language.library import Declaration, Parameter

MAPPERS: Final[Mapping[str, Mapper]] = {
    name: mapper
    for family in (
        data,
        elementwise,
        elementary,
        convolution,
        pool,
        resize,
        regions_of_interest,
        linear,
        layout,
        vendor,
        attention,
        choosing,
    )
    for name, mapper in family.MAPPERS.items()
}


def map_document(document: Document, quant: Mapping[str, QParams] | None = None) -> Graph:
    """The graph of a document as it is written: NCHW, a TRANSPOSE before and after each convolution and pooling.

    `quant` is by the names of the document's tensors, and of those that its compounds have inside (`inner_tensors`).

    Raises UsageError listing the names in `quant` that no tensor has, and the problems of all operations at once.
    """
    hints = quant or {}
    unknown = sorted(set(hints) - set(document.tensors))
    if unknown and (unknown := sorted(set(unknown) - inner_tensors(document))):
        names = ", ".join(f"'{name}'" for name in unknown)
        raise UsageError(f"quantization of tensors that {document.text.file} doesn't have: {names}")
    builder = NnefWriter(document, hints)
    map_operations(builder, document.operations)
    updates.write(builder)
    builder.graph.warnings = document.warnings
    block = builder.graph.main
    block.inputs = [builder.values[name].name for name in document.inputs]
    block.outputs = [builder.values[name].name for name in document.outputs]
    return builder.graph


def inner_tensors(document: Document) -> set[str]:
    """The names of the tensors that the compounds of the standard have inside, where they are expanded."""
    inside = lower(document, has_mapper, Shapes(document), document.tensors).operations
    return {result.text for operation in inside for result in operation.results} - set(document.tensors)


def map_operations(builder: NnefWriter, operations: Iterable[Operation]) -> None:
    """Add operations to a graph; compounds without a function here are expanded. Raises all problems together."""
    document = replace(builder.document, operations=list(operations))
    taken = {*builder.document.tensors, *builder.values}
    problems: list[TosaEngineError] = []
    lost: set[str] = set()  # results of operations that have a problem, and what depends on them
    for operation in lower(document, has_mapper, Shapes(document), taken).operations:
        if lost.isdisjoint(_tensors(operation)):
            try:
                _map_operation(builder, operation)
            except TosaEngineError as problem:
                problems.append(problem)
            else:
                continue
        lost.update(result.text for result in operation.results)
    raise_all(problems, f"{document.text.file}: {len(problems)} problems")


class Shapes:
    """Shapes of a document's tensors while it is being evaluated, for the deprecated `shape_of` (section 3.3.3).

    Asked for one, it maps the operations so far, with ones in place of the values of variables.
    """

    def __init__(self, document: Document) -> None:
        self._document = document
        self._mapped = 0
        self._builder: NnefWriter | None = None

    def __call__(self, name: str) -> Shape:
        """The shape of a tensor. Raises what mapping raises."""
        if self._builder is None:
            self._builder = NnefWriter(self._document, {}, with_data=False)
        fresh = self._document.operations[self._mapped :]
        self._mapped += len(fresh)
        map_operations(self._builder, fresh)
        return shape_of(self._builder.values[name])


def has_mapper(declaration: Declaration) -> bool:
    return declaration.standard and declaration.name in MAPPERS


def _map_operation(builder: NnefWriter, operation: Operation) -> None:
    builder.begin(operation)
    if not has_mapper(operation.declaration):
        message = f"operation '{operation.name}' isn't supported"
        raise builder.document.text.unsupported(message, operation.place)
    try:
        mapped = MAPPERS[operation.name](builder, with_numbers(builder, operation))
    except Misfit as problem:
        raise builder.error(problem.message) from None
    except Unlowered as problem:
        raise builder.unsupported(problem.message) from None
    tensors = mapped if isinstance(mapped, list) else [mapped]
    for name, tensor in zip(operation.results, tensors, strict=True):
        builder.finish(name.text, tensor)


def with_numbers(builder: NnefWriter, operation: Operation) -> Operation:
    """The operation with the values of constant tensors that stand where numbers must, or in arrays of numbers."""
    given = {
        p.name: _in_numbers(builder, p, operation.arguments[p.name])
        for p in operation.declaration.parameters if not p.is_tensor and _named(operation.arguments[p.name])
    }  # fmt: skip
    return replace(operation, arguments={**operation.arguments, **given}) if given else operation


def _named(value: Any) -> bool:
    return any(map(_named, value)) if isinstance(value, tuple) else isinstance(value, Name)


def _in_numbers(builder: NnefWriter, parameter: Parameter, value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_in_numbers(builder, parameter, item) for item in value)
    if not isinstance(value, Name):
        return value
    values = builder.numbers(value)
    if len(values) != 1:
        raise builder.error(f"'{parameter.name}' must be one number, '{value.text}' has {len(values)}")
    whole = INTEGER in parts(parameter.kind)
    if whole and not values[0].is_integer():
        raise builder.error(f"'{parameter.name}' must be an integer, '{value.text}' is {values[0]}")
    return int(values[0]) if whole else values[0]


def _tensors(operation: Operation) -> set[str]:
    """Names of the tensors that an operation reads."""
    found: set[str] = set()
    for value in operation.arguments.values():
        items = value if isinstance(value, tuple) else (value,)
        found.update(item.text for item in items if isinstance(item, Name))
    return found
