"""The process behind `tosa-engine-reference`: it stays, so that a test takes no start of Python.

The command is a script of the shell, which has no sockets: a server has a folder with two pipes in it, `in` and `out`,
and answers one client at a time. A client that finds all servers busy starts another one. The file `taken` is made by
who has the server, and removed when it is free. Servers are the user's own (folders of mode 0700), end after a while
without work and when the program's files change, and end with a client that goes away while its test runs.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import shutil
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[Sequence[str]], int]

SLOT: Final = "TOSA_ENGINE_SLOT"  # where the client would have liked a server to be
IDLE: Final = 60.0  # seconds without work after which a server ends
LOOK: Final = 1.0  # seconds between two looks at what is left behind
STARTING: Final = 10.0  # seconds that a server may take until its pipes are there
SERVE: Final = "--serve"
UNIT, GONE = "\x1f", "gone"


def start(slot: Path) -> bool:
    """Start a server in a folder, unless one is there, or the folder isn't safe."""
    base = slot.parent
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _private(base) or _alive(slot):
            return False
        for old in base.iterdir():
            if not _alive(old):  # what a server left that was killed
                shutil.rmtree(old, ignore_errors=True)
        slot.mkdir(mode=0o700)
    except OSError:  # no place for it, or another process was faster
        return False
    null = subprocess.DEVNULL
    words = [sys.executable, "-m", "tosa_engine.compliance.reference", SERVE, str(slot)]
    subprocess.Popen(words, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/")
    return True


def _private(folder: Path) -> bool:
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _alive(slot: Path) -> bool:
    """Whether a server is in the folder, or about to be."""
    try:
        return _runs(int((slot / "pid").read_text(encoding="ascii")))
    except (OSError, ValueError):
        try:
            return time.time() - slot.stat().st_mtime < STARTING
        except OSError:
            return False


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def fingerprint() -> tuple[int, int]:
    """Another one where a file of the program was changed, added or removed."""
    times = [path.stat().st_mtime_ns for path in Path(__file__).parents[1].rglob("*.py")]
    return len(times), max(times)


class Server:
    """One client at a time; `run` gives the exit code for a client's words, and prints what is to be said."""

    def __init__(self, slot: Path, run: Run, idle: float = IDLE) -> None:
        self.slot, self.run, self.idle = slot, run, idle
        self.taken, self.made_of = slot / "taken", fingerprint()
        (slot / "pid").write_text(f"{os.getpid()}\n", encoding="ascii")
        os.mkfifo(slot / "in", 0o600)
        self.input = os.open(slot / "in", os.O_RDWR | os.O_NONBLOCK)
        self.output = self._opened()

    def _opened(self) -> int:
        """A new pipe for the next answer: what the last client still reads is its own."""
        path = self.slot / "next"
        os.mkfifo(path, 0o600)
        made = os.open(path, os.O_RDWR)
        path.rename(self.slot / "out")
        return made

    def serve(self) -> None:
        """Until there was nothing to do for a while, or the program has changed."""
        last = looked = time.monotonic()
        try:
            while True:
                line = self._line()
                if line:
                    if time.monotonic() - looked > LOOK and fingerprint() != self.made_of:
                        self._answer(GONE, "")
                        return
                    looked = time.monotonic()
                    self._one(line)
                    last = time.monotonic()
                elif not self._forgotten() and time.monotonic() - last > self.idle and self._claimed():
                    return
        finally:
            shutil.rmtree(self.slot, ignore_errors=True)

    def _line(self) -> str:
        """What a client wrote, when it is complete; empty where nothing came for a while."""
        found = b""
        while not found.endswith(b"\n"):
            ready, _, _ = select.select([self.input], [], [], min(LOOK, self.idle))
            if not ready:
                return ""
            found += os.read(self.input, 1 << 16)
        return found.decode("utf-8", "surrogateescape")[:-1]

    def _client(self) -> int:
        """The process that has this server; 0: none, or it hasn't said yet."""
        try:
            return int(self.taken.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0

    def _forgotten(self) -> bool:
        """Free the server where its client died before it asked; whether it is in use."""
        client = self._client()
        if client and not _runs(client):
            self.taken.unlink(missing_ok=True)
        return bool(client)

    def _claimed(self) -> bool:
        """Take the server ourselves, so that no client comes while it ends."""
        with contextlib.suppress(OSError):
            os.close(os.open(self.taken, os.O_CREAT | os.O_EXCL))
            return True
        return False

    def _one(self, line: str) -> None:
        folder, *words = line.split(UNIT)[:-1]
        done = threading.Event()
        threading.Thread(target=self._watch, args=(self._client(), done), daemon=True).start()
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                os.chdir(folder)
                code: object = self.run(words)
            except SystemExit as end:
                code = end.code
            except BaseException as problem:  # noqa: BLE001  # the client gets it; the server goes on
                code = 70
                said.write(f"{type(problem).__name__}: {problem}")
        done.set()
        self._answer(str(code), said.getvalue().rstrip("\n"))

    def _watch(self, client: int, done: threading.Event) -> None:
        """End all where the client goes away before its test is done."""
        while client and not done.wait(LOOK):
            if not _runs(client):
                shutil.rmtree(self.slot, ignore_errors=True)
                os._exit(1)

    def _answer(self, code: str, text: str) -> None:
        """Be free first: who reads the answer may ask again at once."""
        answer, self.output = self.output, self._opened()
        self.taken.unlink(missing_ok=True)
        os.set_blocking(answer, False)  # a client reads a line; a pipe holds it, and nobody is waited for
        line = f"{code} {text[:30000]}".replace("\\", "\\\\").replace("\n", "\\n")
        with contextlib.suppress(BlockingIOError):
            os.write(answer, line.encode("utf-8", "replace") + b"\n")
        os.close(answer)
