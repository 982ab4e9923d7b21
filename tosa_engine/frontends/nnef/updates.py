"""Variables that a document updates (section 4.8): they keep their values from one run of the graph to the next.

VARIABLE and VARIABLE_READ come where the document has the variable, VARIABLE_WRITE at the end: within a run a variable
has the value from before it. Variables of one label are one VARIABLE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...graph import Operator
from ...types import fp32
from .files.variables import FORMATS, data_file, read_variable

if TYPE_CHECKING:
    from ...graph import QParams, Tensor
    from .build import NnefWriter
    from .language.flat import Operation


def read(b: NnefWriter, operation: Operation, label: str, quant: QParams | None) -> Tensor:
    """The value of a variable before the run."""
    dtype, shape, names = FORMATS[operation.type], operation.arguments["shape"], b.state.names
    if dtype is not fp32:
        raise b.unsupported(f"the variable '{operation.result}' of type {operation.type} is updated")
    if label not in names:
        name = names[label] = operation.arguments["label"]
        container = b.document.container
        stored = container is not None and container.has(data_file(operation))
        decoder = b.decoders.get(operation.result)
        initial = read_variable(b.document, operation, quant, decoder) if stored else None
        attributes = {"name": name, "var_shape": shape, "type": dtype, "initial_value": initial}
        b.append(Operator("VARIABLE", [], [], attributes, b.location))
    return b.operator("VARIABLE_READ", [], shape, dtype, name=names[label])


def write(b: NnefWriter) -> None:
    """The operators that end the graph."""
    for label, result in b.state.writes:
        tensor = b.values[result]
        operator = Operator("VARIABLE_WRITE", [tensor.name], [], {"name": b.state.names[label]}, tensor.source)
        b.append(operator)
