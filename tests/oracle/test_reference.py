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

from tosa_engine import arrays, oracle, types
from tosa_engine.compliance.cases import cases
from tosa_engine.errors import RequireViolation
from tosa_engine.numerics.float_formats import FORMATS
from tosa_engine.serialize import tosa_to_bytes
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.numerics.float_formats import FloatFormat
    from tosa_engine.types import Array

pytestmark = pytest.mark.reference

# INTDIV by 0, and an index that SCATTER and GATHER can't have, end the program behind the command by a signal.
SIGNALS = (signal.SIGFPE, signal.SIGABRT)
VERDICTS = {0: "valid", 1: "unpredictable", 2: "error", **dict.fromkeys([256 - s for s in SIGNALS], "unpredictable")}
NAMELESS = (types.bf16.storage, types.fp8e4m3.storage, types.fp8e5m2.storage)
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
        arrays.write(folder / f"{name}.npy", {name: array})
    (folder / "out.npy").unlink(missing_ok=True)
    places = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]  # the environment needn't be activated
    program = shutil.which("tosa_reference_model", path=os.pathsep.join(places))
    if program is None:
        pytest.skip("tosa_reference_model isn't installed")
    names, files = ",".join(feeds), ",".join(f"{name}.npy" for name in feeds)
    command = [
        program,
        "--tosa_file=g.tosa",
        f"--ifm_name={names}",
        f"--ifm_file={files}",
        f"--ofm_name={graph.main.outputs[0]}",
    ]
    command += ["--ofm_file=out.npy", f"--flatbuffer_dir={folder}", f"--output_dir={folder}"]
    done = subprocess.run(command, capture_output=True, check=False)
    verdict = VERDICTS.get(done.returncode, f"exit status {done.returncode}: {done.stderr.decode()}")
    return verdict, np.load(folder / "out.npy") if verdict == "valid" else None


def bits(array: Array) -> Array:
    """Floats that numpy lacks as unsigned integers, which the module takes for them."""
    return array.view(f"u{array.itemsize}") if array.dtype in NAMELESS else array


def by_module(graph: Graph, feeds: dict[str, Array]) -> tuple[str, Array | None]:
    model = pytest.importorskip("tosa_reference_model")
    inputs = [bits(feeds[name]) for name in graph.main.inputs]
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
        return "valid", oracle.run(graph, feeds)[graph.main.outputs[0]]
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
    """The dot products of the absolute values, what rounding errors are relative to; infinite where they overflow."""
    positive = graph.copy()
    for tensor in positive.main.tensors.values():
        if tensor.data is not None and tensor.dtype.is_float:
            tensor.data = np.abs(tensor.data)
    return wide(oracle.run(positive, {name: np.abs(array) for name, array in feeds.items()})["output"])


def wide(array: Array) -> Array:
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64) if types.holds_floats(array) else array


@np.errstate(all="ignore")
def same(graph: Graph, feeds: dict[str, Array], mine: Array, theirs: Array) -> None:
    op, mine, theirs = graph.main.operators[-1], wide(mine), wide(theirs)
    form = FORMATS.get(graph.outputs[0].dtype)
    if form is not None and op.op in DOT_PRODUCTS:
        same_sums(graph, feeds, mine, theirs, form)
    elif form is not None and op.op == "RESIZE":  # positions like 40 + 254 / 255 are of the tensor's format there
        given_, places = wide(feeds["input"]), max(feeds["input"].shape[1:3])
        size = float(np.abs(given_, where=np.isfinite(given_), out=np.zeros_like(given_)).max())
        counts = np.isfinite(theirs) if size > form.largest / 4 else np.full(theirs.shape, True)
        bound = size * (4 + places) * 2.0**-form.fraction_bits + form.least_normal
        np.testing.assert_allclose(mine[counts], theirs[counts], rtol=0, atol=bound)
    elif form is not None and op.op in ULPS:
        counts = np.full(mine.shape, True)
        if op.op == "REDUCE_PRODUCT":  # what overflows or vanishes on the way does so there
            x, axis = np.abs(wide(feeds["input"])), op.attributes["axis"]
            top, low = (np.prod(end(x, 1.0), axis, keepdims=True) for end in (np.maximum, np.minimum))
            counts = (top < form.largest) & (low > form.least_normal)
        inputs = [np.abs(wide(array)) for array in feeds.values()]
        ulps = ULPS[op.op](mine, *inputs)
        room = np.maximum(np.abs(mine), 1.0 if op.op == "TANH" else 0.0) * ulps * 2.0**-form.fraction_bits
        room = np.nan_to_num(room, nan=0.0)  # 0 for infinite inputs
        finite = counts & np.isfinite(mine) & np.isfinite(theirs)
        assert (np.abs(mine - theirs)[finite] <= (room + form.least_normal)[finite]).all()
        np.testing.assert_array_equal(mine[counts & ~finite], theirs[counts & ~finite])
    elif op.attributes.get("rounding_mode") == "INEXACT_ROUND":
        bound = 1 + np.abs(mine.astype(np.float64)) * 2.0**-21
        assert (np.abs(mine.astype(np.float64) - theirs) <= bound).all()
    else:
        np.testing.assert_array_equal(mine, theirs)


# How far results may be apart, in units of the last place: what the specification allows, or less
ULPS: dict[str, Callable[..., Any]] = {
    "COS": lambda y, x: 1,
    "ERF": lambda y, x: 5,
    "EXP": lambda y, x: 3 + 2 * x,
    "LOG": lambda y, x: 5,
    "POW": lambda y, *x: 4 + 3 * np.abs(np.log2(np.where(y > 0, y, 1.0))),
    "RECIPROCAL": lambda y, x: 1,
    "REDUCE_PRODUCT": lambda y, x: x.size,
    "RSQRT": lambda y, x: 2,
    "SIGMOID": lambda y, x: 2 * (1 + x),
    "SIN": lambda y, x: 1,
    "TANH": lambda y, x: 2,
}


@np.errstate(all="ignore")
def same_sums(graph: Graph, feeds: dict[str, Array], mine: Array, theirs: Array, form: FloatFormat) -> None:
    """Within a rounding of the accumulator for each term, where no sum of magnitudes leaves the format."""
    op = graph.main.operators[-1]
    bound = magnitude(graph, feeds)
    window = int(np.prod(op.attributes["kernel"])) if op.op == "AVG_POOL2D" else 1
    accumulator = FORMATS[op.attributes.get("acc_type", graph.outputs[0].dtype)]
    counts = (bound < min(form.largest, accumulator.largest / window)) & np.isfinite(theirs)
    terms = 2 * max(array.size for array in feeds.values()) + 2
    unit = 2.0 ** (-1 - min(form.fraction_bits, accumulator.fraction_bits))
    error = np.abs(mine - theirs)[counts]
    assert (error <= terms * np.maximum(bound[counts] * unit, form.least_normal)).all()


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
