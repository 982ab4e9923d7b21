"""Operations of tract_core and tract_transformers in int8 and int16: signal to noise against float, in dB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from generate_nnef_operations import quantized

from tosa_engine import oracle
from tosa_engine.compare.agreement import Agreement
from tosa_engine.frontends import nnef
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.types import Array

EXTENSIONS = "extension tract_registry tract_transformers;\nextension tract_registry tract_core;\n"
Shapes = dict[str, tuple[int, ...]]
HEADS: Shapes = {"q": (1, 2, 6, 8), "k": (1, 2, 6, 8), "v": (1, 2, 6, 8)}
ROWS: Shapes = {"x": (4, 6)}
ENDLESS = np.where(np.arange(36).reshape(6, 6) % 5 < 3, 0.25, -np.inf).astype(np.float32)


def measured(folder: Path, body: str, shapes: Shapes, tensors: dict[str, Array]) -> tuple[float, float]:
    """The SQNR of int8 and int16; inputs named `t` are of indices."""
    lines = [
        f"{n} = tract_core_external(shape = {list(s)}, datum_type = '{'i64' if n == 't' else 'f32'}');"
        for n, s in shapes.items()
    ]
    for name, array in tensors.items():
        lines.append(f"{name} = variable<scalar>(shape = {list(array.shape)}, label = '{name}');")
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(array))
    text = "\n".join([*lines, body])
    (folder / "graph.nnef").write_text(f"version 1.0;\n{EXTENSIONS}graph g({', '.join(shapes)}) -> (y) {{\n{text}\n}}")
    graph, rng = nnef.load(folder), np.random.default_rng(0)
    samples: list[dict[str, Array]] = [
        {n: rng.integers(0, 6, s, np.int32) if n == "t" else np.float32(rng.normal(size=s)) for n, s in shapes.items()}
        for _ in range(3)
    ]
    wanted, found = oracle.run(graph, samples[-1])["y"], []
    for bits in (8, 16):
        made = quantized(graph, samples, bits)
        stored = {
            t.name: samples[-1][t.name] if t.quant is None else quantize_array(samples[-1][t.name], t.quant)
            for t in made.inputs
        }
        quant = made.outputs[0].quant
        assert quant is not None
        agreement = Agreement()
        agreement.add_floats(dequantize_array(oracle.run(made, stored)["y"], quant), wanted)
        found.append(agreement.sqnr if agreement.noise else np.inf)
    return found[0], found[1]


@pytest.mark.parametrize(
    ("body", "shapes", "tensors", "least"),
    [
        ("y = tract_transformers_sdpa(q, k, v);", HEADS, {}, (34, 76)),
        ("y = tract_transformers_sdpa(q, k, v, is_causal = true);", HEADS, {}, (34, 76)),
        ("y = tract_transformers_sdpa(q, k, v, m);", HEADS, {"m": ENDLESS}, (34, 76)),
        ("y = tract_transformers_sdpa(q, k, v);", {**HEADS, "k": (1, 1, 6, 8), "v": (1, 1, 6, 8)}, {}, (34, 76)),
        ("y = tract_transformers_apply_rope(x, x, x);", ROWS, {}, (37, 68)),
        ("y = tract_transformers_rms_norm(x, axis = 1, eps = 0.01);", ROWS, {}, (34, 76)),
        ("y = tract_core_silu(x);", ROWS, {}, (40, 80)),
        ("y = tract_core_gelu_approx(x);", ROWS, {}, (40, 80)),
        ("y = tract_core_einsum([x, x], expr = 'ij,kj->ik', acc = 'f32');", ROWS, {}, (36, 80)),
        ("y = tract_core_einsum([x], expr = 'ij->i', acc = 'f32');", ROWS, {}, (36, 84)),
        ("y = tract_core_trilu(x, k = 1, upper = true);", ROWS, {}, (38, 84)),
        ("y, i = tract_core_topk(x, k = 3, axis = 1, largest = true);", ROWS, {}, (40, 86)),
        ("y = tract_core_gather(w, t, axis = 0);", {"t": (2, 3)}, {"w": np.eye(6, dtype=np.float32) - 0.4}, (40, 40)),
        ("y = tract_core_gather(x, i, axis = 1);", ROWS, {"i": np.float32([5, 4, 3, 2, 1, 0])}, (40, 86)),
        ("y = tract_core_gather_elements(x, t, axis = 1);", {**ROWS, "t": (4, 2)}, {}, (38, 84)),
        ("s = 4.0 * x; y = tract_core_round_even(s);", ROWS, {}, (26, 60)),
        (
            "y = tract_core_resize(x, sizes = n, interpolator = 'cubic', coord_transformer = 'half_pixel');",
            ROWS, {"n": np.float32([4, 9])}, (34, 40),
        ),
    ],
)  # fmt: skip
def test_integers_are_close_to_floats(
    tmp_path: Path, body: str, shapes: Shapes, tensors: dict[str, Array], least: tuple[float, float]
) -> None:
    found = measured(tmp_path, body, shapes, tensors)
    assert found[0] >= least[0], found
    assert found[1] >= least[1], found
