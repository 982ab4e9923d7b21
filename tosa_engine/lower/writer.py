"""The graph writer: what adds operators with their constants to a block, for all that make graphs.

`Builder`, the quantizer's `IntegerWriter` and the front ends' writers stand on it. Lowerings use the methods that add
one operator each and return its output tensor. Shapes are computed here from the operator's arguments; callers have
checked that they fit. Views of constants (RESHAPE, TRANSPOSE) are constants at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from ..graph import Operator, Tensor
from .hints import carry_back
from .problems import check_rank
from .views import per_tensor, reshaped, section, shape_of, transposed

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from ..graph import Block, Location, QParams
    from ..types import Array, DType, Shape

FLOAT_MAX = float(np.finfo(np.float32).max)


class Writer:
    """Adds operators at the end of `block`. `location` goes to operators and tensors, `stem` names them.

    Names in `taken` are left alone, as are those of the block.
    """

    def __init__(
        self, block: Block, location: Location | None = None, stem: str = "", taken: Container[str] = ()
    ) -> None:
        self.block, self.location, self.stem, self.taken = block, location, stem, taken
        self._numbers: dict[str, int] = {}  # the names of a stem up to this number are taken
        self._constants: dict[tuple[Any, ...], Tensor] = {}
        self.producers: dict[str, Operator] = {}

    # any tensor, any operator

    def fresh(self, stem: str) -> str:
        """A tensor name that isn't taken yet."""
        number = self._numbers.get(stem, 0)
        name = f"{stem}_{number}" if number else stem
        while name in self.block.tensors or name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self._numbers[stem] = number
        return name

    def _free(self, name: str) -> None:
        """A name may be given again."""
        stem, _, number = name.rpartition("_")
        self._numbers.pop(name, None)
        if number.isdecimal() and len(number) < 10:
            self._numbers[stem] = min(int(number), self._numbers.get(stem, 0))

    def tensor(
        self, stem: str, dtype: DType, shape: Shape | None, data: Array | None = None, quant: QParams | None = None
    ) -> Tensor:
        """A new tensor, named `stem` unless that is taken. Raises Unlowered for more dimensions than arrays have."""
        if shape is not None:
            check_rank(len(shape))
        return self.block.add(Tensor(self.fresh(stem), dtype, shape, data, quant))

    def append(self, operator: Operator) -> None:
        """Any operator, whose tensors are in the block."""
        self.block.operators.append(operator)
        self.producers.update(dict.fromkeys(operator.outputs, operator))

    def constant(self, stem: str, dtype: DType, data: Array, quant: QParams | None = None) -> Tensor:
        """CONST, or CONST_SHAPE for a shape, named `stem` unless that is taken; `data` is of the dtype's storage."""
        output = self.tensor(stem, dtype, data.shape, data, quant)
        op = "CONST_SHAPE" if dtype is types.shape else "CONST"
        self.append(Operator(op, [], [output.name], location=self.location))
        return output

    def rename(self, tensor: Tensor, name: str) -> None:
        """Give another name to a tensor that nobody reads yet."""
        producer = self.producers.pop(tensor.name, None)
        if producer is not None:
            producer.outputs = [name if n == tensor.name else n for n in producer.outputs]
            self.producers[name] = producer
        del self.block.tensors[tensor.name]
        self._free(tensor.name)
        tensor.name = name
        self.block.add(tensor)

    # one operator, with names that begin with the stem

    def name(self, suffix: str) -> str:
        return self.fresh(f"{self.stem}/{suffix}" if self.stem else suffix)

    def operator(
        self, op: str, inputs: Sequence[Tensor], shape: Shape, dtype: DType | None = None, **attributes: Any
    ) -> Tensor:
        """Any operator with one output; the output has the dtype of the first input unless `dtype` says otherwise."""
        output = self.output(op.lower(), dtype or inputs[0].dtype, shape)
        self.append(Operator(op, [t.name for t in inputs], [output.name], attributes, self.location))
        return output

    def output(self, suffix: str, dtype: DType, shape: Shape) -> Tensor:
        """A tensor for the output of an operator that is written next."""
        return self._placed(self.tensor(self.name(suffix), dtype, tuple(shape)))

    def _placed(self, tensor: Tensor) -> Tensor:
        if self.location is not None:
            tensor.source = type(self.location)(self.location.file, self.location.line)
        return tensor

    # constants

    def const(self, data: Array, dtype: DType, suffix: str = "const", quant: QParams | None = None) -> Tensor:
        """CONST with the values `data`."""
        stored = np.ascontiguousarray(data, dtype.storage).reshape(data.shape)
        return self._placed(self.constant(self.name(suffix), dtype, stored, quant))

    def scalar(self, value: float, dtype: DType = types.fp32, rank: int = 1) -> Tensor:
        """One value in a CONST of shape [1] * rank; equal ones are made once."""
        key = (dtype.name, repr(value), rank)
        if key not in self._constants:
            data = np.full((1,) * rank, value, dtype.storage)
            self._constants[key] = self._placed(self.constant(f"{dtype}/{value}", dtype, data))
        return self._constants[key]

    def dims(self, values: Sequence[int]) -> Tensor:
        """CONST_SHAPE; equal ones are made once."""
        key = ("shape", *values)
        if key not in self._constants:
            name = "shape/" + "x".join(str(v) for v in values)
            self._constants[key] = self._placed(self.constant(name, types.shape, np.asarray(values, np.int64)))
        return self._constants[key]

    # views

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        shape = tuple(shape)
        if shape_of(x) == shape:
            return x
        check_rank(len(shape))
        if x.data is not None:
            output = self.const(x.data.reshape(shape), x.dtype, "reshape")
        else:
            output = self.operator("RESHAPE", [x, self.dims(shape)], shape)
        return self._view(output, x, reshaped(x.quant, shape_of(x), shape))

    def transpose(self, x: Tensor, perms: Sequence[int]) -> Tensor:
        perms = tuple(perms)
        if perms == tuple(range(len(perms))):
            return x
        if x.data is not None:
            output = self.const(x.data.transpose(perms), x.dtype, "transpose")
        else:
            output = self.operator("TRANSPOSE", [x], tuple(shape_of(x)[p] for p in perms), perms=perms)
        return self._view(output, x, transposed(x.quant, perms))

    def _view(self, output: Tensor, x: Tensor, quant: QParams | None) -> Tensor:
        """A view carries the value of its input: the same source name and hint."""
        output.quant, output.source = quant, x.source
        return output

    def carry_back(self, result: Tensor, bound: Container[str]) -> None:
        """As `hints.carry_back`."""
        carry_back(self.block, self.producers, result, bound)

    # layout

    def slice(self, x: Tensor, start: Sequence[int], size: Sequence[int]) -> Tensor:
        if tuple(size) == shape_of(x):
            return x
        output = self.operator("SLICE", [x, self.dims(start), self.dims(size)], tuple(size))
        output.quant = per_tensor(x)
        return output

    def section(self, x: Tensor, axis: int, start: int, size: int) -> Tensor:
        """A range of one axis; of a constant, a constant with the scales of that range."""
        shape = list(shape_of(x))
        if x.data is None:
            begin = [start if i == axis else 0 for i in range(len(shape))]
            return self.slice(x, begin, [size if i == axis else n for i, n in enumerate(shape)])
        data = x.data[(slice(None),) * axis + (slice(start, start + size),)]
        return self.const(data, x.dtype, "section", section(x.quant, axis, start, size))

    def pad(self, x: Tensor, before: Sequence[int], after: Sequence[int], value: float = 0.0) -> Tensor:
        """PAD with a constant; all amounts are >= 0."""
        if not any(before) and not any(after):
            return x
        shape = tuple(p + n + q for p, n, q in zip(before, shape_of(x), after, strict=True))
        amounts = self.dims([a for pair in zip(before, after, strict=True) for a in pair])
        output = self.operator("PAD", [x, amounts, self.scalar(value, x.dtype)], shape)
        output.quant = per_tensor(x) if value == 0 else None
        return output

    def concat(self, tensors: Sequence[Tensor], axis: int) -> Tensor:
        if len(tensors) == 1:
            return tensors[0]
        shape = list(shape_of(tensors[0]))
        shape[axis] = sum(shape_of(t)[axis] for t in tensors)
        return self.operator("CONCAT", tensors, tuple(shape), axis=axis)

    # elementwise; operands have equal ranks

    def unary(self, op: str, x: Tensor) -> Tensor:
        return self.operator(op, [x], shape_of(x))

    def negate(self, x: Tensor) -> Tensor:
        zero = self.scalar(0, x.dtype)
        return self.operator("NEGATE", [x, zero, zero], shape_of(x))

    def binary(self, op: str, x: Tensor, y: Tensor) -> Tensor:
        """ADD, SUB, MUL, MAXIMUM or MINIMUM with broadcasting of extents of 1."""
        shape = tuple(b if a == 1 else a for a, b in zip(shape_of(x), shape_of(y), strict=True))
        inputs = [x, y, self.scalar(0, types.i8)] if op == "MUL" else [x, y]
        attributes: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op in ("MAXIMUM", "MINIMUM") else {}
        return self.operator(op, inputs, shape, **attributes)

    def clamp(self, x: Tensor, low: float, high: float) -> Tensor:
        return self.operator("CLAMP", [x], shape_of(x), min_val=low, max_val=high, nan_mode="PROPAGATE")

    # reductions keep the axis with an extent of 1

    def reduce(self, op: str, x: Tensor, axis: int) -> Tensor:
        shape = list(shape_of(x))
        shape[axis] = 1
        attributes: dict[str, Any] = {"nan_mode": "PROPAGATE"} if op in ("REDUCE_MAX", "REDUCE_MIN") else {}
        return self.operator(op, [x], tuple(shape), axis=axis, **attributes)
