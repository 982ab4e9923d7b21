"""Algorithms of graph.quant beside the linear ones: logarithmic_quantize, and fragments of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quantized_documents import SHAPE, TERNARY, X_LINE, X, all_codes, floats, integers, linear, operators, run, write

from tosa_engine import Session
from tosa_engine.frontends import nnef
from tosa_engine.graph import QParams
from tosa_engine.qparams.arrays import dequantize_array, quantize_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.types import Array


def logarithmic(x: Array, most: float, bits: int) -> Array:
    """Section 4.9.5, in double precision."""
    m, r = np.ceil(np.log2(most)), 2.0**bits - 1
    with np.errstate(divide="ignore"):
        q = np.floor(np.clip(np.log2(np.abs(x)), m - r, m) + 0.5)
    return np.sign(x) * 2.0**q


def test_a_logarithmic_line_is_applied_behind_the_tensor(tmp_path: Path) -> None:
    path = write(tmp_path, "r = tanh(x); y = add(r, r);", '"r": logarithmic_quantize(max = 0.7, bits = 3);')
    np.testing.assert_allclose(floats(path), 2 * logarithmic(np.tanh(X.astype(np.float64)), 0.7, 3), rtol=1e-6)


@pytest.mark.parametrize("line", ["x", "w"])
def test_external_tensors_and_variables_keep_their_names(tmp_path: Path, line: str) -> None:
    w = np.random.default_rng(1).normal(size=SHAPE).astype(np.float32)
    body = "w = variable(shape = [1, 3, 8, 12], label = 'w'); y = add(x, w);"
    path = write(tmp_path, body, f'"{line}": logarithmic_quantize(max = 2.0, bits = 4);', tensors={"w": w})
    graph = nnef.load(path)
    assert [t.name for t in graph.inputs] == ["x"]
    sides = {"x": X.astype(np.float64), "w": w.astype(np.float64)}
    sides[line] = logarithmic(sides[line], 2.0, 4)
    np.testing.assert_allclose(floats(path), sides["x"] + sides["w"], rtol=1e-5, atol=1e-6)


def test_logarithmic_levels_per_channel(tmp_path: Path) -> None:
    path = write(tmp_path, "y = relu(x);", '"y": logarithmic_quantize(max = [1.0, 2.0, 4.0], bits = 3);')
    expected = [logarithmic(np.maximum(X[:, c], 0), most, 3) for c, most in enumerate((1.0, 2.0, 4.0))]
    np.testing.assert_allclose(floats(path), np.stack(expected, axis=1), rtol=1e-6)


def test_logarithmic_levels_are_one_table(tmp_path: Path) -> None:
    path = write(tmp_path, "y = logarithmic_quantize(x, max = 3.0, bits = 3);", X_LINE.replace("0.03125", "0.0625"))
    graph = integers(path)
    assert operators(graph) == ["TABLE"]
    codes = all_codes(graph)
    scale = graph.outputs[0].quant
    assert scale == QParams((2.0**-4,), (0,))  # 64 codes to 2^2, the least power of two from 3.0 on
    found = dequantize_array(run(graph, codes), scale)
    expected = logarithmic(codes / 16.0, 3.0, 3)
    shown = np.abs(expected) >= 2.0**-4  # lower levels than 2^-6 of the largest are nearer to 0
    np.testing.assert_array_equal(found[shown], expected[shown])
    assert set(np.abs(found).ravel()) == {0, *(2.0**n for n in range(-4, 3))}


def test_logarithmic_lines_become_integers(tmp_path: Path) -> None:
    quant = X_LINE + f'"r": logarithmic_quantize(max = 3.0, bits = 3);\n"y": {linear(-128, 1 / 256)};'
    graph = integers(write(tmp_path, "r = relu(x); y = sigmoid(r);", quant))
    codes = all_codes(graph)
    found = dequantize_array(run(graph, codes), QParams((1 / 256,), (-128,)))
    at = np.floor(np.maximum(codes, 0) / 2 + 0.5) / 16  # r before its levels: RESCALE to 1/16
    levels = np.where(at >= 2.0**-4, logarithmic(at, 3.0, 3), 0)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-levels)), atol=0.51 / 256)


@pytest.mark.parametrize("signed", [False, True])
def test_stored_logarithmic_codes(tmp_path: Path, signed: bool) -> None:
    """Section 5.2: with b bits, code q is 2^(q + m - (2^b - 1)); a signed code has one bit less and its sign."""
    codes = np.array([[0, 1, 2, 3, 12, 13, 14, 15]], np.uint8 if not signed else np.int8)
    codes = codes if not signed else np.array([[0, 1, 6, 7, -8, -7, -2, -1]], np.int8)
    dat = nnef.write_dat(codes, quantized=True, bits=4)
    body = "w = variable(shape = [1, 8], label = 'w'); y = mul(w, 1.0);"
    path = write(tmp_path, body, '"w": logarithmic_quantize(max = 3.0, bits = 4);', tensors={"w": dat})
    levels = [0, 1, 2, 3, 12, 13, 14, 15] if not signed else [0, 1, 6, 7, 0, 1, 6, 7]
    bits = 15 if not signed else 7
    signs = [1] * 4 + [-1 if signed else 1] * 4
    expected = [s * 2.0 ** (q + 2 - bits) for q, s in zip(levels, signs, strict=True)]
    assert floats(path).tolist() == [expected]


# algorithms of the document


def test_a_fragment_is_an_algorithm(tmp_path: Path) -> None:
    path = write(tmp_path, "y = copy(x);", '"y": ternary(step = 0.5, limit = 2);', fragments=TERNARY)
    np.testing.assert_allclose(floats(path), np.clip(np.floor(X / 0.5 + 0.5), -2, 2) * 0.5)


def test_a_fragment_becomes_a_table(tmp_path: Path, command: Callable[..., Any]) -> None:
    """Its tensor has no linear quantization of its own, so the ranges come from statistics."""
    path = write(tmp_path, "r = relu(x); y = sigmoid(r);", '"r": ternary(step = 0.5, limit = 2);', fragments=TERNARY)
    np.save(tmp_path / "x.npy", X)
    stats, out = tmp_path / "s.json", tmp_path / "m.tosa"
    done = command("calibrate", path, "--data", tmp_path / "x.npy", "-o", tmp_path / "g.quant", "--statistics", stats)
    assert done.code == 0, done.err
    done = command("quantize", path, "--statistics", stats, "-o", out)
    assert done.code == 0, done.err
    session = Session(out)
    codes = quantize_array(X, session.inputs[0].quant)
    found, real = session.run_real(None, {"x": codes})[0], dequantize_array(codes, session.inputs[0].quant)
    inside = np.abs(np.abs(real) % 0.5 - 0.25) > 0.02  # a step of relu's own scale from where the levels change
    expected = 1 / (1 + np.exp(-np.clip(np.floor(np.maximum(real, 0) / 0.5 + 0.5), -2, 2) * 0.5))
    np.testing.assert_allclose(found[inside], expected[inside], atol=2 * session.outputs[0].quant.scale[0])
