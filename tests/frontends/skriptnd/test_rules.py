"""A document for every label: it breaks this rule, and the error says so with the place in the text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tosa_engine import frontends
from tosa_engine.errors import ParseError, Problems, TosaEngineError, Unsupported
from tosa_engine.frontends.skriptnd.source import SkriptndSource

PAGE = Path(__file__).parents[3] / "docs" / "skriptnd.md"
IMPORTS = "import image; import layout; import linalg; import math; import nn; import quant;\n"
PORTS = "@input { x: real[4]; } @output { y: real[4]; }"
FINE = f"graph G {{ {PORTS} @compose {{ y = math.exp(x); }} }}\n"
COPY = "@lower { y[i,] = x[i,], i < 4; }"


def operator(blocks: str) -> str:
    """A definition that is wrong itself, beside a graph that doesn't use it."""
    return f"{IMPORTS}operator o {{ {blocks} }}\n{FINE}"


def used(blocks: str, use: str = "y = o(x);", ports: str = PORTS) -> str:
    """A definition, and a graph that uses it in a wrong way."""
    return f"{IMPORTS}operator o {{ {blocks} }}\ngraph G {{ {ports} @compose {{ {use} }} }}\n"


def graph(compose: str, blocks: str = "", ports: str = PORTS) -> str:
    return f"{IMPORTS}graph G {{ {ports} {blocks}\n@compose {{ {compose} }} }}\n"


def formula(lower: str, more: str = "", use: str = "y = o(x);") -> str:
    return used(f"{more} {PORTS} @lower {{ {lower} }}", use)


def expression(source: str, kind: str = "int") -> str:
    """One that tells a helper symbol from an attribute `k`, which is 2, and a pack `a` of 3."""
    symbols = "@attrib { k: int = 2; a: int..(3) = [3, 1, 2]; }"
    return used(f"{symbols} {PORTS} @using {{ z: {kind} = {source}; }} {COPY}".replace(f"z: {kind}", "z"))


