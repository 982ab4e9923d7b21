"""Which tensor of one side is which of the other? By a map, by name, by a name with other punctuation, by order.

Other programs write `conv1/out:0` as `0012_conv1_out_0.npy`: names are compared without leading numbers, trailing `:0`
and what isn't a letter or a digit, where this leaves one candidate.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, UsageError, raise_all

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from ..types import Shape


@dataclass(frozen=True)
class Named:
    """A tensor to line up: `aliases` are other names of it (the source's)."""

    name: str
    shape: Shape
    aliases: tuple[str, ...] = ()


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
    for how, names_of in (("name", _exact), ("punctuation", _bare)):
        known = _unique((key, t.name) for t in here if t.name not in partner for key in names_of(t))
        found = _unique((key, t.name) for t in there if t.name not in partner.values() for key in names_of(t))
        for key, other in found.items():
            if key in known:
                pair(known[key], other, how)
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
    def bare(name: str) -> str:
        name = re.sub(r":\d+$", "", name)
        return re.sub(r"[^A-Za-z0-9]+", "", re.sub(r"^\d+[_.-]", "", name)).lower()

    return dict.fromkeys(b for name in (tensor.name, *tensor.aliases) if (b := bare(name)))


def _unique(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Without the keys that several have; a tensor's own name goes before what is another's alias."""
    found: dict[str, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return {key: key if key in names else names[0] for key, names in found.items() if key in names or len(names) == 1}


def _in_order(here: Sequence[Named], there: Sequence[Named], partner: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    free = [t for t in here if t.name not in partner]
    at = 0
    for other in (t for t in there if t.name not in set(partner.values())):
        match = next((i for i in range(at, len(free)) if free[i].shape == other.shape), None)
        if match is not None:
            yield free[match].name, other.name
            at = match + 1


def _some(tensors: Sequence[Named]) -> str:
    shown = ", ".join(f"'{t.name}'" for t in tensors[:4])
    return f"{shown} ({len(tensors)} in all)" if tensors else "none"
