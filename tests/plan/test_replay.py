"""Every plan against the unfused one: the same bytes, whatever is kept, with any number of threads, JIT on and off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from movement_strategies import movements
from nets import feeds_of, halves_net, residual_net, words_net
from replay_tools import replay, replay_model

from tosa_engine.compliance.cases import graphs
from tosa_engine.load import load
from tosa_engine.plan import expand, make_plan
from tosa_engine.runtime import workspace

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

ROOT = Path(__file__).parents[2]
MODELS = ROOT.parent / "shared" / "models" / "tosa"
INTEGER_MODELS = sorted(p.name for p in MODELS.glob("*.int*")) if MODELS.is_dir() else []
QUICK = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
THREADS = (1, 2, 3, 8)


@pytest.fixture
def shares_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers share every step, however small."""
    monkeypatch.setattr(workspace, "WORTH_SHARING", 0.0)
    monkeypatch.setattr(workspace, "WORTH_WAKING", 0.0)


@pytest.mark.skipif(not MODELS.is_dir(), reason="needs the folder ../shared/models")
@pytest.mark.parametrize("name", INTEGER_MODELS)
def test_models_replay_unfused(name: str) -> None:
    graph = load(MODELS / name / "model.tosa")
    files = sorted((MODELS / name).glob("real_in*.npy"))
    feeds = {tensor.name: np.load(file) for tensor, file in zip(graph.inputs, files, strict=True)}
    replay_model(graph, feeds, THREADS)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.usefixtures("shares_all")
def test_random_graphs_replay_unfused(threads: int) -> None:
    @QUICK
    @given(graphs())
    def run(drawn: tuple[Graph, dict[str, Array]]) -> None:
        replay(*drawn, threads)

    run()


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.usefixtures("shares_all")
def test_random_movements_replay_unfused(threads: int) -> None:
    @QUICK
    @given(movements())
    def run(drawn: tuple[Graph, dict[str, Array]]) -> None:
        replay(*drawn, threads)

    run()


def small() -> list[Graph]:
    return [residual_net(size=6, channels=6), words_net(), halves_net()]


@pytest.mark.parametrize("graph", small(), ids=["residual", "words", "halves"])
def test_small_nets_replay_unfused(graph: Graph) -> None:
    replay(graph, feeds_of(graph))


def test_small_nets_are_fused() -> None:
    words, halves = (
        [step.operators for step in make_plan(expand(graph)).steps] for graph in (words_net(), halves_net())
    )
    assert words == ["CONV2D+RESCALE+RESCALE", "TABLE+RESCALE", "RESCALE", "ADD"]
    assert halves == ["PAD+DEPTHWISE_CONV2D+CLAMP", "CONV2D", "ADD+CLAMP"]


def test_small_nets_replay_unfused_without_the_jit() -> None:
    chosen = "small_nets_replay and not without"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__, "-k", chosen]
    environment = os.environ | {"TOSA_ENGINE_JIT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"{len(small())} passed" in done.stdout
