"""The code blocks of README.md run, in order, in a folder beside the examples."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block: its language, and its text."""

    language: str
    text: str


BLOCKS = [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)]


def lines(language: str) -> list[str]:
    return [line for block in BLOCKS if block.language == language for line in block.text.splitlines() if line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone looks like, as far as the blocks need it."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    return folder


def test_the_first_screen_is_the_two_commands() -> None:
    assert BLOCKS[0] == Block("", "make demo\nmake test\n")
    assert README[: README.index("make demo")].count("\n") < 12
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    mentioned = re.findall(r"`?make ([a-z-]+)", README)
    assert {"demo", "test"} <= set(mentioned) <= set(targets)


def test_every_block_is_run_or_output() -> None:
    assert {block.language for block in BLOCKS} == {"", "text", "python", "sh"}
    assert [block for block in BLOCKS if not block.language] == BLOCKS[:1]


def test_python_blocks_run(folder: Path) -> None:
    blocks = [block.text for block in BLOCKS if block.language == "python"]
    assert blocks
    for text in blocks:
        assert len([line for line in text.splitlines() if line]) <= 10
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", text], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        label = re.search(r"seen: (\d) label: (\d)", done.stdout)
        assert label is not None
        assert label[1] == label[2]


def test_commands_run(command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for line in lines("sh"):
        program, *arguments = shlex.split(line)
        assert program == "tosa-engine"
        outcome = command(*arguments)
        assert outcome.code == 0, f"{line}\n{outcome.err}"


def test_the_exit_codes_are_those_of_the_documentation() -> None:
    documented = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "exit-codes.md").read_text(), flags=re.MULTILINE)
    start = README.index("what kind:")
    mentioned = re.findall(r"\b(\d+) [a-z]", README[start : README.index("([more]", start)])
    assert mentioned == documented
