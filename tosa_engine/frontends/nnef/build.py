"""Building the TOSA-FP graph of an NNEF document: tensors by NNEF name, places for errors, quantization hints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import DataError
from ...graph import Composite, Location, Tensor, new_graph
from ...lower.composites import compose
from ...lower.views import shape_of
from ...lower.writer import Writer
from .files.quantfile import Quantization
from .files.variables import FORMATS, read_variable
from .language.syntax import Name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...errors import ParseError, Unsupported
    from ...graph import QParams
    from ...types import Shape
    from .language.flat import Document, Operation

MAX_EXTENT: Final = (1 << 31) - 1


class State:
    """The variables that a document updates. `labels` are theirs; `names` has the name of each label's VARIABLE."""

    def __init__(self, document: Document) -> None:
        self._label_of = {op.result: op.arguments["label"].casefold() for op in document.variables.values()}
        updates = [op for op in document.operations if op.name == "update" and op.declaration.standard]
        variables = [op.arguments["variable"] for op in updates]
        self.labels = {self._label_of[v.text] for v in variables if isinstance(v, Name) and v.text in self._label_of}
        self.names: dict[str, str] = {}
        self.writes: list[tuple[str, str]] = []  # label, tensor of the new value

    def update(self, variable: str, result: str) -> None:
        self.writes.append((self._label_of[variable], result))


class NnefWriter(Writer):
    """The graph of a document under construction. `begin` and `finish` enclose the operators of one NNEF operation.

    Without data, tensor files aren't read: variables are ones.
    """

    def __init__(self, document: Document, quant: Mapping[str, QParams], with_data: bool = True) -> None:
        self.document, self.quant, self.with_data = document, quant, with_data
        self.graph = new_graph(document.text.file)
        super().__init__(self.graph.main)
        self.decoders = quant.decoders if isinstance(quant, Quantization) else {}
        self.values: dict[str, Tensor] = {}
        self.state = State(document)
        self._operation: Operation
        self._bound: set[str] = set()

    # errors

    def error(self, message: str) -> ParseError:
        """An error at the operation that is being mapped."""
        return self.document.text.error(f"'{self._operation.name}': {message}", self._operation.place)

    def unsupported(self, message: str) -> Unsupported:
        return self.document.text.unsupported(f"'{self._operation.name}': {message}", self._operation.place)

    # one operation

    def begin(self, operation: Operation) -> None:
        self._operation = operation
        self.stem = operation.result
        self.location = Location(self.document.text.file, operation.place.line, operation.result)

    def value(self, argument: Any, rank: int = 0) -> Tensor:
        """The tensor of an argument; a number becomes a constant of shape [1] * rank. Tensors are left as they are."""
        if isinstance(argument, Tensor):
            return argument
        if isinstance(argument, Name):
            return self.values[argument.text]
        if isinstance(argument, bool):
            return self.scalar(argument, FORMATS["logical"], rank)
        if isinstance(argument, int):
            return self.scalar(argument, FORMATS["integer"], rank)
        if abs(argument) > np.finfo(np.float32).max:
            raise self.error(f"{argument!r} is beyond fp32")
        return self.scalar(argument, FORMATS["scalar"], rank)

    def numbers(self, argument: Name) -> list[float]:
        """The values of a constant tensor that must be known before the graph runs.

        Raises ParseError where it isn't constant.
        """
        tensor, variable = self.values[argument.text], self.document.variables.get(argument.text)
        data = tensor.data
        if data is not None and variable is not None and not self.with_data and self.document.container is not None:
            quant = with_axis(self.quant.get(argument.text), argument.text, variable.arguments["shape"])
            data = read_variable(self.document, variable, quant, self.decoders.get(argument.text))
        if data is None:
            raise self.error(f"the value of '{argument.text}' must be known before the graph runs")
        return [float(value) for value in data.reshape(-1)]

    def bend(self, message: str) -> None:
        """What the standard forbids, and yet means but one thing: a warning at the operation that is being mapped.

        Raises ParseError where the document is strict.
        """
        if self.document.strict:
            raise self.error(message)
        self.warn(message)

    def warn(self, message: str) -> None:
        """A warning at the operation that is being mapped."""
        place = self._operation.place
        self.document.warn(
            f"{self.document.text.file}:{place.line}:{place.column}: '{self._operation.name}': {message}"
        )

    def operands(self, *arguments: Any) -> list[Tensor]:
        """Tensors of one rank: shapes of a lower rank have trailing extents of 1 (section 4.2.2).

        Raises ParseError when the shapes don't broadcast.
        """
        tensors = [self.value(a) for a in arguments]
        shapes = [shape_of(t) for t in tensors]
        rank = max(len(s) for s in shapes)
        equal = [self.trailing(t, rank) for t in tensors]
        for extents in zip(*(shape_of(t) for t in equal), strict=True):
            if len(set(extents) - {1}) > 1:
                raise self.error(f"shapes {' and '.join(str(list(s)) for s in shapes)} don't agree")
        return equal

    def trailing(self, x: Tensor, rank: int) -> Tensor:
        """`x` with trailing extents of 1 up to `rank`."""
        shape = shape_of(x)
        return self.reshape(x, shape + (1,) * (rank - len(shape)))

    def axes(self, axes: Sequence[int], rank: int) -> tuple[int, ...]:
        """Checked axes: unique, from 0 to rank - 1."""
        for axis in axes:
            if not 0 <= axis < rank:
                raise self.error(f"axis {axis} isn't one of the {rank} axes")
        if len(set(axes)) != len(axes):
            raise self.error(f"axes {list(axes)} aren't unique")
        return tuple(axes)

    # results

    def finish(self, name: str, result: Tensor) -> None:
        """`result` is the value of the NNEF tensor `name`: it takes the name, the place and the hint."""
        for extent in shape_of(result):
            if not 1 <= extent <= MAX_EXTENT:
                raise self.error(f"the result '{name}' would have shape {list(shape_of(result))}")
        if result.data is not None:
            result = self.const(result.data, result.dtype)
        elif result.name in self._bound:
            result = self.unary("IDENTITY", result)
        self._rename(result, name)
        self._bound.add(name)
        self.values[name] = result
        result.source = Location(self.document.text.file, self._operation.place.line, name)
        result.quant = with_axis(self.quant.get(name), name, shape_of(result))
        self.carry_back(result, self._bound)

    def _rename(self, tensor: Tensor, name: str) -> None:
        producer = self.producers.get(tensor.name)
        if isinstance(producer, Composite):
            x, renamed = self.block.tensors[producer.inputs[0]], replace(tensor, name=name)
            producer.body = compose(producer.op, x, renamed, producer.attributes, producer.location).body
        self.rename(tensor, name)


