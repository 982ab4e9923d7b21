"""Small models with operators of ONNX Runtime's own domain, and the outputs that it gives for them.

python tests/shared/onnx_runtime_cases.py     writes tests/data/onnx/runtime.json, with onnxruntime installed
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper

RECORDED = Path(__file__).resolve().parents[1] / "data" / "onnx" / "runtime.json"
DOMAIN = "com.microsoft"
CODES = {"float32": TensorProto.FLOAT, "uint8": TensorProto.UINT8, "int8": TensorProto.INT8}


class Case(NamedTuple):
    """One node: inputs that are data, constants, None for what isn't given; types of the outputs."""

    op: str
    inputs: tuple[Any, ...]
    outputs: tuple[str, ...] = ("float32",)
    attributes: dict[str, Any] = {}  # noqa: RUF012
    data: tuple[int, ...] = (0,)
    domain: str = DOMAIN

    def model(self) -> Any:
        names = [f"i{n}" if one is not None else "" for n, one in enumerate(self.inputs)]
        ends = [f"o{n}" if kind else "" for n, kind in enumerate(self.outputs)]
        node = helper.make_node(self.op, names, ends, domain=self.domain, **self.attributes)
        held = [
            numpy_helper.from_array(np.asarray(one), names[n])
            for n, one in enumerate(self.inputs)
            if one is not None and n not in self.data
        ]
        ports = [
            helper.make_tensor_value_info(f"i{n}", CODES[self.inputs[n].dtype.name], self.inputs[n].shape)
            for n in self.data
        ]
        results = [
            helper.make_tensor_value_info(f"o{n}", CODES[kind], None) for n, kind in enumerate(self.outputs) if kind
        ]
        graph = helper.make_graph([node], "g", ports, results, held)
        sets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=sets, ir_version=8)

    def feeds(self) -> dict[str, Any]:
        return {f"i{n}": self.inputs[n] for n in self.data}


