"""Dimensions of operators whose inputs say what they do: shapes as operands, shifts, scales."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...spec.table import Call


@dataclass(frozen=True)
class Dimension:
    """`of` gives the class of a call, or nothing where it can't be said (a shape that is known only in a run)."""

    name: str
    classes: tuple[str, ...]
    of: Callable[[Call], str]


def of_range(value: int, bounds: tuple[int, ...]) -> str:
    """The class of a number: up to the first bound, up to the second one, beyond."""
    low = 1
    for bound in bounds:
        if value <= bound:
            return str(bound) if low == bound else f"{low} to {bound}"
        low = bound + 1
    return "more" if bounds[-1] < 15 else f"{low} or more"


def _entries(c: Call, name: str) -> list[int] | None:
    value = c[name] if c.has(name) else None
    return None if value is None else [int(v) for v in value]


def _sign(value: int) -> str:
    return "less" if value < 0 else "more" if value > 0 else "0"


def _padding(c: Call) -> str:
    found = _entries(c, "padding")
    if found is None:
        return ""
    before, after = any(found[::2]), any(found[1::2])
    return "both" if before and after else "before" if before else "after" if after else "none"


def _pad_constant(c: Call) -> str:
    return "" if c.pad_const is None else "0" if c.pad_const == 0 else "other"


def _start(c: Call) -> str:
    found = _entries(c, "start")
    return "" if found is None else "some" if any(found) else "0"


def _size(c: Call) -> str:
    found = _entries(c, "size")
    return "" if found is None else "whole" if found == list(c.shape1) else "part"


def _multiples(c: Call) -> str:
    found = _entries(c, "multiples")
    return "" if found is None else "1" if set(found) <= {1} else "more"


def _rank_of_output(c: Call) -> str:
    return str(len(c.shape_of("output")))


def _mul_shift(c: Call) -> str:
    value = c["shift"]
    return "" if value is None else "0" if value == 0 else "to 31" if value <= 31 else "beyond"


def _rescale_shift(c: Call) -> str:
    found = _entries(c, "shift")
    return "" if found is None else "to 31" if max(found) <= 31 else "beyond"


def _scale(axis: str, c: Call) -> str:
    if not c.has(f"scale_{axis}_n"):
        return ""
    return {"less": "down", "0": "same", "more": "up"}[_sign(c[f"scale_{axis}_n"] - c[f"scale_{axis}_d"])]


def _of(name: str, c: Call) -> str:
    return _sign(c[name]) if c.has(name) else ""


SHIFTS: Final = ("to 31", "beyond")
SIGNS: Final = ("less", "0", "more")
SPECIAL: Final[Mapping[str, tuple[Dimension, ...]]] = {
    "VARIABLE": (
        Dimension("initial_value", ("given", "none"), lambda c: "none" if c.initial_value is None else "given"),
        Dimension("rank", tuple("0123456"), lambda c: str(len(c.var_shape))),
    ),
    "PAD": (
        Dimension("padding", ("none", "before", "after", "both"), _padding),
        Dimension("pad_const", ("0", "other"), _pad_constant),
    ),
    "SLICE": (Dimension("start", ("0", "some"), _start), Dimension("size", ("whole", "part"), _size)),
    "TILE": (Dimension("multiples", ("1", "more"), _multiples),),
    "RESHAPE": (Dimension("rank of output", tuple("0123456"), _rank_of_output),),
    "MUL": (Dimension("shift", ("0", *SHIFTS), _mul_shift),),
    "RESCALE": (Dimension("shift", SHIFTS, _rescale_shift),),
    "RESIZE": tuple(
        one
        for axis in "yx"
        for one in (
            Dimension(f"scale_{axis}", ("down", "same", "up"), partial(_scale, axis)),
            Dimension(f"offset_{axis}", SIGNS, partial(_of, f"offset_{axis}")),
            Dimension(f"border_{axis}", SIGNS, partial(_of, f"border_{axis}")),
        )
    ),
}
