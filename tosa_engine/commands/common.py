"""What several verbs share: the argument MODEL and the flags of the target."""

from __future__ import annotations

import argparse
import importlib
import sys
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..target import EXTENSIONS, LEVELS, PROFILES, Target
from ..versions import NEWEST, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ..graph import Graph

MODEL_HELP = "an .nnef folder, an .nnef.tgz or .tar, a .tosa or a .json file"


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)


def add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        type=_names,
        action="extend",
        metavar="NAME[,NAME]",
        help=f"profiles of the target: {', '.join(PROFILES)}; default: all",
    )
    parser.add_argument(
        "--extension",
        type=_names,
        action="extend",
        metavar="NAME[,NAME]",
        help=f"extensions of the target: {', '.join(EXTENSIONS)}; default: all, or none when --profile is given",
    )
    parser.add_argument("--level", choices=tuple(LEVELS), default="8K", help="level of the target; default: 8K")
    parser.add_argument(
        "--tosa-version",
        choices=tuple(VERSIONS),
        default=str(NEWEST),
        help=f"version of TOSA of the target; default: {NEWEST}",
    )


def add_custom(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
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


def add_nnef(parser: argparse.ArgumentParser) -> None:
    """How an NNEF model is read."""
    parser.add_argument(
        "--inverted-scales",
        choices=("refuse", "yes", "no"),
        default="refuse",
        help="of an NNEF model's graph.quant: refuse scales that look upside down, or say whether they are",
    )


def inverted_of(args: argparse.Namespace) -> bool | None:
    """What `--inverted-scales` says; None where files that look like it are refused."""
    return {"refuse": None, "yes": True, "no": False}[args.inverted_scales]


def load_model(path: str, inverted_scales: bool | None = None) -> Graph:
    """The model at `path`; what its reader found odd is printed."""
    from ..load import load

    graph = load(path, inverted_scales=inverted_scales)
    warn(graph.warnings)
    return graph


def warn(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


def at_least(low: int) -> Callable[[str], int]:
    """An argparse type: a whole number of at least `low`."""

    def whole_number(text: str) -> int:
        if not text.lstrip("-").isdecimal() or int(text) < low:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of at least {low}")
        return int(text)

    return whole_number
