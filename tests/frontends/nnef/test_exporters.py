"""Forms that exporters write and the standard forbids: each means one thing, has one warning, and `strict` refuses it.

Expected numbers are PyTorch's, of the functions that the docstrings name, for `small` values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import check, oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tosa_engine.types import Array

TRACT = "extension tract_registry tract_core;\n"


def small(*shape: int) -> Array:
    """torch.arange(size).mul(5).remainder(7).sub(3).float().reshape(shape)"""
    return (np.arange(np.prod(shape)) * 5 % 7 - 3).astype(np.float32).reshape(shape)


def read(
    folder: Path,
    body: str,
    tensors: Mapping[str, Array] | None = None,
    *,
    shape: tuple[int, ...] = (2, 3),
    start: str = "",
) -> tuple[Array, list[str]]:
    """The output y for `small` values of the input x, and the warnings without file and place."""
    variables = "".join(
        f"{name} = variable<scalar>(shape = {list(array.shape)}, label = '{name}');\n"
        for name, array in (tensors or {}).items()
    )
    text = f"version 1.0;\n{start}graph g(x) -> (y) {{\nx = external<scalar>(shape = {list(shape)});\n"
    (folder / "graph.nnef").write_text(f"{text}{variables}{body}\n}}\n")
    for name, array in (tensors or {}).items():
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(array))
    graph = nnef.load(folder)
    check.validate(graph)
    return oracle.run(graph, {"x": small(*shape)})["y"], [w.split(": ", 1)[1] for w in graph.warnings]


def refused(folder: Path) -> str:
    """What `strict` says of the document that was read last."""
    with pytest.raises(TosaEngineError) as caught:
        nnef.load(folder, strict=True)
    return str(caught.value)


@pytest.mark.parametrize(
    ("outputs", "groups", "expected"),
    [
        (4, 1, [6, 26, -4, 9, 6, 8, 12, -21, -1, 8, -6, -3]),
        (4, 2, [-8, 13, -5, -7, 2, -3, 13, -9, 1, 15, -11, -3]),
        (6, 2, [-10, 13, -3, 12, 9, -1, 13, -9, 15, -2, -5, 6, 0, -7, 2, -5, 5, -2]),
        (4, 4, [0, 12, -8, -6, -20, -6, -8, 12, 0, -6, 10, -4]),
    ],
)
@pytest.mark.parametrize("tract", [True, False])
def test_filters_of_deconv_begin_with_the_outputs_under_tract_core(
    tmp_path: Path, outputs: int, groups: int, expected: list[int], tract: bool
) -> None:
    """conv_transpose2d(small(1, 4, 2, 2), small(4, outputs // groups, 2, 2), groups = groups, padding = (1, 0))"""
    weight = small(4, outputs // groups, 2, 2)
    if tract:
        parts = weight.reshape(groups, 4 // groups, outputs // groups, 2, 2)
        weight = parts.swapaxes(1, 2).reshape(outputs, 4 // groups, 2, 2)
    body = f"y = deconv(x, w, stride = [1, 1], padding = [(1, 1), (0, 0)], groups = {groups});"
    found, warnings = read(tmp_path, body, {"w": weight}, shape=(1, 4, 2, 2), start=TRACT if tract else "")
    assert found.reshape(-1).tolist() == expected
    message = f"'deconv': filter of shape {list(weight.shape)} begins with the outputs, as tract_core has it; "
    message += f"the standard's begins with the inputs: [4, {outputs // groups}, 2, 2]"
    assert warnings == ([message] if tract else [])
    if tract:
        assert message in refused(tmp_path)
        again = tmp_path / "again.nnef"
        nnef.save(nnef.load_document(tmp_path), again)
        assert oracle.run(nnef.load(again), {"x": small(1, 4, 2, 2)})["y"].reshape(-1).tolist() == expected
