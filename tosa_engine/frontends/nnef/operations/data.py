"""Tensors that enter the graph: external, constant, variable (section 4.1); update (4.8); and copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ....lower.views import shape_of
from ....types import MAX_RANK, count
from .. import updates
from ..build import with_axis
from ..files.variables import FORMATS, data_file, read_variable, to_storage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ....types import Shape
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation

MAX_CONSTANT: Final = 1 << 28  # elements of one `constant`


def _shape(b: NnefWriter, operation: Operation) -> Shape:
    shape: Shape = operation.arguments["shape"]
    if len(shape) > MAX_RANK:
        raise b.error(f"{len(shape)} dimensions, at most {MAX_RANK} are read")
    if any(extent < 1 for extent in shape):
        raise b.error(f"extents must be positive, got {list(shape)}")
    return shape


def external(b: NnefWriter, operation: Operation) -> Tensor:
    return b.output("input", FORMATS[operation.type], _shape(b, operation))


def constant(b: NnefWriter, operation: Operation) -> Tensor:
    shape, values = _shape(b, operation), operation.arguments["value"]
    size = count(shape)
    if len(values) not in (1, size):
        raise b.error(f"shape {list(shape)} needs {size} values or 1, got {len(values)}")
    if size > MAX_CONSTANT:
        raise b.unsupported(f"a constant of {size} elements; at most {MAX_CONSTANT} are made")
    dtype = FORMATS[operation.type]
    wide = np.asarray(values, np.float64 if dtype.is_float else dtype.storage)
    array = to_storage(wide, dtype, f"{b.document.text.file}:{operation.place.line}")
    return b.const(np.broadcast_to(array, (size,)).reshape(shape), dtype)


def variable(b: NnefWriter, operation: Operation) -> Tensor:
    shape, name = _shape(b, operation), operation.result
    if operation.arguments["label"].startswith("/"):
        b.bend(f"label '{operation.arguments['label']}' begins with '/'; its file is '{data_file(operation)}'")
    if not b.with_data:
        dtype = FORMATS[operation.type]
        return b.const(np.broadcast_to(np.ones((), dtype.storage), shape), dtype)
    quant, decoder = with_axis(b.quant.get(name), name, shape), b.decoders.get(name)
    label = operation.arguments["label"].casefold()
    if label in b.state.labels:
        return updates.read(b, operation, label, quant)
    return b.const(read_variable(b.document, operation, quant, decoder), FORMATS[operation.type])


def update(b: NnefWriter, operation: Operation) -> Tensor:
    """The new value; it is written when everything else has been computed."""
    variable, value = (b.value(operation.arguments[name]) for name in ("variable", "value"))
    if variable.shape != value.shape:
        shown = f"{list(shape_of(variable))} by a tensor of shape {list(shape_of(value))}"
        raise b.error(f"a variable of shape {shown} can't be updated")
    b.state.update(operation.arguments["variable"].text, operation.result)
    return value


def copy(b: NnefWriter, operation: Operation) -> Tensor:
    return b.value(operation.arguments["x"])


MAPPERS: Final[Mapping[str, Mapper]] = {
    "external": external,
    "constant": constant,
    "variable": variable,
    "copy": copy,
    "update": update,
}
