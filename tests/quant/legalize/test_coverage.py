"""Every TOSA operator on floats and every NNEF operation is quantized well in both widths, or refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from quant_examples import COMPOUNDS, EXAMPLES, by_name, load, on_a_grid, operator, quality, quantized

from quant.legalize.quantize import REFUSED
from quant.legalize.rules import RULES
from tosa_engine import types
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.nnef.language.library import standard_library
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

CONVOLUTIONS = ("CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D")
SIMPLE = (types.fp32, types.i32, types.bool_)
# operators that may stand in an fp32 graph: all of whose types are floats, indices or truths
POSSIBLE = [
    name
    for name, spec in TABLE.items()
    if name not in ("CONST", "CONST_SHAPE", "INTDIV", "RESCALE", "TABLE")
    and any(all(kind in SIMPLE for kind in row.types.values()) for row in spec.rows)
]
LEAST = {8: 30.0, 16: 60.0}  # dB
# dB of 8 and of 16 bits where that isn't reached, and why not
LESS = {
    **dict.fromkeys(
        ("conv", "deconv", "linear", "separable_conv", "separable_deconv", *CONVOLUTIONS),
        (34.0, 43.0, "weights have 8 bits beside activations of 16, too"),
    ),
    **dict.fromkeys(
        ("min_max_linear_quantize", "linear_quantize"),
        (24.0, 60.0, "16 levels: a value near the middle of two may go to the other one"),
    ),
    **dict.fromkeys(
        ("local_variance_normalization", "local_contrast_normalization"),
        (23.0, 60.0, "squares of 8 bits under a root: small ones are 0"),
    ),
    **dict.fromkeys(
        ("roi_resample", "avg_roi_align", "max_roi_align"), (26.0, 60.0, "positions between elements have 8 bits")
    ),
}


def check(found: dict[str, float], integer: Graph, name: str, bits: int) -> None:
    least = LESS[name][0 if bits == 8 else 1] if name in LESS else LEAST[bits]
    for tensor in integer.outputs:
        assert found[tensor.name] >= (99.0 if tensor.quant is None else least), found
    assert not [t.name for t in integer.main.tensors.values() if t.dtype.is_float]


def test_every_operator_has_a_rule_or_a_reason() -> None:
    with_floats = {n for n, s in TABLE.items() if any(types.fp32 in row.types.values() for row in s.rows)}
    generic = {"COND_IF", "WHILE_LOOP", "CUSTOM"}
    elementwise = {"LOG", "EXP", "SIN", "COS", "ERF", "TANH", "SIGMOID", "RSQRT", "RECIPROCAL", "ABS", "NEGATE"}
    assert with_floats | generic <= {*RULES, *REFUSED, *elementwise, "CONST"}
    assert not set(REFUSED) & set(RULES)
    assert set(EXAMPLES) == set(standard_library())


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", [n for n in POSSIBLE if n not in REFUSED and not n.startswith("VARIABLE")])
def test_operator(name: str, bits: int) -> None:
    graph, samples = operator(name, np.random.default_rng(0))
    samples = on_a_grid(graph, samples, bits)
    integer = quantized(graph, samples, bits)
    check(quality(graph, integer, samples), integer, name, bits)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused_operator(name: str) -> None:
    graph, samples = operator(name, np.random.default_rng(0))
    with pytest.raises(TosaEngineError, match=f"operator {name} has no integer form: .*; "):
        quantized(graph, samples, 8)


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", [n for n in EXAMPLES if n != "update"] + list(COMPOUNDS))
def test_operation(tmp_path: Path, name: str, bits: int) -> None:
    example = EXAMPLES[name] if name in EXAMPLES else COMPOUNDS[name]
    graph, samples = load(example, tmp_path / "m", np.random.default_rng(0))
    samples = on_a_grid(graph, samples, bits)
    integer = quantized(graph, samples, bits)
    check(quality(graph, integer, samples), integer, name, bits)


BY_NAME = {
    "silu": (40, 70), "gelu": (40, 70), "div": (35, 60), "box": (35, 75), "argmax_pool": (99, 99), "moments": (40, 75),
    "argmin_reduce": (99, 99), "pow": (30, 60), "local_response_normalization": (35, 60), "rms_pool": (30, 60),
    "layer_normalization": (30, 60), "max_roi_pool": (30, 60),
}  # fmt: skip


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_by_the_names_of_a_quantization_file(tmp_path: Path, name: str, bits: int) -> None:
    """The file has names of tensors inside of compounds, and none of those that have no name."""
    example = EXAMPLES[name] if name in EXAMPLES else COMPOUNDS[name]
    graph, samples = load(example, tmp_path / "m", np.random.default_rng(0))
    samples = on_a_grid(graph, samples, bits)
    integer = by_name(tmp_path / "m", graph, samples, bits)
    assert min(quality(graph, integer, samples).values()) >= BY_NAME[name][bits == 16]
