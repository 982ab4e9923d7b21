"""Modules of StableHLO as text: read in one process for all tests, mapped, and run on the oracle."""

from __future__ import annotations

import importlib.util
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import oracle
from tosa_engine.frontends.stablehlo.mapping import ModuleMapper
from tosa_engine.frontends.stablehlo.reading import Process
from tosa_engine.passes import run_pipeline

if TYPE_CHECKING:
    import random

    from tosa_engine.graph import Graph

needs_jaxlib = pytest.mark.skipif(
    importlib.util.find_spec("jaxlib") is None, reason="reading StableHLO needs the extra 'stablehlo'"
)
needs_newer = pytest.mark.skipif(
    needs_jaxlib.args[0] or version("jaxlib").startswith("0.6."), reason="jaxlib 0.6 doesn't read this"
)
DATA = Path(__file__).parents[1] / "data" / "stablehlo"  # ten networks of JAX (jax_networks.py)
_PROCESS = Process()
PIECES = (
    b"0",
    b"-1",
    b"9223372036854775807",
    b"tensor<",
    b"?",
    b"i64",
    b"f32",
    b"(",
    b"}",
    b'"',
    b"add",
    b"complex<f32>",
)  # what a mutation puts in


def graph(text: str, *, suffix: str = ".mlir", within: Any = None, **request: Any) -> Graph:
    """The graph of a module."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        path.write_text(text, encoding="utf-8")
        return read(path, within, **request)


def read(path: Path, within: Any = None, **request: Any) -> Graph:
    """The graph of a file."""
    return run_pipeline(ModuleMapper(_PROCESS.read(path, **request), path.name, within).graph())


def main(arguments: str, body: str, result: str) -> str:
    """A module with one function: `body` gives %out, whose type is `result`."""
    return f"func.func @main({arguments}) -> {result} {{\n{body}\nreturn %out : {result}\n}}"


def run(text: str, *arrays: Any, **options: Any) -> list[Any]:
    """The outputs of a module for arrays in the order of its inputs; unsigned ones go by their bits."""
    made = graph(text, **options)
    feeds = {}
    for port, array in zip(made.inputs, arrays, strict=True):
        values = np.asarray(array)
        wanted = port.dtype.storage
        same = values.dtype.kind == "u" and values.dtype.itemsize == wanted.itemsize
        feeds[port.name] = values.view(wanted) if same else values.astype(wanted)
    found = oracle.run(made, feeds)
    return [found[name] for name in made.main.outputs]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Bytes changed, cut out, put in, repeated."""
    found = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, kind = rng.randrange(len(found)), rng.randrange(4)
        if kind == 0:
            found[at] = rng.randrange(256)
        elif kind == 1 and len(found) > 40:
            del found[at : at + rng.randrange(1, 20)]
        elif kind == 2:
            found[at:at] = rng.choice(PIECES)
        else:
            other = rng.randrange(len(found))
            found[at:at] = found[other : other + rng.randrange(1, 60)]
    return bytes(found)
