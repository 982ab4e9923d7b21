"""The oracle against Arm's reference model: verdict and values of drawn single-operator graphs of every row.

Needs the extra `conformance`. Where the two differ and the specification's text is clear, the oracle follows the text;
each such difference is named in `verdicts_may_differ`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from tosa_engine import oracle, types
from tosa_engine.errors import RequireViolation
from tosa_engine.serialize import tosa_to_bytes
from tosa_engine.spec import TABLE

from .strategies import cases

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

pytestmark = pytest.mark.reference

# INTDIV by 0, and an index that SCATTER and GATHER can't have, end the program behind the command by a signal.
SIGNALS = (signal.SIGFPE, signal.SIGABRT)
VERDICTS = {0: "valid", 1: "unpredictable", 2: "error", **dict.fromkeys([256 - s for s in SIGNALS], "unpredictable")}
CONVOLUTIONS = {"CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "TRANSPOSE_CONV2D"}
DOT_PRODUCTS = {*CONVOLUTIONS, "MATMUL", "AVG_POOL2D", "REDUCE_SUM"}
# Neither the module nor the program gives the values of a graph without inputs in these formats.
WITHOUT_VALUES = {("CONST", "i4"), ("CONST", "i48"), ("CONST_SHAPE", "shape")}
PURE = [spec for spec in TABLE.values() if spec.pure]
ROWS = [
    (spec.name, r.key)
    for spec in PURE
    for r in spec.rows
    if (spec.name, r.key) not in WITHOUT_VALUES and len(spec.outputs) == 1  # the others: test_fft
]


def by_command(graph: Graph, feeds: dict[str, Array], folder: Path) -> tuple[str, Array | None]:
    """Through the program and files: the Python module can't pass int48 and int4."""
    (folder / "g.tosa").write_bytes(tosa_to_bytes(graph))
    for name, array in feeds.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "out.npy").unlink(missing_ok=True)
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]  # the environment needn't be activated
    program = shutil.which("tosa_reference_model", path=os.pathsep.join(places))
    if program is None:
        pytest.skip("tosa_reference_model isn't installed")
    names, files = ",".join(feeds), ",".join(f"{name}.npy" for name in feeds)
    command = [program, "--tosa_file=g.tosa", f"--ifm_name={names}", f"--ifm_file={files}", "--ofm_name=output"]
    command += ["--ofm_file=out.npy", f"--flatbuffer_dir={folder}", f"--output_dir={folder}"]
    done = subprocess.run(command, capture_output=True, check=False)
    verdict = VERDICTS.get(done.returncode, f"exit status {done.returncode}: {done.stderr.decode()}")
    return verdict, np.load(folder / "out.npy") if verdict == "valid" else None


def by_module(graph: Graph, feeds: dict[str, Array]) -> tuple[str, Array | None]:
    model = pytest.importorskip("tosa_reference_model")
    inputs = [feeds[name] for name in graph.main.inputs]
    outputs, status = model.run(tosa_to_bytes(graph), inputs)
    verdict = str(status).rsplit("TOSA_", 1)[-1].lower()
    return verdict, outputs[0] if verdict == "valid" else None


def reference(graph: Graph, feeds: dict[str, Array], folder: Path, apart: bool) -> tuple[str, Array | None]:
    """The reference model's verdict and output; `apart`: in a process of its own, which it may take down."""
    apart = apart or any(t.dtype in (types.i4, types.i48) for t in (*graph.inputs, *graph.outputs))
    verdict, output = by_command(graph, feeds, folder) if apart else by_module(graph, feeds)
    wanted = graph.outputs[0]
    return verdict, None if output is None else output.view(wanted.dtype.storage).reshape(wanted.shape or ())


def ours(graph: Graph, feeds: dict[str, Array]) -> tuple[str, Any]:
    try:
        return "valid", oracle.run(graph, feeds)["output"]
    except RequireViolation as error:
        return "unpredictable", error.label


def verdicts_may_differ(graph: Graph, label: str) -> bool:
    """REQUIREs of the text that the reference model doesn't test."""
    op = graph.main.operators[-1]
    if op.op == "RESCALE":
        return bool(op.attributes["rounding_mode"] == "INEXACT_ROUND")  # computed there in floats
    if op.op == "MUL":
        shift = graph.main.tensors["shift"].data
        assert shift is not None
        return graph.inputs[0].dtype is not types.i32 or not 0 <= shift[0] < 63
    return label in {"CAST.R1", *(f"{op}.R2" for op in CONVOLUTIONS)}  # NaN; accumulator plus bias wraps there


def magnitude(graph: Graph, feeds: dict[str, Array]) -> Array:
    """The dot products of the absolute values, in fp32: what rounding errors are relative to."""
    positive = graph.copy()
    for tensor in positive.main.tensors.values():
        if tensor.data is not None and tensor.dtype is types.fp32:
            tensor.data = np.abs(tensor.data)
    return oracle.run(positive, {name: np.abs(array) for name, array in feeds.items()})["output"]


def same(graph: Graph, feeds: dict[str, Array], mine: Array, theirs: Array) -> None:
    op = graph.main.operators[-1]
    if op.op in DOT_PRODUCTS and mine.dtype.kind == "f":
        bound = magnitude(graph, feeds).astype(np.float64)
        counts = np.isfinite(bound) & np.isfinite(theirs)
        terms = 2 * max(array.size for array in feeds.values()) + 2
        error = np.abs(mine.astype(np.float64) - theirs)[counts]
        assert (error <= terms * np.maximum(bound[counts] * 2.0**-24, 2.0**-126)).all()
    elif op.op == "RESIZE" and mine.dtype.kind == "f":  # positions like 40 + 254 / 255 are of fp32 there
        given_, places = feeds["input"], max(feeds["input"].shape[1:3])
        size = float(np.abs(given_, where=np.isfinite(given_), out=np.zeros_like(given_)).max())
        counts = np.isfinite(theirs) if size > 1e38 else np.full(theirs.shape, True)
        bound = size * (4 + places) * 2.0**-23 + 2.0**-126
        np.testing.assert_allclose(mine[counts], theirs[counts], rtol=0, atol=bound)
    elif op.op == "EXP":
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2.0**-126)
    elif op.op == "RECIPROCAL":
        np.testing.assert_allclose(mine, theirs, rtol=2.0**-23)
    elif op.attributes.get("rounding_mode") == "INEXACT_ROUND":
        bound = 1 + np.abs(mine.astype(np.float64)) * 2.0**-21
        assert (np.abs(mine.astype(np.float64) - theirs) <= bound).all()
    else:
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(("op", "row"), ROWS, ids=[f"{op}-{row}" for op, row in ROWS])
@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")
def test_verdict_and_values(op: str, row: str, tmp_path: Path) -> None:
    @settings(max_examples=8 if "i4" in row else 25)
    @given(cases(op, row))
    def check(case: tuple[Graph, dict[str, Array]]) -> None:
        graph, feeds = case
        mine = ours(graph, feeds)
        theirs = reference(graph, feeds, tmp_path, mine[0] != "valid")
        if mine[0] != theirs[0]:
            assert mine[0] == "unpredictable"
            assert theirs[0] == "valid"
            assert verdicts_may_differ(graph, mine[1])
        elif mine[0] == "valid":
            same(graph, feeds, mine[1], theirs[1])

    check()
