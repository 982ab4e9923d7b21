"""Shapes with variables and wildcards: the cases of the text and those that it leaves open."""

from __future__ import annotations

import pytest

from tosa_engine.errors import DataError
from tosa_engine.frontends.common_ir.shapes import Known, Unifier, pattern

Operands = list[tuple[list[int | str], Known]]
# patterns with shapes; what a further pattern stands for then, or the end of the error
CASES: list[tuple[Operands, list[int | str], Known | str]] = [
    ([(["*"], ()), (["*"], (2, 3))], ["*"], None),
    ([(["n", "*"], (4, 5, 6))], ["n"], (4,)),
    ([(["n", "*"], ())], [], "has shape [], which isn't [n, *]"),
    ([(["m*"], (2, 3)), (["m*"], (2, 3))], ["m*", 1], (2, 3, 1)),
    ([(["m*"], (2, 3)), (["m*"], (2, 4))], [], "has shape [2, 4], which isn't [m*] with m* = [2, 3]"),
    ([(["n", "m*"], (7, 2, 3)), (["m*"], (2, 3))], ["m*", "n"], (2, 3, 7)),
    ([(["n", "m*"], (7, 2, 3)), (["m*"], (3,))], [], "has shape [3], which isn't [m*] with m* = [2, 3]"),
    ([(["*", "n"], (9, 9, 4)), (["n", "*"], (4, 1))], ["n"], (4,)),
    ([(["*", "n"], (9, 4)), (["n", "*"], (5, 1))], [], "has shape [5, 1], which isn't [n, *] with n = 4"),
    ([(["a", "*", 3], (1, 8, 8, 3))], ["a"], (1,)),
    ([(["m*", "k*"], (1, 2, 3)), (["k*"], (2, 3))], ["k*", "m*"], (2, 3, 1)),
    ([(["m*", "k*"], (1, 2))], [], "of shape [1, 2] fits [m*, k*] in more than one way"),
    ([(["m*", "m*"], (1, 2, 1, 2))], ["m*"], (1, 2)),
    ([(["m*", "m*"], (1, 2, 1))], [], "has shape [1, 2, 1], which isn't [m*, m*]"),
    ([(["n", "m*"], (None, 2)), (["m*"], None)], ["n", "m*"], (None, 2)),
    ([(["n", "n"], (None, 3))], ["n"], (3,)),
    ([([2, "K"], (2, 5)), (["K", "N"], (5, 7))], [2, "N"], (2, 7)),
    ([([2], (3,))], [], "has shape [3], which isn't [2]"),
]


@pytest.mark.parametrize(("operands", "result", "wanted"), CASES)
def test_a_declaration_is_unified(operands: Operands, result: list[int | str], wanted: Known | str) -> None:
    unifier = Unifier("here")
    pairs = [(f"'{i}'", pattern(said, "here"), shape) for i, (said, shape) in enumerate(operands)]
    if isinstance(wanted, str):
        with pytest.raises(DataError) as caught:
            unifier.unify(pairs)
        assert str(caught.value).startswith("CIR.SHAPE: here: '")
        assert str(caught.value).endswith(wanted)
        return
    unifier.unify(pairs)
    assert unifier.shape(pattern(result, "here")) == wanted


def test_what_can_never_be_told_apart_is_refused() -> None:
    for said, message in (
        (["*", 2, "*"], "[*, 2, *] has two wildcards '*': nothing says where one ends"),
        (["m", "m*"], "[m, m*] has 'm' as one extent and as several"),
    ):
        with pytest.raises(DataError) as caught:
            pattern(said, "here")
        assert str(caught.value) == f"CIR.SHAPE: here: {message}"
