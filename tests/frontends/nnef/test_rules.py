"""Every rule of the language has a document that breaks it, and nothing but it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from nnef_broken import BROKEN, QUANT, document, flat, fragment

from tosa_engine.errors import ParseError, TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.document import parse_text
from tosa_engine.frontends.nnef.language.parser import parse_quant
from tosa_engine.frontends.nnef.language.rules import RULES

SOURCES = Path(nnef.__file__).parent


@pytest.mark.parametrize(
    ("label", "text", "message"), BROKEN, ids=[f"{label}-{i}" for i, (label, *_) in enumerate(BROKEN)]
)
def test_a_broken_rule_is_named(label: str, text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_text(text, "graph.nnef")
    assert (caught.value.label, caught.value.message.split(", in '")[0]) == (label, message)
    assert caught.value.line > 1
    assert str(caught.value).endswith("^")


@pytest.mark.parametrize(("label", "text", "message"), QUANT)
def test_a_broken_rule_of_quantization_files_is_named(label: str, text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_quant(text, "graph.quant")
    assert (caught.value.label, caught.value.message) == (label, message)


def test_what_the_broken_documents_start_from_is_legal() -> None:
    parse_text(document("y = f(x, n = 2);"), "graph.nnef")
    parse_text(fragment("b = relu(a);"), "graph.nnef")
    parse_text(flat("y = relu(x);"), "graph.nnef")


def test_every_rule_has_a_broken_document_and_every_label_a_rule() -> None:
    assert {label for label, *_ in BROKEN + QUANT} == set(RULES)
    used = {label for path in SOURCES.rglob("*.py") for label in re.findall(r'"(NNEF\.\w+)"', path.read_text("utf-8"))}
    assert used == set(RULES)


def test_a_limit_doesnt_take_long() -> None:
    """2 ^ 40 calls of fragments end in an error."""
    fragments = "".join(
        f"fragment f{i}(a: tensor<scalar>) -> (b: tensor<scalar>) {{ b = f{i + 1}(f{i + 1}(a)); }}\n" for i in range(40)
    )
    fragments += "fragment f40(a: tensor<scalar>) -> (b: tensor<scalar>) { b = a; }"
    with pytest.raises(TosaEngineError, match=r"NNEF\.LIMIT: the fragments are too deep or too large to be expanded"):
        parse_text(document("y = f0(x);", fragments), "graph.nnef")
