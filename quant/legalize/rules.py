"""What the rules of quantization share: the context they work in, and the list they are registered in."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import types
from tosa_engine.errors import DataError, TosaEngineError, Unsupported, raise_all
from tosa_engine.graph import Location, Operator, QParams, Tensor
from tosa_engine.qparams.arrays import quantize_array

from ..ranges import activation_qparams, as_stored
from . import refusals
from .float_borders import quantized
from .integer_writer import IntegerWriter, Plain, Quantized, Real, Value, Wide, stored_type
from .lints import Lint
from .multiplier import SMALLEST_SCALE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tosa_engine.graph import Block
    from tosa_engine.types import Array, Shape

UNKNOWN = QParams((1.0,), (0,))  # goes on in place of missing QParams, so that all that are missing get reported


@dataclass
class Context:
    """The float graph's main block, what is known about it, and the integer graph so far. `spare` has QParams
    of tensors that only some rules need, `derive` finds those of others that the model has no name for (`derived`).
    """

    block: Block
    writer: IntegerWriter
    quant: dict[str, QParams]
    producers: Mapping[str, Operator]
    consumers: Mapping[str, list[Operator]]
    derive: Callable[[Context, str], QParams | None]
    values: dict[str, Value] = field(default_factory=dict)
    wide: dict[str, Wide] = field(default_factory=dict)  # what quantized tensors were rounded from
    fine: dict[str, Wide] = field(default_factory=dict)  # int32 of more bits, for products
    problems: list[TosaEngineError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lints: list[Lint] = field(default_factory=list)
    margins: dict[str, float] = field(default_factory=dict)
    wide_accumulators: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    unscaled: set[str] = field(default_factory=set)  # those of `missing` that have no QParams
    reachable: dict[str, tuple[float, float]] = field(default_factory=dict)  # of tensors whose QParams are derived
    floats: frozenset[str] = frozenset()
    squares: frozenset[str] = frozenset()  # without QParams, as long as they are added up (`squares`)
    exact: frozenset[str] = frozenset()  # sums of `squares`: what they were rounded from has more bits than int16
    spare: Mapping[str, QParams] = field(default_factory=dict)
    even: bool = False  # halves go to even integers, as a quantized model says
    inside: frozenset[str] | set[str] = frozenset()  # what nobody stores, because a TABLE computes what is made of it
    as_real: dict[str, str] = field(default_factory=dict)
    as_stored: dict[str, Quantized] = field(default_factory=dict)

    def lint(self, label: str, name: str, message: str) -> None:
        self.lints.append(Lint(label, self.source_name(name), message))

    def stays_float(self, op: Operator) -> bool:
        return bool(op.outputs) and op.outputs[0] in self.floats

    accumulators: dict[str, Wide] = field(default_factory=dict)
    operands: dict[str, Quantized] = field(default_factory=dict)

    def tensor(self, name: str) -> Tensor:
        return self.block.tensors[name]

    def shape(self, name: str) -> Shape:
        found = self.tensor(name).shape
        assert found is not None
        return found

    def constant(self, name: str) -> Array | None:
        """The values of a constant float tensor, None for others."""
        return self.tensor(name).data

    def place(self, name: str, op: Operator | None = None) -> str:
        """Where a tensor comes from, for messages: its line in the source, or nothing."""
        for location in (self.tensor(name).source, op.location if op is not None else None):
            if location is not None and location.line:
                return f" ({location.file}:{location.line})"
        return ""

    def refused(self, label: str, message: str, name: str, op: Operator | None = None, node: str = "") -> Unsupported:
        """The error of a rule of `refusals`, with the place and the source's name of the tensor `name`."""
        return Unsupported(f"{message}{self.place(name, op)}", label=label, node=node, tensor=self.source_name(name))

    def finite(self, name: str) -> Array | None:
        """The values of a constant, None for other tensors. Raises Unsupported where they aren't finite numbers."""
        data = self.constant(name)
        if data is not None and not np.isfinite(data).all():
            what = "NaN" if np.isnan(data).any() else "infinity"
            message = f"the constant has {what} in it, which integers don't have; use finite numbers"
            raise self.refused(refusals.FINITE, message, name)
        return data

    def qparams(self, name: str) -> QParams:
        """The QParams of an activation; a missing one is noted as a problem, once."""
        if name in self.quant:
            return self.quant[name]
        found = self.spare.get(name) or (None if name in self.missing else self.derive(self, name))
        if found is not None:
            self.quant[name] = found
            return found
        if name not in self.missing:
            self.missing.add(name)
            self.unscaled.add(name)
            message = f"the tensor has no quantization parameters; calibrate the model{self.place(name)}"
            self.problems.append(DataError(message, label=refusals.RANGE, tensor=self.source_name(name)))
        return UNKNOWN

    def source_name(self, name: str) -> str:
        source = self.tensor(name).source
        return source.name if source is not None and source.name else name

    def is_output(self, name: str) -> bool:
        return name in self.block.outputs

    def sole_consumer(self, name: str) -> Operator | None:
        """The one operator that reads a tensor, None when there are more, or the tensor is a graph output."""
        readers = self.consumers.get(name, [])
        return readers[0] if len(readers) == 1 and not self.is_output(name) else None

    def value(self, name: str, bits: int = 8) -> Value:
        """What stands for a float tensor; a constant is quantized by its own range, to `bits`, when first asked for."""
        if name not in self.values:
            data = self.finite(name)
            assert data is not None, f"'{name}' is read before it is written"
            own = activation_qparams(float(data.min()), float(data.max()), bits=bits, symmetric=bits == 16)
            quant = self.quant.get(name) or own
            stored = self.writer.constant(name, stored_type(quant), quantize_array(data, quant))
            self.values[name] = Quantized(stored, quant)
        return self.values[name]

    def pair(self, names: Sequence[str]) -> tuple[Quantized, Quantized]:
        """Two operands; a constant takes the bits of the other one."""
        a, b = names[:2]
        if self.constant(a) is not None:
            other = self.quantized(b)
            return self.quantized(a, other.quant.bits), other
        first = self.quantized(a)
        return first, self.quantized(b, first.quant.bits)

    def quantized(self, name: str, bits: int = 8) -> Quantized:
        """The int8 or int16 form of a tensor; an accumulator is rescaled to the tensor's QParams first."""
        value = self.value(name, bits)
        if isinstance(value, Wide):
            return self.settle(name, value)
        assert not isinstance(value, Plain), f"indices and truths in '{name}' have no scale"
        return self.stored(name, value) if isinstance(value, Real) else value

    def stored(self, name: str, value: Real) -> Quantized:
        """The integers of a tensor that a float layer writes."""
        if name not in self.as_stored:
            self.as_stored[name] = quantized(self.writer, value.name, name, self.qparams(name))
        return self.as_stored[name]

    def accumulator(self, name: str) -> Wide:
        """An int32 form of one scale: what the tensor was rounded from where that is known, else the tensor itself."""
        wide = self.values.get(name) if isinstance(self.values.get(name), Wide) else self.wide.get(name)
        if isinstance(wide, Wide) and len(wide.scale) == 1 and self.writer.tensor(wide.name).dtype is types.i32:
            return wide
        x = self.quantized(name)
        widened, bound = self.writer.widen(x, f"{name}_wide")
        return Wide(widened, (x.scale,), bound)

    def settle(self, name: str, wide: Wide) -> Quantized:
        """RESCALE an accumulator by the tensor's QParams. It then stands for the tensor."""
        quant = self.qparams(name)
        wide = self.wide[name] = self._applicable(name, wide, quant)
        why = f"{_shown(wide.scale)} (accumulator) / {quant.scale[0]!r} (output)"
        scales = [s / quant.scale[0] for s in wide.scale]
        stored = self.writer.rescale(
            wide.name,
            self.final_name(name),
            stored_type(quant),
            scales,
            wide.bounds or wide.bound,
            output_zp=quant.zero_point[0],
            why=why,
        )
        return self.define(name, Quantized(stored, quant))

    def _applicable(self, name: str, wide: Wide, quant: QParams) -> Wide:
        """A product of int16 numbers whose step is too small for the scale of a RESCALE, in coarser steps."""
        drop = min(math.frexp(SMALLEST_SCALE * quant.scale[0] / min(wide.scale))[1], wide.bound.bit_length() - 16)
        short = drop > 0 and self.writer.tensor(wide.name).dtype is types.i32
        return self.shortened(wide, drop, name) if short else wide

    def shortened(self, wide: Wide, drop: int, stem: str) -> Wide:
        """An int32 form without its last bits, as many as `drop`."""
        name = self.writer.rescale(wide.name, f"{stem}_short", types.i32, 2.0**-drop, wide.bound, why=f"2^-{drop}")
        return Wide(name, tuple(s * 2.0**drop for s in wide.scale), (wide.bound >> drop) + 1)

    def requantized(self, x: Quantized, out: str) -> str:
        """RESCALE a quantized tensor to the QParams of the float tensor `out`."""
        return self.rescaled(x, self.qparams(out), self.final_name(out))

    def rescaled(self, x: Quantized, quant: QParams, stem: str, side: str = "input") -> str:
        """RESCALE a quantized tensor to other QParams."""
        why = f"{x.scale!r} ({side}) / {quant.scale[0]!r} (output)"
        return self.writer.rescale(
            x.name, stem, stored_type(quant), x.scale / quant.scale[0], x.reach,
            input_zp=x.zero_point, output_zp=quant.zero_point[0], why=why,
        )  # fmt: skip

    def final_name(self, name: str) -> str:
        """The float tensor that an int8 tensor made for `name` stands for: a no-op clamp that alone reads it."""
        reader = self.sole_consumer(name)
        while reader is not None and reader.op == "CLAMP" and self.is_noop(reader):
            name = reader.outputs[0]
            reader = self.sole_consumer(name)
        return name

    def is_noop(self, clamp: Operator) -> bool:
        """A CLAMP that the saturation to int8 has already done: equal QParams, bounds at the ends of the range."""
        quant = self.quant.get(clamp.outputs[0])
        if quant is None or quant != self.quant.get(clamp.inputs[0]):
            return False
        return clamp_bounds(clamp, quant) == (quant.low, quant.high)

    def define(self, name: str, value: Value) -> Quantized:
        """Say what stands for a float tensor, and mark the integer tensor with its source and QParams."""
        self.values[name] = value
        final = self.tensor(self.final_name(name)) if isinstance(value, Quantized) else self.tensor(name)
        stored = self.writer.tensor(value.name)
        stored.source = final.source or Location(name=final.name)
        if isinstance(value, Quantized):
            stored.quant = value.quant
        return value  # type: ignore[return-value]

    def accumulated(self, name: str, wide: Wide, x: Quantized) -> None:
        """`finish` the accumulator of a product of `x` with weights, and remember both."""
        self.accumulators[name], self.operands[name] = wide, x
        self.finish(name, wide)

    def finish(self, name: str, wide: Wide) -> None:
        """An operator's accumulator: rescaled when the tensor has QParams, else, of int32, kept for its readers."""
        if name in self.quant or not self.stays_wide(name) or self.writer.tensor(wide.name).dtype is not types.i32:
            self.settle(name, wide)
        else:
            self.values[name] = wide

    def stays_wide(self, name: str) -> bool:
        """A tensor without QParams may stay int32 when all that read it take that form."""
        return not self.is_output(name) and all(r.op in TAKES_WIDE for r in self.consumers.get(name, []))


