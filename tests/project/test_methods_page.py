"""docs/methods.md: it holds the rows of its generator, what they promise, and numbers that can be measured again."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tosa_engine.load import load

ROOT = Path(__file__).parents[2]


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_methods", ROOT / "docs" / "generate_methods.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


METHODS = generator()


def section(title: str) -> dict[str, list[str]]:
    """Flags -> the other cells, of the table under a heading of the page."""
    text = METHODS.PAGE.read_text(encoding="utf-8").split(f"## {title}")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ") and "SQNR" not in line]
    return {cells[0].strip("`"): cells[1:] for cells in rows}


def number(cell: str) -> float:
    found = re.match(r"[-+]?\d+\.\d+", cell)
    assert found is not None, cell
    return float(found[0])


def lost(flags: str) -> float:
    """Points of accuracy on the digits."""
    return -number(section("Digits")[flags][1])


def sqnr(title: str, flags: str) -> float:
    return number(section(title)[flags][-1])


def test_the_page_has_the_words_and_rows_of_its_generator() -> None:
    before, after = METHODS.INTRODUCTION.split("{minutes}")
    text = METHODS.PAGE.read_text(encoding="utf-8")
    assert text.startswith(before)
    assert after in text
    assert list(section("Digits")) == ["*float*", *METHODS.DIGITS]
    assert list(section("Two layers, 1000 to 1")) == ["none", *METHODS.LAYERS[1:]]
    assert list(section("A transformer block with outliers")) == ["none", *METHODS.BLOCK[1:]]
    assert list(section("The encoder block of the benchmarks")) == ["none", *METHODS.PLAIN_BLOCK[1:]]


def test_what_the_page_says_of_the_digits() -> None:
    assert abs(lost("--method mse")) <= 0.3
    assert abs(lost("--bits 16")) <= 0.1
    assert lost("--weight-bits 4 --rounding adaround") <= 1.0
    assert sqnr("Digits", "--weight-bits 4 --rounding adaround") > sqnr("Digits", "--weight-bits 4") + 5


def test_what_the_page_says_of_collapse_and_recovery() -> None:
    two, block = "Two layers, 1000 to 1", "A transformer block with outliers"
    assert sqnr(two, "none") < 6 < 30 < sqnr(two, "--equalize")
    assert sqnr(block, "none") + 10 < sqnr(block, "--bits 16")
    assert sqnr(block, "none") + 10 < sqnr(block, "--smooth 0.5")
    plain = "The encoder block of the benchmarks"
    assert sqnr(plain, "none") + 15 < sqnr(plain, "--bits 16")


@pytest.mark.parametrize("flags", METHODS.LAYERS[:2])
def test_the_two_layers_measured_again(flags: str, tmp_path: Path) -> None:
    network = METHODS.of_random_inputs(load(METHODS.example_networks().two_layers(tmp_path / "two.nnef")))
    found, _ = METHODS.measured(network, flags)
    assert found == pytest.approx(sqnr("Two layers, 1000 to 1", flags or "none"), abs=0.3)


def test_the_block_measured_again(tmp_path: Path) -> None:
    network = METHODS.of_random_inputs(load(METHODS.example_networks().block(tmp_path / "block.nnef")))
    for flags in ("", "--smooth 0.5"):
        found, _ = METHODS.measured(network, flags)
        assert found == pytest.approx(sqnr("A transformer block with outliers", flags or "none"), abs=0.3)


def test_digits_with_weights_of_4_bits_measured_again() -> None:
    """With fewer samples than the page has, to be quick."""
    network = METHODS.digits()
    small = METHODS.Network(network.graph, network.fit[:16], network.judge[:200], network.labels[:200])
    found, accuracy = METHODS.measured(small, "--weight-bits 4 --rounding adaround")
    plain, _ = METHODS.measured(small, "--weight-bits 4")
    assert accuracy >= METHODS.accuracy_of_floats(small) - 1.0
    assert found > plain + 3
