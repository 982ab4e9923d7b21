"""The Fourier transforms among the tensor operators (specification 2.3.6 and 2.3.9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..types import fp32
from .case import Case
from .spatial import limits
from .table import Attribute, Check, OpSpec, row, tensor
from .traits import products, sizes

if TYPE_CHECKING:
    from .table import Row

ROWS = (row("fp32", "EXT-FFT", in_out_t=fp32),)
LIMITS = limits(("H", "max_kernel"), ("W", "max_kernel"))
LOCAL_BOUND = ("local_bound", "bool")


def _power_of_two_check(label: str, letter: str, shape: tuple[int, int, int]) -> Check:
    def break_it(case: Case) -> None:
        for name in (*case.inputs, *case.outputs):
            last = shape[2] // 2 + 1 if case.op == "RFFT2D" and name in case.outputs else shape[2]
            case.reshape(name, *shape[:2], last)

    return Check(
        label,
        lambda c: c[letter] & (c[letter] - 1) != 0,
        f"{letter} must be a power of two, got {{{letter}}}",
        break_it,
        "input_real",
    )


def _checks(op: str) -> tuple[Check, ...]:
    return (
        _power_of_two_check(f"{op}.E1", "H", (2, 6, 8)),
        _power_of_two_check(f"{op}.E2", "W", (2, 4, 6)),
    )


def _fft2d_example(r: Row) -> Case:
    t, shape = r.types["in_out_t"], (2, 4, 8)
    case = Case("FFT2D").input("input_real", t, shape).input("input_imag", t, shape)
    case.set(inverse=False, local_bound=False)
    return case.output("output_real", t, shape).output("output_imag", t, shape)


def _rfft2d_example(r: Row) -> Case:
    t = r.types["in_out_t"]
    case = Case("RFFT2D").input("input_real", t, (2, 4, 8)).set(local_bound=False)
    return case.output("output_real", t, (2, 4, 5)).output("output_imag", t, (2, 4, 5))


FFT2D = OpSpec(
    name="FFT2D",
    code=6,
    schema="FFT2d",
    section="2.3.6",
    inputs=(
        tensor("input_real", "in_out_t", "[N,H,W]", (3, 3)),
        tensor("input_imag", "in_out_t", "[N,H,W]", (3, 3)),
    ),
    attributes=(
        Attribute("inverse", "bool", 0),
        Attribute(*LOCAL_BOUND, 1, optional=True, default=False),
    ),
    outputs=(
        tensor("output_real", "in_out_t", "[N,H,W]", (3, 3)),
        tensor("output_imag", "in_out_t", "[N,H,W]", (3, 3)),
    ),
    rows=ROWS,
    traits=products("input_real", "input_imag", terms=lambda c: 2 * int(c["H"] * c["W"])),
    shapes=lambda c: [(c.N, c.H, c.W)] * 2,
    limits=LIMITS,
    checks=_checks("FFT2D"),
    example=_fft2d_example,
)

RFFT2D = OpSpec(
    name="RFFT2D",
    code=9,
    schema="RFFT2d",
    section="2.3.9",
    inputs=(tensor("input_real", "in_out_t", "[N,H,W]", (3, 3)),),
    attributes=(Attribute(*LOCAL_BOUND, 0, optional=True, default=False),),
    outputs=(
        tensor("output_real", "in_out_t", "[N,H,W/2 + 1]", (3, 3)),
        tensor("output_imag", "in_out_t", "[N,H,W/2 + 1]", (3, 3)),
    ),
    rows=ROWS,
    traits=products("input_real", terms=sizes("H", "W")),
    shapes=lambda c: [(c.N, c.H, c.W // 2 + 1)] * 2,
    limits=LIMITS,
    checks=_checks("RFFT2D"),
    example=_rfft2d_example,
)
