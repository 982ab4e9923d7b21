"""Unsigned data at the border of an integer graph: int8 (int16) inside, one RESCALE at each input and output.

TOSA's tensors have no sign; RESCALE says how the bits of its input or output are read. Such an input or output keeps
the QParams that it was given, with `signed` false: its elements are the bits of uint8 (uint16) in an array of int8
(int16).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tosa_engine import types

from ..ranges import as_stored
from .integer_writer import Quantized, stored_type
from .multiplier import BITS_32, multiplier_of

if TYPE_CHECKING:
    from tosa_engine.graph import QParams

    from .integer_writer import IntegerWriter


def is_unsigned(quant: QParams | None) -> bool:
    """Whether a graph input or output of these QParams has unsigned elements."""
    return quant is not None and not quant.signed and quant.bits in (8, 16)


def enter(e: IntegerWriter, name: str, quant: QParams) -> Quantized:
    """The signed form of the graph input `name`, a tensor of the integer graph."""
    return Quantized(_moved(e, name, f"{name}_signed", quant, entering=True), as_stored(quant))


def leave(e: IntegerWriter, value: Quantized, name: str, quant: QParams) -> str:
    """The graph output `name` in its unsigned form."""
    if value.name == name:
        value = Quantized(renamed(e, name, f"{name}_signed"), value.quant)
    moved = _moved(e, value.name, name, quant, entering=False)
    e.tensor(moved).quant = quant
    return moved


def _moved(e: IntegerWriter, x: str, stem: str, quant: QParams, *, entering: bool) -> str:
    """By half the range: exact, times 1."""
    dtype, one = stored_type(quant), multiplier_of(1.0, "1", stem, BITS_32)
    half, zero = e.constant(f"{stem}_half", dtype, [-(1 << (quant.bits - 1))]), e.constant(f"zero_{dtype}", dtype, [0])
    inputs = [
        x,
        e.constant(f"{stem}_multiplier", types.i32, [one.multiplier]),
        e.constant(f"{stem}_shift", types.i8, [one.shift]),
        *((half, zero) if entering else (zero, half)),
    ]
    return e.emit(
        "RESCALE", inputs, stem, dtype, e.shape(x), scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False,
        input_unsigned=entering, output_unsigned=not entering,
    )  # fmt: skip


def renamed(e: IntegerWriter, name: str, stem: str) -> str:
    """Another name for a tensor of the integer graph, which frees its own."""
    tensor = e.tensor(name)
    e.base.rename(tensor, e.base.fresh(stem))
    for operator in e.block.operators:
        operator.inputs = [tensor.name if n == name else n for n in operator.inputs]
    return tensor.name
