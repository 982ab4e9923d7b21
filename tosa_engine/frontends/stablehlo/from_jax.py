"""Functions of JAX as graphs, without a file of the user's."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from .source import ModuleSource

if TYPE_CHECKING:
    from ...graph import Graph


def from_jax(function: Any, *example_arrays: Any) -> Graph:
    """The TOSA graph of a function of JAX for arrays of these shapes and types; their values don't matter.

    Arguments may be trees of arrays; weights that the function closes over are constants. Inputs have the names of the
    arguments, outputs those of the results. Raises UsageError where jax isn't installed, and as `load`.
    """
    try:
        import jax  # type: ignore[import-not-found]
    except ImportError:
        raise UsageError("from_jax needs the package 'jax': pip install jax") from None
    compiled = function if hasattr(function, "lower") else jax.jit(function)
    text = compiled.lower(*example_arrays).as_text(debug_info=True)
    with tempfile.TemporaryDirectory(prefix="tosa-engine-") as folder:
        path = Path(folder) / f"{getattr(function, '__name__', 'function')}.mlir"
        path.write_text(text, encoding="utf-8")
        graph = ModuleSource(path).graph()
    graph.source = path.name
    return graph
