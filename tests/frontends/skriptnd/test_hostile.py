"""Texts that would run for ever, or fill memory: one typed error each, soon (more: tests/fuzz/fuzz_skriptnd.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fuzz_skriptnd import fuzz

from tests.frontends.skriptnd.test_rules import PORTS, broken, formula, graph, used
from tosa_engine.errors import Problems

if TYPE_CHECKING:
    from pathlib import Path

DEEP = "".join(
    f"operator o{i} {{ {PORTS} @compose {{ z = o{i + 1}(x); y = o{i + 1}(z); }} }}\n" for i in range(40)
)  # 2^40 operators
TEXTS = {
    "recursion": (used(f"{PORTS} @compose {{ y = o(x); }}"), "C5"),
    "recursion with another attribute": (
        used(f"@attrib {{ k: int = 0; }} {PORTS} @compose {{ y = o{{k=k + 1}}(x); }}"), "C5",
    ),
    "recursion of two": (
        used(f"{PORTS} @compose {{ y = p(x); }} }} operator p {{ {PORTS} @compose {{ y = o(x); }}"), "C5",
    ),
    "endless composition": (
        graph("y = o0(x);").replace("graph", f"{DEEP}operator o40 {{ {PORTS} @compose {{ y = x; }} }}\ngraph"),
        "C5",
    ),
    "a million turns": (graph("y = with z = x do..(1000000) math.exp(z);"), "E5"),
    "a million turns, unrolled": (graph("y = with z = x unroll..(i -> 1000000) math.exp(z);"), "E5"),
    "a thousand times a thousand turns": (
        graph("y = with z = x do..(1000) { w = with v = z do..(1000) math.exp(v); yield w };"), "C5",
    ),
    "a pack of a million": (graph("p = [x..(1000000)]; y = math.sum_n(p);"), "E5"),
    "a pack of a million tensors": (
        used("@input { x: real[4]; } @output { y: real[4]..(1000000); } @lower { y[k][i,] = x[i,], k < 3, i < 4; }",
             "z..(1000000) = o(x); y = z[0];"), "E5",
    ),
    "a list of a million": (used(f"@attrib {{ k: int..; }} {PORTS}", "y = o{k=[0:1000000]}(x);"), "E5"),
    "a million formulas": (formula("unroll..(k -> 1000000) y[i,] = x[i,], i < 4;"), ""),
    "numbers that grow": (formula("y[i,] = x[i,], i < 4;", "@attrib { k: int = 9 ** 99 ** 99; }"), "E3"),
    "ten thousand brackets": (formula(f"y[i,] = {'(' * 10000}x[i,]{')' * 10000}, i < 4;"), "P3"),
    "ten thousand blocks": (graph("y = " + "{ z = " * 10000 + "x" + "; yield z }" * 10000 + ";"), "P3"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts_without_end_are_one_error(name: str, tmp_path: Path) -> None:
    text, rule = TEXTS[name]
    problem = broken(text, tmp_path)
    found = problem.problems if isinstance(problem, Problems) else [problem]
    assert [one.label for one in found] == [f"SKND.{rule}" if rule else ""]


def test_mutated_texts(tmp_path: Path) -> None:
    """What was found and mended: tensors as numbers in formulas, in calls, and as bounds of loops."""
    tried, _, _ = fuzz(60.0, tmp_path, first=2800, most=100)
    assert tried == 100


def test_a_range_is_no_index_of_a_tensor(tmp_path: Path) -> None:
    problem = broken(formula("y[0:4] = x[0:4], i < 4;"), tmp_path)
    assert "SKND.Y6: a range stands in a list, or as the index of a pack" in str(problem)


def test_formulas_of_too_many_points_are_refused(tmp_path: Path) -> None:
    """Indices of 2^31 - 1 points by 4 would take 64 GiB."""
    problem = broken(formula("y[i,] += x[i,] * x[j % 4,], i < 4, j < 2147483647;"), tmp_path)
    assert "SKND.E5: a formula of 2147483647 points; 67108864 at most" in str(problem)
