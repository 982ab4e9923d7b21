"""Texts in their canonical form: parsed again they mean the same, and printed again they are the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tosa_engine.cli import main
from tosa_engine.frontends.nnef.files.dat import write_dat
from tosa_engine.frontends.skriptnd.language.expressions import ExpressionParser
from tosa_engine.frontends.skriptnd.language.lexer import tokens
from tosa_engine.frontends.skriptnd.language.modules import format_module
from tosa_engine.frontends.skriptnd.language.parser import parse
from tosa_engine.frontends.skriptnd.language.printing import ExpressionPrinter
from tosa_engine.frontends.skriptnd.language.syntax import (
    Binary,
    Call,
    Coalesce,
    Expand,
    Expression,
    Fold,
    List,
    Literal,
    Member,
    Name,
    Place,
    Range,
    Select,
    Subscript,
    Substitute,
    Text,
    Unary,
    Zip,
)
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Callable

LIBRARY = Path(__file__).parents[3] / "tosa_engine" / "frontends" / "skriptnd" / "library"
PAIRS = Path(__file__).parents[4] / "shared" / "models" / "skriptnd" / "from_nnef"
BRANCH = """import math, layout; import own.parts;  # a comment
public operator o {
    @dtype { T: num = real; R: type; }
    @attrib { a: optional dynamic int..(dynamic n|5) = [0:3, (1, 2)..];
        s: str = 'it\\'s "so" {a[0]} \\\\'; c: real = -pi; }
    @input { x: T^(rank)[static b|8, (n * 2)..(k|3), ..z]..(m); o: optional real[~|4, 3]; }
    @using { [p, q..(2)] = a; (u, v).. = [a..]; w = x.shape is 1 ? o ?? 0 : a[::-1][a > 0] <- (a + ..) ** 2 ** -1; }
    @output { y: T[b, ..n..(2)]; }
    @constant { t: real[2, 3] = real(i) * 0.5, i < 2, j < 3; }
    @assert { (a ? b : c): "no {a + 1}", 'a.b': a, c: a, a; a <? b >? c == d => ?e && !f || g; a != ..; }
    @lower {
        with z = sqrt(x[i,]), k = |i <> 0 : n - 1|: y[k.., |j|] >?= z, i < n, j < m | x[i,] < 0;
        unroll..(i -> 3) y[i, :] := (a ? b) ? -(-c) : d;
    }
}
graph G {
    @input { x: real[2]; } @output { y: real[2]; } @variable { w: real[2]; }
    @compose {
        ~, [a..(2), b] = l: math.add<real>{rhs_align: 1}(x, ~);
        r: real[2..(k)]..(3) = for i : a, j : [1:3] do..(t -> 3) { c = o(i, x); yield c, j; };
        y = if ?w then lab: { z = math.neg(x); yield z; } elif math.lt(x, 0.0) then x else if b then x else w;
        s = with h: real[2] = x, g = 0 while math.lt(h, 9.0) unroll..(4) math.add(h, x);
        t = with h = x do math.mul(h, 2.0) while math.lt(h, 9.0);
    }
    @update { w = math.add(w, x); }
    @quantize { main.G.x: quant.zero_point_linear_quantize<real>{zero_point = 0, scale = 0.5, bits = 8}; }
}
"""
DRAFT = """operator o {
    @input { x: real[n]; } @output { y: real[n]; }
    @lower { z = `sqrt`(x[i,]) << 1.0, y[i,] <= z >> real(i), i < n; y[i,] >= `abs`(x[i,]), i < n; }
}
"""


def bare(node: Any) -> Any:
    """A syntax tree without places and texts."""
    if is_dataclass(node):
        kept = [f.name for f in fields(node) if f.name not in ("place", "text", "dialect") or isinstance(node, Name)]
        return type(node).__name__, [(name, bare(getattr(node, name))) for name in kept if name != "place"]
    if isinstance(node, dict):
        return {name: bare(value) for name, value in node.items()}
    if isinstance(node, Place):
        return None
    return [bare(item) for item in node] if isinstance(node, (list, tuple)) else node


def assert_canonical(source: str) -> str:
    module, dialect = parse(source, "m.sknd", "main")
    text = format_module(module)
    again, of_text = parse(text, "m.sknd", "main")
    assert of_text == dialect
    assert bare(again) == bare(module)
    assert format_module(again) == text
    return text


@pytest.mark.parametrize("file", sorted(LIBRARY.glob("*.sknd")), ids=lambda file: file.stem)
def test_standard_library(file: Path) -> None:
    assert_canonical(file.read_text(encoding="utf-8"))


@pytest.mark.skipif(not PAIRS.is_dir(), reason="needs the folder ../shared/models")
def test_models_of_the_branch() -> None:
    texts = [file.read_text(encoding="utf-8") for file in sorted(PAIRS.glob("*.nnef2/main.sknd"))]
    assert len(texts) == 130
    for text in texts:
        assert_canonical(text)


def test_every_statement_in_both_dialects() -> None:
    text = assert_canonical(BRANCH)
    assert "a: optional dynamic int..(dynamic n|5) = [0:3, (1, 2)..];" in text
    assert "#" not in text
    drawn = assert_canonical(DRAFT)
    assert "z = `sqrt`(x[i,]) << 1.0,\n        y[i,] <= z >> real(i), i < n;" in drawn


# random expressions

P = Place(1, 1)
NAMES = st.sampled_from(["a", "b", "shape"]).map(lambda n: Name(P, n))
LITERALS = st.one_of(
    st.integers(0, 99), st.floats(0, 1e30).filter(lambda v: v == v), st.booleans(), st.text("ab '\"{}\\#", max_size=4)
).map(lambda v: Literal(P, v))
LEAVES = st.one_of(NAMES, LITERALS, st.just(Member(P, "a", "rank")))


def of(make: Callable[..., Expression], *parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(*parts).map(lambda given: make(P, *given))


def larger(e: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    maybe = st.none() | e
    spread = of(Expand, e | of(Zip, st.tuples(e, e)), maybe)
    item = e | spread | of(Range, maybe, e, maybe)
    index = e | spread | of(Range, maybe, maybe, maybe)
    subscript = of(Subscript, e, st.lists(index, min_size=1, max_size=2).map(tuple), st.just(False))
    signs = st.sampled_from(["=>", "&&", "^", "<", "==", "is", "in", "<?", ">?", "+", "-", "*", "\\", "%", "**"])
    return st.one_of(
        of(Unary, st.sampled_from(["+", "-", "!", "?"]), e),
        of(Binary, signs, e, e),
        of(Fold, e, st.sampled_from(["+", "&&", "<?", "*"]), st.booleans()),
        of(Fold, e, st.sampled_from(["**", ":=", "!="]), st.just(False)),
        of(Select, e, e, maybe),
        of(Coalesce, e, e),
        of(Call, st.sampled_from(["int", "sqrt"]), e),
        of(
            List,
            st.lists(item.filter(lambda i: not isinstance(i, Range) or i.first is not None), max_size=3).map(tuple),
        ),
        subscript,
        of(Substitute, subscript, e),
    )


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(deadline=None)
@given(st.recursive(LEAVES, larger, max_leaves=8), st.sampled_from(["branch", "draft"]))
def test_random_expressions(e: Expression, dialect: str) -> None:
    text = ExpressionPrinter(dialect).expression(e)
    where = Text("", [text])
    parser = ExpressionParser(tokens(text, where), where)
    assert bare(parser.expression()) == bare(e)
    assert not parser.token.kind


# files

TEXT = """import math; import own; graph G { @input { x: real[2]; } @output { y: real[2]; } @variable { w: real[2]; }
    @compose { z = own.twice(x); y = math.add(z, w); } }
graph H { @input { x: real[2]; } @output { y: real[2]; } @variable { v: real[2]; } @compose { y = math.add(x, v); } }"""
OWN = "import math; operator twice { @input { x: real[n]; } @output { y: real[n]; } @compose { y = math.add(x, x); } }"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "net.nnef2"
    place.mkdir()
    (place / "main.sknd").write_text(TEXT)
    (place / "own.sknd").write_text(OWN)
    (place / "graph.quant").write_text(
        '"x":zero_point_linear_quantize(zero_point=0, scale=0.5, bits=8, signed=true, symmetric=false);'
    )
    for name in ("G.w", "H.v"):
        (place / f"main.{name}.dat").write_bytes(write_dat(np.ones(2, np.float32)))
    return place


@pytest.mark.parametrize("suffix", [".nnef2", ".nnef2.tgz", ".nnef2.tar"])
def test_convert_writes_all_of_a_model(folder: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, files = folder.with_name(f"a{suffix}"), folder.with_name(f"b{suffix}"), folder.with_name("c.nnef2")
    assert main(["convert", str(folder), "-o", str(first)]) == 0
    assert capsys.readouterr().out == f"{first}: 2 modules, 2 variables\n"
    assert main(["convert", str(first), "-o", str(second)]) == 0
    assert main(["convert", str(second), "-o", str(files)]) == 0
    if first.is_file():
        assert first.read_bytes() == second.read_bytes()
    assert {file.name for file in files.iterdir()} == {file.name for file in folder.iterdir()}
    assert load(first).main.tensors["x"].quant == load(folder).main.tensors["x"].quant


def test_one_text_leaves_nothing_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(folder), "-o", str(folder.with_name("net.sknd"))]) == 2
    left = "would leave out 2 variables, graph.quant, the module 'own'; write a folder .nnef2 or an archive"
    assert left in capsys.readouterr().err
    assert not folder.with_name("net.sknd").exists()
