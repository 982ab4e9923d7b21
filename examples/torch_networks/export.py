"""A trained network as the files that public exporters write: ONNX, and two kinds of NNEF. Nothing edits them."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from pathlib import Path

INPUT, OUTPUT = "x", "y"
TRACT = "0.23.8"
OPSET = 14  # the newest that nnef_tools knows; LayerNormalization and Gelu are written in simpler operators


def to_onnx(network: torch.nn.Module, sample: torch.Tensor, path: Path, opset: int | None = None) -> Path:
    """By torch.onnx; with an opset, by its older exporter, whose operators nnef_tools knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        torch.onnx.export(
            network, (sample,), str(path), input_names=[INPUT], output_names=[OUTPUT], opset_version=opset,
            dynamo=opset is None, **({"external_data": False, "verbose": False} if opset is None else {}),
        )  # fmt: skip
    return path


def to_khronos(onnx: Path, folder: Path) -> str | None:
    """NNEF by the converter of nnef_tools; what it says where it refuses."""
    done = subprocess.run(
        [sys.executable, "-m", "nnef_tools.convert", "--input-format", "onnx", "--output-format", "nnef",
         "--input-model", str(onnx), "--output-model", str(folder), "--fold-constants"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return next((line for line in lines if "not implemented" in line), lines[-1])


def to_tract(network: torch.nn.Module, sample: torch.Tensor, archive: Path) -> Path:
    """NNEF by torch_to_nnef, as the runtime tract reads it.

    torch_to_nnef fetches tract to compare outputs with it, and asks it for its version even where that isn't wanted: a
    script answers, so that nothing is fetched.
    """
    from torch_to_nnef.export import export_model_to_nnef
    from torch_to_nnef.inference_target import TractNNEF

    tract = archive.parent / "tract"
    tract.write_text(f"#!/bin/sh\necho tract {TRACT}\n", encoding="utf-8")
    tract.chmod(0o755)
    archive.unlink(missing_ok=True)
    target = TractNNEF(
        TRACT, check_io=False, specific_tract_binary_path=tract.resolve(), dump_identity_properties=False
    )
    export_model_to_nnef(
        network, (sample,), archive, target, input_names=[INPUT], output_names=[OUTPUT], log_level=logging.ERROR
    )
    return archive
