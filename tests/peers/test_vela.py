"""Costs are Vela's: the same as its command gives, and they belong to operators of the graph."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tosa_engine.load import load
from tosa_engine.npu.vela import costs

from .tools import BIN, run

pytestmark = pytest.mark.peers

MODELS = Path(__file__).parents[3] / "shared" / "models" / "tosa"
NETWORKS = ("ds_cnn_kws.int8", "small_cnn.int8", "encoder_block_T64_D128.int8", "autoencoder_640.int16")


@pytest.mark.skipif(not MODELS.is_dir(), reason="needs the folder ../shared/models")
@pytest.mark.parametrize("target", ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("network", NETWORKS)
def test_cycles_and_memory_are_those_of_the_command(network: str, target: str, tmp_path: Path) -> None:
    pytest.importorskip("ethosu.regor", reason="needs ethos-u-vela, the extra `peers`")
    path = MODELS / network / "model.tosa"
    found = costs(load(path), target)
    run(BIN / "vela", path, "--accelerator-config", target, "--output-dir", tmp_path, folder=tmp_path)
    with next(tmp_path.glob("*summary*.csv")).open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert found.cycles == int(float(row["cycles_total"]))
    assert found.memories["Sram"]["peak"] == float(row["sram_memory_used"]) * 1024
    named = sum(one.cycles for one in found.operators)
    assert named >= 0.95 * (named + found.unnamed)


def test_cycles_that_were_written_down() -> None:
    pytest.importorskip("ethosu.regor", reason="needs ethos-u-vela, the extra `peers`")
    path = MODELS / "ds_cnn_kws.int8" / "model.tosa"
    if not path.is_file():
        pytest.skip("needs the folder ../shared/models")
    assert costs(load(path), "ethos-u55-256").cycles == 57889
