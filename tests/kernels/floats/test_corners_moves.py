"""NaN, infinities, signed zeros, subnormal and largest values in casts and in operators that move values.

Each line is tried in every format of floats that the operator has, on the oracle and on the kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from float_tools import INF, MOST, NAN, TINY, VALUES, WIDE, check, graph_of, literal

from tosa_engine import Session, oracle
from tosa_engine.builder import Builder
from tosa_engine.errors import RequireViolation
from tosa_engine.state import Variables
from tosa_engine.types import bf16, fp8e4m3, fp8e5m2, fp16, fp32, i8, i16, i32

if TYPE_CHECKING:
    from tosa_engine.types import DType

FROM_FLOAT: list[tuple[DType, DType, list[Any], list[Any]]] = [
    (fp32, fp16, [65519.0, 65520.0, -1e9, 2.0**-25, 3 * 2.0**-25, NAN, -INF, -0.0],
     [65504.0, INF, -INF, 0.0, 2.0**-23, NAN, -INF, -0.0]),
    (fp32, bf16, [MOST, "-most", 1 + 2.0**-8, 1 + 3 * 2.0**-8, TINY, NAN, INF, -0.0],
     [INF, -INF, 1.0, 1 + 2.0**-6, 0.0, NAN, INF, -0.0]),
    (fp32, fp8e4m3, [448.0, 464.0, 465.0, -INF, NAN, 2.0**-10, 3 * 2.0**-10, -0.0],
     [448.0, 448.0, NAN, NAN, NAN, 0.0, 2.0**-8, -0.0]),
    (fp32, fp8e5m2, [57344.0, 61439.0, 61440.0, -INF, NAN, 2.0**-17, 3 * 2.0**-17, -0.0],
     [57344.0, 57344.0, INF, -INF, NAN, 0.0, 2.0**-15, -0.0]),
    (fp16, fp32, [MOST, TINY, "-low", INF, NAN, -0.0], [65504.0, 2.0**-24, -1023 * 2.0**-24, INF, NAN, -0.0]),
    (bf16, fp32, [MOST, TINY, "-low", INF, NAN, -0.0],
     [255 * 2.0**120, 2.0**-133, -127 * 2.0**-133, INF, NAN, -0.0]),
    (fp16, fp8e4m3, [464.0, 464.5, TINY, INF, NAN, -0.0], [448.0, NAN, 0.0, NAN, NAN, -0.0]),
    (fp16, fp8e5m2, [61408.0, 61440.0, TINY, -INF, NAN, -0.0], [57344.0, INF, 0.0, -INF, NAN, -0.0]),
    (bf16, fp8e4m3, [464.0, 466.0, TINY, INF, NAN, -0.0], [448.0, NAN, 0.0, NAN, NAN, -0.0]),
    (bf16, fp8e5m2, [61184.0, 61440.0, "-most", -INF, NAN, -0.0], [57344.0, INF, -INF, -INF, NAN, -0.0]),
    *((a, b, [MOST, TINY, "-low", NAN, -0.0], None)  # exact
      for a in (fp8e4m3, fp8e5m2) for b in WIDE),
    (fp8e5m2, fp16, [INF, -INF], [INF, -INF]),
    *((a, i8, [127.5, 126.5, -128.5, -129.0, INF, -INF, 0.5, -0.0, TINY, 1.5],
       [127, 126, -128, -128, 127, -128, 0, 0, 0, 2]) for a in (fp16, fp32)),
    (bf16, i8, [127.5, 126.5, -128.0, -129.0, INF, -INF, 0.5, -0.0, TINY, 1.5],
     [127, 126, -128, -128, 127, -128, 0, 0, 0, 2]),
    *((a, i16, [MOST, "-most", INF, -INF, 2.5, 3.5], [32767, -32768, 32767, -32768, 2, 4]) for a in WIDE),
    (fp16, i32, [MOST, "-most", INF, -INF, 2.5, 3.5], [65504, -65504, (1 << 31) - 1, -1 << 31, 2, 4]),
    *((a, i32, [MOST, "-most", INF, -INF, 2.5, 3.5, 2.0**30],
       [(1 << 31) - 1, -1 << 31, (1 << 31) - 1, -1 << 31, 2, 4, 1 << 30]) for a in (bf16, fp32)),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "given", "wanted"), FROM_FLOAT)
def test_casts_of_floats(source: DType, target: DType, given: list[Any], wanted: list[Any] | None) -> None:
    array = literal(given, source)
    if wanted is None:
        wanted = array.astype(np.float64).tolist()
    check("CAST", [(source, array)], wanted, target)


@pytest.mark.parametrize(
    ("source", "target", "given", "wanted"),
    [
        (i32, fp32, [16777217, 16777219, (1 << 31) - 1, -1 << 31], [16777216.0, 16777220.0, 2.0**31, -(2.0**31)]),
        (i32, fp16, [2049, 2051, 65519, 65520, -65520, 0], [2048.0, 2052.0, 65504.0, INF, -INF, 0.0]),
        (i32, bf16, [257, 259, (1 << 31) - 1, 16842753, 0], [256.0, 260.0, 2.0**31, 16908288.0, 0.0]),
        (i8, fp32, [-128, 127, 0], [-128.0, 127.0, 0.0]),
        (i16, fp32, [2049, 32767, -32768], [2049.0, 32767.0, -32768.0]),
        (i16, fp16, [2049, 32767, -32768], [2048.0, 32768.0, -32768.0]),
        (i16, bf16, [257, 32767, -32768], [256.0, 32768.0, -32768.0]),
        (i8, fp16, [-128, 127, 0], [-128.0, 127.0, 0.0]),
        (i8, bf16, [-128, 127, 0], [-128.0, 127.0, 0.0]),
    ],
)
def test_casts_of_integers(source: DType, target: DType, given: list[int], wanted: list[float]) -> None:
    """16842753 is 1 above a tie of bf16, which float32 would round to that tie."""
    check("CAST", [(source, literal(given, source))], wanted, target)


@pytest.mark.parametrize("target", [i8, i16, i32], ids=str)
@pytest.mark.parametrize("source", WIDE, ids=str)
def test_nan_cannot_become_an_integer(source: DType, target: DType) -> None:
    array = literal([1.0, NAN], source)
    graph = graph_of("CAST", [(source, array)], target, ())
    for run in (lambda: oracle.run(graph, {"x0": array}), lambda: Session(graph, 1).run(None, {"x0": array})):
        with pytest.raises(RequireViolation) as caught:
            run()
        assert (caught.value.label, caught.value.index) == ("CAST.R1", (1,))


MOVES: dict[str, dict[str, Any]] = {
    "IDENTITY": {}, "REVERSE": {"axis": 0}, "TRANSPOSE": {"perms": (0,)}, "RESHAPE": {}, "SLICE": {}, "TILE": {},
    "PAD": {}, "CONCAT": {"axis": 0},
}  # fmt: skip


@pytest.mark.parametrize("dtype", VALUES, ids=str)
@pytest.mark.parametrize("op", MOVES)
def test_moves_keep_every_bit(op: str, dtype: DType) -> None:
    """All patterns of 8 bits, the corners of wider formats: NaNs with their signs and payloads, too."""
    size = dtype.storage.itemsize
    bits = np.arange(256).astype(np.uint64) << np.uint64(8 * size - 8)
    x = (bits | np.uint64(1)).astype(f"u{size}").view(dtype.storage)
    n = x.size
    shapes: dict[str, list[Any]] = {
        "RESHAPE": [[n]], "SLICE": [[0], [n]], "TILE": [[1]], "PAD": [[0, 1], np.array([x[-1]], dtype.storage)]
    }  # fmt: skip
    constants = [v if isinstance(v, np.ndarray) else np.array(v, np.int64) for v in shapes.get(op, [])]
    b = Builder()
    source = b.input(dtype, (n,), "x")
    b.output(b.op(op, [source] if op == "CONCAT" else source, *constants, output="y", **MOVES[op]))
    graph = b.graph()
    wanted = {"REVERSE": x[::-1], "PAD": np.append(x, x[-1])}.get(op, x)
    for got in (oracle.run(graph, {"x": x})["y"], Session(graph, 1).run(None, {"x": x})[0]):
        assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", VALUES, ids=str)
def test_gather_scatter_and_constants_keep_every_bit(dtype: DType) -> None:
    size = dtype.storage.itemsize
    x = ((np.arange(256).astype(np.uint64) << np.uint64(8 * size - 8)) | np.uint64(1)).astype(f"u{size}")
    values = x.view(dtype.storage).reshape(1, 256, 1)
    indices = np.arange(255, -1, -1, dtype=np.int32).reshape(1, 256)
    b = Builder()
    source, places = b.input(dtype, values.shape, "x"), b.input(i32, indices.shape, "i")
    constant = b.const(values, dtype)
    outputs = [
        b.op("GATHER", source, places, output="g"), b.op("SCATTER", constant, places, source, output="s"),
        b.op("IDENTITY", constant, output="c"),
    ]  # fmt: skip
    b.output(*outputs)
    graph = b.graph()
    feeds = {"x": values, "i": indices}
    backwards = values[:, ::-1].tobytes()
    for found in (oracle.run(graph, feeds), dict(zip("gsc", Session(graph, 1).run(None, feeds), strict=True))):
        assert [found[name].tobytes() for name in "gsc"] == [backwards, backwards, values.tobytes()]


@pytest.mark.parametrize("dtype", [fp16, fp32], ids=str)
def test_variables_keep_every_bit(dtype: DType) -> None:
    """What was written is read in the next run; the initial value in the first."""
    size = dtype.storage.itemsize
    values = ((np.arange(256).astype(np.uint64) << np.uint64(8 * size - 8)) | np.uint64(1)).astype(f"u{size}")
    first, second = values.view(dtype.storage), values[::-1].copy().view(dtype.storage)
    b = Builder()
    b.op("VARIABLE", name="v", var_shape=(256,), type=dtype, initial_value=first)
    b.output(b.op("VARIABLE_READ", name="v", dtype=dtype, output="y"))
    b.op("VARIABLE_WRITE", b.input(dtype, (256,), "x"), name="v")
    graph, variables = b.graph(), Variables()
    by_oracle = [oracle.run(graph, {"x": second}, variables=variables)["y"] for _ in range(2)]
    session = Session(graph, 1)
    by_kernels = [session.run(None, {"x": second})[0] for _ in range(2)]
    for found in (by_oracle, by_kernels):
        assert [y.tobytes() for y in found] == [first.tobytes(), second.tobytes()]
