"""The sources of our packages, and what they import."""

from __future__ import annotations

import ast
import importlib.util
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = ("tosa_engine", "quant", "lut")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


class Import(NamedTuple):
    """One imported module, where, and whether only the type checker sees it."""

    module: str
    line: int
    typing_only: bool


def package_of(module: str, path: Path | None = None) -> str:
    return module if path is not None and path.name == "__init__.py" else module.rpartition(".")[0]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


@cache
def tree_of(source: str) -> ast.Module:
    """A syntax tree that nobody may change."""
    return ast.parse(source)


@cache
def imports_of(source: str, package: str) -> list[Import]:
    """All imports in the source of a module of `package`, the lazy ones too, with relative ones resolved."""
    tree = tree_of(source)
    typing_nodes = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for child in ast.walk(statement)
    }
    found: list[Import] = []
    for node in ast.walk(tree):
        only = id(node) in typing_nodes
        if isinstance(node, ast.Import):
            found += [Import(alias.name, node.lineno, only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found += [Import(base, node.lineno, only)] if node.module else []
            found += [Import(f"{base}.{alias.name}", node.lineno, only) for alias in node.names]
    return found
