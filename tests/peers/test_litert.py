"""Every layer of the quantized documents is within 1 of LiteRT's reference kernel, given the same inputs."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "models" / "nnef" / "quantized"


@pytest.mark.peers
@pytest.mark.skipif(not SHARED.is_dir(), reason="needs the folder ../shared/models")
@pytest.mark.parametrize("name", ["ds_cnn_kws", "mobilenet_v2_w100_224"])
def test_layers(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ai_edge_litert", reason="needs LiteRT, which the extra `bench` has")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    layers = importlib.import_module("layers")
    files = (SHARED / f"{name}.int8{suffix}" for suffix in ("", ".tflite", ".io.npz"))
    assert layers.main([str(file) for file in files]) == 0
    assert "| all layers |" in capsys.readouterr().out
