"""`tosa-engine version`: ours and those of what we run on."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from typing import TYPE_CHECKING

from ..text import say

if TYPE_CHECKING:
    import argparse

LIBRARIES = ("numpy", "numba", "llvmlite", "flatbuffers", "lark")


def versions() -> dict[str, str]:
    """Name -> version, read from the installed distributions; nothing is imported."""
    found = {"tosa-engine": metadata.version("tosa-engine"), "python": platform.python_version()}
    found |= {name: metadata.version(name) for name in LIBRARIES}
    return found | {"machine": f"{platform.system()} {platform.machine()}"}


class _Version:
    name = "version"
    help = "print the versions of the engine and its libraries"
    example = "version --format json"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--format", choices=("text", "json"), default="text", help="of what is printed")

    def run(self, args: argparse.Namespace) -> int:
        found = versions()
        if args.format == "json":
            say(*json.dumps(found, indent=2).split("\n"))
        else:
            say(*(f"{name:12} {version}" for name, version in found.items()))
        return 0


command = _Version()
