"""digits.tosa, unchanged, in other consumers of TOSA files: the same bytes, and no operator left to a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from . import tools

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

IMAGES = 60


@dataclass(frozen=True)
class Quantized:
    """The quantized network, images as it takes them, and our engine's outputs for them."""

    model: Path
    images: np.ndarray
    outputs: np.ndarray


@pytest.fixture(scope="module")
def quantized(digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Quantized:
    from tosa_engine import Session
    from tosa_engine.cli import main
    from tosa_engine.frontends.nnef.files import graph_quant
    from tosa_engine.qparams.arrays import quantize_array

    folder = tmp_path_factory.mktemp("digits")
    network, data = digits / "digits.nnef", digits / "digits_data.npz"
    quant, model = folder / "graph.quant", folder / "digits.tosa"
    with np.load(data, allow_pickle=False) as bundle:
        images = bundle["test_images"][:IMAGES, None]
    assert main(["calibrate", str(network), "--data", str(data), "-o", str(quant)]) == 0
    assert main(["quantize", str(network), "--quant", str(quant), "-o", str(model)]) == 0
    images = quantize_array(images, graph_quant.read(quant)["input"])
    session = Session(model)
    outputs = np.stack([session.run(None, {session.inputs[0].name: image})[0] for image in images])
    assert len(np.unique(outputs.argmax(axis=-1))) > 1, "the same class for all images tells nothing"
    return Quantized(model, images, outputs)


def same_bytes(compute: Callable[[Path, np.ndarray, Path], np.ndarray], quantized: Quantized, folder: Path) -> None:
    found = compute(quantized.model, quantized.images, folder)
    assert found.dtype == quantized.outputs.dtype
    np.testing.assert_array_equal(found, quantized.outputs)


@pytest.mark.reference
def test_reference_model_computes_the_same_bytes(quantized: Quantized, tmp_path: Path) -> None:
    pytest.importorskip("tosa_reference_model", reason="needs tosa-tools, the extra `conformance`")
    same_bytes(tools.reference_outputs, quantized, tmp_path)


@pytest.mark.peers
def test_vela_leaves_nothing_to_the_cpu(quantized: Quantized, tmp_path: Path) -> None:
    pytest.importorskip("ethosu.vela", reason="needs ethos-u-vela, the extra `peers`")
    assert tools.cpu_operators(quantized.model, tmp_path) == 0


@pytest.mark.peers
def test_iree_computes_the_same_bytes(quantized: Quantized, tmp_path: Path) -> None:
    pytest.importorskip("iree.runtime", reason="needs iree-base-runtime, the extra `peers`")
    pytest.importorskip("iree.compiler", reason="needs iree-base-compiler, the extra `peers`")
    pytest.importorskip("tosa_reference_model", reason="needs tosa-opt of tosa-tools, the extra `conformance`")
    same_bytes(tools.iree_outputs, quantized, tmp_path)


def test_a_cpu_operator_would_be_seen() -> None:
    assert tools.cpu_operators_in("Network\n\nCPU operators = 2 (15.4%)\nNPU operators = 11 (84.6%)\n") == 2
    with pytest.raises(AssertionError, match="doesn't say how many CPU operators"):
        tools.cpu_operators_in("Error: nothing was compiled")
