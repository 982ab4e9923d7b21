"""Classes that can't stand together in one use of an operator, each with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from ...spec import TABLE
from ...types import i8, i16
from .dimensions import universe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...spec import OpSpec

NOT_ONE: Final = ("2 to 15", "16 or more")
SHIFTED: Final = ("least", "greatest", "other")
POOLS: Final = ("AVG_POOL2D", "MAX_POOL2D")
CONVOLUTIONS: Final = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D")
SIDES: Final = {"D": ("KD", "OD", "d", ("pad_d0", "pad_d1")), "H": ("KH", "OH", "y", ("pad_top", "pad_bottom"))}
ALL_SIDES: Final = {**SIDES, "W": ("KW", "OW", "x", ("pad_left", "pad_right"))}


@dataclass(frozen=True)
class Rule:
    """No use has, in all these dimensions, one of the classes given for it."""

    classes: Mapping[str, tuple[str, ...]]
    why: str

    def forbids(self, chosen: Mapping[str, str]) -> bool:
        return all(chosen.get(name) in some for name, some in self.classes.items())


def rule(why: str, **classes: str | tuple[str, ...]) -> Rule:
    """Names of dimensions have `_` in place of blanks here only where `NAMES` says so."""
    return Rule({NAMES.get(name, name): (c,) if isinstance(c, str) else c for name, c in classes.items()}, why)


NAMES: Final = {"axis_length": "length of axis", "output_rank": "rank of output"}
ANYWHERE: Final = (
    rule("a tensor of rank 0 has one element", rank="0", elements=NOT_ONE),
    rule("an axis of 1 is all that could broadcast", elements="1", broadcast=("1", "2", "3", "1 and 2", "1 and 3",
         "2 and 3", "1 and 2 and 3")),
    rule("a tensor of rank 0 has no axis to broadcast", rank="0", broadcast=("1", "2", "3", "1 and 2", "1 and 3",
         "2 and 3", "1 and 2 and 3")),
    rule("operands that broadcast along different axes need two", rank="1", broadcast="1 and 2 and 3"),
    rule("the only axis is that of rank 1", axis="only", rank=("0", "2", "3", "4", "5", "6")),
    rule("rank 1 has one axis only", axis=("first", "inner", "last"), rank="1"),
    rule("rank 2 has no axis inside", axis="inner", rank="2"),
    rule("one element has axes of 1 only", axis_length="more", elements="1"),
    rule("the only axis has all elements", axis_length="1", axis="only", elements=NOT_ONE),
    rule("the only axis has all elements", axis_length="1", rank="1", elements=NOT_ONE),
    rule("one axis can't be permuted", perms=("last stays", "last moves"), rank="1"),
    rule("two axes are permuted or not", perms="last stays", rank="2"),
)  # fmt: skip
OWN: Final[Mapping[str, tuple[Rule, ...]]] = {
    "SLICE": (
        rule("what starts later isn't whole", start="some", size="whole"),
        rule("a part of more than one element", size="part", elements="1"),
        rule("a later start needs elements before it", start="some", elements="1"),
    ),
    "RESHAPE": (rule("a result of rank 0 has one element", output_rank="0", elements=NOT_ONE),),
    "SCATTER": (rule("an output is written at most once", W="more", K="1"),),
    "COND_IF": (rule("the condition has one element", elements=NOT_ONE),),
    "RESCALE": (
        rule("DOUBLE_ROUND needs scale32", scale32="false", rounding_mode="DOUBLE_ROUND"),
        rule("not both are unsigned", input_unsigned="true", output_unsigned="true"),
        rule("rank 0 has no channels", per_channel="true", rank="0"),
    ),
}


@cache
def rules(operator: str) -> tuple[Rule, ...]:
    """The rules that concern an operator."""
    spec, there = TABLE[operator], universe(operator)
    found = [*ANYWHERE, *OWN.get(spec.name, ()), *_windows(spec), *_by_row(spec)]
    if spec.name == "RESIZE":
        found += _resize()
    if spec.name != "SELECT":
        found.append(rule("operands that broadcast along different axes need two", rank="1", broadcast="1 and 2"))
    many: dict[str, tuple[str, ...]] = {"elements of bias": ("channels",)}
    alone = {"C": ("1",), "M": ("1",)} if spec.name == "DEPTHWISE_CONV2D" else {"OC": ("1",)}
    found.append(Rule({**many, **alone}, "one channel has a bias of one element"))
    return tuple(one for one in found if set(one.classes) <= set(there))


def why_not(operator: str, chosen: Mapping[str, str]) -> str:
    """Why classes can't stand together; nothing where they can."""
    return next((one.why for one in rules(operator) if one.forbids(chosen)), "")


