"""Generated official tests, kept per operator: what is finished is never generated again.

cache/tosa-tools-VERSION/SELECTION/suite/OPERATOR/operators/GROUP/FOLDER/TEST/desc.json

A part may be emptied: then its descriptions and graphs are there, but not the data to run them with.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

EMPTIED = "emptied"
RELEASES: Final = {"1.0": "1.0.2", "1.1-draft": "1.1.0-draft"}  # by the versions of targets, as the generator says
KEPT = ("desc.json", "test.json")
HERE = Path(__file__).resolve().parent
SIZED = re.compile(r"(?P<operator>.+)_\d+x\d+")  # conv2d_3x3: the tests of conv2d with this kernel


@dataclass(frozen=True)
class Selection:
    """Which official tests: those of a version for profiles and extensions; only those that the file `names` in this
    folder lists, where there is one.
    """

    version: str = "1.0.2"
    profiles: tuple[str, ...] = ("tosa-pro-int",)
    extensions: tuple[str, ...] = (
        "tosa-ext-int16", "tosa-ext-int4", "tosa-ext-doubleround", "tosa-ext-inexactround", "tosa-ext-controlflow",
        "tosa-ext-variable", "tosa-ext-dynamic",
    )  # fmt: skip
    names: str = ""

    @property
    def name(self) -> str:
        """What `--profile` calls it."""
        return next((name for name, one in SELECTIONS.items() if one == self), self.key)

    @property
    def arguments(self) -> list[str]:
        """The generator's arguments."""
        return [
            "--profile", *self.profiles, "--extension", *self.extensions, "--tosa-version", self.version,
        ]  # fmt: skip

    @property
    def target(self) -> str:
        """The same profiles and extensions in the specification's words, as graphs are checked against them.

        The tests of WHILE_LOOP count in i32, for whose comparison only PRO-INT has a row, and ask for PRO-FP alone.
        """
        names = [name.removeprefix("tosa-").upper() for name in (*self.profiles, *self.extensions)]
        return ",".join(names if "PRO-INT" in names else ["PRO-INT", *names])

    @property
    def tosa_version(self) -> str:
        """The version of the target that the tests' graphs are checked against."""
        return next(version for version, release in RELEASES.items() if release == self.version)

    @property
    def key(self) -> str:
        options = json.dumps({name: value for name, value in asdict(self).items() if value}, sort_keys=True)
        return f"{self.version}-{hashlib.sha256(options.encode()).hexdigest()[:10]}"

    @property
    def listed(self) -> frozenset[str] | None:
        """The names of its tests; None: all that the generator makes."""
        return frozenset((HERE / self.names).read_text(encoding="utf-8").split()) if self.names else None

    def wants(self, operator: str) -> str:
        """Which tests of an operator are made: positive, negative, both; nothing: none."""
        if self.listed is None:
            return "both"
        named = [re.fullmatch(rf"{operator}(?:_\d+x\d+(?:x\d+)?)?(?:(_ERRORIF)_|_\d).*", name) for name in self.listed]
        kinds = {"negative" if match[1] else "positive" for match in named if match}
        return "both" if len(kinds) == 2 else "".join(kinds)


FLOATS = ("tosa-ext-bf16", "tosa-ext-fp8e4m3", "tosa-ext-fp8e5m2", "tosa-ext-fft")
SELECTIONS: Final[Mapping[str, Selection]] = {
    "int": Selection(),
    "fp": Selection(
        profiles=("tosa-pro-fp",),
        extensions=(*FLOATS, "tosa-ext-controlflow", "tosa-ext-variable", "tosa-ext-dynamic"),
    ),
    # the generator spreads some tests over the formats of both profiles and makes others of them for one alone
    "both": Selection(
        profiles=("tosa-pro-int", "tosa-pro-fp"), extensions=(*Selection.extensions, *FLOATS), names="both.txt"
    ),
}


