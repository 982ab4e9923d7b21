"""The language: expressions, dialects, labels of rules that documents break."""

from __future__ import annotations

import pytest

from tests.frontends.skriptnd.models import composed, library_of
from tosa_engine.errors import ParseError, Problems
from tosa_engine.frontends.skriptnd.language.evaluation import Evaluator
from tosa_engine.frontends.skriptnd.language.expressions import ExpressionParser
from tosa_engine.frontends.skriptnd.language.lexer import tokens
from tosa_engine.frontends.skriptnd.language.parser import parse
from tosa_engine.frontends.skriptnd.language.syntax import Text
from tosa_engine.frontends.skriptnd.library import STANDARD, Library, standard
from tosa_engine.frontends.skriptnd.validity import Checker

SYMBOLS = {"a": [3, 1, 2], "n": None, "k": 2, "s": "abc", "t": True}


def value_of(source: str) -> object:
    text = Text("t", [source])
    parser = ExpressionParser(tokens(source, text), text)
    found = Evaluator(SYMBOLS, text).value(parser.expression())
    assert not parser.token.kind
    return found


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 2 * 3 ** 2", 19),
        ("7 / -2", -4),
        ("7 \\ 2", 4),
        ("-7 % 3", 2),
        ("2 ** 3 ** 2", 512),
        ("1 < 2 && !false => false", False),
        ("a + ..", 6),
        ("a * ..  + 42", 48),
        ("a + ...", [3, 4, 6]),
        ("a <? ..", 1),
        ("a >? ...", [3, 3, 3]),
        ("a < ..", False),
        ("a != ..", True),
        ("[5, 5] := ..", 5),
        ("a := ..", None),
        ("[] := ..", None),
        ("[] <? ..", None),
        ("a[::-1]", [2, 1, 3]),
        ("a[-1]", 2),
        ("a[[0, 2]]", [3, 2]),
        ("a[[true, false, true]]", [3, 2]),
        ("a[[0, 1]] <- [9, 8]", [9, 8, 2]),
        ("a[1] <- 7", [3, 7, 2]),
        ("[a.., 0:6:2, 1 ..(k)]", [3, 1, 2, 0, 2, 4, 1, 1]),
        ("[(a, a[::-1])..]", [3, 2, 1, 1, 2, 3]),
        ("[7..(t), 8 ..(false)]", [7]),
        ("a > 1 ? a : 0", [3, 0, 2]),
        ("k == 3 ? 1", None),
        ("n + 1 ?? 4", 4),
        ("n ?? k == 2 ? 5 : 6", 5),
        ("?n", False),
        ("?k && k > 1", True),
        ("[n, 1]", None),
        ("2 in a", True),
        ("[1, 7] in a", [True, False]),
        ("a is 1", [False, True, False]),
        ("int(-1.5)", -2),
        ("real(3) / 2.0", 1.5),
        ("abs(-3)", 3),
        ("round(2.5)", 3.0),
        ("real()", 0.0),
        ("s[1:]", "bc"),
        ("'{a} of {k + 1}'", "[3,1,2] of 3"),
        ("'one' \" two\"", "one two"),
        ("k >? 3 <? 5", 3),
    ],
)
def test_expressions(source: str, value: object) -> None:
    found = value_of(source)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("source", "label"),
    [
        ("1 / 0", "SKND.E2"),
        ("10 ** 1000", "SKND.E3"),
        ("[1, 2] + [1]", "SKND.E4"),
        ("[0:1000000]", "SKND.E5"),
        ("[1 ..(1000000)]", "SKND.E5"),
        ("a[3]", "SKND.E6"),
        ("1 + 2.0", "SKND.Y2"),
        ("int('a')", "SKND.Y3"),
        ("k[0]", "SKND.Y4"),
        ("[1, true]", "SKND.Y5"),
        ("[a]", "SKND.Y5"),
        ("[k..]", "SKND.Y6"),
        ("k ? 1 : 2", "SKND.Y7"),
        ("what", "SKND.N3"),
        ("what(1)", "SKND.N3"),
        ("a := 1", "SKND.P1"),
        ("1 +", "SKND.P1"),
        ("a.length", "SKND.P2"),
        ("(" * 100 + "1" + ")" * 100, "SKND.P3"),
        ("1234567890123456789", "SKND.P4"),
        ("1 $ 2", "SKND.T1"),
    ],
)
def test_expressions_that_are_wrong(source: str, label: str) -> None:
    with pytest.raises(ParseError) as problem:
        value_of(source)
    assert problem.value.label == label


def test_the_whole_standard_library_parses_and_checks() -> None:
    main, dialect = parse("graph G { @input { x: real[1]; } @output { y: real[1]; } @compose { y = x; } }", "m", "main")
    library = Library(main, lambda _: None, dialect)
    count = 0
    for name in STANDARD:
        for operator_name in standard(name).names:
            operator = standard(name).operator(operator_name)
            assert operator is not None
            checker = Checker(library, operator)
            checker._composition = lambda *_: None  # type: ignore[method-assign]  # its operators are of its own module
            checker._update = lambda: None  # type: ignore[method-assign]
            found = [p for p in checker.problems() if name != "rand" and "no formula" not in str(p)]
            assert [str(p) for p in found] == []
            count += 1
    assert count == 160  # the 159 of the branch, and layout.constant of the draft


BODY = "@input { x: real[4]; } @output { y: real[4]; }"


def test_problems_are_told_together() -> None:
    text = f"import math; graph G {{ {BODY} @compose {{ a = math.nothing(x); b = math.exp(z); y = math.exp(a); }} }}"
    with pytest.raises(Problems) as problem:
        library_of(text)
    assert len(problem.value.problems) == 2


def test_recursion_ends_in_one_error() -> None:
    text = f"operator o {{ {BODY} @compose {{ y = o(x); }} }} graph G {{ {BODY} @compose {{ y = o(x); }} }}"
    with pytest.raises(ParseError, match=r"SKND\.C5"):
        composed(text)


def test_the_draft_is_a_dialect() -> None:
    operator = f"operator o {{ {BODY} @lower {{ z = `exp`(x[i,]), y[i,] = z << 1.0, i < 4; }} }}"
    library = library_of(f"{operator} graph G {{ {BODY} @compose {{ y = o(x); }} }}")
    assert library.dialect == "draft"


def test_modules_of_the_model() -> None:
    own = f"operator double {{ {BODY} @lower {{ y[i,] = 2.0 * x[i,], i < 4; }} }}"
    library = library_of(f"import own; graph G {{ {BODY} @compose {{ y = own.double(x); }} }}", own=own)
    assert library.find("own.double", "main") is not None
