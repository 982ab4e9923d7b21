"""Operators that a model defines by formulas: the general way agrees with the interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.frontends.skriptnd.models import assert_agree, graph_of
from tosa_engine import oracle
from tosa_engine.cli import main
from tosa_engine.load import load
from tosa_engine.runtime.ports import port_of
from tosa_engine.runtime.real import real, stored

if TYPE_CHECKING:
    from pathlib import Path

JUMPS = ("count of positive", "steps")


def operator(inputs: str, outputs: str, lower: str, more: str = "") -> str:
    return f"operator own {{ {more} @input {{ {inputs} }} @output {{ {outputs} }} @lower {{ {lower} }} }}"


X, XY = "x: real[n];", "x: real[n,m];"
OWN = {
    "smoothing": (X, "y: real[n];", "y[i,] += x[|i + j - 1|] / 3.0, i < n, j < 3;"),
    "replicated": (X, "y: real[n + 4];", "y[i,] = x[|i - 2 <> 0 : n - 1|], i < n + 4;"),
    "scan": (X, "y: real[n];", "y[i,] = x[i,], i < n; y[i,] := y[i,] + 0.5 * y[i - 1,], i < n | i > 0;"),
    "running maximum": (X, "y: real[n];", "y[i,] = x[i,], i < n; y[i,] >?= i > 0 ? y[i - 1,] : x[i,], i < n;"),
    "argmax": (X, "y: int[];", "y[] = 0; y[] := i, i < n | x[i,] > x[y[],];"),
    "argmax of a matrix": (
        XY, "y: int[]..(2);", "y[] = 0; y[] := [i,j], i < n, j < m | x[i,j] > x[y[]..];"
    ),
    "diagonal": ("x: real[n,n];", "y: real[n];", "y[i,] = x[i,i], i < n;"),
    "trace": ("x: real[n,n];", "y: real[];", "y[] += x[i,i], i < n;"),
    "outer sum": (X, "y: real[n,n];", "y[i,j] = x[i,] + x[j,], i < n, j < n;"),
    "convolution of a signal": ("x: real[n]; w: real[k];", "y: real[n];", "y[i,] += x[|i - j|] * w[j,], i < n, j < k;"),
    "full convolution": ("x: real[n]; w: real[k];", "y: real[n + k - 1];", "y[i + j,] += x[i,] * w[j,], i < n, j < k;"),
    "weighted sum": ("x: real[n,m]; w: real[m];", "y: real[n];", "y[i,] += x[i,j] * w[j,], i < n, j < m;"),
    "bilinear form": (
        "a: real[n]; w: real[n,m]; b: real[m];", "y: real[];", "y[] += a[i,] * w[i,j] * b[j,], i < n, j < m;"
    ),
    "distances": (
        "a: real[n,m]; b: real[k,m];", "y: real[n,k];",
        "with d = a[i,l] - b[j,l]: y[i,j] += d * d, i < n, j < k, l < m;",
    ),
    "dilated local attention": (
        "q: real[n,m]; k: real[n,m];", "y: real[n,3];",
        "y[i,j] += q[i,l] * k[|i + 2 * j - 2|, l], i < n, j < 3, l < m;",
    ),
    "space to depth with remainder": (
        X, "y: real[2, (n + 1) / 2];", "y[j,i] = 2 * i + j < n ? x[2 * i + j,] : -1.0, j < 2, i < (n + 1) / 2;"
    ),
    "every other": (X, "y: real[n \\ 2];", "y[i,] = x[2 * i,], i < n \\ 2;"),
    "reversed": (X, "y: real[n];", "y[n - 1 - i,] = x[i,], i < n;"),
    "rolled": (X, "y: real[n];", "y[(i + 2) % n,] = x[i,], i < n;"),
    "interleaved": (
        "x: real[n]; z: real[n];", "y: real[2 * n];", "y[2 * i + j,] = j > 0 ? z[i,] : x[i,], i < n, j < 2;"
    ),
    "histogram": ("x: real[n];", "y: int[3];", "with b = int(x[i,] + 2.0) / 2: y[b,] += 1, i < n;"),
    "count of positive": (XY, "y: int[n];", "y[i,] += int(x[i,j] > 0.0), i < n, j < m;"),
    "all positive": (XY, "y: bool[m];", "y[j,] &= x[i,j] > -1.5, i < n, j < m;"),
    "any large": (XY, "y: bool[];", "y[] |= x[i,j] > 1.9, i < n, j < m;"),
    "product": (XY, "y: real[n];", "y[i,] *= x[i,j], i < n, j < m;"),
    "least": (XY, "y: real[m];", "y[j,] = 0.0, j < m; y[j,] <?= x[i,j], i < n, j < m;"),
    "smooth clip": (X, "y: real[n];", "y[i,] = x[i,] / (1.0 + abs(x[i,])), i < n;"),
    "hard mish": (X, "y: real[n];", "with t = (x[i,] + 2.0 >? 0.0) <? 2.0: y[i,] = 0.5 * x[i,] * t, i < n;"),
    "lower triangle": ("x: real[n,n];", "y: real[n,n];", "y[i,j] = j <= i ? x[i,j] : 0.0, i < n, j < n;"),
    "steps": (X, "y: real[n];", "y[i,] = real(int(x[i,] * 4.0) % 3), i < n;"),
    "rows to a pack": (XY, "y: real[m]..(n);", "y[k][j,] = x[k,j], k < n, j < m;"),
    "waves": (X, "y: real[n];", "with z = sin(x[i,]): y[i,] = z + z * cos(2.0 * z), i < n;"),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_own_operators(name: str) -> None:
    assert len(OWN) >= 30
    assert_agree(text_of(name), ways=(False,))


@pytest.mark.parametrize("name", OWN)
def test_own_operators_in_integers(name: str, tmp_path: Path) -> None:
    """Calibrated and quantized to int8: no floats are left, and the results are close to those of floats but where a
    step of the input is beside a jump. A product of all elements has no integer form.
    """
    model, scales, integers, data = (tmp_path / one for one in ("n.sknd", "g.quant", "n.tosa", "x.npz"))
    model.write_text(text_of(name))
    generator, floats = np.random.default_rng(1), load(model)
    samples = {t.name: generator.uniform(-2, 2, (8, *(t.shape or ()))).astype(np.float32) for t in floats.inputs}
    np.savez(data, allow_pickle=False, **samples)
    assert main(["calibrate", str(model), "--data", str(data), "-o", str(scales), "-q"]) == 0
    code = main(["quantize", str(model), "--quant", str(scales), "-o", str(integers), "-q"])
    if name == "product":
        assert code == 5
        return
    assert code == 0
    found = load(integers)
    assert not any(tensor.dtype.is_float for tensor in found.main.tensors.values())
    inputs, outputs = ([port_of(tensor, set()) for tensor in some] for some in (found.inputs, found.outputs))
    signal = noise = 0.0
    for i in range(8):
        sample = {key: array[i] for key, array in samples.items()}
        right, got = (
            oracle.run(graph, fed).values() for graph, fed in ((floats, sample), (found, stored(inputs, sample)))
        )
        for port, wanted, array in zip(outputs, right, got, strict=True):
            signal += np.square(wanted.astype(np.float64)).sum()
            noise += np.square(wanted - real(port, array).astype(np.float64)).sum()
    assert noise <= signal / (8 if name in JUMPS else 1000)


def text_of(name: str) -> str:
    """A graph with one of the operators."""
    inputs, outputs, lower = OWN[name]
    sizes = {"n": "5", "m": "4", "k": "3"}
    given = " ".join(_sized(one, sizes) for one in inputs.split(";") if one.strip())
    arguments = ", ".join(one.split(":")[0].strip() for one in inputs.split(";") if one.strip())
    return graph_of(operator(inputs, outputs, lower), f"own({arguments})", given, _declared(outputs))


def _sized(declaration: str, sizes: dict[str, str]) -> str:
    head, _, shape = declaration.partition("[")
    return f"{head}[{','.join(sizes.get(one, one) for one in shape.rstrip('] ').split(','))}];"


def _declared(outputs: str) -> str:
    """The output's type, with the shape left to the operator."""
    name, kind = outputs.rstrip(";").split(":")
    pack = "..(2)" if "..(2)" in outputs else "..(5)" if "..(n)" in outputs else ""
    return f"{name}: {kind.strip().split('[')[0]}{pack};"
