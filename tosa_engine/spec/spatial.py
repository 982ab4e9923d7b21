"""What windows that slide over space have in common: names of their sizes, limits, and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..types import i8
from .table import Call, Check, Limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .case import Case

NAMES: Final = {
    ("pad", 4): ("pad_top", "pad_bottom", "pad_left", "pad_right"),
    ("pad", 6): ("pad_d0", "pad_d1", "pad_top", "pad_bottom", "pad_left", "pad_right"),
    ("out_pad", 4): ("out_pad_top", "out_pad_bottom", "out_pad_left", "out_pad_right"),
    ("stride", 2): ("stride_y", "stride_x"),
    ("stride", 3): ("stride_d", "stride_y", "stride_x"),
    ("dilation", 2): ("dilation_y", "dilation_x"),
    ("dilation", 3): ("dilation_d", "dilation_y", "dilation_x"),
    ("kernel", 2): ("kernel_y", "kernel_x"),
}
AXES: Final = {
    "d": ("D", "pad_d0", "pad_d1", 1),
    "y": ("H", "pad_top", "pad_bottom", -3),
    "x": ("W", "pad_left", "pad_right", -2),
}


def spatial_sizes(call: Call) -> Mapping[str, int]:
    """pad_top, stride_y, ... by the names that the specification gives to the elements of pad, stride, ..."""
    sizes: dict[str, int] = {}
    for attribute in ("pad", "out_pad", "stride", "dilation", "kernel"):
        if call.has(attribute):
            sizes.update(zip(NAMES[attribute, len(call[attribute])], call[attribute], strict=True))
    return sizes


def limits(*values: tuple[str, str]) -> tuple[Limit, ...]:
    """Level checks of sizes and of products of two sizes, with the level's limit for each."""

    def getter(text: str) -> Callable[[Call], int]:
        factors = text.split(" * ")
        return lambda c: int(c[factors[0]]) * (int(c[factors[1]]) if len(factors) > 1 else 1)

    return tuple(Limit(value, limit, getter(value)) for value, limit in values)


def of_attribute(attribute: str, length: int, limit: str) -> tuple[tuple[str, str], ...]:
    """Every element of an attribute with one limit."""
    return tuple((name, limit) for name in NAMES[attribute, length])


def setter(**attributes: object) -> Callable[[Case], object]:
    return lambda case: case.set(**attributes)


def zero_point_check(label: str, zero_point: str, type_: str, about: str) -> Check:
    """Only 8-bit formats have zero points other than 0."""
    return Check(
        label,
        lambda c: c[type_] is not i8 and c[zero_point] not in (0, None),
        f"{about} of type {{{type_}}} needs zero point 0, got {{{zero_point}}}",
        lambda case: case.const(zero_point, case.tensor(zero_point).dtype, [1]),
        zero_point,
    )


def pad_check(label: str) -> Check:
    def mutate(case: Case) -> None:
        case.set(pad=(-1, 1, *case.attributes["pad"][2:]))

    return Check(label, lambda c: min(c.pad) < 0, "padding must not be negative, got {pad}", mutate, "input")


def positive_check(label: str, attribute: str) -> Check:
    def mutate(case: Case) -> None:
        case.attributes[attribute] = (0, *case.attributes[attribute][1:])

    message = f"{attribute} must be at least 1, got {{{attribute}}}"
    return Check(label, lambda c: min(c[attribute]) < 1, message, mutate, "input")


def conv_span(c: Call, axis: str) -> int:
    """Distance between the first and the last kernel position along an axis, before division by the stride."""
    letter, before, after, _ = AXES[axis]
    return int(c["I" + letter] - 1 + c[before] + c[after] - (c["K" + letter] - 1) * c[f"dilation_{axis}"])


def pool_span(c: Call, axis: str) -> int:
    letter, before, after, _ = AXES[axis]
    return int(c["I" + letter] + c[before] + c[after] - c[f"kernel_{axis}"])


def longer(axis: str) -> Callable[[Case], object]:
    """A mutator: one more output along an axis."""

    def mutate(case: Case) -> None:
        shape = list(case.tensor("output").shape or ())
        shape[AXES[axis][3]] += 1
        case.reshape("output", *shape)

    return mutate


def output_check(label: str, axis: str, span: Callable[[Call, str], int]) -> Check:
    """OH (OD, OW) is the span divided by the stride without remainder, plus 1."""
    letter, stride = "O" + AXES[axis][0], f"stride_{axis}"

    def violated(c: Call) -> bool:
        if c[stride] < 1:
            return False  # another rule says so
        distance = span(c, axis)
        if distance < 0 or distance % c[stride] != 0:
            return True
        return bool(c.has(letter) and c[letter] != distance // c[stride] + 1)

    what = {"d": "depth", "y": "height", "x": "width"}[axis]
    message = f"output {what} must be the padded input's span over {stride} = {{{stride}}} plus 1, without remainder"
    return Check(label, violated, message, longer(axis), "output")


def output_size(c: Call, axis: str, span: Callable[[Call, str], int]) -> int:
    return span(c, axis) // int(c[f"stride_{axis}"]) + 1


def bias_check(label: str, wanted: Callable[[Call], int], text: str) -> Check:
    return Check(
        label,
        lambda c: c.BC not in (1, wanted(c)),
        f"bias needs 1 element or {text}, got {{BC}}",
        lambda case: case.reshape("bias", 2),
        "bias",
    )
