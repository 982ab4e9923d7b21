"""Writing the integer graph: operators with their constants, and a bound on the values of every accumulator.

The bounds prove that no REQUIRE on values can be violated: an operator whose result could leave int32 isn't emitted,
it is an error that says by how much.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import types
from tosa_engine.errors import GraphError
from tosa_engine.graph import Block, Graph, Operator, QParams, Tensor, new_graph
from tosa_engine.lower.writer import Writer

from .multiplier import BITS_16, BITS_32, INT32_MAX, LARGEST_16, multiplier_of, raised
from .refusals import BOUND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tosa_engine.types import Array, DType, Shape

SHORT_BITS = 30  # of an int48 value that is brought to int32 before it saturates


class BoundError(GraphError):
    """Integer arithmetic that could leave the bits of its type."""


@dataclass(frozen=True)
class Quantized:
    """A float tensor's integer stand-in: an int8 or int16 tensor, real = scale * (stored - zero_point)."""

    name: str
    quant: QParams

    @property
    def dtype(self) -> DType:
        return stored_type(self.quant)

    @property
    def scale(self) -> float:
        return self.quant.scale[0]

    @property
    def zero_point(self) -> int:
        return self.quant.zero_point[0]

    @property
    def reach(self) -> int:
        """The largest |stored - zero_point|."""
        return max(self.quant.high - self.zero_point, self.zero_point - self.quant.low)


@dataclass(frozen=True)
class Wide:
    """An int32 or int48 tensor without zero point that stands for a float tensor before it is rescaled.

    `scale` has one entry, or one per index of the last axis; |stored| <= bound, and <= the entry of `bounds` for each
    index where that is known.
    """

    name: str
    scale: tuple[float, ...]
    bound: int
    bounds: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plain:
    """What isn't a quantized number: the indices of ARGMAX, the truth of comparisons."""

    name: str


@dataclass(frozen=True)
class Real:
    """An fp32 tensor: the layer that writes it stays in float."""

    name: str


Value = Quantized | Wide | Plain | Real


def stored_type(quant: QParams) -> DType:
    """The TOSA type that holds an activation of these QParams."""
    return types.i16 if quant.bits == 16 else types.i8