TWO = "@input { x: real[4]; z: real[4]; } @output { y: real[4]; }"
PACK = "@input { x: real[4]..(2); } @output { y: real[4]; }"
BOUNDED = "@input { x: real[n]; } @output { y: real[n]; }"
RULES = {
    "A1": graph("y = layout.tile{repeats=[1], repeats=[1]}(x);"),
    "A2": graph("y = math.exp{base=2}(x);"),
    "A3": graph("y = layout.tile{repeats='a'}(x);"),
    "A4": used(f"@attrib {{ k: int; }} {PORTS} {COPY}", "y = o{k=1 > 2 ? 1}(x);"),
    "A5": graph("y = layout.tile(x);"),
    "A6": used(f"@attrib {{ k: int = n; }} {PORTS} @using {{ n = k; }} {COPY}"),
    "A7": operator(f"@attrib {{ a: int[2]; }} {PORTS} {COPY}"),
    "A8": operator(f"@attrib {{ a: optional int = 1; }} {PORTS} {COPY}"),
    "B1": operator(f"{PORTS} {COPY} @compose {{ y = math.exp(x); }}"),
    "B2": f"{IMPORTS}graph H {{ {PORTS} {COPY} }}\n{FINE}",
    "B3": f"{IMPORTS}graph H {{ {PORTS} }}\n{FINE}",
    "C1": graph("y, z = math.exp(x);"),
    "C2": graph("[y] = math.exp(x);"),
    "C3": graph("y = math.exp(x); y = math.log(x);"),
    "C4": graph("z..(3) = layout.unstack{axis=0}(x); y = x;"),
    "C5": used(f"{PORTS} @compose {{ y = o(x); }}"),
    "C6": graph("y = with z = x while math.any(z) do math.exp(z) while math.any(z);"),
    "C7": graph("y = if x then math.exp(x) else x;"),
    "C8": graph("y = if c then math.exp(x) else layout.tile{repeats=[2]}(x);",
                ports=PORTS.replace("x:", "c: bool[]; x:")),
    "C9": graph("y = with z = x for v : x do math.add(z, v);"),
    "C10": graph("y = with z = x do math.exp(z);"),
    "C11": graph("y, v = with z = x, w = x do..(2) math.exp(z);"),
    "C12": graph("x = math.exp(x); y = x;"),
    "D1": formula("y[i,] = `exp`(x[i,] <? 1.0), i < 4;"),
    "E2": expression("k / 0"),
    "E3": expression("10 ** 1000"),
    "E4": expression("a + [1, 2]"),
    "E5": expression("[0:1000000]"),
    "E6": expression("a[3]"),
    "G1": graph("y = math.exp<real>(x);"),
    "G2": graph("y = layout.cast<str>(x);"),
    "G3": used(f"@dtype {{ T: num; }} {TWO.replace('real', 'T')} @lower {{ y[i,] = x[i,], i < 4; }}",
               "y = o(x, z);", "@input { x: real[4]; z: int[4]; } @output { y: real[4]; }"),
    "G4": graph("y = layout.cast(x);"),
    "I1": graph("y = math.exp(x, x);"),
    "I2": graph("y = math.add(x);"),
    "I3": graph("y = math.sum_n(x);"),
    "I4": graph("y = math.not(x);"),
    "L1": formula("y = x[i,], i < 4;"),
    "L2": graph("y = x[0,];"),
    "L3": formula("y[i,] = x[i,] + 's', i < 4;"),
    "L4": formula("y[i,] = k, i < 4;", "@attrib { k: optional real; }"),
    "L5": formula("y[i,] = x[i, 0], i < 4;"),
    "L6": formula("y[|i <> 0 : 3|,] = x[i,], i < 4;"),
    "L7": formula("x[i,] = 1.0, i < 4; y[i,] = 1.0, i < 4;"),
    "L8": formula("y[i,] += 1.0, i < 4; y[i,] *= x[i,], i < 4;"),
    "M1": f"{IMPORTS}import nothing;\n{FINE}",
    "M2": f"import math; import own;\n{FINE}",
    "N1": operator(f"@attrib {{ x: int; }} {PORTS} {COPY}"),
    "N2": operator(f"{PORTS} @input {{ z: real[4]; }}"),
    "N3": formula("y[i,] = z[i,], i < 4;"),
    "N4": graph("y = math.nothing(x);"),
    "O1": graph("z = math.exp(x);"),
    "O2": graph("y = layout.cast<int>(x);"),
    "O3": graph("y = layout.tile{repeats=[2]}(x);"),
    "O4": used(f"{PORTS} @compose {{ y = layout.split{{axis=0, count=1}}(x); }}"),
    "O5": operator("@lower { }"),
    "O6": operator("@input { x: real[4]; } @output { y: optional real[4]; } " + COPY),
    "P1": graph("y = math.exp(x)"),
    "P2": expression("a.length"),
    "P3": expression("(" * 100 + "1" + ")" * 100),
    "P4": expression("1234567890123456789"),
    "Q1": graph("y = math.exp(x);", "@quantize { z: quant.zero_point_linear_quantize{zero_point=0, scale=0.1}; }"),
    "Q2": graph("y = math.exp(x);", "@quantize { x: quant.min_max_linear_quantize{min=1.0, max=0.0, bits=8}; }",
                "@input { x: real[1,4]; } @output { y: real[1,4]; }"),
    "S1": used("@input { x: real[n + m]; } @output { y: real[4]; } @lower { y[i,] = 0.0, i < 4; }"),
    "S2": used("@input { x: real[n * n]; } @output { y: real[4]; } @lower { y[i,] = 0.0, i < 4; }"),
    "S3": used("@input { x: real[3 * n]; } @output { y: real[4]; } @lower { y[i,] = 0.0, i < 4; }"),
    "S4": used(f"{PACK.replace('(2)', '(3)')} @lower {{ y[i,] = 0.0, i < 4; }}", "y = o([x, x]);"),
    "S5": graph("y = nn.linear(x, x);"),
    "S6": used("@input { x: real[n]..(m); } @output { y: real[4]; } @lower { y[i,] = 0.0, i < 4; }",
               "y = o([x, z]);", "@input { x: real[4]; z: real[3]; } @output { y: real[4]; }"),
    "S7": graph("y = nn.linear(x, w);", "@constant { w: real[3,3] = 1.0; }",
                "@input { x: real[2,2]; } @output { y: real[2,3]; }"),
    "S8": operator("@input { x: real[4]; } @output { y: real[~]; } " + COPY),
    "S9": graph("y = math.exp(x);", "@constant { w: real[0 - 1] = 1.0; }"),
    "T1": expression("k $ 2"),
    "U1": graph("y = math.exp(x);", "@variable { w: real[4]; } @update { w = layout.tile{repeats=[2]}(x); }"),
    "U2": graph("y = math.exp(x);", "@variable { w: real[4]; } @update { v = math.exp(x); }"),
    "V1": graph("y = layout.tile{repeats=[0]}(x);"),
    "W1": graph("y = math.add(x, w);", "@variable { w: real[4] = 1.0; }"),
    "W2": used(f"{PORTS} @variable {{ w: real[4]; }} @compose {{ y = math.add(x, w); }}", "z = a: o(x); y = a: o(z);"),
    "W3": graph("y = math.add(x, w);", "@constant { w: real[4]; }"),
    "W4": graph("y = math.add(x, w);", "@constant { w: real[4] = true; }"),
    "W5": graph("y = math.add(x, w);", "@constant { w: real[4] = [1.0, 2.0]; }"),
    "W6": graph("y = math.exp(x);", "@constant { w: optional real[4] = 1.0; }"),
    "W7": graph("y = math.exp(x);", "@variable { w: real[4]..; }"),
    "Y1": operator("@input { x: float[4]; } @output { y: real[4]; } @lower { y[i,] = 0.0, i < 4; }"),
    "Y2": expression("k + 2.0"),
    "Y3": expression("int('a')"),
    "Y4": expression("k[0]"),
    "Y5": expression("[k, true]"),
    "Y6": expression("[k..]"),
    "Y7": expression("k ? 1 : 2"),
}  # fmt: skip


