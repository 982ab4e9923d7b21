"""What several verbs share: the argument MODEL, the options of formats and the flags of the target."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..formats import format_of, formats, model_help, options_of
from ..target import EXTENSIONS, LEVELS, PROFILES, Target
from ..versions import NEWEST, VERSIONS
from .told import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..formats import Format, Option, Source
    from ..graph import Graph
    from ..npu import Npu


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=model_help())


def group(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """The group of flags with this title, which `--help` shows together."""
    found = next((known for known in parser._action_groups if known.title == title), None)
    return found or parser.add_argument_group(title)


def add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    """The flags of the formats: how a model is opened and, where the verb does so, shown or written.

    Formats share a flag that takes the same values.
    """
    added: dict[str, Option] = {}
    for one, option in options_of(verb):
        before = added.get(option.name)
        if before is not None and (before.words, before.parse) == (option.words, option.parse):
            continue
        added[option.name] = option
        place = group(parser, one.group)
        if option.words:
            words = tuple(option.words)
            place.add_argument(option.flag, choices=words, default=words[0], help=option.help)
        elif option.parse is not None:
            again: dict[str, Any] = {"action": "append", "default": []} if option.repeated else {}
            place.add_argument(option.flag, type=option.parse, metavar=option.metavar, help=option.help, **again)
        else:
            place.add_argument(option.flag, action="store_true", help=option.help)


def values_of(args: argparse.Namespace, options: Iterable[Option]) -> dict[str, Any]:
    """What the flags say of these options, without those that the verb has no flag for."""
    found = {option: getattr(args, option.name) for option in options if hasattr(args, option.name)}
    return {option.name: option.words[said] if option.words else said for option, said in found.items()}


def format_options(args: argparse.Namespace) -> dict[str, Any]:
    """What the flags say of how models of any format are opened."""
    return values_of(args, [option for one in formats() for option in one.options])


def refuse_others(args: argparse.Namespace, options: Iterable[tuple[Format, Option]], own: Iterable[Option]) -> None:
    """Raises UsageError for flags that only models of other formats have."""
    names = {option.name for option in own}
    for one, option in options:
        if option.name not in names and getattr(args, option.name, None):
            raise UsageError(f"{option.flag} needs {one.called} model")


def open_source(args: argparse.Namespace, path: str | None = None) -> Source:
    """The model of the command line, opened with the options of its format.

    Raises UsageError for flags of a verb that only models of another format have, and what `open_model` raises.
    """
    place = args.model if path is None else path
    found = format_of(place)
    refuse_others(args, [(one, o) for one in formats() for o in one.options if o.verbs], found.options)
    return found.source(Path(place), format_options(args))


def add_target(parser: argparse.ArgumentParser) -> None:
    place = group(parser, "target")
    place.add_argument(
        "--profile",
        type=_names,
        action="extend",
        metavar="NAME[,NAME]",
        help=f"profiles of the target: {', '.join(PROFILES)}; default: all",
    )
    place.add_argument(
        "--extension",
        type=_names,
        action="extend",
        metavar="NAME[,NAME]",
        help=f"extensions of the target: {', '.join(EXTENSIONS)}; default: all, or none when --profile is given",
    )
    place.add_argument("--level", choices=tuple(LEVELS), default="8K", help="level of the target; default: 8K")
    place.add_argument(
        "--tosa-version",
        choices=tuple(VERSIONS),
        default=str(NEWEST),
        help=f"version of TOSA of the target; default: {NEWEST}",
    )


def add_npu(parser: argparse.ArgumentParser) -> None:
    """The flag that names a processor."""
    group(parser, "target").add_argument(
        "--target",
        metavar="NAME|FILE.toml",
        help="a processor: ethos-u55-{32,64,128,256}, ethos-u65-{256,512}, ethos-u85-{128,256,512,1024,2048}, or one "
        "that a file describes (docs/targets.md)",
    )


def npu_of(args: argparse.Namespace) -> Npu | None:
    """The processor that `--target` names. Raises UsageError beside flags that say what it says."""
    if args.target is None:
        return None
    given = [f"--{name}" for name in ("profile", "extension") if getattr(args, name, None)]
    if given:
        raise UsageError(f"{' and '.join(given)}: a --target has its own")
    from ..npu import npu

    return npu(args.target)


def add_memory(parser: argparse.ArgumentParser) -> None:
    """The flag of verbs that run models; `cli` holds the whole verb to it."""
    group(parser, "memory").add_argument(
        "--max-memory", type=bytes_of, metavar="SIZE",
        help="bytes that a run, or an array that is read, may take, as 500M or 2G; default: the least of what the "
        "machine has available and what control groups (cgroups) and ulimit leave",
    )  # fmt: skip


def add_custom(parser: argparse.ArgumentParser) -> None:
    group(parser, "the model").add_argument(
        "--custom",
        action="append",
        default=[],
        metavar="MODULE",
        help="import an installed Python module, which runs it, for the custom operators that it registers",
    )


def import_custom(modules: Sequence[str]) -> None:
    """Import the modules that the user named, for what they register in `tosa_engine.custom`.

    Raises:
        UsageError: a module can't be imported, or no custom operator comes from it.
    """
    from ..spec.custom import REGISTRY

    for name in modules:
        before, known = set(REGISTRY), name in sys.modules
        try:
            importlib.import_module(name)
        except Exception as problem:  # whatever the user's module raises
            raise UsageError(f"--custom {name}: {type(problem).__name__}: {problem}") from problem
        if not known and set(REGISTRY) == before:
            raise UsageError(f"--custom {name}: the module registers no custom operator (tosa_engine.custom)")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def target_of(args: argparse.Namespace) -> Target:
    """The target that the flags name. Raises UsageError for a name that the specification doesn't have."""
    if args.profile is None and args.extension is None:
        return Target.parse(level=args.level, version=args.tosa_version)
    profiles = PROFILES if args.profile is None else args.profile
    return Target.parse([*profiles, *(args.extension or ())], args.level, args.tosa_version)


def describe(target: Target) -> str:
    """The target in one phrase: `TOSA 1.0, PRO-INT, EXT-INT16, level 8K`; the newest version isn't named."""
    names = [name for name in (*PROFILES, *EXTENSIONS) if name in target.names]
    everything = len(names) == len(PROFILES) + len(EXTENSIONS)
    version = [] if target.version == NEWEST else [f"TOSA {target.version}"]
    known = ["all profiles and extensions"] if everything else names
    return ", ".join([*version, *known, f"level {target.level.name}"])


def warn_of_version(graph: Graph, target: Target) -> None:
    """Warn of a file that names a later version: often that of its library. What the graph uses decides."""
    if graph.version[:2] > target.version:
        found = f"the file says TOSA {graph.version_text}, the target has {target.version}"
        warn([f"{found}: readers of {target.version} may refuse the file, whatever it uses"])


def load_model(args: argparse.Namespace) -> Graph:
    """The graph of the model of the command line; what its reader found odd is printed."""
    graph = open_source(args).graph()
    warn(graph.warnings)
    return graph


def at_least(low: int) -> Callable[[str], int]:
    """An argparse type: a whole number of at least `low`."""

    def whole_number(text: str) -> int:
        if not text.lstrip("-").isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {low}")
        return int(text)

    return whole_number


def bytes_of(text: str) -> int:
    """An argparse type: a size such as 1000, 500M or 2G."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in ("K", "M", "G", "T") else (text, "")
    if not number.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is not a size, such as 500M or 2G")
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[unit]
