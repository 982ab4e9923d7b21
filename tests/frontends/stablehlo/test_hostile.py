"""Mutated text and bytecode: a graph or a typed error, whatever the bytes say."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from stablehlo_modules import DATA, mutated, needs_jaxlib, read

from tosa_engine.errors import TosaEngineError

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_jaxlib
FILES = [DATA / name for name in ("collatz.mlirbc", "cumulated.mlirbc", "orders.mlirbc", "collatz.hlo", "orders.hlo")]


@pytest.mark.slow("hundreds of files, each read by another process")
@pytest.mark.parametrize("path", FILES, ids=[path.name for path in FILES])
def test_mutated_files_are_graphs_or_typed_errors(path: Path, tmp_path: Path) -> None:
    rng, data = random.Random(path.name), path.read_bytes()
    place, errors, lines = tmp_path / f"model{path.suffix}", 0, []
    for _ in range(60):
        place.write_bytes(mutated(data, rng))
        try:
            read(place)
        except TosaEngineError as problem:
            errors += 1
            lines.append(str(problem))
    assert errors > 10
    assert not [line for line in lines if "\n" in line]