def broken(text: str, folder: Path) -> TosaEngineError:
    """What is said of the text where a user gives it to a verb."""
    (folder / "main.sknd").write_text(text)
    (folder / "own.sknd").write_text(f"import math; {FINE}")
    with pytest.raises((ParseError, Problems, Unsupported)) as problem:
        SkriptndSource(folder / "main.sknd").graph()
    return problem.value


@pytest.mark.parametrize("rule", RULES)
def test_a_document_that_breaks_a_rule(rule: str, tmp_path: Path) -> None:
    problem = broken(RULES[rule], tmp_path)
    found = problem.problems if isinstance(problem, Problems) else [problem]
    assert {one.label for one in found} == {f"SKND.{rule}"}, str(problem)
    assert all(re.search(r"main\.sknd:[1-9]\d*:[1-9]", str(one)) for one in found), str(problem)


def test_what_is_wrong_inside_of_the_library_is_told_at_its_use(tmp_path: Path) -> None:
    """The length of `min` is an extent that a tensor of rank 1 lacks."""
    wrong = "x: quant.min_max_linear_quantize{min=0.0, max=1.0, bits=8};"
    problem = broken(graph("y = math.exp(x);", f"@quantize {{ {wrong} }}"), tmp_path)
    assert re.search(
        r"main\.sknd:2:\d+: SKND\.E6: .*index 1 of 1 items \(at standard library, quant.sknd:\d", str(problem)
    )


def test_every_label_has_its_document_and_its_row() -> None:
    """The labels that the sources have, those of the page, and those of the documents here are the same."""
    sources = Path(frontends.__file__).parent.joinpath("skriptnd").rglob("*.py")
    labels = set(re.findall(r"SKND\.([A-Z]\d+)", "".join(path.read_text("utf-8") for path in sources)))
    rows = re.findall(r"^\| SKND\.([^|]+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    listed = {name for row in rows for name in expanded(row)}
    assert labels == set(RULES)
    assert labels == listed


def expanded(row: str) -> set[str]:
    """`A1 - A8`, or `T1, P1`."""
    if " - " in row:
        first, last = row.split(" - ")
        return {f"{first[0]}{n}" for n in range(int(first[1:]), int(last[1:]) + 1)}
    return set(row.split(", "))
