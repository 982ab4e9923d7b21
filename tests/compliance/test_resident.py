"""`tosa-engine-reference` and the process behind it: who answers, who is started, what is left behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tosa_engine.compliance import resident

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

ONCE = '#!/bin/sh\necho "once $TOSA_ENGINE_SLOT" >&2\nexit 42\n'


class Place:
    """An installation with the client, and in place of the test's own process one that says that it was called."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.bin, self.folder = folder / "bin", folder
        self.bin.mkdir()
        self.client = self.bin / "tosa-engine-reference"
        shutil.copy(root / "tosa_engine" / "compliance" / "tosa-engine-reference", self.client)
        (self.bin / "tosa-engine-reference-once").write_text(ONCE)
        (self.bin / "tosa-engine-reference-once").chmod(0o755)
        self.slots = folder / "tosa-engine-reference" / str(self.bin).replace("/", "_")

    def ask(self, *words: str, **more: str) -> tuple[int, str]:
        environment = {"PATH": os.environ["PATH"], "XDG_RUNTIME_DIR": str(self.folder), **more}
        done = subprocess.run(
            [self.client, *words],
            capture_output=True,
            text=True,
            env=environment,
            cwd=self.folder,
            check=False,
            timeout=20,
        )
        return done.returncode, done.stderr

    def slot(self, number: int = 1) -> Path:
        path = self.slots / str(number)
        path.mkdir(mode=0o700, parents=True)
        return path


@pytest.fixture
def place(tmp_path: Path, root: Path) -> Place:
    return Place(tmp_path, root)


def serving(slot: Path, run: Callable[[Sequence[str]], int], idle: float = 0.2) -> threading.Thread:
    server = resident.Server(slot, run, idle)
    thread = threading.Thread(target=server.serve)
    thread.start()
    return thread


def test_a_server_answers_and_ends_when_it_is_idle(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    asked = []

    def run(words: Sequence[str]) -> int:
        asked.append((os.getcwd(), *words))
        if words == ["bug"]:
            raise ZeroDivisionError("a\\b\nc")
        sys.stderr.write(f"{words[0]} said\n")
        return 2

    slot = place.slot()
    thread = serving(slot, run, 1.0)
    assert place.ask("--test_desc", "a b/de%sc.json") == (2, "--test_desc said\n")
    assert place.ask("bug") == (70, "ZeroDivisionError: a\\b\nc\n")
    assert asked == [(str(place.folder), "--test_desc", "a b/de%sc.json"), (str(place.folder), "bug")]
    thread.join(10)
    assert not slot.exists()


def test_without_a_server_the_test_runs_once_and_one_is_asked_for(place: Place) -> None:
    assert place.ask("x") == (42, f"once {place.slots}/1\n")
    assert place.ask("x", TOSA_ENGINE_SERVER="0") == (42, "once \n")
    assert place.ask("x", "--no-server") == (42, "once \n")


def test_what_a_dead_server_left_keeps_nobody_waiting(place: Place) -> None:
    slot = place.slot()
    os.mkfifo(slot / "in")
    os.mkfifo(slot / "out")
    assert place.ask("x") == (42, f"once {slot}\n")
    assert place.ask("x") == (42, f"once {place.slots}/2\n")  # the first one's mark is still there


def test_a_client_whose_server_is_busy_asks_for_another(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    slot, going, end = place.slot(), threading.Event(), threading.Event()

    def run(words: Sequence[str]) -> int:
        going.set()
        end.wait(10)
        return 0

    thread = serving(slot, run)
    first = threading.Thread(target=place.ask, args=("x",))
    first.start()
    assert going.wait(10)
    assert place.ask("y") == (42, f"once {place.slots}/2\n")
    end.set()
    first.join(10)
    thread.join(10)


def test_a_changed_program_gets_a_new_server(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place.folder)
    monkeypatch.setattr(resident, "LOOK", 0.0)
    slot = place.slot()
    thread = serving(slot, lambda words: 0, 10.0)
    monkeypatch.setattr(resident, "fingerprint", lambda: (0, 0))
    assert place.ask("x") == (42, f"once {slot}\n")
    thread.join(10)
    assert not slot.exists()


def test_a_client_that_died_before_it_asked_is_forgotten(place: Place) -> None:
    slot = place.slot()
    done = subprocess.run(["/bin/sh", "-c", "echo $$"], capture_output=True, text=True, check=True)
    (slot / "taken").write_text(done.stdout)
    thread = serving(slot, lambda words: 0)
    thread.join(10)
    assert not slot.exists()


def test_servers_are_started_in_private_folders_alone(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: started.append(words))
    slot = place.slots / "1"
    assert resident.start(slot)
    assert place.slots.stat().st_mode & 0o777 == slot.stat().st_mode & 0o777 == 0o700
    assert not resident.start(slot)  # it is about to be there
    (slot / "pid").write_text(f"{os.getpid()}\n")
    assert not resident.start(slot)
    (slot / "pid").write_text("4194305\n")  # more than a process can have
    assert resident.start(slot)
    place.slots.chmod(0o755)
    shutil.rmtree(slot)
    assert not resident.start(slot)
    assert [words[-1] for words in started] == [str(slot)] * 2
