"""Generated official tests, kept per operator: what is finished is never generated again.

cache/tosa-tools-VERSION/SELECTION/suite/OPERATOR/operators/GROUP/FOLDER/TEST/desc.json
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

SIZED = re.compile(r"(?P<operator>.+)_\d+x\d+")  # conv2d_3x3: the tests of conv2d with this kernel


@dataclass(frozen=True)
class Selection:
    """Which official tests: those of a version for profiles and extensions."""

    version: str = "1.0.2"
    profiles: tuple[str, ...] = ("tosa-pro-int",)
    extensions: tuple[str, ...] = (
        "tosa-ext-int16", "tosa-ext-int4", "tosa-ext-doubleround", "tosa-ext-inexactround", "tosa-ext-controlflow",
        "tosa-ext-variable", "tosa-ext-dynamic",
    )  # fmt: skip

    @property
    def arguments(self) -> list[str]:
        """The generator's arguments."""
        return [
            "--profile", *self.profiles, "--extension", *self.extensions, "--tosa-version", self.version,
        ]  # fmt: skip

    @property
    def target(self) -> str:
        """The same profiles and extensions in the specification's words."""
        return ",".join(name.removeprefix("tosa-").upper() for name in (*self.profiles, *self.extensions))

    @property
    def key(self) -> str:
        options = json.dumps(asdict(self), sort_keys=True)
        return f"{self.version}-{hashlib.sha256(options.encode()).hexdigest()[:10]}"


SELECTIONS: Final[Mapping[str, Selection]] = {
    "int": Selection(),
    "fp": Selection(
        profiles=("tosa-pro-fp",),
        extensions=(
            "tosa-ext-bf16", "tosa-ext-fp8e4m3", "tosa-ext-fp8e5m2", "tosa-ext-fft", "tosa-ext-controlflow",
            "tosa-ext-variable", "tosa-ext-dynamic",
        ),
    ),
}  # fmt: skip


@dataclass(frozen=True, order=True)
class Part:
    """One operator of the official generator, and of its test folders one, or all where `folder` is empty."""

    operator: str
    folder: str = ""

    @property
    def name(self) -> str:
        return self.folder or self.operator


def tools_version() -> str:
    """Raises UsageError where tosa-tools isn't installed."""
    try:
        return importlib.metadata.version("tosa-tools")
    except importlib.metadata.PackageNotFoundError:
        raise UsageError("tosa-tools isn't installed; try: make conformance, or pip install '.[conformance]'") from None


def known_operators(selection: Selection) -> list[str]:
    """The operators that the official generator has tests for, of any profile and version."""
    package = importlib.util.find_spec("conformance.tosa_profiles")
    if package is None or package.origin is None:
        raise UsageError("tosa-tools has no package 'conformance'; is another one in its way?")
    major = selection.version.split(".", maxsplit=1)[0]
    config = Path(package.origin).with_name(f"cts-config_v{major}.0.json")
    try:
        names = json.loads(config.read_text(encoding="utf-8"))
    except OSError as problem:
        raise DataError(f"{config}: {problem.strerror}") from problem
    return [name for name in names if not name.startswith("$")]


def parts_of(requests: list[str], known: list[str]) -> list[Part]:
    """The parts that the requests name: operators in upper or lower case, or folders such as conv2d_3x3."""
    parts: list[Part] = []
    for request in requests:
        name = request.lower()
        sized = SIZED.fullmatch(name)
        if name in known:
            parts.append(Part(name))
        elif sized is not None and sized["operator"] in known:
            parts.append(Part(sized["operator"], name))
        else:
            raise UsageError(f"no official tests for '{request}'; there are some for: {', '.join(known)}")
    return list(dict.fromkeys(parts))


def environment(*modules: Path) -> dict[str, str]:
    """The environment for Arm's tools: they find each other on PATH, and `modules` on Python's path."""
    paths = [*map(str, modules), *filter(None, [os.environ.get("PYTHONPATH")])]
    commands = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": commands, "PYTHONPATH": os.pathsep.join(paths)}


def generate(selection: Selection, operator: str, cache: Path) -> Path:
    """The folder with the tests of an operator; without any test where the selection has none for it.

    Raises:
        DataError: the generator failed.
    """
    done = cache / "suite" / operator
    if done.is_dir():
        return done
    part = cache / "unfinished" / operator
    shutil.rmtree(part, ignore_errors=True)
    tests = part / "tests"
    tests.mkdir(parents=True)
    command = [
        sys.executable, "-m", "conformance.tosa_verif_conformance_generator", *selection.arguments,
        "--build-directory", str(part / "build"), "--output-directory", str(tests), "--operators", operator, "-j1",
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=part, env=environment())
    if ran.returncode:
        raise DataError(f"the test generator failed on {operator}:\n{ran.stdout[-1000:]}{ran.stderr[-3000:]}")
    done.parent.mkdir(parents=True, exist_ok=True)
    tests.rename(done)
    shutil.rmtree(part)
    return done


def tests_in(folder: Path, part: Part) -> list[Path]:
    """The folders of a part's tests. Raises UsageError where it asks for a test folder that the selection lacks."""
    found = sorted(path.parent for path in folder.rglob("desc.json"))
    wanted = [path for path in found if part.folder in ("", path.parent.name)]
    if part.folder and not wanted:
        there = sorted({path.parent.name for path in found})
        raise UsageError(f"no official tests for '{part.folder}'; there are some for: {', '.join(there)}")
    return wanted