def cases() -> dict[str, Case]:
    """By name; the same numbers in every run."""
    random = np.random.default_rng(7)

    def f(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    def u(*shape: int) -> Any:
        return random.integers(0, 256, shape).astype(np.uint8)

    def i(*shape: int) -> Any:
        return random.integers(-128, 128, shape).astype(np.int8)

    def s(value: float) -> Any:
        return np.float32(value)

    z, zs = np.uint8, np.int8
    one = (s(0.05), z(120))
    q = ("uint8",)
    pool = {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [1, 0, 0, 1]}
    return {
        "add": Case("QLinearAdd", (u(2, 3, 4), *one, u(3, 1), s(0.03), z(3), s(0.06), z(100)), q, {}, (0, 3)),
        "add_int8": Case(
            "QLinearAdd", (i(2, 3), s(0.05), zs(5), i(3), s(0.03), zs(-3), s(0.06), zs(0)), ("int8",), {}, (0, 3)
        ),
        "mul": Case("QLinearMul", (u(2, 3, 4), *one, u(2, 3, 4), s(0.03), z(3), s(0.2), z(100)), q),
        "sigmoid": Case("QLinearSigmoid", (u(40), *one, s(1 / 256), z(0)), q),
        "leaky": Case("QLinearLeakyRelu", (u(40), *one, s(0.04), z(30)), q, {"alpha": 0.2}),
        "average": Case("QLinearAveragePool", (u(1, 2, 5, 5), *one, s(0.04), z(100)), q, pool),
        "average_padded": Case(
            "QLinearAveragePool", (u(1, 2, 5, 5), *one, s(0.04), z(100)), q, {**pool, "count_include_pad": 1}
        ),
        "global": Case("QLinearGlobalAveragePool", (u(1, 5, 5, 3), *one, s(0.01), z(100)), q, {"channels_last": 1}),
        "concat": Case(
            "QLinearConcat", (s(0.05), z(100), u(2, 3), *one, u(2, 2), s(0.02), z(9)), q, {"axis": 1}, (2, 5)
        ),
        "softmax": Case("QLinearSoftmax", (u(3, 7), *one, s(1 / 256), z(0)), q, {"axis": -1, "opset": 13}),
        "gemm": Case(
            "QGemm", (u(3, 8), *one, i(8, 4), s(0.01), zs(0), np.arange(4, dtype=np.int32) * 99, s(0.1), z(128)), q
        ),
        "gemm_float": Case(
            "QGemm",
            (u(3, 8), *one, i(4, 8), np.array([0.01, 0.02, 0.03, 0.04], np.float32), np.zeros(4, np.int8), None),
            ("float32",),
            {"transB": 1},
        ),
        "quantize": Case("QuantizeLinear", (f(3, 4), s(0.02), z(128)), q),
        "dequantize": Case("DequantizeLinear", (u(3, 4), s(0.02), z(128))),
        "to_float": Case(
            "MatMulIntegerToFloat",
            (
                u(3, 8),
                i(8, 4),
                s(0.05),
                np.array([0.01, 0.02, 0.03, 0.04], np.float32),
                z(120),
                np.zeros(4, np.int8),
                f(4),
            ),
        ),
        "dynamic_matmul": Case("DynamicQuantizeMatMul", (f(3, 8), i(8, 4), s(0.01), zs(0), f(4))),
        "dynamic_lstm": Case(
            "DynamicQuantizeLSTM",
            (
                f(3, 1, 5),
                i(1, 5, 12),
                i(1, 3, 12),
                f(1, 24),
                None,
                None,
                None,
                None,
                np.full(1, 0.01, np.float32),
                np.zeros(1, np.int8),
                np.full(1, 0.01, np.float32),
                np.zeros(1, np.int8),
            ),
            ("float32", "float32", "float32"),
            {"hidden_size": 3},
        ),
        "nbits": Case(
            "MatMulNBits", (f(3, 32), u(5, 2, 8), f(10)), ("float32",), {"K": 32, "N": 5, "bits": 4, "block_size": 16}
        ),
        "nbits_zero_points": Case(
            "MatMulNBits",
            (f(3, 32), u(5, 2, 8), f(10), u(5)),
            ("float32",),
            {"K": 32, "N": 5, "bits": 4, "block_size": 16},
        ),
        "fused_matmul": Case(
            "FusedMatMul", (f(2, 4, 3), f(2, 5, 4)), ("float32",), {"transA": 1, "transB": 1, "alpha": 0.5}, (0, 1)
        ),
        "fused_conv": Case(
            "FusedConv",
            (f(1, 2, 5, 5), f(3, 2, 3, 3), f(3)),
            ("float32",),
            {"activation": "LeakyRelu", "activation_params": [0.2], "pads": [1, 1, 1, 1]},
        ),
        "fused_conv_sum": Case(
            "FusedConv",
            (f(1, 2, 5, 5), f(3, 2, 3, 3), f(3), f(1, 3, 3, 3)),
            ("float32",),
            {"activation": "Relu"},
            (0, 3),
        ),
        "fused_gemm": Case(
            "FusedGemm", (f(3, 4), f(4, 5), f(5)), ("float32",), {"activation": "LeakyRelu", "activation_alpha": 0.1}
        ),
        "gelu": Case("Gelu", (f(20),)),
        "fast_gelu": Case("FastGelu", (f(4, 5), f(5))),
        "bias_gelu": Case("BiasGelu", (f(4, 5), f(5))),
        "quick_gelu": Case("QuickGelu", (f(20),)),
        "skip_norm": Case(
            "SkipLayerNormalization",
            (f(1, 3, 8), f(1, 3, 8), f(8), f(8), f(8)),
            ("float32", "", "", "float32"),
            {"epsilon": 1e-5},
            (0, 1),
        ),
        "skip_simple": Case(
            "SkipSimplifiedLayerNormalization", (f(1, 3, 8), f(1, 3, 8), f(8)), ("float32",), {"epsilon": 1e-5}, (0, 1)
        ),
        "simple_norm": Case("SimplifiedLayerNormalization", (f(2, 3, 8), f(8)), ("float32",), {"axis": -1}, (0,), ""),
    }


def main() -> None:
    import onnxruntime

    found = {}
    for name, case in cases().items():
        session = onnxruntime.InferenceSession(case.model().SerializeToString(), providers=["CPUExecutionProvider"])
        results = session.run(None, case.feeds())
        found[name] = [np.asarray(one).astype(np.float64).round(7).tolist() for one in results]
    RECORDED.write_text(json.dumps({"onnxruntime": onnxruntime.__version__, "outputs": found}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