TAKES_WIDE = frozenset({"REDUCE_SUM", "RESHAPE", "ADD", "SUB", "MUL", "mean"})
Rule = Callable[[Context, Operator], None]
RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of operators or composites, by name."""

    def register(function: Rule) -> Rule:
        for name in names:
            assert name not in RULES, f"two rules for {name}"
            RULES[name] = function
        return function

    return register


def clamp_bounds(clamp: Operator, quant: QParams) -> tuple[int, int]:
    """The stored bounds of a float CLAMP."""
    low, high = float(clamp.attributes["min_val"]), float(clamp.attributes["max_val"])
    stored = quantize_array(np.array([low, high]), quant)
    return int(stored[0]), int(stored[1])


def attached(block: Block) -> dict[str, QParams]:
    """The QParams that activations carry; constants have rules of their own."""
    found: dict[str, QParams] = {}
    problems: list[TosaEngineError] = []
    for name, tensor in block.tensors.items():
        if tensor.quant is not None and tensor.data is None:
            try:
                found[name] = as_stored(tensor.quant)
            except DataError as problem:
                source = tensor.source.name if tensor.source is not None and tensor.source.name else name
                problems.append(DataError(problem.message, label=refusals.STORED, tensor=source))
    raise_all(list({str(problem): problem for problem in problems}.values()), "no integers for these activations:")
    return found


def _shown(scales: tuple[float, ...]) -> str:
    return repr(scales[0]) if len(scales) == 1 else f"{min(scales)!r} .. {max(scales)!r}"
