"""Shapes with variables and wildcards, unified over one declaration.

A pattern has integers, variables (`n`: one extent), and wildcards: `*` is any number of extents, `m*` the same, and all
`m*` of a declaration are equal. Extents that aren't known fit everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .rules import FORM, SHAPE, RuleError, is_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

Pattern = tuple[int | str, ...]
Extent = int | None
Known = tuple[Extent, ...] | None  # None: not even the rank is known

ANY: Final = "*"
LARGEST: Final = (1 << 31) - 1
MOST_AXES: Final = 64


def pattern(said: Any, place: str) -> Pattern:
    """A shape as a document says it. Raises RuleError."""
    if not isinstance(said, list) or len(said) > MOST_AXES:
        raise RuleError(FORM, place, f"a shape is a list of at most {MOST_AXES} extents")
    found: list[int | str] = []
    for one in said:
        if isinstance(one, bool) or not isinstance(one, int | str):
            raise RuleError(FORM, place, f"'{one}' is no extent")
        if isinstance(one, int) and not 0 <= one <= LARGEST:
            raise RuleError(FORM, place, f"the extent {one} isn't one of 0..{LARGEST}")
        if isinstance(one, str) and one != ANY and not is_identifier(one.removesuffix(ANY)):
            raise RuleError("CIR.M7", place, f"the dimension variable '{one}' is no C identifier")
        found.append(one)
    names = {one for one in found if isinstance(one, str)}
    if found.count(ANY) > 1:
        raise RuleError(SHAPE, place, f"{shown(found)} has two wildcards '*': nothing says where one ends")
    for name in names:
        if name != ANY and f"{name}*" in names:
            raise RuleError(SHAPE, place, f"{shown(found)} has '{name}' as one extent and as several")
    return tuple(found)


def shown(shape: Sequence[int | str | None] | None) -> str:
    return "[?*]" if shape is None else f"[{', '.join('?' if one is None else str(one) for one in shape)}]"


class Unifier:
    """What the variables and wildcards of one declaration stand for."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.extents: dict[str, Extent] = {}
        self.sequences: dict[str, tuple[Extent, ...]] = {}

    def unify(self, operands: Sequence[tuple[str, Pattern, Known]]) -> None:
        """Bind them so that every pattern fits its shape. Raises RuleError where none does, or more than one way.

        A shape with several wildcards waits until other operands bind all but one.
        """
        pending = [one for one in operands if one[2] is not None]
        certain = len(pending) == len(operands)
        while pending:
            left = [one for one in pending if not self._match(*one)]
            if len(left) == len(pending):
                if not certain:
                    return  # an operand whose rank isn't known may say it
                what, wanted, shape = left[0]
                raise RuleError(
                    SHAPE, self.place, f"{what} of shape {shown(shape)} fits {shown(wanted)} in more than one way"
                )
            pending = left

    def _match(self, what: str, wanted: Pattern, shape: Known) -> bool:
        assert shape is not None
        wild = [one for one in wanted if isinstance(one, str) and one.endswith(ANY)]
        free = [one for one in wild if one not in self.sequences]
        rest = len(shape) - (len(wanted) - len(wild)) - sum(len(self.sequences.get(one, ())) for one in wild)
        if len(set(free)) > 1:
            return False
        if (rest < 0) or (rest and not free) or (free and rest % len(free)):
            raise self._misfit(what, wanted, shape)
        length, at = rest // len(free) if free else 0, 0
        for one in wanted:
            if not isinstance(one, str) or not one.endswith(ANY):
                self._extent(one, shape[at], what, wanted, shape)
                at += 1
                continue
            count = len(self.sequences[one]) if one in self.sequences else length
            if one != ANY:
                self._sequence(one, shape[at : at + count], what, wanted, shape)
            at += count
        return True

    def _extent(self, one: int | str, found: Extent, what: str, wanted: Pattern, shape: Known) -> None:
        before = one if isinstance(one, int) else self.extents.get(one)
        if before is not None and found is not None and before != found:
            raise self._misfit(what, wanted, shape)
        if isinstance(one, str):
            self.extents[one] = found if before is None else before

    def _sequence(self, one: str, found: tuple[Extent, ...], what: str, wanted: Pattern, shape: Known) -> None:
        before = self.sequences.get(one, found)
        if any(a is not None and b is not None and a != b for a, b in zip(before, found, strict=True)):
            raise self._misfit(what, wanted, shape)
        self.sequences[one] = tuple(b if a is None else a for a, b in zip(before, found, strict=True))

    def _misfit(self, what: str, wanted: Pattern, shape: Known) -> RuleError:
        names = [*self.extents.items(), *self.sequences.items()]
        said = ", ".join(
            f"{name} = {shown(value) if isinstance(value, tuple) else value}"
            for name, value in names
            if name in wanted and value is not None
        )
        known = f" with {said}" if said else ""
        return RuleError(SHAPE, self.place, f"{what} has shape {shown(shape)}, which isn't {shown(wanted)}{known}")

    def shape(self, wanted: Pattern | None) -> Known:
        """The shape that a pattern stands for, as far as that is known."""
        if wanted is None:
            return None
        found: list[Extent] = []
        for one in wanted:
            if isinstance(one, int):
                found.append(one)
            elif not one.endswith(ANY):
                found.append(self.extents.get(one))
            elif one in self.sequences:
                found += self.sequences[one]
            else:
                return None
        return tuple(found)
