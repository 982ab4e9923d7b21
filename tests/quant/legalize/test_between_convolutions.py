"""Activations of several operators between two convolutions: one TABLE, with no transpose inside."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from nnef_tools import write_nnef

from quant.legalize.quantize import quantize
from tosa_engine.frontends import nnef
from tosa_engine.graph import QParams
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

FUNCTIONS = ("leaky_relu(a, alpha = 0.1)", "elu(a)", "softplus(a)", "prelu(a, 0.2)", "silu(a)", "gelu(a)")
TEXT = """version 1.0;
graph g(x) -> (y)
{{
    x = external(shape = [1, 64, 56, 56]);
    w = variable(shape = [64, 64, 1, 1], label = 'w');
    v = variable(shape = [64, 64, 1, 1], label = 'v');
    a = conv(x, w);
    b = {function};
    y = conv(b, v);
}}
"""


def between(folder: Path, function: str) -> Graph:
    """With hints for the tensors that the model names, and no others."""
    rng = np.random.default_rng(0)
    weights = {name: (rng.standard_normal((64, 64, 1, 1)) * 0.1).astype(np.float32) for name in "wv"}
    path = write_nnef(folder, TEXT.format(function=function), weights)
    return quantize(nnef.load(path, dict.fromkeys("xaby", QParams((0.05,), (0,))), for_integers=True))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_activation_between_convolutions_is_one_table(tmp_path: Path, function: str) -> None:
    integer = between(tmp_path, function)
    kinds = Counter(op.op for op in integer.main.operators if not op.op.startswith("CONST"))
    assert kinds == {"TRANSPOSE": 2, "CONV2D": 2, "RESCALE": 2, "TABLE": 1}


def test_it_takes_no_step_and_no_memory_of_its_own(tmp_path: Path) -> None:
    plan = Session(between(tmp_path, FUNCTIONS[0]), 1).plan()
    assert [step.operators for step in plan.steps] == [
        "TRANSPOSE", "CONV2D+RESCALE+TABLE", "CONV2D+RESCALE", "TRANSPOSE"
    ]  # fmt: skip
    assert plan.arena.size <= 2 * 64 * 56 * 56
