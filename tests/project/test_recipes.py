"""The recipes of docs/recipes.md run, in order, and print what the page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
MARK = "=== block {} ==="


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recipes")
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    return folder


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[int, str]:
    """What each Python block printed, by its number; they share one process, as on a reader's screen."""
    blocks = [(i, text) for i, (language, text) in enumerate(BLOCKS) if language == "python"]
    script = "\n".join(f"print({MARK.format(i)!r})\n{text}" for i, text in blocks)
    (folder / "recipes.py").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "recipes.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    parts = re.split(r"^=== block (\d+) ===\n", done.stdout, flags=re.MULTILINE)
    return {int(number): text for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_block_is_code_its_output_or_a_command() -> None:
    languages = [language for language, _ in BLOCKS]
    assert set(languages) == {"python", "text", "sh"}
    assert languages.count("python") == languages.count("text")
    assert all(languages[i - 1] == "python" for i, language in enumerate(languages) if language == "text")


@pytest.mark.parametrize("number", [i for i, (language, _) in enumerate(BLOCKS) if language == "python"])
def test_recipes_print_what_the_page_says(number: int, printed: dict[int, str]) -> None:
    assert printed[number] == BLOCKS[number + 1][1]


def test_commands_run(printed: dict[int, str], command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    lines = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines()]
    assert len(lines) > 5
    for line in lines:
        program, *arguments = shlex.split(line)
        assert program == "tosa-engine"
        outcome = command(*arguments)
        assert outcome.code == 0, f"{line}\n{outcome.err}"
