"""Mutated text and bytecode: a graph or a typed error, whatever the bytes say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from stablehlo_modules import needs_jaxlib, read

from tosa_engine.errors import TosaEngineError

pytestmark = needs_jaxlib
DATA = Path(__file__).parents[2] / "data" / "stablehlo"
FILES = [DATA / name for name in ("collatz.mlirbc", "cumulated.mlirbc", "orders.mlirbc", "collatz.hlo", "orders.hlo")]
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
)


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
