"""Variables that a document updates (section 4.8): they keep their values from one run of the graph to the next.

VARIABLE and VARIABLE_READ come where the document has the variable, VARIABLE_WRITE at the end: within a run a variable
has the value from before it. Variables of one label are one VARIABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph import Operator
from ...types import fp32
from .files.variables import FORMATS, data_file, read_variable
from .language.syntax import Name

if TYPE_CHECKING:
    from ...graph import QParams, Tensor
    from .build import NnefWriter
    from .document import Document, Operation


class State:
    """`labels` are those of the variables that are updated."""

    def __init__(self, document: Document) -> None:
        self._label_of = {op.result: op.arguments["label"].casefold() for op in document.variables.values()}
        updates = [op for op in document.operations if op.name == "update" and op.declaration.standard]
        variables = [op.arguments["variable"] for op in updates]
        self.labels = {self._label_of[v.text] for v in variables if isinstance(v, Name) and v.text in self._label_of}
        self._names: dict[str, str] = {}  # label -> name of the VARIABLE
        self._writes: list[tuple[str, str]] = []  # label, tensor of the new value

    def read(self, b: NnefWriter, operation: Operation, label: str, quant: QParams | None) -> Tensor:
        """The value of a variable before the run."""
        dtype, shape = FORMATS[operation.type], operation.arguments["shape"]
        if dtype is not fp32:
            raise b.unsupported(f"the variable '{operation.result}' of type {operation.type} is updated")
        if label not in self._names:
            name = self._names[label] = operation.arguments["label"]
            container = b.document.container
            stored = container is not None and container.has(data_file(operation))
            decoder = b.decoders.get(operation.result)
            initial = read_variable(b.document, operation, quant, decoder) if stored else None
            attributes = {"name": name, "var_shape": shape, "type": dtype, "initial_value": initial}
            b.append(Operator("VARIABLE", [], [], attributes, b.location))
        return b.operator("VARIABLE_READ", [], shape, dtype, name=self._names[label])

    def update(self, variable: str, result: str) -> None:
        self._writes.append((self._label_of[variable], result))

    def write(self, b: NnefWriter) -> None:
        """The operators that end the graph."""
        for label, result in self._writes:
            tensor = b.values[result]
            operator = Operator("VARIABLE_WRITE", [tensor.name], [], {"name": self._names[label]}, tensor.source)
            b.append(operator)
