"""The code blocks of README.md run, in order, in a folder beside the examples."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
# A convolution, ReLU, mean and linear layer as torch 2.13 wrote them (torch.onnx.export), an input, torch's output.
NETWORK = ROOT / "tests" / "data" / "readme"
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Block(NamedTuple):
    """A fenced block: its language, and its text."""

    language: str
    text: str


BLOCKS = [Block(*found) for found in re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone looks like, as far as the blocks need it."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    for file in NETWORK.iterdir():
        (folder / file.name).symlink_to(file)
    np.savez(folder / "data.npz", x=np.random.default_rng(0).normal(size=(8, 1, 3, 16, 16)).astype(np.float32))
    return folder


def test_the_first_screen_is_the_two_commands() -> None:
    assert BLOCKS[0] == Block("", "make demo\nmake test\n")
    assert README[: README.index("make demo")].count("\n") < 12
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    mentioned = re.findall(r"`?make ([a-z-]+)", README)
    assert {"demo", "test"} <= set(mentioned) <= set(targets)


def test_every_block_is_run_or_output() -> None:
    assert {block.language for block in BLOCKS} == {"", "text", "python", "sh", "console"}
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


@pytest.mark.parametrize("block", [block.text for block in BLOCKS if block.language == "sh"])
def test_commands_run(block: str, command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if ".onnx" in block:
        pytest.importorskip("onnx", reason="needs the extra `onnx`")
    monkeypatch.chdir(folder)
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "tosa-engine"
        outcome = command(*arguments)
        assert outcome.code == 0, f"{line}\n{outcome.err}"


def test_ten_lines_say_what_to_do_with_a_network_of_ones_own() -> None:
    """They stand before the demo's output; those with other programs were tried by hand."""
    start = README[: README.index("`make demo` takes")]
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```$", start, flags=re.MULTILINE | re.DOTALL)
    shown = [line.split() for text in blocks for line in text.splitlines()]
    assert len(shown) <= 10
    assert {words[0] for words in shown} == {"python", "tosa-engine"}
    assert {words[1] for words in shown if words[0] == "tosa-engine"} == {"run", "quantize", "report", "convert"}


def test_the_exit_codes_are_those_of_the_documentation() -> None:
    documented = re.findall(r"^\| (\d+) \|", (ROOT / "docs" / "exit-codes.md").read_text(), flags=re.MULTILINE)
    start = README.index("what kind:")
    mentioned = re.findall(r"\b(\d+) [a-z]", README[start : README.index("([more]", start)])
    assert mentioned == documented
