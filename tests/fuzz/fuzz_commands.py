"""Broken files for every verb, for FUZZ_MINUTES a scene: an exit code of ours, soon, in little memory, on clean lines.

    FUZZ_MINUTES=10 python -m pytest -q tests/fuzz/fuzz_commands.py

Each command line runs in a forked child with limits of processor time and memory. A finding is exit code 70, a signal,
more than 5 s of processor time (twice, since the first run may compile) or 1 GiB, a control character in what is
printed, or a name that begins a line of its own. What failed is kept in FUZZ_KEEP (default: the test's folder) with its
seed; FUZZ_SEED starts there, and FUZZ_SCENE chooses a scene.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import mutations
import pytest
from scene_files import make
from scenes import SCENES, Scene

from tosa_engine import cli
from tosa_engine.frontends.tflite.children import CONVERTER, WRITER
from tosa_engine.kernels import KERNELS  # so that no child has to import anything

if TYPE_CHECKING:
    from collections.abc import Callable

assert KERNELS
MINUTES = float(os.environ.get("FUZZ_MINUTES", "0.02"))
FIRST = int(os.environ.get("FUZZ_SEED", "0"))
CHOSEN = os.environ.get("FUZZ_SCENE", "")
SECONDS, MEMORY = 20, 2 << 30  # where a child is ended
SLOW, MUCH = 5.0, 1 << 20  # a finding: seconds of processor time; KiB more than before the fork
CLEAN = frozenset("\n\t")


class Child:
    """One command line in a process of its own: its exit code (minus a signal), what it printed, where it failed."""

    def __init__(self, line: str, folder: Path) -> None:
        self.out, self.err, self.place = folder / "out.txt", folder / "err.txt", folder / "place.txt"
        self.place.write_text("")
        before = resident()
        pid = os.fork()
        if pid == 0:
            self._run(line, folder)
        _, status, used = os.wait4(pid, 0)
        self.seconds = used.ru_utime + used.ru_stime
        self.memory = max(0, used.ru_maxrss - before)
        self.code = os.waitstatus_to_exitcode(status)

    def _run(self, line: str, folder: Path) -> None:
        code = 99
        try:
            os.chdir(folder)
            used = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            for number, file in ((1, self.out), (2, self.err)):
                os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.stdout, sys.stderr = (open(n, "w", encoding="utf-8", closefd=False) for n in (1, 2))  # noqa: SIM115
            report = cli._report

            def noted(error: BaseException, code: int, debug: bool) -> int:
                if code == cli.BUG or isinstance(error, MemoryError):
                    self.place.write_text("".join(traceback.format_exception(error))[-6000:], errors="replace")
                return report(error, code, debug)

            cli._report = noted
            code = cli.main(line.split())
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:  # noqa: BLE001  # a child never returns to the tests
            self.place.write_text(traceback.format_exc(), errors="replace")
        finally:
            os._exit(code)

    def finding(self) -> str:
        """What is wrong with how it ended, or nothing."""
        trace = self.place.read_text(errors="replace").strip().splitlines()
        if self.code not in range(7):
            return f"exit code {self.code}: {place_of(trace)}"
        if trace:
            return f"memory: {place_of(trace)}"
        if self.seconds > SLOW or self.memory > MUCH:
            return f"more than {SLOW:.0f} s or {MUCH >> 20} GiB, with exit code {self.code}"
        for stream in (self.out, self.err):
            text = stream.read_bytes().decode("utf-8", "replace")
            odd = next((c for c in text if not c.isprintable() and c not in CLEAN), "")
            if odd:
                line = next(one for one in text.split("\n") if odd in one)
                return f"control character {odd!r} in {stream.name}: {line[:60]!r}"
            forged = next((one for one in text.split("\n") if one.startswith(mutations.FORGED)), "")
            if forged:
                return f"a forged line in {stream.name}: {text[:300]!r}"
        return ""


def resident() -> int:
    """What this process holds in memory, in KiB."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * (resource.getpagesize() >> 10)


def place_of(trace: list[str]) -> str:
    """The last line of our code, and the exception."""
    ours = [
        line.strip()
        for line in trace
        if (line.strip().startswith("File ") and "/tosa_engine/" in line + "/") or "/quant/" in line
    ]
    last = ours[-1].split("/")[-1].replace('"', "") if ours else ""
    return f"{trace[-1][:150] if trace else 'no traceback'} [{last}]"


def pick(scene: Scene, rng: random.Random, pristine: Path) -> tuple[str, str]:
    """The file that is broken, and a command line that reads it."""
    pattern = rng.choice(scene.broken)
    name = str(rng.choice(sorted(pristine.glob(pattern))).relative_to(pristine))
    fitting = [
        line for line in scene.commands if "{broken}" in line or name in line or Path(name).parts[0] in line.split()
    ]
    return name, rng.choice(fitting or scene.commands).replace("{broken}", name)


def fuzz(
    scene: Scene, seconds: float, pristine: Path, keep: Path, first: int = FIRST
) -> tuple[Counter[int], dict[str, str]]:
    """Exit codes and how often, and findings with how to see them again."""
    codes: Counter[int] = Counter()
    found: dict[str, str] = {}
    seed, end = first, time.monotonic() + seconds
    work = keep / f"work_{scene.name}"
    while time.monotonic() < end:
        rng = random.Random(f"{scene.name} {seed}")
        name, line = pick(scene, rng, pristine)
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(
            pristine,
            work,
            ignore=lambda d, names, name=name: [
                n for n in names if d.endswith("operators") and not n.startswith(Path(name).stem + ".")
            ],
        )
        (work / name).write_bytes(mutations.broken(name, (pristine / name).read_bytes(), rng))
        child = Child(line, work)
        if child.seconds > SLOW:
            child = Child(line, work)
        codes[child.code] += 1
        problem = child.finding()
        if problem and problem not in found:
            kept = keep / f"{scene.name}_{seed}"
            shutil.copytree(work, kept, dirs_exist_ok=True)
            found[problem] = f"seed {seed}: cd {kept}; tosa-engine {line}"
            print(f"{scene.name}: {problem}\n    {found[problem]}", file=sys.stderr, flush=True)
        seed += 1
    return codes, found


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pristine")
    before = Path.cwd()
    os.chdir(folder)
    try:
        make(folder)
    finally:
        os.chdir(before)
    return folder


@pytest.mark.parametrize(
    "scene", [s for s in SCENES if not CHOSEN or s.name in CHOSEN.split(",")], ids=lambda s: s.name
)
def test_broken_files(scene: Scene, pristine: Path, tmp_path: Path, report: Callable[[str], None]) -> None:
    if scene.name == "tflite" and not all(shutil.which(tool) for tool in (CONVERTER, WRITER)):
        pytest.skip("needs the programs of the extra `tflite`")
    keep = Path(os.environ.get("FUZZ_KEEP", tmp_path))
    codes, found = fuzz(scene, MINUTES * 60, pristine, keep)
    report(f"{scene.name}: {sum(codes.values())} command lines, exit codes {dict(sorted(codes.items()))}")
    assert not found, "\n".join(f"{problem}\n    {how}" for problem, how in found.items())
