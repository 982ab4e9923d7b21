"""Small modules of PyTorch as two exporters write them, with PyTorch's outputs: `../shared/models/zoo`.

All give PyTorch's numbers. What an exporter got wrong stands in EXPORTED_WRONG, and in a table of docs/nnef.md: the
document says something else than the module, and is read as it is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tosa_engine import check, oracle
from tosa_engine.frontends import nnef

ROOT = Path(__file__).parents[3]
ZOO = ROOT.parent / "shared" / "models" / "zoo"
DOCUMENTS = sorted(f"{file.parent.parent.name}/{file.parent.name}" for file in ZOO.glob("*/*/graph.nnef"))
SAMPLES: Final = 2
EXPORTED_WRONG: Final = {
    "adaptive_avg_5/khronos": (1, 8, 6, 6),
    "adaptive_avg_5/tract": (1, 8, 6, 6),
}
needs_zoo = pytest.mark.skipif(not ZOO.is_dir(), reason="needs the folder ../shared/models/zoo")


@needs_zoo
def test_the_documents_of_the_zoo() -> None:
    assert len(DOCUMENTS) == 72
    assert EXPORTED_WRONG.keys() <= {*DOCUMENTS}


@needs_zoo
@pytest.mark.parametrize("name", [d for d in DOCUMENTS if d not in EXPORTED_WRONG])
def test_what_is_read_gives_the_numbers_of_pytorch(name: str) -> None:
    folder = ZOO / name
    samples, expected = np.load(folder.parent / "x.npy"), np.load(folder.parent / "y.npz")
    graph = nnef.load(folder)
    check.validate(graph)
    (source,) = graph.inputs
    assert len(graph.outputs) == len(expected.files)
    for sample in range(SAMPLES):
        outputs = oracle.run(graph, {source.name: samples[sample : sample + 1]})
        for tensor, output in zip(graph.outputs, expected.files, strict=True):
            got, wanted = outputs[tensor.name], expected[output][sample]
            assert got.shape == wanted.shape
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


@needs_zoo
@pytest.mark.parametrize("name", EXPORTED_WRONG)
def test_what_an_exporter_wrote_wrongly_is_read_as_written(name: str) -> None:
    assert nnef.load(ZOO / name).outputs[0].shape == EXPORTED_WRONG[name]


def test_the_page_names_what_was_exported_wrong() -> None:
    rows = re.findall(r"^\| `(\w+/\w+)` \|", (ROOT / "docs" / "nnef.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == sorted(EXPORTED_WRONG)
