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

# Attention: the expected values are of sums in bf16, rounded at each addition, which TOSA rounds once; an inverse
# transform: zeros are 1.9e-7 there, beyond the tolerance of 1e-7; -2.5 / 0.01960784 is -127.49999, TOSA has
# -2.5 * (1 / 0.01960784) = -127.5. The tests at the end show one of each kind
KNOWN_WRONG = {
    "test_attention_3d_causal_bf16",
    "test_attention_3d_causal_bf16_expanded",
    "test_attention_4d_causal_bf16",
    "test_attention_4d_causal_bf16_expanded",
    "test_attention_4d_causal_padded_kv_bf16",
    "test_attention_4d_causal_padded_kv_bf16_expanded",
    "test_attention_4d_padded_kv_bf16",
    "test_attention_4d_padded_kv_bf16_expanded",
    "test_dft_inverse",
    "test_dft_inverse_opset19",
    "test_dynamicquantizelinear_expanded",
}
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


def test_the_expected_values_of_attention_in_bf16_are_of_sums_rounded_at_each_addition() -> None:
    """With these sums all 192 elements are the expected ones; with sums in float32, rounded once, 171 are."""
    _, (q, k, v), (wanted,) = data_of("test_attention_4d_causal_bf16")
    scale = np.sqrt(1 / np.sqrt(np.float64(q.shape[-1]))).astype(q.dtype)

    def product(a: Any, b: Any) -> Any:
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)

    scores = product(q * scale, np.swapaxes(k * scale, -1, -2))
    scores += np.where(np.tril(np.ones(scores.shape[-2:], bool)), 0, -np.inf).astype(q.dtype)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    rounded = raised[..., :1]
    for i in range(1, raised.shape[-1]):
        rounded = rounded + raised[..., i : i + 1]
    once = raised.astype(np.float32).sum(-1, keepdims=True).astype(q.dtype)
    assert [int((product(raised / total, v) == wanted).sum()) for total in (rounded, once)] == [192, 171]


@pytest.mark.parametrize("name", ["test_dft_inverse", "test_dft_inverse_opset19"])
def test_an_inverse_transform_in_double_fails_as_ours_does(name: str) -> None:
    case, arrays, (wanted,) = data_of(name)
    found = np.fft.ifft(arrays[0].astype(np.float64) @ [1, 1j], axis=1)
    far = ~np.isclose(np.stack([found.real, found.imag], -1), wanted, rtol=case.rtol, atol=case.atol)
    assert int(far.sum()) == 10
    assert np.abs(np.stack([found.real, found.imag], -1)[far]).max() < 1e-14


def test_a_quotient_of_dynamic_quantization_is_a_tie_by_the_reciprocal_alone() -> None:
    x, scale = np.float32(-2.5), np.float32(0.019607844)
    assert (float(x / scale), float(x * (np.float32(1) / scale))) == (-127.49999237060547, -127.5)
