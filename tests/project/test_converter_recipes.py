"""docs/pytorch.md and docs/scikit-learn.md: their blocks are those of the recipes, which run and give their numbers."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples" / "recipes"
PAGES = {"pytorch": "pytorch", "scikit-learn": "scikit_learn"}
NEEDED = {
    "pytorch": ("onnx", "onnxscript", "sklearn", "torch"),
    "scikit-learn": ("onnx", "skl2onnx", "sklearn"),
}
NUMBER = re.compile(r"-?\d+\.\d+")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def script(page: str) -> str:
    return (RECIPES / f"{PAGES[page]}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_shows_is_in_the_recipe(page: str) -> None:
    there = {line.strip() for line in script(page).splitlines()}
    shown = [line.strip() for text in blocks(page, "python") for line in text.splitlines() if line]
    assert len(shown) > 5
    assert [line for line in shown if line not in there] == []
    commands = re.search(r'COMMANDS = """\n(.*?)"""', script(page), flags=re.DOTALL)
    assert commands is not None
    assert blocks(page, "sh") == [commands[1]]


@pytest.mark.torch
@pytest.mark.parametrize("page", PAGES)
def test_the_recipe_gives_the_numbers_of_the_page(page: str, tmp_path: Path) -> None:
    """Training differs a little between processors: accuracies by 2 points, R2 by 0.02, distances by 6 dB."""
    missing = [name for name in NEEDED[page] if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs the extra `torch` ({', '.join(missing)}): make torch")
    done = subprocess.run(
        [sys.executable, RECIPES / f"{PAGES[page]}.py", "--out", tmp_path], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.count("EQUAL: ") == 2
    (table,) = blocks(page, "text")
    wanted, found = table.splitlines(), done.stdout.splitlines()[-len(table.splitlines()) :]
    assert [NUMBER.sub("", line).split() for line in found] == [NUMBER.sub("", line).split() for line in wanted]
    for line, other in zip(found, wanted, strict=True):
        units = (0.02 if "R2" in line else 2, 6)
        for got, expected, unit in zip(NUMBER.findall(line), NUMBER.findall(other), units, strict=False):
            assert float(got) == pytest.approx(float(expected), abs=unit), f"{line}\n{other}"
