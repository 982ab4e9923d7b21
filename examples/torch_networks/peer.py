"""ONNX Runtime: the float network, and the int8 network that its own static quantization makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime
from export import INPUT
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quant_pre_process, quantize_static

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, np.dtype[Any]]


class Reader(CalibrationDataReader):
    def __init__(self, samples: Array) -> None:
        self.samples = iter(samples)

    def get_next(self) -> dict[str, Array] | None:
        sample = next(self.samples, None)
        return None if sample is None else {INPUT: sample[None]}


def quantize(onnx: Path, calibration: Array, path: Path) -> Path:
    """Its default (extremes of the samples, int8 activations), with what improves it: prepared, weights per channel."""
    prepared = path.with_suffix(".prepared.onnx")
    quant_pre_process(str(onnx), str(prepared))
    quantize_static(str(prepared), str(path), Reader(calibration), quant_format=QuantFormat.QDQ, per_channel=True)
    return path


def run(onnx: Path, samples: Array) -> Array:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(onnx), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {INPUT: sample[None]})[0] for sample in samples])
