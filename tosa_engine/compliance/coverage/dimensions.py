"""What there is to vary in a use of an operator: dimensions, each with a few classes of values.

The dimensions come from the op table: rows, attributes by their kinds, zero points, ranks, sizes of axes, broadcasting,
what is constant. `classes_of` says of a call, as it stands in a graph, which class it has in each dimension.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Final

from ...spec import TABLE
from ...spec.spatial import NAMES
from ...spec.table import ENUMERATIONS
from ...types import count
from .special import SPECIAL, Dimension, of_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...spec import Argument, Attribute, OpSpec
    from ...spec.table import Call

MAX_RANK: Final = 6  # of level 8K
ONE, MORE = "1", "more"
SIZES: Final = (ONE, MORE)
COUNTS: Final = (ONE, "2 to 15", "16 or more")
ZERO_POINTS: Final = ("0", "least", "greatest", "other")
SPATIAL: Final = {
    "pad": ("0", MORE), "out_pad": ("less", "0", MORE), "stride": (ONE, "2", MORE), "dilation": SIZES, "kernel": SIZES,
}  # fmt: skip
CHANNELS: Final = {"IC", "OC", "C"}
LETTERS: Final = {"N", "M", "K", "W", "H", "KD", "KH", "KW", "OD", "OH", "OW"}


@cache
def dimensions(operator: str) -> tuple[Dimension, ...]:
    """The dimensions of an operator of the table."""
    spec = TABLE[operator]
    found = [Dimension("row", tuple(row.key for row in spec.rows), lambda c: c.row.key if c.row else "")]
    found += [one for attribute in spec.attributes for one in _of_attribute(attribute)]
    found += [one for i, argument in enumerate(spec.inputs) for one in _of_input(spec, argument, i)]
    found += _of_shapes(spec)
    return (*found, *SPECIAL.get(spec.name, ()))


def classes_of(call: Call) -> dict[str, str]:
    """The class of a call in each dimension of its operator; without those of which nothing can be said."""
    found = {one.name: one.of(call) for one in dimensions(call.spec.name)}
    return {name: value for name, value in found.items() if value}


def _of_attribute(attribute: Attribute) -> Iterator[Dimension]:
    name, kind = attribute.name, attribute.kind
    if kind == "bool":
        yield Dimension(name, ("false", "true"), lambda c: "true" if c[name] else "false")
    elif kind in ENUMERATIONS:
        yield Dimension(name, tuple(ENUMERATIONS[kind]), lambda c: str(c[name]))
    elif name == "axis":
        yield Dimension("axis", ("only", "first", "inner", "last"), _axis)
        yield Dimension("length of axis", SIZES, lambda c: _some(_first_shape(c)[c.axis]))
    elif name == "perms":
        yield Dimension("perms", ("none", "last stays", "last moves"), _perms)
    elif kind == "value":
        yield Dimension(name, ("end", "inside"), partial(_bound, name))
    elif kind.startswith("i32[") and name in SPATIAL:
        for element in NAMES[name, int(kind[4:-1])]:
            yield Dimension(element, SPATIAL[name], partial(_spatial, element, SPATIAL[name]))


def _of_input(spec: OpSpec, argument: Argument, position: int) -> Iterator[Dimension]:
    name = argument.name
    if name.endswith("_zp"):
        yield Dimension(name, ZERO_POINTS, partial(_zero_point, name))
    elif argument.is_list:
        yield Dimension(f"tensors of {name}", (ONE, "2", MORE), lambda c: of_range(len(c.tensors[name]), (1, 2)))
    elif position > 0 and not argument.ctc:
        yield Dimension(name, ("input", "constant"), lambda c: "input" if c.constant(name) is None else "constant")
    if name == "bias":
        yield Dimension("elements of bias", (ONE, "channels"), _bias)


def _of_shapes(spec: OpSpec) -> Iterator[Dimension]:
    sides = [a for a in (*spec.inputs, *spec.outputs) if not a.is_shape]
    first = sides[0] if sides else None
    if first is not None and first.rank[1] is None:
        least = max(first.rank[0], 0)
        yield Dimension("rank", tuple(str(n) for n in range(least, MAX_RANK + 1)), lambda c: str(len(_first_shape(c))))
        yield Dimension("elements", COUNTS, lambda c: of_range(_elements(c), (1, 15)))
    operands = spec.traits.elementwise.operands if spec.traits.elementwise is not None else ()
    if len(operands) > 1:
        yield Dimension("broadcast", _subsets(len(operands)), partial(_broadcast, operands))
    letters = dict.fromkeys(letter for a in sides for letter in spec.letters(a.name))
    for letter in letters:
        if letter in CHANNELS:
            yield Dimension(letter, COUNTS, partial(_letter, letter, (1, 15)))
        elif letter in LETTERS:
            yield Dimension(letter, SIZES, partial(_letter, letter, (1,)))


def _first_shape(c: Call) -> tuple[int, ...]:
    """The shape of the first argument that has elements."""
    argument = next(a for a in (*c.spec.inputs, *c.spec.outputs) if not a.is_shape)
    found = c.tensors[argument.name]
    shape = (found[0] if isinstance(found, list) else found).shape
    return shape or ()


def _elements(c: Call) -> int:
    """Of the result where operands broadcast, of the first argument else."""
    each = c.spec.traits.elementwise
    if each is not None and len(each.operands) > 1:
        return count(c.shape_of(c.spec.outputs[0].name))
    return count(_first_shape(c))


def _some(size: int) -> str:
    return ONE if size == 1 else MORE


def _axis(c: Call) -> str:
    rank = len(_first_shape(c))
    return "only" if rank == 1 else "first" if c.axis == 0 else "last" if c.axis == rank - 1 else "inner"


def _perms(c: Call) -> str:
    perms = tuple(c.perms)
    if perms == tuple(range(len(perms))):
        return "none"
    return "last stays" if perms[-1] == len(perms) - 1 else "last moves"


def _bound(name: str, c: Call) -> str:
    dtype, value = c.in_out_t, c[name]
    if dtype.is_float:
        return "end" if abs(value) == float("inf") else "inside"
    return "end" if value == (dtype.minimum if name == "min_val" else dtype.maximum) else "inside"


def _spatial(element: str, classes: tuple[str, ...], c: Call) -> str:
    value = c[element]
    if classes[0] == "less":
        return classes[0] if value < 0 else classes[1] if value == 0 else classes[2]
    if classes[0] == "0":
        return classes[0] if value == 0 else classes[1]
    return of_range(value, (1, 2) if len(classes) == 3 else (1,))


def _zero_point(name: str, c: Call) -> str:
    value, dtype = c[name], c.tensor(name).dtype
    if value is None:
        return ""
    if value == 0:
        return "0"
    if dtype.is_float:
        return ""
    return "least" if value == dtype.minimum else "greatest" if value == dtype.maximum else "other"


def _bias(c: Call) -> str:
    return ONE if c.BC == 1 else "channels"


def _letter(letter: str, bounds: tuple[int, ...], c: Call) -> str:
    return of_range(int(c[letter]), bounds) if c.has(letter) else ""


def _subsets(operands: int) -> tuple[str, ...]:
    """Which operands broadcast, by their numbers."""
    some = (" and ".join(str(i + 1) for i in range(operands) if bits >> i & 1) for bits in range(1, 1 << operands))
    return ("none", *some)


def _broadcast(operands: tuple[str, ...], c: Call) -> str:
    shape = c.shape_of(c.spec.outputs[0].name)
    narrow = [str(i) for i, name in enumerate(operands, 1) if c.shape_of(name) != shape]
    return " and ".join(narrow) or "none"


def universe(operator: str) -> Mapping[str, tuple[str, ...]]:
    """The classes of each dimension."""
    return {one.name: one.classes for one in dimensions(operator)}
