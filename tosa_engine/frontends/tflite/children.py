"""Arm's tools as processes of their own, with limits: the converter dies of some files.

`tosa-converter-for-tflite` makes text of MLIR, `tosa-opt` a TOSA flatbuffer. They are looked for beside the interpreter
first, then on PATH, so that they may be in another environment than this package.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

if os.name == "posix":
    import resource

from ...errors import DataError, Unsupported, UsageError
from .mlir import refuse_leftovers, unescaped, without_casts

CONVERTER: Final = "tosa-converter-for-tflite"
WRITER: Final = "tosa-opt"
PASSES: Final = ("--tosa-convert-integer-type-to-signless", "--tosa-serialize=tosa-flatbuffer-filename=model.tosa")
MEMORY: Final = (1 << 30, 48)  # bytes for any file, and for each byte of it: constants are text, several times over
THREAD: Final = 16 << 20  # bytes for each thread of a tool, which has one on each core
SECONDS: Final = (4, 1e-6)  # of processor time, the same way
PATIENCE: Final = 10  # how much longer a process may take where the machine has other work
DAMAGED: Final = ("not a valid Flatbuffer", "couldn't parse flatbuffer")


def tosa_of(model: bytes, name: str) -> bytes:
    """The TOSA flatbuffer that the tools make of a model; `name` is what errors call it.

    Raises UsageError where a tool isn't installed, DataError for a damaged file, Unsupported for what a tool refuses
    or dies of.
    """
    converter, writer = _tool(CONVERTER), _tool(WRITER)
    with tempfile.TemporaryDirectory(prefix="tosa-engine-") as folder:
        path = Path(folder)
        (path / "model.tflite").write_bytes(model)
        command = [converter, "model.tflite", "--text", "--emit-debug-info", "-o", "model.mlir"]
        _run(command, path, "model.mlir", len(model), name)
        text = (path / "model.mlir").read_text(encoding="utf-8", errors="surrogateescape")
        refuse_leftovers(text, name)
        (path / "model.mlir").write_text(without_casts(text, name), encoding="utf-8", errors="surrogateescape")
        _run([writer, *PASSES, "model.mlir", "-o", os.devnull], path, "model.tosa", len(model), name)
        return (path / "model.tosa").read_bytes()


def _tool(name: str) -> str:
    beside = os.path.dirname(sys.executable)
    found = shutil.which(name, path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if found is None:
        raise UsageError(
            f"reading TFLite needs the program '{name}': pip install 'tosa-engine[tflite]', or put it on PATH"
        )
    return found


def _run(command: list[str], folder: Path, result: str, size: int, name: str) -> None:
    """Run a tool that writes a file. Raises as `tosa_of`."""
    tool = Path(command[0]).name
    memory = int(MEMORY[0] + MEMORY[1] * size) + (os.cpu_count() or 1) * THREAD
    seconds = int(SECONDS[0] + SECONDS[1] * size)

    def limit() -> None:
        _at_most(resource.RLIMIT_AS, memory)
        _at_most(resource.RLIMIT_CPU, seconds)
        _at_most(resource.RLIMIT_FSIZE, memory)
        _at_most(resource.RLIMIT_CORE, 0)

    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=seconds * PATIENCE, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, "MALLOC_ARENA_MAX": "1"}, preexec_fn=limit if os.name == "posix" else None,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unsupported(f"{name}: {tool} took more than {seconds * PATIENCE} s") from None
    said = done.stderr.decode("utf-8", errors="replace")
    if any(words in said for words in DAMAGED):
        raise DataError(f"{name}: {tool} found the flatbuffer damaged")
    if done.returncode < 0:
        kind = signal.Signals(-done.returncode).name
        raise Unsupported(f"{name}: {tool} died of it ({kind}; it may have {memory >> 20} MB and {seconds} s)")
    if done.returncode or not (folder / result).is_file():
        raise Unsupported(f"{name}: {tool} refused it: {_reason(said)}")


def _at_most(kind: int, most: int) -> None:
    """A limit of this process, which stays below one that it has already."""
    hard = resource.getrlimit(kind)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(kind, (most, most))


def _reason(said: str) -> str:
    """What a tool says is wrong: the errors with a place in the model, else all errors, else the last line."""
    placed, found = [], []
    for line in said.splitlines():
        match = re.match(r"(?P<place>.*?):?\s*\berror: (?P<reason>.*)", line)
        if match is not None:
            names = re.findall(r'"((?:[^"\\]|\\.)*)"\(', match["place"])
            found.append(match["reason"])
            placed += [f"{match['reason']} (at '{unescaped(names[0])}')"] if names else []
    other = [line for line in said.splitlines() if line.strip()]
    return "; ".join(dict.fromkeys(placed or found)) or (other[-1] if other else "it said nothing")
