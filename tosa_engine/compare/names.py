"""Which tensor of one side is which of the other? By a map, by name, by a name with other punctuation, by order.

Other programs write `conv1/out:0` as `0012_conv1_out_0.npy`: names are compared without punctuation, then without a
leading number and a trailing `:0` or `_0`, where this leaves one candidate whose type and shape fit. Numbers stay
apart: `x1_1` isn't `x_11`, and `rescale_1` isn't `rescale_10`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, UsageError, raise_all
from ..types import count

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..types import Shape


@dataclass(frozen=True)
class Named:
    """A tensor to line up: `aliases` are other names of it (the source's). Without a `dtype` any type fits."""

    name: str
    shape: Shape
    aliases: tuple[str, ...] = ()
    dtype: np.dtype[Any] | None = None


@dataclass
class Lineup:
    """`pairs` (name here, name there) in the order of the first side; the names without a partner; how pairs were
    found, and how many each way.
    """

    pairs: list[tuple[str, str]] = field(default_factory=list)
    alone_here: list[str] = field(default_factory=list)
    alone_there: list[str] = field(default_factory=list)
    how: Counter[str] = field(default_factory=Counter)


def line_up(
    here: Sequence[Named], there: Sequence[Named], mapping: Mapping[str, str] | None = None, *, by_order: bool = False
) -> Lineup:
    """`mapping` says for names there which names here they mean. With `by_order` what is left is paired in its order,
    where the shapes are equal.

    Raises UsageError for names of `mapping` that aren't there (all of them), DataError when no tensor has a partner.
    """
    _check(mapping or {}, here, there)
    partner: dict[str, str] = {}
    result = Lineup()

    def pair(name: str, other: str, how: str) -> None:
        if name not in partner and other not in partner.values():
            partner[name] = other
            result.how[how] += 1

    for other, name in (mapping or {}).items():
        pair(name, other, "map")
    for how, names_of in (("name", _exact), ("punctuation", _bare), ("punctuation", _first), ("punctuation", _file)):
        free = [t for t in here if t.name not in partner]
        others = [t for t in there if t.name not in partner.values()]
        for name, other in _by_key(_keyed(free, names_of), _keyed(others, names_of)):
            pair(name, other, how)
    if by_order:
        for name, other in _in_order(here, there, partner):
            pair(name, other, "order")
    if not partner:
        raise DataError(f"no tensor of one side has a partner: {_some(here)} on one side, {_some(there)} on the other")
    result.pairs = [(t.name, partner[t.name]) for t in here if t.name in partner]
    result.alone_here = [t.name for t in here if t.name not in partner]
    result.alone_there = [t.name for t in there if t.name not in partner.values()]
    return result


def selected(names: Sequence[str], pattern: str) -> list[str]:
    """The names in which a regular expression is found. Raises UsageError when there is none, or for a bad one."""
    try:
        found = [name for name in names if re.search(pattern, name)]
    except re.error as problem:
        raise UsageError(f"--tensors '{pattern}': {problem}") from problem
    if not found:
        raise UsageError(f"--tensors '{pattern}' matches none of the {len(names)} tensors")
    return found


def read_map(path: str | os.PathLike[str]) -> dict[str, str]:
    """A JSON object of names: of a dump's tensors to those of the model. Raises OSError, DataError."""
    try:
        content: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:
        raise DataError(f"{path}: not JSON: {problem}") from problem
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise DataError(f"{path}: a map is one JSON object of names to names")
    return content


def _check(mapping: Mapping[str, str], here: Sequence[Named], there: Sequence[Named]) -> None:
    ours, theirs = {t.name for t in here}, {t.name for t in there}
    problems = [UsageError(f"--map: there is no tensor '{name}' in the dump") for name in mapping if name not in theirs]
    problems += [UsageError(f"--map: the model has no tensor '{n}'") for n in mapping.values() if n not in ours]
    twice = [name for name, count in Counter(mapping.values()).items() if count > 1]
    raise_all([*problems, *(UsageError(f"--map: '{name}' gets several tensors") for name in twice)])


def _exact(tensor: Named) -> Iterable[str]:
    return dict.fromkeys((tensor.name, *tensor.aliases))


def _bare(tensor: Named) -> Iterable[str]:
    """The names without punctuation, but for what is between two digits."""
    return dict.fromkeys(b for name in (tensor.name, *tensor.aliases) if (b := _without_punctuation(name)))


def _first(tensor: Named) -> Iterable[str]:
    """What is left without a leading number, and `:0` at the end."""
    return _cut(tensor, r"^\d+[_.-]|:0$")


def _file(tensor: Named) -> Iterable[str]:
    """As `_first`, of a file's name: `_0` at the end may have been `:0`."""
    return _cut(tensor, r"^\d+[_.-]|[:_]0$")


def _cut(tensor: Named, ends: str) -> Iterable[str]:
    names = (_without_punctuation(re.sub(ends, "", name)) for name in (tensor.name, *tensor.aliases))
    return dict.fromkeys(name for name in names if name)


def _without_punctuation(name: str) -> str:
    return re.sub(r"(?!\.)[\W_]+", "", re.sub(r"(?<=\d)[\W_]+(?=\d)", ".", name.replace(".", "_"))).lower()


def _keyed(tensors: Sequence[Named], names_of: Callable[[Named], Iterable[str]]) -> dict[str, list[Named]]:
    """By key; a tensor's own name goes before what is another's alias."""
    found: dict[str, list[Named]] = {}
    for tensor in tensors:
        for key in names_of(tensor):
            found.setdefault(key, []).append(tensor)
    return {key: [t for t in those if t.name == key] or those for key, those in found.items()}


def _by_key(here: Mapping[str, list[Named]], there: Mapping[str, list[Named]]) -> Iterable[tuple[str, str]]:
    """The pairs under the same key, where there is one, or one whose types and shapes fit."""
    for key, others in there.items():
        pairs = [(a, b) for a in here.get(key, ()) for b in others]
        fitting = [(a, b) for a, b in pairs if _fits(a, b)]
        for a, b in pairs if len(pairs) == 1 else fitting if len(fitting) == 1 else ():
            yield a.name, b.name


def _fits(a: Named, b: Named) -> bool:
    return count(a.shape) == count(b.shape) and _same_type(a, b, mixed=True)


def _same_type(a: Named, b: Named, *, mixed: bool) -> bool:
    """Integers of as many bytes, or floats on both sides; with `mixed` integers beside floats, too."""
    if a.dtype is None or b.dtype is None:
        return True
    integers = [dtype.kind in "iub" for dtype in (a.dtype, b.dtype)]
    return a.dtype.itemsize == b.dtype.itemsize if all(integers) else mixed or not any(integers)


def _in_order(here: Sequence[Named], there: Sequence[Named], partner: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """What is left, by order, where shapes and types are the same: as many pairs as there can be, so that a tensor that
    is somewhere else costs its own pair alone. A side that has nothing but floats may have integers as floats.
    """
    mixed = any(all(t.dtype is not None and t.dtype.kind not in "iub" for t in side) for side in (here, there))
    ours = [t for t in here if t.name not in partner]
    theirs = [t for t in there if t.name not in set(partner.values())]
    alike = {(t.shape, t.dtype): t for t in ours}
    rows = {
        form: np.array([one.shape == other.shape and _same_type(one, other, mixed=mixed) for other in theirs], np.bool_)
        for form, one in alike.items()
    }
    fits = [rows[one.shape, one.dtype] for one in ours]
    most = np.zeros((len(ours) + 1, len(theirs) + 1), np.int32)  # pairs of what is behind each
    for i in reversed(range(len(ours))):
        row = np.maximum(most[i + 1, :-1], most[i + 1, 1:] + fits[i])
        most[i, :-1] = np.maximum.accumulate(row[::-1])[::-1]
    i = j = 0
    while i < len(ours) and j < len(theirs) and most[i, j]:
        if fits[i][j] and most[i, j] == most[i + 1, j + 1] + 1:
            yield ours[i].name, theirs[j].name
            i, j = i + 1, j + 1
        elif most[i + 1, j] == most[i, j]:
            i += 1
        else:
            j += 1


def _some(tensors: Sequence[Named]) -> str:
    shown = ", ".join(f"'{t.name}'" for t in tensors[:4])
    return f"{shown} ({len(tensors)} in all)" if tensors else "none"