class IntegerWriter:
    """Writes the integer graph, tensors by name. What is written for one float operator shares its location."""

    def __init__(self, source: Graph) -> None:
        self.graph: Graph = new_graph(source.source)
        self.block: Block = self.graph.main
        self.base = Writer(self.block)
        self._constants: dict[tuple[DType, Shape, bytes], str] = {}

    def tensor(self, name: str) -> Tensor:
        return self.block.tensors[name]

    def shape(self, name: str) -> Shape:
        found = self.tensor(name).shape
        assert found is not None
        return found

    def constant(self, stem: str, dtype: DType, values: Any) -> str:
        """A CONST (CONST_SHAPE for shape_t); small equal ones are shared."""
        data: Array = np.asarray(values, dtype.storage)
        key = (dtype, data.shape, data.tobytes())
        if data.nbytes <= 64 and key in self._constants:
            return self._constants[key]
        name = self._constants[key] = self.base.constant(stem, dtype, data).name
        return name

    def emit(self, op: str, inputs: Sequence[str], stem: str, dtype: DType, shape: Shape, **attributes: Any) -> str:
        """One operator with one output, whose name is `stem` unless that is taken."""
        name = self.base.tensor(stem, dtype, shape).name
        self.base.append(Operator(op, list(inputs), [name], attributes, self.base.location))
        return name

    def rename(self, old: str, new: str) -> None:
        """Give a tensor that nobody reads yet another name, if that is free."""
        if new not in self.block.tensors:
            self.base.rename(self.tensor(old), new)

    def zero(self, dtype: DType = types.i32) -> str:
        return self.constant(f"zero_{dtype}", dtype, [0])

    def zero_point(self, value: int, dtype: DType = types.i8) -> str:
        if dtype is types.i8:
            return self.constant(f"zero_point_{value}".replace("-", "m"), dtype, [value])
        assert value == 0
        return self.zero(dtype)

    def rescale(
        self,
        x: str,
        stem: str,
        dtype: DType,
        scale: float | Sequence[float],
        reach: int | Sequence[int],
        *,
        input_zp: int = 0,
        output_zp: int = 0,
        why: str,
    ) -> str:
        """RESCALE `x` (single rounding) to int8, int16 or int32, with one scale or one per index of the last axis.

        `reach` bounds |x - input_zp|, or that of each scale; `why` says how the scale came about. What int8 or int16
        can't hold by far is saturated before, where RESCALE couldn't apply the scale to it; of int48, RESCALE to int32
        comes before that.
        Raises BoundError when a REQUIRE of RESCALE could be violated, ScaleError when a scale can't be applied.
        """
        scales = [float(scale)] if isinstance(scale, (int, float)) else [float(s) for s in scale]
        reaches = [reach] * len(scales) if isinstance(reach, int) else list(reach)
        if len(set(scales)) == 1:
            scales, reaches = scales[:1], [max(reaches)]
        if dtype is not types.i32:
            x, scales, reaches = self._short(x, scales, reaches, stem, why)
        wide = self.tensor(x).dtype is types.i48
        bits = BITS_16 if wide else BITS_32
        scales = raised(scales, bits)
        multipliers = [multiplier_of(s, why, stem, bits) for s in scales]
        most = [m.most(bits) for m in multipliers]
        beyond = [i for i, (reached, limit) in enumerate(zip(reaches, most, strict=True)) if reached > limit]
        if beyond:
            if wide or dtype is types.i32:
                worst = min(beyond, key=lambda i: most[i])
                m = multipliers[worst]
                message = (
                    f"values up to {reaches[worst]} times the scale {m.scale!r} = {why} leave the 32 bits of RESCALE"
                )
                raise BoundError(message, label=BOUND, tensor=stem)
            x = self._saturated(x, most, input_zp, stem)
        per_channel = len(multipliers) > 1
        inputs = [
            x,
            self.constant(f"{stem}_multiplier", types.i16 if wide else types.i32, [m.multiplier for m in multipliers]),
            self.constant(f"{stem}_shift", types.i8, [m.shift for m in multipliers]),
            self.zero_point(input_zp, self.tensor(x).dtype),
            self.zero_point(output_zp, dtype),
        ]
        return self.emit(
            "RESCALE", inputs, stem, dtype, self.shape(x),
            scale32=not wide, rounding_mode="SINGLE_ROUND", per_channel=per_channel,
            input_unsigned=False, output_unsigned=False,
        )  # fmt: skip

    def _short(
        self, x: str, scales: list[float], reaches: list[int], stem: str, why: str
    ) -> tuple[str, list[float], list[int]]:
        """An int48 tensor whose scaled values could leave int32 as int32 of fewer bits, with the scale and the reach
        that it has then. Others as they are.
        """
        if self.tensor(x).dtype is not types.i48 or all(
            scale <= LARGEST_16 and multiplier_of(scale, why, stem, BITS_16).most(BITS_16) >= reach
            for scale, reach in zip(raised(scales, BITS_16), reaches, strict=True)
        ):
            return x, scales, reaches
        most = max(scale * reach for scale, reach in zip(scales, reaches, strict=True))
        drop = max(math.frexp(most)[1] - SHORT_BITS, math.frexp(max(scales) / LARGEST_16)[1])
        short = self.rescale(x, f"{stem}_short", types.i32, [s * 2.0**-drop for s in scales], reaches, why=why)
        return short, [2.0**drop], [1 << SHORT_BITS]

    def _saturated(self, x: str, most: list[int], zero_point: int, stem: str) -> str:
        """The values of a tensor up to `most`, or as many of them as channels: far more than int8 and int16 hold."""
        dtype, shape = self.tensor(x).dtype, self.shape(x)
        if dtype is not types.i32:
            info = np.iinfo(dtype.storage)
            low, high = max(zero_point - most[0], int(info.min)), min(zero_point + most[0], int(info.max))
            name = f"{stem}_saturated"
            return self.emit("CLAMP", [x], name, dtype, shape, min_val=low, max_val=high, nan_mode="PROPAGATE")
        ends = np.array(most).reshape((1,) * (len(shape) - 1) + (-1,) if shape else ())
        for op, sign in (("MINIMUM", 1), ("MAXIMUM", -1)):
            end = self.constant(f"{stem}_end", types.i32, sign * ends)
            x = self.binary(op, (x, end), f"{stem}_saturated", nan_mode="PROPAGATE")
        return x

    def bounded(self, bound: int, what: str, tensor: str, most: int = INT32_MAX) -> int:
        """`bound` itself. Raises BoundError when it is more than `most`: it doesn't fit int32, or int48."""
        if bound > most:
            excess, name = math.log2(bound / most), "int32" if most == INT32_MAX else "int48"
            message = f"{what} may reach {bound}, {excess:.1f} bits too many for {name}"
            raise BoundError(message, label=BOUND, tensor=tensor)
        return bound

    def widen(self, value: Quantized, stem: str, scale: float = 1.0, why: str = "1") -> tuple[str, int]:
        """An int8 or int16 tensor as int32 without zero point, times `scale`; and the bound of its values."""
        name = self.rescale(value.name, stem, types.i32, scale, value.reach, input_zp=value.zero_point, why=why)
        return name, multiplier_of(scale, why, stem).apply(value.reach)

    def binary(self, op: str, operands: Sequence[str], stem: str, **attributes: Any) -> str:
        """ADD, SUB, MUL, MAXIMUM, MINIMUM of two int32 tensors of one rank that broadcast."""
        shape = tuple(np.broadcast_shapes(*(self.shape(name) for name in operands)))
        inputs = [*operands, self.constant("mul_shift", types.i8, [0])] if op == "MUL" else operands
        return self.emit(op, inputs, stem, types.i32, shape, **attributes)

    def sixteen(self, value: Quantized, stem: str) -> Quantized:
        """The same numbers in int16: exact, an int8 tensor without its zero point."""
        if value.dtype is types.i16:
            return value
        name = self.rescale(value.name, stem, types.i16, 1.0, value.reach, input_zp=value.zero_point, why="1")
        return Quantized(name, QParams((value.scale,), (0,), 16, symmetric=True))

    def table(self, x: str, entries: Array, stem: str) -> str:
        """TABLE: of 256 entries from int8 to int8, or of 513 from int16 to int32 with 7 more fractional bits."""
        dtype = self.tensor(x).dtype
        found = types.i8 if dtype is types.i8 else types.i32
        return self.emit("TABLE", [x, self.constant(f"{stem}_table", dtype, entries)], stem, found, self.shape(x))
