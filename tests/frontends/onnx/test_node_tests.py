"""The node tests of the package `onnx` on the oracle: none is wrong but those that are listed, none crashes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="needs the extra `onnx`")

HERE = Path(__file__).resolve()
_spec = importlib.util.spec_from_file_location("onnx_nodes", HERE.parents[3] / "conformance" / "onnx_nodes.py")
assert _spec is not None
assert _spec.loader is not None
onnx_nodes: Any = importlib.util.module_from_spec(_spec)
sys.modules["onnx_nodes"] = onnx_nodes
_spec.loader.exec_module(onnx_nodes)

# zeros of an inverse transform are 1.9e-7 there, beyond the tolerance of 1e-7
KNOWN_WRONG = {"test_dft_inverse", "test_dft_inverse_opset19"}
# without floats of 16 bits, whose oracle takes longer
QUICK = (
    "BitShift", "Clip", "Col2Im", "Conv", "ConvInteger", "ConvTranspose", "DeformConv", "DequantizeLinear", "Gather",
    "Gemm", "GridSample", "MatMul", "MaxUnpool", "Pad", "Pow", "ReduceSum", "RoiAlign", "STFT", "SequenceMap", "Shrink",
    "Slice", "Split", "Where",
)  # fmt: skip


def test_node_tests_of_common_operators(tmp_path: Path) -> None:
    cases = [case for case in onnx_nodes.cases() if onnx_nodes.operator_of(case) in QUICK]
    outcomes = [onnx_nodes.run(case, tmp_path, kernels=False) for case in cases]
    assert not [one for one in outcomes if one.verdict == "failed"]
    assert sum(one.verdict == "passed" for one in outcomes) >= 175


@pytest.mark.slow("1,884 small graphs on the oracle")
def test_all_node_tests(tmp_path: Path) -> None:
    outcomes = [onnx_nodes.run(case, tmp_path, kernels=False) for case in onnx_nodes.cases()]
    assert {one.test for one in outcomes if one.verdict == "failed"} <= KNOWN_WRONG
    assert not [one for one in outcomes if "CRASH" in one.reason]


def data_of(name: str) -> tuple[Any, list[Any], list[Any]]:
    case = next(case for case in onnx_nodes.cases() if case.name == name)
    given, expected = case.data_sets[0]
    return case, [onnx_nodes._array(one) for one in given], [onnx_nodes._array(one) for one in expected]


@pytest.mark.parametrize("name", ["test_attention_4d_causal_bf16", "test_attention_4d_causal_bf16_expanded"])
def test_few_addends_of_softmax_in_bf16_are_rounded_at_each_addition(name: str, tmp_path: Path) -> None:
    """With a sum that is rounded once 171 of the 192 elements are the expected ones."""
    case, *_ = data_of(name)
    assert onnx_nodes.run(case, tmp_path, kernels=False).verdict == "passed"


@pytest.mark.parametrize("name", ["test_dft_inverse", "test_dft_inverse_opset19"])
def test_an_inverse_transform_in_double_fails_as_ours_does(name: str) -> None:
    case, arrays, (wanted,) = data_of(name)
    found = np.fft.ifft(arrays[0].astype(np.float64) @ [1, 1j], axis=1)
    far = ~np.isclose(np.stack([found.real, found.imag], -1), wanted, rtol=case.rtol, atol=case.atol)
    assert int(far.sum()) == 10
    assert np.abs(np.stack([found.real, found.imag], -1)[far]).max() < 1e-14


def test_a_scale_that_data_make_divides(tmp_path: Path) -> None:
    """-2.5 / 0.019607844 is below a tie, -2.5 * (1 / 0.019607844) is one."""
    x, scale = np.float32(-2.5), np.float32(0.019607844)
    assert (float(x / scale), float(x * (np.float32(1) / scale))) == (-127.49999237060547, -127.5)
    case, *_ = data_of("test_dynamicquantizelinear_expanded")
    assert onnx_nodes.run(case, tmp_path, kernels=False).verdict == "passed"
