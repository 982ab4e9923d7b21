"""The pages of docs/ are true: generated ones are fresh, links lead somewhere, exit codes are those of the code."""

from __future__ import annotations

import importlib.util
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from import_order import MAY_IMPORT

from tosa_engine import cli, errors

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("examples/*/README.md"))]
FOLDERS = ("tosa_engine", "quant", "lut", "tests", "docs", "benchmarks", "conformance", "examples")
# what is in the repository, with a slash before each name, and one after those of folders
CONTENT = [
    f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}"
    for folder in FOLDERS
    for path in (ROOT / folder, *(ROOT / folder).rglob("*"))
    if "__pycache__" not in path.parts
]
SOURCES = [name for name in CONTENT if name.endswith(".py")]
LIBRARY = ROOT / "tosa_engine" / "frontends" / "skriptnd" / "library"
SKRIPTND = {  # operators by the modules of its library
    file.stem: set(re.findall(r"^ *operator (\w+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE))
    for file in LIBRARY.glob("*.sknd")
}
SUFFIXES = {"quant", "nnef", "tosa", "json", "npz", "tgz", "html"}  # of files that users have


@pytest.mark.parametrize(
    "name",
    [
        "generate_operators", "generate_matrix", "generate_nnef",
        pytest.param("generate_lut", marks=pytest.mark.slow("fits every table anew")),
    ],
)  # fmt: skip
def test_generated_pages_are_fresh(name: str) -> None:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert generator.PAGE.read_text(encoding="utf-8") == generator.page(), "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def in_code(text: str) -> Iterator[str]:
    """Words of what stands between backticks in the running text."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for code in re.findall(r"`([^`]+)`", prose):
        yield from re.findall(r"(?<!\S)[./*]*\w[\w./*]*", code)


@cache
def text_of(source: str) -> str:
    return (ROOT / source[1:]).read_text(encoding="utf-8")


def is_there(word: str) -> bool:
    """Whether a file, a folder, `module.name` or `Class.name` is there; True for words that are none of these."""
    if word.endswith((".py", "/")):
        pattern = re.sub(r"\b[A-Z]+\b", "*", word).removeprefix("./")  # FAMILY.py stands for any
        return word.startswith("../") or any(fnmatch(name, f"*/{pattern}") for name in CONTENT)
    *modules, name = word.split(".")
    if ".".join(modules) in SKRIPTND and name in SKRIPTND[".".join(modules)]:
        return True
    if not modules or name in SUFFIXES or not all(part.isidentifier() for part in (*modules, name)):
        return True
    if re.fullmatch(r"[A-Z]\w*[a-z]\w*", modules[-1]):
        owners = [s for s in SOURCES if re.search(rf"^class {modules[-1]}\b", text_of(s), flags=re.MULTILINE)]
        return not owners or any(re.search(rf"\b{name}\b", text_of(s)) for s in owners)
    if any(f"/{word.replace('.', '/')}{end}" in source for source in CONTENT for end in (".py", "/")):
        return True
    owners = [s for s in SOURCES if s.endswith((f"/{'/'.join(modules)}.py", f"/{'/'.join(modules)}/__init__.py"))]
    first = [s for s in SOURCES if f"/{modules[0]}/" in s or s.endswith(f"/{modules[0]}.py")]
    defined = re.compile(rf"^(def |class )?{name}\b|^    {name},?$|import .*\b{name}\b", flags=re.MULTILINE)
    return not first or any(defined.search(text_of(s)) for s in owners)


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "CHANGELOG.md"], ids=lambda p: p.name)
def test_what_pages_name_is_in_the_repository(page: Path) -> None:
    assert not {word for word in in_code(page.read_text(encoding="utf-8")) if not is_there(word)}


@pytest.mark.parametrize(
    "word",
    [
        "spec/nothing.py",
        "tosa_engine/nothing/",
        "tosa_engine.spec.nothing",
        "tosa_engine.nothing.at_all",
        "kernels.x",
        "Work.nothing",
    ],
)
def test_what_is_not_in_the_repository_is_found(word: str) -> None:
    assert not is_there(word)


def test_the_picture_of_imports_is_that_of_the_table() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Import order\n")[1]
    lines = [line.partition("#")[0].split() for line in text.split("```")[1].strip().splitlines()]
    level = {
        room if room in ("quant", "lut") else f"tosa_engine.{room.replace('/', '.')}": i
        for i, line in enumerate(lines)
        for room in line
    }
    table = {room: below for room, below in MAY_IMPORT.items() if room not in ("tosa_engine", "quant")}
    assert set(level) == {*table, "quant"}
    assert level["quant"] == 0
    assert [(room, other) for room in table for other in table[room] - {room} if level[other] <= level[room]] == []


def test_exit_codes_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE)}
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.TosaEngineError)]
    raised = {c.exit_code for c in classes if isinstance(c.exit_code, int)}
    assert documented == raised | {0, 1, cli.INPUT_OUTPUT, cli.BUG, cli.INTERRUPTED, cli.TERMINATED}
