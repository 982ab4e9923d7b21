"""Reading a file in a process of its own: jaxlib dies of some bytes, and takes long over others."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING, Any, Final

from ...errors import DataError, Unsupported, UsageError
from . import child
from .module import module_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .module import Module

MEMORY: Final = (4 << 30, 64)  # bytes for any file, and for each byte of it
SECONDS: Final = (60, 1e-5)  # of time, the same way
KINDS: Final = {".hlo": "hlo", ".pb": "proto"}
ERRORS: Final = {"data": DataError, "unsupported": Unsupported, "usage": UsageError}
MISSING: Final = "reading StableHLO and HLO needs the package 'jaxlib': pip install 'tosa-engine[stablehlo]'"
HEADER: Final = struct.Struct("<QQ")


def kind_of_file(path: Path) -> str:
    """What a file is by its name: "hlo", "proto", or "mlir", which is text or bytecode."""
    return KINDS.get(path.suffix, "mlir")


def read_module(path: Path, **request: Any) -> Module:
    """The module of a file. `request`: shapes, dims and constants by name.

    Raises UsageError where jaxlib isn't installed and for names that the model hasn't, DataError for what is no module,
    Unsupported for what jaxlib refuses or dies of.
    """
    with Process(path.stat().st_size) as process:
        return process.read(path, **request)


class Process:
    """The reading process. After an error of its own it is started anew."""

    def __init__(self, size: int = 0) -> None:
        self.memory = int(MEMORY[0] + MEMORY[1] * size)
        self.seconds = SECONDS[0] + SECONDS[1] * size
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed in `__exit__`

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._said.close()

    def read(self, path: Path, **request: Any) -> Module:
        """As `read_module`."""
        line = json.dumps({"path": str(path), "kind": kind_of_file(path), **request}) + "\n"
        plain, blob = self._answer(line.encode(), path.name)
        if "error" in plain:
            raise ERRORS[plain["error"]](f"{path.name}: {plain['message']}")
        try:
            return module_of(plain, blob)
        except (DataError, Unsupported) as problem:
            raise type(problem)(f"{path.name}: {problem.message}") from None

    def _answer(self, line: bytes, name: str) -> tuple[Mapping[str, Any], bytes]:
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            raise self._died(name) from None
        end = time.monotonic() + self.seconds
        header = self._bytes(HEADER.size, end, name)
        sizes = HEADER.unpack(header)
        text = self._bytes(sizes[0], end, name)
        return json.loads(text), self._bytes(sizes[1], end, name)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, child.__file__, str(self.memory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=self._said, env={**os.environ, "MALLOC_ARENA_MAX": "1", "TF_CPP_MIN_LOG_LEVEL": "3"},
            )  # fmt: skip
        return self._process

    def _bytes(self, count: int, end: float, name: str) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        found = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while len(found) < count:
                if not selector.select(max(end - time.monotonic(), 0)):
                    self._end()
                    raise Unsupported(f"{name}: jaxlib took more than {self.seconds:.0f} s")
                part = os.read(self._process.stdout.fileno(), min(count - len(found), 1 << 24))
                if not part:
                    raise self._died(name)
                found += part
        return bytes(found)

    def _died(self, name: str) -> Exception:
        assert self._process is not None
        self._said.seek(0)
        said = self._said.read(1 << 20).decode("utf-8", errors="replace").strip().splitlines()
        self._said.seek(0)
        self._said.truncate()
        code = self._process.wait()
        self._end()
        if said and said[-1].startswith("import: "):
            return UsageError(f"{MISSING} ({said[-1].removeprefix('import: ')})")
        if code < 0:
            kind = signal.Signals(-code).name
            return Unsupported(f"{name}: jaxlib died of it ({kind}; it may have {self.memory >> 20} MB)")
        return Unsupported(f"{name}: jaxlib refused it: {said[-1][:500] if said else 'it said nothing'}")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # what it was being told when it died
                    stream.close()
        process.wait()
