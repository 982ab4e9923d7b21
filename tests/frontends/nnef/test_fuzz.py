"""Damaged documents end in typed errors: random texts from the grammar's words, and mutations of a real document."""

from __future__ import annotations

import random
from pathlib import Path

import fuzz_nnef
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tosa_engine import check
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef import mapping
from tosa_engine.frontends.nnef.document import parse_text
from tosa_engine.frontends.nnef.language.library import standard_library
from tosa_engine.passes import run_pipeline

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.nnef"
TEXT = (DIGITS / "graph.nnef").read_text(encoding="utf-8")
WORDS = (
    "version", "extension", "graph", "fragment", "->", *"()[]{},;=:<>?", "true", "false", "scalar", "integer",
    "logical",
    *standard_library(), "x", "y", "z", "input", "padding", "shape", "axes", "label", "1.0", "0", "1", "-1",
    "2147483647", "99999999999999999999", "1e400", "''", "'constant'", '"ignore"', "#", "\n", "\0", "é",
)  # fmt: skip
NUMBERS = ("0", "2", "3", "7", "16", "-1", "65536", "2147483647", "0.5", "1e-5")


def survives(text: str) -> bool:
    """Parse, map and check a text over the digits tensor files; True when it is a legal document."""
    try:
        document = parse_text(text, "graph.nnef")
        document.container = nnef.open_container(DIGITS)
        graph = run_pipeline(mapping.map_document(document))
    except TosaEngineError:
        return False
    check.check(graph)
    return True


@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_texts_of_random_words(text: str) -> None:
    assert not survives(text)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_bodies_of_random_words(body: str) -> None:
    survives("version 1.0; graph g(x) -> (y) { x = external(shape = [1, 3, 4, 4]); y = relu(x); z = " + body + "; }")


def mutations(seed: int) -> str:
    """The digits document with a few words or characters deleted, doubled, swapped or replaced."""
    rng = random.Random(seed)
    text = TEXT
    for _ in range(rng.randint(1, 3)):
        kind, at = rng.randrange(6), rng.randrange(len(text))
        stop = min(len(text), at + rng.choice([1, 1, 1, 3, 20]))
        if kind == 0:
            text = text[:at] + text[stop:]
        elif kind == 1:
            text = text[:stop] + text[at:]
        elif kind == 2:
            text = text[:at] + rng.choice(WORDS) + text[stop:]
        elif kind == 3:
            text = text[:at] + chr(rng.randrange(1, 256)) + text[stop:]
        elif kind == 4:
            lines = text.split("\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        else:  # another number in place of one
            digits = [i for i, c in enumerate(text) if c.isdigit()]
            i = rng.choice(digits)
            text = text[:i] + rng.choice(NUMBERS) + text[i + 1 :]
    return text


@pytest.mark.parametrize("block", range(8))
def test_mutated_documents(block: int) -> None:
    for seed in range(block * 60, block * 60 + 60):
        survives(mutations(seed))


def test_the_unchanged_document_survives() -> None:
    assert survives(TEXT)


def test_cut_documents() -> None:
    for stop in range(0, len(TEXT.rstrip()) - 1, 97):
        assert not survives(TEXT[:stop])


@pytest.mark.parametrize("target", fuzz_nnef.TARGETS)
def test_a_second_of_hostile_input(target: str, tmp_path: Path) -> None:
    tried, _, _ = fuzz_nnef.fuzz(target, 1.0, tmp_path)
    assert tried > 0
