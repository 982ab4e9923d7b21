"""The arrays that a run is fed with: are they what the graph's inputs need?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataError, UsageError, raise_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .graph import Graph, Operator, Tensor
    from .types import Array, DType, Shape

    Form = tuple[str, np.dtype[Any], Shape | None]  # name, dtype and shape of an input


class Gate:
    """The forms of a graph's inputs, made ready to be compared with the arrays of every run. It is open where they can
    be, without their values.
    """

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        self.forms: list[Form] = [(t.name, t.dtype.storage, t.shape) for t in inputs if not t.dtype.is_narrow]
        self.is_open = len(self.forms) == len(inputs)

    def lets(self, feeds: object) -> bool:
        """Whether the arrays surely are what the inputs need; where they may not be, `check_feeds` says what is wrong.
        Values of narrow formats aren't looked at here.
        """
        if not (self.is_open and type(feeds) is dict and len(feeds) == len(self.forms)):
            return False
        for name, dtype, shape in self.forms:
            array = feeds.get(name)
            if (
                type(array) is not np.ndarray
                or array.shape != shape
                or (array.dtype is not dtype and array.dtype != dtype)
            ):
                return False
        return True

    def check(self) -> None:
        """Raise UsageError where nothing is let through any more."""


class Closed:
    """The gate of a session that is closed."""

    is_open = False

    def lets(self, feeds: object) -> bool:
        raise UsageError("this session is closed")

    def check(self) -> None:
        self.lets(None)


def check_named(inputs: Sequence[Tensor], feeds: object) -> None:
    """Raise UsageError where feeds aren't given by name."""
    if not isinstance(feeds, Mapping):
        wanted = ", ".join(f"'{tensor.name}': array" for tensor in inputs)
        raise UsageError(f"feeds are arrays by the names of inputs, {{{wanted}}}; got a {type(feeds).__name__}")


def check_feeds(inputs: Sequence[Tensor], feeds: Mapping[str, Array]) -> None:
    """Raise DataError (all of them, as `Problems`) for arrays that these graph inputs can't take: missing, unknown, or
    of the wrong dtype, shape or range. Nothing is cast.
    """
    if len(feeds) == len(inputs) and not any(_wrong(tensor, feeds.get(tensor.name)) for tensor in inputs):
        return
    tensors = {tensor.name: tensor for tensor in inputs}
    known = ", ".join(tensors) or "none"
    wrong = {name: f"unknown input; the graph's inputs: {known}" for name in feeds if name not in tensors}
    wrong |= {name: _problem(tensor, feeds.get(name)) for name, tensor in tensors.items()}
    raise_all([DataError(message, tensor=name) for name, message in wrong.items() if message])


def unsigned_borders(graph: Graph) -> set[str]:
    """The graph inputs and outputs whose bits are unsigned: RESCALEs say so, which alone read an input, or write an
    output.
    """
    block = graph.main
    readers, writers = block.consumers(), block.producers()
    found = set()
    for name in block.inputs:
        if readers.get(name) and all(_says(op, "input_unsigned") and op.inputs[0] == name for op in readers[name]):
            found.add(name)
    found.update(name for name in block.outputs if name in writers and _says(writers[name], "output_unsigned"))
    return found


def _says(operator: Operator, attribute: str) -> bool:
    return operator.op == "RESCALE" and bool(operator.attributes[attribute])


def _wrong(tensor: Tensor, array: Array | None) -> bool:
    return array is None or array.dtype != tensor.dtype.storage or array.shape != tensor.shape or _beyond(tensor, array)


def _beyond(tensor: Tensor, array: Array) -> bool:
    """Whether a value isn't one of a format that is narrower than its storage."""
    dtype = tensor.dtype
    return bool(dtype.is_narrow and array.size and (array.min() < dtype.stored_minimum or array.max() > dtype.maximum))


def _problem(tensor: Tensor, array: Array | None) -> str:
    """What is wrong with the array for a graph input, or nothing."""
    dtype = tensor.dtype
    if array is None:
        return f"missing input, wanted {_form(dtype, tensor.shape or ())}"
    if array.dtype != dtype.storage or array.shape != tensor.shape:
        return wrong_form(dtype, tensor.shape or (), array.dtype, array.shape)
    if _beyond(tensor, array):
        low, high = dtype.stored_minimum, dtype.maximum
        return f"wrong input: wanted {low} .. {high} for {dtype}, got {array.min()} .. {array.max()}"
    return ""


def wrong_form(dtype: DType, shape: Shape, got: np.dtype[Any], got_shape: Shape) -> str:
    """What is said of an array that has another type or shape than an input."""
    return f"wrong input: wanted {_form(dtype, shape)}, got {got}{list(got_shape)}"


def _form(dtype: DType, shape: Shape) -> str:
    return f"{dtype.storage}{list(shape)} for {dtype}"
