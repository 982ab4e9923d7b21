"""Functions of JAX as graphs, where jax is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tosa_engine import from_jax, load, oracle
from tosa_engine.errors import UsageError

PAGE = Path(__file__).parents[3] / "docs" / "stablehlo.md"
needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs the extra `jax`: make jax")


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="jax is installed")
def test_without_jax_the_error_says_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"^from_jax needs the package 'jax': pip install jax$"):
        from_jax(abs, np.ones(2, np.float32))


@pytest.mark.jax
@needs_jax
def test_a_function_with_trees_of_arguments_is_a_graph() -> None:
    def scaled(image: dict[str, object], factor: object) -> dict[str, object]:
        return {"sum": image["left"] + image["right"] * factor}  # type: ignore[operator]

    ones = np.ones((2, 3), np.float32)
    graph = from_jax(scaled, {"left": ones, "right": ones}, np.float32(1))
    assert [port.shape for port in graph.inputs] == [(2, 3), (2, 3), ()]
    feeds = {port.name: np.full(port.shape, n + 1, np.float32) for n, port in enumerate(graph.inputs)}
    (found,) = oracle.run(graph, feeds).values()
    np.testing.assert_array_equal(found, np.full((2, 3), 7))


@pytest.mark.jax
@needs_jax
def test_the_recipe_of_the_page_writes_integers(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    subprocess.run([sys.executable, "-c", block], cwd=tmp_path, check=True, timeout=300)
    graph = load.load(tmp_path / "network.tosa")
    assert {str(port.dtype) for port in (*graph.inputs, *graph.outputs)} == {"i8"}
