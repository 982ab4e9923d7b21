"""The public face of `quant`: its names are there, importing it is cheap, and the documentation uses nothing else."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quant
import tosa_engine.compare

ROOT = Path(__file__).parents[2]
SKRIPTND_QUANT = ROOT / "tosa_engine" / "frontends" / "skriptnd" / "library" / "quant.sknd"
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PACKAGES = [quant, tosa_engine.compare]


def typed_names(package: object) -> set[str]:
    """What the type checker takes a package's names to be."""
    tree = ast.parse(Path(str(package.__file__)).read_text(encoding="utf-8"))  # type: ignore[attr-defined]
    assert "__getattr__" not in {getattr(node, "name", "") for node in tree.body}, "then any name would do"
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {alias.name for node in ast.walk(blocks[0]) if isinstance(node, ast.ImportFrom) for alias in node.names}


def paths(text: str) -> set[str]:
    """What a page or an example uses of quant: names of its face, or dotted paths behind it."""
    found = set(re.findall(r"(?<![\w./!])(?<!from )quant\.([\w.]*\w)", text))
    for module, names in re.findall(r"^ *from (quant[\w.]*) import (\([^)]*\)|.*)$", text, flags=re.MULTILINE):
        inside = module.removeprefix("quant").removeprefix(".")
        found |= {f"{inside}.{name}".strip(".") for name in re.findall(r"\w+", re.sub(r" as \w+", "", names))}
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_is_there_and_typed(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert len(names) == len(set(names))
    assert set(names) == typed_names(package)
    assert all(getattr(package, name) is not None for name in names)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_another_name_is_an_attribute_error(package: object) -> None:
    name = package.__name__  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=rf"^module '{re.escape(name)}' has no attribute 'quantise'$"):
        package.quantise  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_importing_it_imports_neither_numpy_nor_numba(package: object) -> None:
    name = package.__name__  # type: ignore[attr-defined]
    code = f"import sys, {name}; print('numpy' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda p: str(p.relative_to(ROOT)))
def test_documentation_uses_public_names_only(page: Path) -> None:
    inside = [
        f"{room}.{name}" for room in ("metrics", "report") for name in importlib.import_module(f"quant.{room}").__all__
    ]
    of_skriptnd = re.findall(r"^ *operator (\w+)", SKRIPTND_QUANT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    theirs = set(of_skriptnd) if page.name == "skriptnd.md" else set()
    assert paths(page.read_text(encoding="utf-8")) <= {*quant.__all__, *inside, *theirs}


def test_a_private_path_is_found() -> None:
    assert paths("`quant.legalize.quantize.quantize`") == {"legalize.quantize.quantize"}
    assert paths("from quant.legalize.layers import LayerRule") == {"legalize.layers.LayerRule"}
    assert paths("from quant import (\n    Scheme,\n    attach as a,\n)") == {"Scheme", "attach"}
    assert paths("graph.quant is in tests/quant/test_rules.py; quant.calibrate, and model.quant") == {"calibrate"}
