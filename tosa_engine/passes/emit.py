"""Writing operators into a block: each method adds one operator with its constants and returns its output tensor.

Shapes are computed here from the operator's arguments; callers have checked that they fit. Views of constants
(RESHAPE, TRANSPOSE) are constants at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from ..graph import Operator, Tensor
from .views import reshaped, transposed

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ..graph import Block, Composite, Location, QParams
    from ..types import Array, DType, Shape

FLOAT_MAX = float(np.finfo(np.float32).max)


class Emitter:
    """Adds operators at the end of `block`. `location` goes to operators and tensors, `stem` names them.

    Names in `taken` are left alone, as are those of the block.
    """

    def __init__(
        self, block: Block, location: Location | None = None, stem: str = "", taken: Container[str] = ()
    ) -> None:
        self.block, self.location, self.stem, self.taken = block, location, stem, taken
        self._constants: dict[tuple[Any, ...], Tensor] = {}
        self.producers: dict[str, Operator] = {}

    def name(self, suffix: str) -> str:
        return self._free(f"{self.stem}/{suffix}" if self.stem else suffix)

    def _free(self, stem: str) -> str:
        name, number = stem, 0
        while name in self.block.tensors or name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        return name

    def operator(
        self, op: str, inputs: Sequence[Tensor], shape: Shape, dtype: DType | None = None, **attributes: Any
    ) -> Tensor:
        """Any operator with one output; the output has the dtype of the first input unless `dtype` says otherwise."""
        output = self._output(op.lower(), dtype or inputs[0].dtype, shape)
        self._append(Operator(op, [t.name for t in inputs], [output.name], attributes, self.location))
        return output

    def composite(self, composite: Composite) -> Tensor:
        """A composite whose output tensor is in the block already."""
        self._append(composite)
        return self.block.tensors[composite.outputs[0]]

    def new_output(self, suffix: str, dtype: DType, shape: Shape) -> Tensor:
        return self._output(suffix, dtype, shape)

    def _output(self, suffix: str, dtype: DType, shape: Shape) -> Tensor:
        return self._tensor(self.name(suffix), dtype, shape)

    def _tensor(self, name: str, dtype: DType, shape: Shape) -> Tensor:
        source = None
        if self.location is not None:
            source = type(self.location)(self.location.file, self.location.line)
        return self.block.add(Tensor(name, dtype, tuple(shape), source=source))

    def _append(self, operator: Operator) -> None:
        self.block.operators.append(operator)
        self.producers.update(dict.fromkeys(operator.outputs, operator))

    # constants

    def const(self, data: Array, dtype: DType, suffix: str = "const", quant: QParams | None = None) -> Tensor:
        """CONST with the values `data`."""
        output = self._output(suffix, dtype, data.shape)
        output.data, output.quant = np.ascontiguousarray(data, dtype.storage).reshape(data.shape), quant
        self._append(Operator("CONST", [], [output.name], location=self.location))
        return output

    def scalar(self, value: float, dtype: DType = types.fp32, rank: int = 1) -> Tensor:
        """One value in a CONST of shape [1] * rank; equal ones are made once."""
        key = (dtype.name, repr(value), rank)
        if key not in self._constants:
            output = self._tensor(self._free(f"{dtype}/{value}"), dtype, (1,) * rank)
            output.data = np.full((1,) * rank, value, dtype.storage)
            self._append(Operator("CONST", [], [output.name], location=self.location))
            self._constants[key] = output
        return self._constants[key]

    def dims(self, values: Sequence[int]) -> Tensor:
        """CONST_SHAPE; equal ones are made once."""
        key = ("shape", *values)
        if key not in self._constants:
            name = self._free("shape/" + "x".join(str(v) for v in values))
            output = self._tensor(name, types.shape, (len(values),))
            output.data = np.asarray(values, np.int64)
            self._append(Operator("CONST_SHAPE", [], [output.name], location=self.location))
            self._constants[key] = output
        return self._constants[key]

    # views

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        shape = tuple(shape)
        assert x.shape is not None
        if x.shape == shape:
            return x
        if x.data is not None:
            output = self.const(x.data.reshape(shape), x.dtype, "reshape")
        else:
            output = self.operator("RESHAPE", [x, self.dims(shape)], shape)
        return self._view(output, x, reshaped(x.quant, x.shape, shape))

    def transpose(self, x: Tensor, perms: Sequence[int]) -> Tensor:
        perms = tuple(perms)
        assert x.shape is not None
        if perms == tuple(range(len(perms))):
            return x
        if x.data is not None:
            output = self.const(x.data.transpose(perms), x.dtype, "transpose")
        else:
            output = self.operator("TRANSPOSE", [x], tuple(x.shape[p] for p in perms), perms=perms)
        return self._view(output, x, transposed(x.quant, perms))

    def _view(self, output: Tensor, x: Tensor, quant: QParams | None) -> Tensor:
        """A view carries the value of its input: the same source name and hint."""
        output.quant, output.source = quant, x.source
        return output

    # layout

    def slice(self, x: Tensor, start: Sequence[int], size: Sequence[int]) -> Tensor:
        assert x.shape is not None
        if tuple(size) == x.shape:
            return x
        output = self.operator("SLICE", [x, self.dims(start), self.dims(size)], tuple(size))
        output.quant = _per_tensor(x)
        return output

    def pad(self, x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Tensor:
        """PAD with a constant; all amounts are >= 0."""
        assert x.shape is not None
        if not any(before) and not any(after):
            return x
        shape = tuple(p + n + q for p, n, q in zip(before, x.shape, after, strict=True))
        amounts = self.dims([a for pair in zip(before, after, strict=True) for a in pair])
        output = self.operator("PAD", [x, amounts, self.scalar(value, x.dtype)], shape)
        output.quant = _per_tensor(x) if value == 0 else None
        return output

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        if len(tensors) == 1:
            return tensors[0]
        shape = list(tensors[0].shape or ())
        shape[axis] = sum((t.shape or ())[axis] for t in tensors)
        return self.operator("CONCAT", tensors, tuple(shape), axis=axis)

    # elementwise; operands have equal ranks

    def unary(self, op: str, x: Tensor) -> Tensor:
        assert x.shape is not None
        return self.operator(op, [x], x.shape)

    def negate(self, x: Tensor) -> Tensor:
        assert x.shape is not None
        zero = self.scalar(0, x.dtype)
        return self.operator("NEGATE", [x, zero, zero], x.shape)

    def binary(self, op: str, x: Tensor, y: Tensor) -> Tensor:
        """ADD, SUB, MUL, MAXIMUM or MINIMUM with broadcasting of extents of 1."""
        assert x.shape is not None
        assert y.shape is not None
        shape = tuple(b if a == 1 else a for a, b in zip(x.shape, y.shape, strict=True))
        inputs = [x, y, self.scalar(0, types.i8)] if op == "MUL" else [x, y]
        attributes: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op in ("MAXIMUM", "MINIMUM") else {}
        return self.operator(op, inputs, shape, **attributes)

    def clamp(self, x: Tensor, low: float, high: float) -> Tensor:
        assert x.shape is not None
        return self.operator("CLAMP", [x], x.shape, min_val=low, max_val=high, nan_mode="PROPAGATE")

    # reductions keep the axis with an extent of 1

    def reduce(self, op: str, x: Tensor, axis: int) -> Tensor:
        shape = list(x.shape or ())
        shape[axis] = 1
        attributes: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op in ("REDUCE_MAX", "REDUCE_MIN") else {}
        return self.operator(op, [x], tuple(shape), axis=axis, **attributes)


def _per_tensor(x: Tensor) -> QParams | None:
    """The hint of a part of `x`, which has the values of `x` only."""
    return x.quant if x.quant is None or x.quant.axis is None else None
