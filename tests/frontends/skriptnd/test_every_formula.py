"""Each operator of the library with a formula, on random shapes and attributes: three ways to one result."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.frontends.skriptnd.models import assert_agree, composed, graph_of
from tests.frontends.skriptnd.random_invocations import CASES as FIRST
from tests.frontends.skriptnd.random_invocations import result
from tests.frontends.skriptnd.random_layouts import LAYOUT_CASES
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.skriptnd.library import STANDARD, standard

CASES = {**FIRST, **LAYOUT_CASES}
PACKS = ("layout.split", "layout.unstack", "misc.mesh_grid")
UNLIKELY = "[9,9,9,9,9,9,9,9,9]"


def check(data: st.DataObject, name: str) -> None:
    """The shapes of the outputs are those that a graph with wrong ones is told."""
    invocation, inputs, low, high = CASES[name](data.draw, name.split(".")[1])
    kind, names = result(name, invocation, inputs), ("first", "second") if name in PACKS else ("out",)

    def text(shapes: list[str]) -> str:
        outputs = "".join(f"{n}: {kind}{s};" for n, s in zip(names, shapes, strict=True))
        return graph_of("", invocation, inputs, outputs).replace("first, second =", "[first, second] =")

    with pytest.raises(TosaEngineError, match=r"SKND\.O3") as told:
        composed(text([UNLIKELY] * len(names)))
    shapes = re.findall(r"has shape (\[.*?\])", str(told.value))
    assert_agree(text(shapes), seed=data.draw(st.integers(0, 99)), low=low, high=high)


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=2, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_each_formula(name: str, data: st.DataObject) -> None:
    check(data, name)


@pytest.mark.slow("40 random invocations of each of 119 operators")
@pytest.mark.parametrize("name", CASES)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_many_invocations(name: str, data: st.DataObject) -> None:
    check(data, name)


def test_no_formula_is_left_out() -> None:
    """All but layout.nonzero, which is refused: its size depends on data."""
    names = (f"{module}.{name}" for module in STANDARD for name in standard(module).names)
    found = {name for name in names if standard(name.split(".")[0]).operator(name.split(".")[1]).lowerings}
    assert found - set(CASES) == {"layout.nonzero"}
    assert set(CASES) <= found
    print(f"{len(CASES)} operators with a formula, three ways each")
