"""The 130 operator tests of NNEF-Tools, in NNEF 1 and in SkriptND: one computation, so the same integers.

`pytest -rP` prints how many are the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from quant import quantize
from tests.frontends.skriptnd.same_graph import drawn
from tosa_engine import oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends.nnef.mapping import inner_tensors
from tosa_engine.frontends.nnef.source import DocumentSource
from tosa_engine.frontends.skriptnd.source import SkriptndSource
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tosa_engine.formats import Source
    from tosa_engine.graph import Graph

PAIRS = Path(__file__).parents[4] / "shared" / "models" / "skriptnd" / "from_nnef"
pytestmark = pytest.mark.skipif(not PAIRS.is_dir(), reason="needs the folder ../shared/models")
# Tensors that the SkriptND text has in place of those inside of a compound of NNEF 1.
NAMES = {
    "separable_conv2d": {"output_planes": "conv1"},
    "separable_deconv2d": {"output_points": "deconv1"},
    "local_mean_norm": {"output_box": "box1"},
}
# Pairs that aren't one computation, and why: no implementation of both texts could give the same.
OTHERS = {
    "gelu": "nn.gelu is exact; gelu of NNEF 1 is the approximation x * sigmoid(1.702 * x)",
    "max_pool": "the border of NNEF 1 is 0, and takes part; nn.max_pool passes over what lies outside",
    "max_pool_strided": "as max_pool",
    "local_contrast_norm": "the text in SkriptND lacks the addition of the bias 0.0",
    "local_variance_norm": "as local_contrast_norm",
}


@pytest.fixture(scope="module")
def pairs() -> dict[str, tuple[DocumentSource, SkriptndSource]]:
    names = sorted(path.stem for path in PAIRS.glob("*.nnef"))
    sources = {n: (DocumentSource(PAIRS / f"{n}.nnef"), SkriptndSource(PAIRS / f"{n}.nnef.nnef2")) for n in names}
    return {name.removeprefix("test_"): pair for name, pair in sources.items()}


def sample(graph: Graph, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Positive numbers, in which a border of 0 isn't the largest one."""
    kinds = {"bool": lambda shape: generator.integers(0, 2, shape) > 0, "i32": lambda shape: np.zeros(shape, np.int32)}
    real = lambda shape: generator.uniform(1.0, 1.9, shape).astype(np.float32)  # noqa: E731
    tensors = {name: graph.main.tensors[name] for name in graph.main.inputs}
    return {name: kinds.get(str(t.dtype), real)(t.shape) for name, t in tensors.items()}


def test_the_same_floats(pairs: dict[str, tuple[DocumentSource, SkriptndSource]]) -> None:
    """The same graph, or else values within 1e-6."""
    same, close = 0, 0
    for name, sources in pairs.items():
        first, second = (source.graph() for source in sources)
        if drawn(first) == drawn(second):
            same += 1
        elif name != "gelu":
            inputs = sample(first, np.random.default_rng(0))
            wanted, found = (next(iter(oracle.run(graph, inputs).values())) for graph in (first, second))
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6, err_msg=name)
            close += 1
    print(f"{same} of {len(pairs)} are the same graph, {close} more give the same values")
    assert (same, close, len(pairs)) == (124, 5, 130)


def hints_of(source: DocumentSource) -> dict[str, QParams]:
    """A quantization of all real tensors, those inside of compounds included."""
    document = source.document
    inside = sorted(inner_tensors(document)) if not any("quantize" in op.name for op in document.operations) else []
    real = {t.source.name for t in source.graph({}).main.tensors.values() if t.source and str(t.dtype) == "fp32"}
    names = [name for name in (*document.tensors, *inside) if name in real]
    points = [0 if name in document.variables else 5 * i - 7 for i, name in enumerate(names)]
    return {name: QParams((0.01 + 0.001 * i,), (points[i],)) for i, name in enumerate(names)}


def integers(source: Source, hints: Mapping[str, QParams]) -> list[object]:
    return drawn(quantize(source.graph(hints, for_integers=True)))


def test_the_same_integers(pairs: dict[str, tuple[DocumentSource, SkriptndSource]]) -> None:
    """Under one quantization: operators, attributes, constants, but for what isn't one computation."""
    different = []
    for name, (old, new) in pairs.items():
        hints, names = hints_of(old), NAMES.get(name, {})
        wanted = integers(old, hints)
        try:
            found = integers(new, {names.get(tensor, tensor): quant for tensor, quant in hints.items()})
        except TosaEngineError as problem:
            assert "the quantization names tensors that" in problem.message  # noqa: PT017
            found = []
        if found != wanted:
            different.append(name)
    print(f"{len(pairs) - len(different)} of {len(pairs)} pairs give the same integers")
    assert different == sorted(OTHERS)