def _windows(spec: OpSpec) -> Iterator[Rule]:
    for kernel, output, axis, sides in ALL_SIDES.values():
        for side in sides:
            if spec.name in POOLS:
                yield rule("padding is smaller than the kernel", **{f"kernel_{axis}": "1", side: "more"})
            if spec.name in CONVOLUTIONS:
                why = "a kernel of 1 has an output for each padded place"
                yield rule(why, **{kernel: "1", output: "1", side: "more"})
        if spec.name == "TRANSPOSE_CONV2D":
            outer = tuple(f"out_{side}" for side in sides)
            for side in outer:
                yield rule("padding is greater than minus the kernel", **{kernel: "1", side: "less"})
                yield rule("what is added makes more than one output", **{output: "1", side: "more"})
            yield rule("a kernel writes all its places", **{output: "1", kernel: "more", outer[0]: "0", outer[1]: "0"})


def _resize() -> Iterator[Rule]:
    for axis, output in (("y", "OH"), ("x", "OW")):
        why = "the way from the first output to the last isn't negative"
        for offset, border in (("less", "more"), ("less", "0"), ("0", "more")):
            yield rule(why, **{output: "1", f"offset_{axis}": offset, f"border_{axis}": border})
        why = "at one scale, offset and border differ by whole steps"
        yield rule(why, **{f"scale_{axis}": "same", f"offset_{axis}": "0", f"border_{axis}": "more"})


def _by_row(spec: OpSpec) -> Iterator[Rule]:
    for row in spec.rows:
        for argument in spec.inputs:
            if not argument.name.endswith("_zp"):
                continue
            dtype, name, why = row.types[argument.type], argument.name, "only 8-bit formats have zero points"
            if spec.name == "RESCALE" and dtype is i16:
                unsigned = name.replace("_zp", "_unsigned")
                why = "16-bit zero points are 0, or 32768 of unsigned values"
                yield rule(why, row=row.key, **{name: SHIFTED[1:]})
                yield rule(why, row=row.key, **{name: "least", unsigned: "false"})
                if not {"i8", "i16"} >= {row.types["in_t"].name, row.types["out_t"].name}:
                    yield rule(why, row=row.key, **{name: "least"})
            elif dtype is not i8:
                yield rule(why, row=row.key, **{name: SHIFTED})
        if spec.name == "MUL" and row.key != "i32_i32":
            yield rule("only products of i32 are shifted", row=row.key, shift=("to 31", "beyond"))
        if spec.name == "RESIZE" and not row.types["in_t"].is_float:
            same = row.types["in_t"] is row.types["out_t"]
            yield rule("an integer row has one mode", row=row.key, mode="BILINEAR" if same else "NEAREST")
        if spec.name == "RESCALE":
            yield from _rescale(row.key, row.types["in_t"].name, row.types["out_t"].name)


def _rescale(key: str, in_t: str, out_t: str) -> Iterator[Rule]:
    why = "only 8 and 16 bits are read as unsigned, and i32 belongs to signed values"
    if in_t in ("i32", "i48") or out_t == "i32":
        yield rule(why, row=key, input_unsigned="true")
    if out_t == "i32" or in_t in ("i32", "i48"):
        yield rule(why, row=key, output_unsigned="true")
    if in_t == "i48":
        yield rule("i48 is scaled by 16 bits", row=key, scale32="true")
        yield rule("i48 is scaled by 16 bits, which have no DOUBLE_ROUND", row=key, rounding_mode="DOUBLE_ROUND")
