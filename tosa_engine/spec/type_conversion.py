"""Type conversion (specification 2.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import bool_, i8, i16, i32, i48
from . import floats
from .case import Case
from .table import Attribute, Call, Check, OpSpec, Require, Row, row, scalar, tensor
from .traits import elementwise

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..types import DType

# CAST


def _cast_rows() -> tuple[Row, ...]:
    """Integers and bool with each other, integers with floats but fp8, floats with those of another size."""
    words = {bool_: "bool", i8: "signed 8", i16: "signed 16", i32: "signed 32", **{t: t.name for t in floats.ALL}}
    pairs = [(a, b) for a in words for b in words if _castable(a, b)]
    return tuple(row(f"{words[a]} to {words[b]}", _cast_needs(a, b), in_t=a, out_t=b) for a, b in pairs)


def _castable(a: DType, b: DType) -> bool:
    if a.is_float and b.is_float:
        return a.bits != b.bits
    unlike = a.is_float is not b.is_float
    return a is not b and not (unlike and any(t is bool_ or t in floats.FP8 for t in (a, b)))


def _cast_needs(a: DType, b: DType) -> str:
    """What both formats need; extensions are enough without the profile."""
    needs = dict.fromkeys(floats.NEEDS[t] for t in (a, b) if t.is_float)
    extensions = [n for n in needs if n != "PRO-FP"]
    return " & ".join(extensions or needs or ["PRO-INT"])


def _cast_example(r: Row) -> Case:
    return Case("CAST").input("input", r.types["in_t"], (2, 3)).output("output", r.types["out_t"], (2, 3))


CAST = OpSpec(
    name="CAST",
    code=65,
    schema="Cast",
    section="2.13.1",
    inputs=(tensor("input", "in_t", "shape", (0, None)),),
    attributes=(),
    outputs=(tensor("output", "out_t", "shape", (0, None)),),
    rows=_cast_rows(),
    traits=elementwise("input"),
    shapes=lambda c: [c["shape"]],
    requires=(Require("CAST.R1", "a value that becomes an integer is not NaN"),),
    example=_cast_example,
)

# RESCALE


def _rescale_rows() -> tuple[Row, ...]:
    outputs = (i8, i16, i32)
    plain = [(a, b, "PRO-INT") for a in outputs for b in outputs]
    wide = [(i48, b, "EXT-INT16") for b in outputs]
    return tuple(row(f"{a.bits}-bit to {b.bits}-bit", needs, in_t=a, out_t=b) for a, b, needs in plain + wide)


def _rescale_example(r: Row) -> Case:
    a, b = r.types["in_t"], r.types["out_t"]
    scale32 = a is not i48
    return (
        Case("RESCALE")
        .input("input", a, (2, 3))
        .const("multiplier", i32 if scale32 else i16, [1 << 30 if scale32 else 1 << 14])
        .const("shift", i8, [31 if scale32 else 15])
        .const("input_zp", a, [0])
        .const("output_zp", b, [0])
        .set(
            scale32=scale32,
            rounding_mode="SINGLE_ROUND",
            per_channel=False,
            input_unsigned=False,
            output_unsigned=False,
        )
        .output("output", b, (2, 3))
    )


def _zero_point_bits(c: Call, argument: str, unsigned: str) -> int:
    """A zero point as its operator reads it: signless bits are unsigned when the attribute says so."""
    value = c[argument]
    bits = c.tensor(argument).dtype.bits
    return int(value) & ((1 << bits) - 1) if c[unsigned] else int(value)


def _zero_point_misplaced(argument: str, type_: str, unsigned: str) -> Callable[[Call], bool]:
    def violated(c: Call) -> bool:
        t = c[type_]
        return t is not i8 and not (t is i16 and c[unsigned]) and c[argument] not in (0, None)

    return violated


def _zero_point_unsigned(argument: str, type_: str, unsigned: str) -> Callable[[Call], bool]:
    def violated(c: Call) -> bool:
        if c[type_] is not i16 or not c[unsigned] or c[argument] is None:
            return False
        return _zero_point_bits(c, argument, unsigned) not in (0, 32768)

    return violated


def _zero_point(argument: str, value: int, **attributes: bool) -> Callable[[Case], object]:
    def mutate(case: Case) -> None:
        case.const(argument, case.tensor(argument).dtype, [value]).set(**attributes)

    return mutate


def _attributes(**values: object) -> Callable[[Case], object]:
    return lambda case: case.set(**values)


def _combination(label: str, violated: Callable[[Call], bool], message: str, **attributes: object) -> Check:
    return Check(label, violated, message, _attributes(**attributes), "input")


def _wrong_multiplier(case: Case) -> None:
    old = case.tensor("multiplier").dtype
    case.const("multiplier", i16 if old is i32 else i32, [1])


RESCALE = OpSpec(
    name="RESCALE",
    code=66,
    schema="Rescale",
    section="2.13.2",
    inputs=(
        tensor("input", "in_t", "shape", (0, None)),
        tensor("multiplier", "mul_t", "[NC]", (1, 1), ctc=True),
        tensor("shift", "i8_t", "[NC]", (1, 1), ctc=True),
        scalar("input_zp", "in_t"),
        scalar("output_zp", "out_t"),
    ),
    attributes=(
        Attribute("scale32", "bool", 0),
        Attribute("rounding_mode", "rounding_mode", 1),
        Attribute("per_channel", "bool", 2),
        Attribute("input_unsigned", "bool", 3),
        Attribute("output_unsigned", "bool", 4),
    ),
    outputs=(tensor("output", "out_t", "shape", (0, None)),),
    rows=_rescale_rows(),
    traits=elementwise("input", by_channel="per_channel"),
    shapes=lambda c: [c["shape"]],
    checks=(
        Check(
            "RESCALE.E1",
            _zero_point_misplaced("input_zp", "in_t", "input_unsigned"),
            "only 8-bit and unsigned 16-bit inputs have a zero point, got {input_zp} for {in_t}",
            _zero_point("input_zp", 7),
            "input_zp",
        ),
        Check(
            "RESCALE.E2",
            _zero_point_misplaced("output_zp", "out_t", "output_unsigned"),
            "only 8-bit and unsigned 16-bit outputs have a zero point, got {output_zp} for {out_t}",
            _zero_point("output_zp", 7),
            "output_zp",
        ),
        Check(
            "RESCALE.E3",
            _zero_point_unsigned("input_zp", "in_t", "input_unsigned"),
            "unsigned 16-bit input needs zero point 0 or 32768, got {input_zp}",
            _zero_point("input_zp", 7, input_unsigned=True),
            "input_zp",
        ),
        Check(
            "RESCALE.E4",
            _zero_point_unsigned("output_zp", "out_t", "output_unsigned"),
            "unsigned 16-bit output needs zero point 0 or 32768, got {output_zp}",
            _zero_point("output_zp", 7, output_unsigned=True),
            "output_zp",
        ),
        _combination("RESCALE.E5", lambda c: c.scale32 and c.in_t is i48, "scale32 can't scale i48", scale32=True),
        _combination(
            "RESCALE.E6",
            lambda c: not c.scale32 and c.rounding_mode == "DOUBLE_ROUND",
            "DOUBLE_ROUND needs scale32",
            scale32=False,
            rounding_mode="DOUBLE_ROUND",
        ),
        _combination(
            "RESCALE.E7",
            lambda c: c.input_unsigned and c.output_unsigned,
            "input and output can't both be unsigned",
            input_unsigned=True,
            output_unsigned=True,
        ),
        _combination(
            "RESCALE.E8",
            lambda c: c.out_t is i32 and c.input_unsigned,
            "an unsigned input can't become i32",
            input_unsigned=True,
        ),
        _combination(
            "RESCALE.E9",
            lambda c: c.in_t is i32 and c.output_unsigned,
            "i32 can't become unsigned",
            output_unsigned=True,
        ),
        _combination(
            "RESCALE.E10",
            lambda c: c.in_t is i48 and c.output_unsigned,
            "i48 can't become unsigned",
            output_unsigned=True,
        ),
        _combination(
            "RESCALE.E11",
            lambda c: c.in_t is i48 and c.input_unsigned,
            "i48 inputs can't be unsigned",
            input_unsigned=True,
        ),
        _combination(
            "RESCALE.E12",
            lambda c: c.in_t is i32 and c.input_unsigned,
            "i32 inputs can't be unsigned",
            input_unsigned=True,
        ),
        _combination(
            "RESCALE.E13",
            lambda c: c.out_t is i32 and c.output_unsigned,
            "i32 outputs can't be unsigned",
            output_unsigned=True,
        ),
        Check(
            "RESCALE.E14",
            lambda c: c.per_channel and len(c["shape"]) < 1,
            "per_channel needs an input of rank 1 or more, got shape {shape}",
            lambda case: case.set(per_channel=True).reshape("input").reshape("output"),
            "input",
        ),
        Check(
            "RESCALE.E15",
            lambda c: c.tensor("multiplier").dtype is not (i32 if c.scale32 else i16),
            "multiplier must be i32 with scale32 and i16 without",
            _wrong_multiplier,
            "multiplier",
        ),
        Check(
            "RESCALE.E16",
            lambda c: len(c["shape"]) > 0 and c.NC != (c["shape"][-1] if c.per_channel else 1),
            "multiplier and shift need one entry (per_channel: one per index of the last axis), got {NC} for {shape}",
            lambda case: case.const("multiplier", case.tensor("multiplier").dtype, [1, 1]).const("shift", i8, [2, 2]),
            "multiplier",
        ),
    ),
    requires=(
        Require("RESCALE.R1", "multiplier is not negative"),
        Require("RESCALE.R2", "shift is in 2 .. 62"),
        Require("RESCALE.R3", "the value is in -2^(shift-1) .. 2^(shift-1) - 1 (scale32)"),
        Require("RESCALE.R4", "the scaled value is a value of i32 (16-bit multipliers)"),
        Require("RESCALE.R5", "the scaled value plus output_zp is a value of i32"),
    ),
    example=_rescale_example,
)

OPERATORS = (CAST, RESCALE)
