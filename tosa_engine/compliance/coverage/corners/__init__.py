"""Numeric corners: where implementations differ that are right everywhere else.

`corners(operator, row)` are those of a row, by name, each with what tells whether an operator that ran was there.
`IMPOSSIBLE` lists those that no use reaches, each with the reason.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ....spec import TABLE
from . import integers, others, scaling
from .formats import of_operands
from .scaling import segments
from .seen import Seen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .seen import Test

__all__ = ["IMPOSSIBLE", "Seen", "corners", "met", "segments"]

SUMS: Final = ("ADD", "SUB", "REDUCE_SUM", "MATMUL", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
OWN: Final[Mapping[str, Any]] = {
    **dict.fromkeys(SUMS, others.sums),
    **dict.fromkeys(("MAXIMUM", "MINIMUM", "EQUAL", "GREATER", "GREATER_EQUAL"), integers.compared),
    **dict.fromkeys(("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_XOR"), integers.logic),
    **dict.fromkeys(("REDUCE_ALL", "REDUCE_ANY"), integers.truths),
    **dict.fromkeys(("LOG", "RSQRT"), others.below_zero),
    **dict.fromkeys(("CEIL", "FLOOR"), others.function(0.5, -0.5, 1.0)),
    **dict.fromkeys(("SIGMOID", "TANH", "ERF", "SIN", "COS"), others.function(0.0, 1.0)),
    "MUL": integers.product, "ARITHMETIC_RIGHT_SHIFT": integers.right_shift, "INTDIV": integers.signs,
    "LOGICAL_LEFT_SHIFT": integers.left_shift, "LOGICAL_RIGHT_SHIFT": integers.unsigned_shift,
    "NEGATE": integers.negated, "CLAMP": integers.clipped, "CLZ": integers.zeros, "ARGMAX": integers.greatest_twice,
    "AVG_POOL2D": integers.average, "RESCALE": scaling.rescale, "TABLE": scaling.table, "CAST": others.cast,
    "RECIPROCAL": others.function(0.0, -0.0, 1.0), "EXP": others.overflow, "REDUCE_PRODUCT": others.overflow,
    "RESIZE": others.resize, "COND_IF": others.branches, "WHILE_LOOP": others.rounds, "POW": others.overflow,
}  # fmt: skip
# (operator, row or *, corner): why no use reaches it
_UNSIGNED: Final = "unsigned values of 16 bits, which have this zero point, don't go with 32 and 48 bits"
IMPOSSIBLE: Final[Mapping[tuple[str, str, str], str]] = {
    **{
        ("CAST", f"{a}_{b}", "input: NaN"): "CAST.R1: what becomes an integer is not NaN"
        for a in ("fp16", "bf16", "fp32")
        for b in ("i8", "i16", "i32")
    },
    **{
        ("POW", "*", f"{side}: {value}"): "POW.R3 and POW.R4: neither is NaN, both are finite"
        for side in ("input1", "input2")
        for value in ("NaN", "infinity", "-infinity")
    },
    ("POW", "*", "input1: -largest"): "POW.R1: the base isn't negative",
    ("ABS", "i32", "input1: least"): "ABS.R1: its magnitude is no int32",
    ("NEGATE", "i32_acci32", "input1: least"): "NEGATE.R1: its magnitude is no int32",
    ("MATMUL", "fp16_fp32", "result: beyond the format"): "it takes more than 2^95 products of finite numbers",
    ("RESCALE", "i16_i32", "input_zp: 32768"): _UNSIGNED,
    ("RESCALE", "i32_i16", "output_zp: 32768"): _UNSIGNED,
    ("RESCALE", "i48_i16", "output_zp: 32768"): _UNSIGNED,
}


@cache
def corners(operator: str, row: str) -> Mapping[str, Test]:
    """The corners of a row of an operator, those that nobody reaches left out."""
    spec = TABLE[operator]
    one = spec.row(row)
    formats = dict(spec.formats_by_row[spec.rows.index(one)])
    found: dict[str, Test] = dict(of_operands(spec, one, formats))
    if operator in OWN:
        found |= dict(OWN[operator](one))
    return {name: test for name, test in found.items() if not impossible(operator, row, name)}


def impossible(operator: str, row: str, corner: str) -> str:
    """Why a corner can't be reached; nothing where it can."""
    return IMPOSSIBLE.get((operator, row, corner)) or IMPOSSIBLE.get((operator, "*", corner), "")


def met(seen: Seen) -> list[str]:
    """The corners at which an operator was."""
    row = seen.call.row
    assert row is not None
    return [name for name, test in corners(seen.call.spec.name, row.key).items() if test(seen)]
