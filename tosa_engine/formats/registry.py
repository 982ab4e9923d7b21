"""Which formats there are: those of `tosa_engine.frontends`, and those that installed packages add.

Each package in `tosa_engine/frontends/` has a module `format` with a `FORMAT`. An entry point of the group
`tosa_engine.formats` names another one. One that can't be imported is passed over, and named where a model's name tells
no format. Entry points are looked for where a name is none of our own formats': that takes longer than opening a model.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ..errors import UsageError
from ..plugins import added
from .format import Format

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    from ..graph import Graph, QParams
    from .format import Bridge, HintFile, Option
    from .source import Source

GROUP: Final = "tosa_engine.formats"
FRONTENDS: Final = "tosa_engine.frontends"


def formats() -> tuple[Format, ...]:
    """Our own, in the order of their names, then those of other packages."""
    return (*_own(), *_added()[0])


@cache
def _own() -> tuple[Format, ...]:
    place = import_module(FRONTENDS)
    names = sorted(module.name for module in pkgutil.iter_modules(place.__path__) if module.ispkg)
    return tuple(import_module(f"{FRONTENDS}.{name}.format").FORMAT for name in names)


@cache
def _added() -> tuple[tuple[Format, ...], tuple[str, ...]]:
    """The formats of other packages, and why some can't be used."""
    found: list[Format] = []
    broken: list[str] = []
    for entry in added(GROUP):
        try:
            one = entry.load()
        except Exception as problem:  # noqa: BLE001  # whatever the package raises; the others are still usable
            broken.append(f"the format '{entry.name}' ({entry.value}) can't be imported: {problem}")
            continue
        if isinstance(one, Format):
            found.append(one)
        else:
            broken.append(f"the format '{entry.name}' ({entry.value}) is no tosa_engine.formats.Format")
    return tuple(found), tuple(broken)


def model_help() -> str:
    """What a model is, in words."""
    return ", ".join(one.help for one in formats())


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of a model, by its name, or by what is in a folder.

    Raises FileNotFoundError, UsageError where the name tells none, or several.
    """
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(2, "no such model", str(path))
    found = _of_folder(place) if place.is_dir() else _longest(place.name, Format.matches)
    if found is None:
        reasons = "".join(f"; {reason}" for reason in _added()[1])
        raise UsageError(f"can't tell what '{place}' is by its name: a model is {model_help()}{reasons}")
    return found


def _of_folder(place: Path) -> Format | None:
    """The format whose file is there; else the first one of folders, which says what is missing."""
    own = next((one for one in _own() if _holds(place, one)), None)
    if own is not None:
        return own
    able = [one for one in formats() if one.folder]
    return next((one for one in able if _holds(place, one)), able[0] if able else None)


def _holds(place: Path, one: Format) -> bool:
    return bool(one.folder) and (place / one.folder).exists()


def _longest(name: str, matches: Callable[[Format, str], int]) -> Format | None:
    """The format with the longest suffix that the name ends in: one of our own, if any."""
    return _longest_of(_own(), name, matches) or _longest_of(formats(), name, matches)


def _longest_of(able: tuple[Format, ...], name: str, matches: Callable[[Format, str], int]) -> Format | None:
    lengths = [(matches(one, name), one) for one in able]
    most = max((length for length, _ in lengths), default=0)
    found = [one for length, one in lengths if length == most and most]
    if len(found) > 1:
        raise UsageError(f"'{name}' may be {' or '.join(one.called for one in found)} model: both end like that")
    return found[0] if found else None


def is_model_folder(path: Path) -> bool:
    """Whether a folder is a model."""
    return any(_holds(path, one) for one in formats())


def open_model(path: str | os.PathLike[str], **options: Any) -> Source:
    """Open a model, with the options of its format.

    Raises FileNotFoundError, UsageError where the name tells no format or the format has no such option, and what the
    front end raises for a file that can't be read.
    """
    found = format_of(path)
    known = [option.name for option in found.options]
    for name in options:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise UsageError(f"{found.called} model has no option '{name}'; its options: {listed}")
    return found.source(Path(path), options)


def options_of(verb: str) -> list[tuple[Format, Option]]:
    """The options that a verb has flags for: those of what is printed and written, then those of opening."""
    found: list[tuple[Format, Option]] = []
    for one in formats():
        of_verb = {"check": one.listing, "convert": one.rewriting}.get(verb, ())
        found += [(one, option) for option in (*of_verb, *one.options) if not option.verbs or verb in option.verbs]
    return found


def writer_suffixes() -> tuple[str, ...]:
    """What the name of a written model ends in."""
    bridged = (bridge.suffix for one in formats() for bridge in one.bridges)
    return tuple(dict.fromkeys((*(suffix for one in formats() for suffix in one.writes), *bridged)))


def bridge_to(source: Format, path: str) -> Bridge | None:
    """The way from a model of a format to a file of this name without a graph; None where there is none.

    Raises UsageError for a name that only other formats have a way to, and no format writes.
    """
    able = [bridge for one in formats() for bridge in one.bridges if path.endswith(bridge.suffix)]
    found = next((bridge for bridge in able if bridge.source == source.name), None)
    written = any(path.endswith(suffix) for one in formats() for suffix in one.writes)
    if able and found is None and not written:
        listed = " or ".join(dict.fromkeys(bridge.source for bridge in able))
        raise UsageError(f"'{path}' is written from {listed}, not from {source.name}")
    return found


def graph_suffixes() -> tuple[str, ...]:
    """What the name of a file ends in that any graph can be written to."""
    return tuple(suffix for one in formats() if one.write is not None for suffix in one.writes)


def write_graph(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Write any graph in the format that the name tells. Raises UsageError where that isn't possible."""
    target = writer_of(str(path))
    if target.write is None:
        raise UsageError(f"TOSA graphs can't be written as {target.name}")
    target.write(graph, Path(path))


def writer_of(path: str) -> Format:
    """The format that a model is written in, by the name. Raises UsageError where it tells none."""

    def matches(one: Format, name: str) -> int:
        written = one.writes or (one.suffixes if one.bridges else ())
        return max((len(suffix) for suffix in written if name.endswith(suffix)), default=0)

    found = _longest(path, matches)
    if found is None:
        raise UsageError(f"can't tell what to write to '{path}' by its name: {', '.join(writer_suffixes())}")
    return found


def hint_file(path: str | os.PathLike[str] | None = None) -> HintFile:
    """The format of a file of hints, by its name; the first one for another name, or without one."""
    return _with_hints(path)[1]


def hint_suffixes() -> tuple[str, ...]:
    """What the name of a file of hints ends in."""
    return tuple(one.hints.suffix for one in formats() if one.hints is not None)


def _with_hints(path: str | os.PathLike[str] | None) -> tuple[Format, HintFile]:
    able = [(one, one.hints) for one in formats() if one.hints is not None]
    if not able:
        raise UsageError("no format has a file of quantization hints")
    named = [(one, hints) for one, hints in able if path is not None and str(path).endswith(hints.suffix)]
    return (named or able)[0]


def read_hints(path: str | os.PathLike[str], **options: Any) -> Mapping[str, QParams]:
    """Tensor name -> QParams of a file; options of other formats than the file's are passed over.

    Raises OSError, and DataError, ParseError or Problems for what is wrong.
    """
    one, hints = _with_hints(path)
    return hints.read(Path(path), **one.own(options))


def write_hints(hints: Mapping[str, QParams], path: str | os.PathLike[str]) -> None:
    """Write QParams by tensor name. A failed write leaves what was there before. Raises OSError."""
    hint_file(path).write(hints, Path(path))