Mapper = Callable[[NnefWriter, "Operation"], "Tensor | list[Tensor]"]


def with_axis(quant: QParams | None, name: str, shape: Shape) -> QParams | None:
    """A hint whose axis fits the tensor. Where the axis isn't given, it is the first with one index per scale.

    Raises DataError when the numbers of scales and zero points don't fit.
    """
    if quant is None:
        return None
    entries = max(len(quant.scale), len(quant.zero_point))
    if not {len(quant.scale), len(quant.zero_point)} <= {1, entries} or not quant.scale or not quant.zero_point:
        counts = f"{len(quant.scale)} scales and {len(quant.zero_point)} zero points"
        raise DataError(f"quantization of '{name}': {counts} don't go together")
    if entries == 1:
        return replace(quant, axis=None)
    axis = quant.axis if quant.axis is not None else (shape.index(entries) if entries in shape else None)
    if axis is None or not 0 <= axis < len(shape) or shape[axis] != entries:
        where = f"axis {axis}" if axis is not None else "any axis"
        raise DataError(f"quantization of '{name}': {entries} entries don't fit {where} of shape {list(shape)}")
    scale = quant.scale * entries if len(quant.scale) == 1 else quant.scale
    zero_point = quant.zero_point * entries if len(quant.zero_point) == 1 else quant.zero_point
    return replace(quant, scale=scale, zero_point=zero_point, axis=axis)
