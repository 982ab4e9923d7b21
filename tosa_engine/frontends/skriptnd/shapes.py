"""Shapes held against declarations (sections 2.6 and 2.6.1): packed extents, lengths, affine extents, packs of tensors.

A dimension that changes from run to run has the extent of its upper bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .language import affine
from .language.scalars import Wrong, kind_of
from .language.syntax import Name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...errors import ParseError
    from .language.evaluation import Evaluator
    from .language.syntax import Expression, Extent, TypeSpec

MOST_TENSORS: Final = 10_000  # of a pack


class Binder:
    """Binds the symbols of one operator."""

    def __init__(self, evaluator: Evaluator, fail: Callable[[str, str], ParseError]) -> None:
        self.evaluator, self.fail = evaluator, fail
        self.symbols: dict[str, Any] = evaluator.symbols  # type: ignore[assignment]

    # lengths

    def length(self, e: Expression | None, found: int, what: str) -> None:
        """Bind or check the length of a pack."""
        if e is None:
            return
        names = affine.unknown(e, self.evaluator)
        if len(names) == 1:
            self.symbols[names[0]] = affine.solve(e, names[0], found, self.evaluator)
            return
        if names:
            raise Wrong(f"the length of {what} depends on {' and '.join(names)}", "SKND.S1")
        wanted = self.evaluator.value(e)
        if wanted is not None and int(wanted) != found:
            raise Wrong(f"{what} has {found} items, not {int(wanted)}", "SKND.S4")

    def check_pack(self, count: int) -> None:
        if not 0 <= count <= MOST_TENSORS:
            raise Wrong(f"a pack of {count} tensors; at most {MOST_TENSORS} are made", "SKND.E5")

    def own_length(self, spec: TypeSpec) -> int:
        """The length of a pack of tensors that have an extent of their own."""
        for extent in spec.shape or ():
            if extent.own and extent.value is not None:
                return len(self.evaluator.value(extent.value))
        raise Wrong("the length of a pack isn't given", "SKND.S1")

    # inputs

    def can_be_single(self, spec: TypeSpec) -> bool:
        """Whether a tensor without dimensions fits."""
        return all(extent.packed and self._count(extent) in (None, 0) for extent in spec.shape or ())

    def _count(self, extent: Extent) -> int | None:
        """How many dimensions an item stands for; None where that isn't known."""
        evaluator = self.evaluator
        if not extent.packed:
            if extent.value is not None and not affine.unknown(extent.value, evaluator):
                value = evaluator.value(extent.value)
                if value is None:
                    return 0
            return 1
        if extent.length is not None:
            if affine.unknown(extent.length, evaluator):
                return None
            found = evaluator.value(extent.length)
            if found is not None:
                if not isinstance(found, int):
                    raise Wrong(f"a number of dimensions of type {kind_of(found)}", "SKND.Y6")
                return int(found)
        if extent.value is not None and not affine.unknown(extent.value, evaluator):
            value = evaluator.value(extent.value)
            return len(value) if isinstance(value, list) else 0 if value is None else None
        return None

    def bind(self, spec: TypeSpec, shapes: Sequence[tuple[int, ...]], what: str) -> bool:
        """Bind a tensor's shape, or those of a pack. False where its parts can't be told apart yet."""
        ranks = {len(shape) for shape in shapes}
        if len(ranks) > 1:
            raise Wrong(f"{what} has tensors of different ranks", "SKND.S5")
        if not ranks:
            return self._bind_empty(spec)
        (rank,) = ranks
        if spec.rank is not None:
            self.length(spec.rank, rank, f"the rank of {what}")
        counts = [self._count(extent) for extent in spec.shape or ()]
        if counts.count(None) > 1:
            return False
        known = sum(c for c in counts if c is not None)
        if None in counts:
            at = counts.index(None)
            counts[at] = rank - known
            extent = (spec.shape or ())[at]
            if rank >= known and extent.length is not None:
                self.length(extent.length, rank - known, f"'{what}'")
        if sum(c or 0 for c in counts) != rank or rank < known:
            found = ", ".join(str(list(s)) for s in shapes[:3])
            raise Wrong(f"{what} of shape {found} has {rank} dimensions, not {sum(c or 0 for c in counts)}", "SKND.S5")
        at = 0
        for extent, count in zip(spec.shape or (), counts, strict=True):
            self._bind_extent(extent, [s[at : at + (count or 0)] for s in shapes], what)
            at += count or 0
        return True

    def _bind_empty(self, spec: TypeSpec) -> bool:
        for extent in spec.shape or ():
            if extent.own and isinstance(extent.value, Name):
                self.symbols.setdefault(extent.value.text, [])
        return True

    def _bind_extent(self, extent: Extent, found: Sequence[tuple[int, ...]], what: str) -> None:
        if extent.value is None:
            return
        if extent.own:
            self._bind_values(extent.value, [part[0] for part in found], what)
            return
        if any(part != found[0] for part in found):
            raise Wrong(f"the tensors of {what} differ in a shared extent: {found[0]} and others", "SKND.S6")
        part = list(found[0])
        conditional = extent.length is not None and self._is_condition(extent.length)
        if not extent.packed or conditional:
            if part:
                self._bind_value(extent.value, part[0], what)
            return
        self._bind_values(extent.value, part, what)

    def _is_condition(self, length: Expression) -> bool:
        return not affine.unknown(length, self.evaluator) and isinstance(self.evaluator.value(length), bool)

    def _bind_value(self, e: Expression, found: int, what: str) -> None:
        names = affine.unknown(e, self.evaluator)
        if len(names) == 1:
            self.symbols[names[0]] = affine.solve(e, names[0], found, self.evaluator)
        elif names:
            raise Wrong(f"an extent of {what} depends on {' and '.join(names)}", "SKND.S1")
        else:
            self._agree(self.evaluator.value(e), found, what)

    def _bind_values(self, e: Expression, found: list[int], what: str) -> None:
        names = affine.unknown(e, self.evaluator)
        if len(names) == 1:
            self.symbols[names[0]] = [affine.solve(e, names[0], n, self.evaluator) for n in found]
        elif names:
            raise Wrong(f"extents of {what} depend on {' and '.join(names)}", "SKND.S1")
        else:
            value = self.evaluator.value(e)
            wanted = value if isinstance(value, list) else [value] * len(found)
            if len(wanted) != len(found):
                raise Wrong(f"{what} has {len(found)} extents where {len(wanted)} are declared", "SKND.S5")
            for w, n in zip(wanted, found, strict=True):
                self._agree(w, n, what)

    @staticmethod
    def _agree(wanted: Any, found: int, what: str) -> None:
        if wanted is not None and wanted != found:
            raise Wrong(f"{what} has an extent of {found}, not {wanted}", "SKND.S7")

    # outputs, variables, constants

    def evaluated(self, shape: Sequence[Extent], index: int) -> list[int]:
        """A shape whose symbols are known; of item `index` of a pack. What changes has the extent of its bound."""
        found: list[int] = []
        for extent in shape:
            found += self._evaluated(extent, index)
        if len(found) > 32:
            raise Wrong(f"a tensor of {len(found)} dimensions", "SKND.E5")
        return found

    def _evaluated(self, extent: Extent, index: int) -> list[int]:
        e = extent.bound if extent.bound is not None else extent.value
        if e is None:
            raise Wrong("an extent '~' without a bound", "SKND.S8")
        value = self.evaluator.value(e)
        if extent.own:
            if not isinstance(value, list):
                raise Wrong("what is each tensor's own isn't a pack", "SKND.Y4")
            return [self._extent(value[index])]
        if extent.bound is not None and extent.value is not None:
            for name in affine.unknown(extent.value, self.evaluator):
                self.symbols[name] = value
        if not extent.packed:
            if isinstance(value, list):
                raise Wrong("a pack of extents must be expanded: 's..'", "SKND.Y6")
            return [] if value is None else [self._extent(value)]
        count = None if extent.length is None else self.evaluator.value(extent.length)
        if value is None:
            return []
        if isinstance(value, list):
            items = value
            if isinstance(count, bool):
                items = value if count else []
            elif count is not None and count != len(value):
                raise Wrong(f"{len(value)} extents, not {count}", "SKND.S4")
        elif count is None:
            raise Wrong("one extent is expanded without a length", "SKND.Y6")
        elif count > 32:
            raise Wrong(f"a tensor of {count} dimensions", "SKND.E5")
        else:
            items = [value] * int(count)
        return [self._extent(v) for v in items]

    @staticmethod
    def _extent(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Wrong(f"an extent of type {kind_of(value)}", "SKND.Y6")
        if not 0 <= value < 1 << 31:
            raise Wrong(f"an extent of {value}", "SKND.S9")
        return value
