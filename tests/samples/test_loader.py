"""Samples from a function of the user's: `module:function`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tosa_engine import types
from tosa_engine.errors import DataError, UsageError
from tosa_engine.graph import Tensor
from tosa_engine.samples.loader import LoaderSamples, is_loader

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = [Tensor("input", types.fp32, (1, 2, 3))]
PAIR = [Tensor("a", types.fp32, (2,)), Tensor("b", types.i32, (1,))]
MODULE = """
import numpy as np

def arrays():
    return [np.full((2, 3), i) for i in range(4)]

def pairs():
    return ((np.full((1, 2, 3), i, np.float32), i % 2) for i in range(4))

def named():
    yield {"a": np.ones(2), "b": np.array([3])}

def nothing():
    return []

def number():
    return 3

def broken():
    yield {"a": np.ones(3), "b": np.array([3])}

def endless():
    yield np.full((2, 3), np.inf)
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_loader.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_what_names_a_function() -> None:
    assert [is_loader(text) for text in ("a:b", "a.b:c", "c:/data", "data.npz", "a b:c", "a:b()")] == [
        True,
        True,
        *[False] * 4,
    ]


@pytest.mark.parametrize("function", ["arrays", "pairs"])
def test_arrays_and_pairs_with_a_label(function: str) -> None:
    found = LoaderSamples(f"my_loader:{function}", IMAGE)
    assert found.total == 4
    listed = list(found.read([1, 3]))
    assert [number for number, _ in listed] == [1, 3]
    assert [(s["input"].shape, s["input"].dtype.name, float(s["input"].max())) for _, s in listed] == [
        ((1, 2, 3), "float32", 1.0), ((1, 2, 3), "float32", 3.0),
    ]  # fmt: skip
    assert found.describe() == {"kind": "loader", "function": f"my_loader:{function}", "samples": 4}


def test_several_inputs_by_name() -> None:
    ((_, sample),) = LoaderSamples("my_loader:named", PAIR).read([0])
    assert {name: (array.dtype.name, array.tolist()) for name, array in sample.items()} == {
        "a": ("float32", [1.0, 1.0]), "b": ("int32", [3]),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "inputs", "error", "message"),
    [
        ("my_loader:nothing", IMAGE, DataError, "my_loader:nothing: it gives no samples"),
        ("my_loader:number", IMAGE, UsageError, "it gives int, wanted samples to iterate over"),
        ("my_loader:nobody", IMAGE, UsageError, "--data my_loader:nobody: module 'my_loader' has no function 'nobody'"),
        ("no_module:f", IMAGE, UsageError, "ModuleNotFoundError: No module named 'no_module'"),
        ("my_loader:broken", PAIR, DataError, r"sample 0: wanted numbers of shape \[2\], got float64 \[3\]"),
        ("my_loader:endless", IMAGE, DataError, "sample 0 has NaN or infinity in it"),
        ("my_loader:arrays", PAIR, DataError, "sample 0 has no array for this input"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, inputs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        list(LoaderSamples(text, inputs).read([0]))


def test_the_command_calibrates_with_it(command: Any, tmp_path: Path) -> None:
    from quant_tools import Floats

    from tosa_engine import serialize

    f = Floats()
    serialize.write(f.outputs(f.op("ABS", [f.input((1, 2, 3), name="input")], name="y")), tmp_path / "net.tosa")
    done = command("quantize", tmp_path / "net.tosa", "--data", "my_loader:arrays", "-o", tmp_path / "int.tosa")
    assert done.code == 0, done.err
