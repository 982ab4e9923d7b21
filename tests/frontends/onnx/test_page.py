"""The table of operators in docs/onnx.md: all are in it, and what it says is what comes out today."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")

import generate_onnx as generator

from tosa_engine.frontends.onnx.operators import IMPOSSIBLE, OPERATORS

PAGE = generator.PAGE.read_text(encoding="utf-8").partition(generator.HEADING)[2]
ROWS = {found[1]: line for line in PAGE.splitlines() if (found := re.match(r"\| `(\w+)` \|", line))}


def test_every_operator_is_in_the_table() -> None:
    assert list(ROWS) == list(generator.operators())
    refused = {name for name, line in ROWS.items() if "| refused |" in line}
    assert refused == {name for domain, name in IMPOSSIBLE if not domain}
    for name, line in ROWS.items():
        assert ("| body |" not in line and "| computed |" not in line) or ("", name) not in OPERATORS


def test_operators_of_the_runtime_are_on_the_page() -> None:
    text = generator.PAGE.read_text(encoding="utf-8")
    assert all(name in text for domain, name in OPERATORS if domain)


@pytest.mark.slow("makes a graph of a node test of every operator")
def test_the_table_is_fresh() -> None:
    assert generator.page() == generator.PAGE.read_text(encoding="utf-8"), "run `python docs/generate_onnx.py`"
