"""The ten networks of tests/shared/jax_networks.py, made by the JAX that is installed: `make jax`.

test_networks.py has what was recorded of them, without JAX.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from stablehlo_modules import needs_jaxlib, read

from quant import LayerRule, Options, quantize_from_samples
from tosa_engine import Session, from_jax, oracle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph

pytestmark = [
    needs_jaxlib,
    pytest.mark.jax,
    pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs the extra `jax`: make jax"),
]
NAMES = [
    "squeeze_and_excite", "vit_block", "causal_attention", "lstm", "gru", "collatz", "int8_products", "orders",
    "resized", "cumulated",
]  # fmt: skip
# docs/stablehlo.md: signal to noise in dB as int8 and as int16
RATIOS = {
    "squeeze_and_excite": (28.5, 31.7), "vit_block": (28.5, 34.2), "causal_attention": (29.2, 35.0),
    "lstm": (23.4, 31.6), "gru": (25.1, 28.1), "resized": (30.0, 32.2),
}  # fmt: skip


def network(name: str) -> tuple[Callable[..., Any], list[Any]]:
    function, arrays = importlib.import_module("jax_networks").NETWORKS[name]
    return function, arrays


def outputs(graph: Graph, arrays: list[Any]) -> list[Any]:
    feeds = {port.name: np.array(array) for port, array in zip(graph.inputs, arrays, strict=True)}
    found = oracle.run(graph, feeds)
    return [found[name] for name in graph.main.outputs]


def test_these_are_the_ten() -> None:
    assert sorted(importlib.import_module("jax_networks").NETWORKS) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_computes_what_jax_computes_and_its_hlo_the_same_bytes(name: str, tmp_path: Path) -> None:
    jax = importlib.import_module("jax")
    options = importlib.import_module("jaxlib._hlo").HloPrintOptions()
    options.print_large_constants = True
    function, arrays = network(name)
    wanted = [np.asarray(one) for one in jax.tree.leaves(jax.jit(function)(*arrays))]
    found = outputs(from_jax(function, *arrays), arrays)
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == theirs.dtype
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(ours, theirs)
    path = tmp_path / f"{name}.hlo"
    hlo = jax.jit(function).lower(*arrays).compiler_ir("hlo").get_hlo_module()
    path.write_text(hlo.to_string(options), encoding="utf-8")
    assert [one.tobytes() for one in outputs(read(path), arrays)] == [one.tobytes() for one in found]


@pytest.mark.parametrize("name", RATIOS)
def test_as_integers_a_network_keeps_its_ratio_of_signal_to_noise(name: str, report: Callable[[str], None]) -> None:
    """Calibrated on 16 samples of random numbers, measured on 8 others."""
    function, arrays = network(name)
    graph = from_jax(function, *arrays)
    (port,) = graph.inputs
    samples = [np.random.default_rng(n).normal(size=port.shape).astype(np.float32) for n in range(24)]
    ratios = []
    for bits in ("int8", "int16"):
        made = quantize_from_samples(graph, samples[:16], Options(rules=(LayerRule("*", bits),))).graph
        signal = noise = 0.0
        with Session(graph) as floats, Session(made) as integers:
            for sample in samples[16:]:
                real = floats.run(None, {port.name: sample})
                near = integers.run_real(None, {made.inputs[0].name: sample})
                signal += sum(float((a.astype(np.float64) ** 2).sum()) for a in real)
                noise += sum(float(((a.astype(np.float64) - b) ** 2).sum()) for a, b in zip(real, near, strict=True))
        ratios.append(10 * float(np.log10(signal / noise)))
    report(f"{name}: int8 {ratios[0]:.1f} dB, int16 {ratios[1]:.1f} dB")
    for ratio, known in zip(ratios, RATIOS[name], strict=True):
        assert ratio > known - 1
