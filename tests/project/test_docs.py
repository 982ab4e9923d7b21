"""The pages of docs/ are true: generated ones are fresh, links lead somewhere, exit codes are those of the code."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tosa_engine import cli, errors

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md")), ROOT / "examples" / "digits" / "README.md"]


@pytest.mark.parametrize("name", ["generate_operators", "generate_matrix", "generate_nnef", "generate_lut"])
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


def test_exit_codes_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, flags=re.MULTILINE)}
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.TosaEngineError)]
    raised = {c.exit_code for c in classes if isinstance(c.exit_code, int)}
    assert documented == raised | {0, 1, cli.INPUT_OUTPUT, cli.BUG, cli.INTERRUPTED}