def selections(version: str) -> dict[str, Selection]:
    """The named selections of a version; a list of names is one of the usual version's names."""
    release = RELEASES[version]
    usual = release == Selection.version
    return {name: replace(one, version=release) for name, one in SELECTIONS.items() if usual or not one.names}


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


def last_lines(printed: str) -> str:
    """The end of what a command printed, on one line."""
    return "; ".join(line.strip() for line in printed[-3000:].splitlines() if line.strip())


def generate(selection: Selection, operator: str, cache: Path) -> Path:
    """The folder with the tests of an operator; without any test where the selection has none for it.

    Raises:
        DataError: the generator failed.
    """
    done = cache / "suite" / operator
    if done.is_dir() and not (done / EMPTIED).is_file():
        return done
    kind = selection.wants(operator)
    if not kind:
        done.mkdir(parents=True)
        return done
    part = cache / "unfinished" / operator
    shutil.rmtree(part, ignore_errors=True)
    tests = part / "tests"
    tests.mkdir(parents=True)
    command = [
        sys.executable, "-m", "conformance.tosa_verif_conformance_generator", *selection.arguments,
        "--build-directory", str(part / "build"), "--output-directory", str(tests), "--operators", operator,
        "--test-type", kind, "-j1",
    ]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=part, env=environment())
    if ran.returncode:
        raise DataError(f"the test generator failed on {operator}: {last_lines(ran.stdout + ran.stderr)}")
    done.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(done, ignore_errors=True)
    tests.rename(done)
    shutil.rmtree(part)
    return done


def listed(selection: Selection, operator: str, cache: Path) -> Path:
    """The folder with the tests of an operator, emptied or not; generated where it isn't there at all."""
    done = cache / "suite" / operator
    return done if done.is_dir() else generate(selection, operator, cache)


def empty(operator: str, cache: Path) -> None:
    """Delete the data of an operator's tests; `generate` makes them again."""
    done = cache / "suite" / operator
    (done / EMPTIED).touch()
    for test in done.rglob("desc.json"):
        for file in test.parent.iterdir():
            if file.name not in KEPT:
                file.unlink()


def size(folder: Path) -> int:
    """Bytes in the files below a folder, while others may be writing and deleting there."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                found += (Path(place) / name).stat().st_size
    return found


def tests_in(selection: Selection, folder: Path, part: Part) -> list[Path]:
    """The folders of a part's tests. Raises UsageError where it asks for a test folder that the selection lacks."""
    listed = selection.listed
    found = sorted(path.parent for path in folder.rglob("desc.json"))
    found = [path for path in found if listed is None or path.name in listed]
    wanted = [path for path in found if part.folder in ("", path.parent.name)]
    if part.folder and not wanted:
        there = sorted({path.parent.name for path in found})
        raise UsageError(f"no official tests for '{part.folder}'; there are some for: {', '.join(there)}")
    return wanted


def test_names(selection: Selection, cache: Path) -> set[str]:
    """The names of the tests that are there, emptied or not."""
    listed = selection.listed
    found = {path.parent.name for path in (cache / "suite").rglob("desc.json")}
    return found if listed is None else found & listed


def all_names(version: str, cache: Path) -> set[str]:
    """The names of all official tests of a version, of all profiles and extensions; listed once, which takes minutes.

    Raises:
        DataError: the generator failed.
    """
    done = cache / f"names-{version}.txt"
    if not done.is_file():
        part = cache / "unfinished" / "names"
        part.mkdir(parents=True, exist_ok=True)
        command = [
            sys.executable, "-m", "conformance.tosa_verif_conformance_generator", "--profile", "all",
            "--extension", "all", "--tosa-version", version, "--build-directory", str(part / "build"),
            "--output-directory", str(part / "tests"), "--list-tests-to-file", str(part / "names.txt"), "-j2",
        ]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=part, env=environment())
        if ran.returncode:
            raise DataError(f"the test generator failed on the list of names: {last_lines(ran.stderr)}")
        (part / "names.txt").rename(done)
        shutil.rmtree(part)
    return set(done.read_text(encoding="utf-8").split())
