"""Tables that are more than one TABLE: zoom beside 0, more bits inside of products, jumps, holes in the domain."""

from __future__ import annotations

import numpy as np
import pytest
from quant_tools import Floats, operators, real

from quant.legalize.quantize import Report, quantize
from quant.ranges import activation_qparams
from tosa_engine import oracle, types
from tosa_engine.errors import DataError, Unsupported
from tosa_engine.graph import Graph, Location, QParams
from tosa_engine.qparams.arrays import dequantize_array

EVERY = {8: np.arange(-128, 128).astype(np.int8), 16: np.arange(-32768, 32768).astype(np.int16)}


def symmetric(reach: float, bits: int = 16) -> QParams:
    return activation_qparams(-reach, reach, bits=bits, symmetric=True)


def unary(op: str, into: QParams, out: QParams) -> Graph:
    f = Floats()
    return f.outputs(f.op(op, [f.input((1 << into.bits,), into)], out, name="y"))


@pytest.mark.parametrize(
    ("op", "reach", "out", "first", "most"),
    [
        ("LOG", 4.0, 9.0, 2, 2.3),
        ("RECIPROCAL", 4.0, 40.0, 206, 3.2),
        ("RSQRT", 4.0, 20.0, 21, 2.0),
    ],
)
def test_a_pole_is_zoomed(op: str, reach: float, out: float, first: int, most: float) -> None:
    """Every input from `first` on, below which the result leaves the output's range."""
    graph = unary(op, symmetric(reach), symmetric(out))
    integer = quantize(graph)
    assert operators(integer).count("TABLE") >= 2
    x = EVERY[16][32768 + first :]
    got = oracle.run(integer, {"x": EVERY[16]})["y"][32768 + first :]
    formula = {"LOG": np.log, "RECIPROCAL": lambda v: 1 / v, "RSQRT": lambda v: 1 / np.sqrt(v)}[op]
    wanted = formula(x * (reach / 32767)) / (out / 32767)
    assert np.abs(got - wanted).max() <= most


def test_what_is_smooth_has_one_table() -> None:
    assert operators(quantize(unary("TANH", symmetric(4.0), symmetric(1.0)))) == ["TABLE", "RESCALE"]
    assert operators(quantize(unary("RECIPROCAL", QParams((0.1,), (-128,)), QParams((0.05,), (-128,))))) == ["TABLE"]


@pytest.mark.parametrize("op", ["FLOOR", "CEIL"])
@pytest.mark.parametrize("reach", [3.0, 100.0])
def test_rounding_of_16_bits_jumps_where_it_should(op: str, reach: float) -> None:
    graph = unary(op, symmetric(reach), symmetric(127.0))
    integer = quantize(graph)
    assert "TABLE" not in operators(integer)
    step = integer.outputs[0].quant
    assert step is not None
    got = dequantize_array(oracle.run(integer, {"x": EVERY[16]})["y"], step)
    x = EVERY[16] * np.float64(graph.inputs[0].quant.scale[0])  # type: ignore[union-attr]
    wanted = np.floor(x) if op == "FLOOR" else np.ceil(x)
    off = np.abs(got - wanted) > step.scale[0] * 0.51
    beside = np.abs(x - np.rint(x)) <= reach * 2.0**-28  # as near to a whole number as the fixed point tells
    assert not (off & ~beside).any()


def test_a_function_that_jumps_is_no_line() -> None:
    f = Floats()
    x = f.input((65536,), symmetric(4.0))
    zero = f.const([0.0])
    below = f.op("SELECT", [f.op("GREATER", [zero, x], dtype=types.bool_), f.const([-1.0]), zero], symmetric(1.0))
    above = f.op("GREATER", [x, zero], dtype=types.bool_)
    y = f.op("SELECT", [above, f.const([1.0]), below], symmetric(1.0), name="y")
    integer = quantize(f.outputs(y))
    assert np.array_equal(oracle.run(integer, {"x": EVERY[16]})["y"], np.sign(EVERY[16].astype(np.int32)) * 32767)


def test_a_reciprocal_that_only_a_product_reads_keeps_its_digits() -> None:
    """z / 255 steps: of 8 bits, 1 / z would be 0 or 1 for most of them."""
    f = Floats()
    a, z = f.input((256, 1), symmetric(1.0, 8)), f.input((1, 256), QParams((1 / 255,), (-128,)), name="z")
    r = f.op("RECIPROCAL", [z], activation_qparams(0.0, 255.0))
    y = f.op("MUL", [a, r], symmetric(4.0, 8), name="y")
    integer = quantize(f.outputs(y))
    feeds = {"x": EVERY[8].reshape(-1, 1), "z": EVERY[8].reshape(1, -1)}
    got = oracle.run(integer, feeds)["y"]
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = real(feeds["x"], integer.inputs[0].quant) / real(feeds["z"], integer.inputs[1].quant) / (4 / 127)
    assert np.abs(got[:, 1:] - np.clip(wanted[:, 1:], -127, 127)).max() <= 1.0


def test_holes_of_the_domain_are_told() -> None:
    report = Report()
    integer = quantize(unary("LOG", symmetric(4.0), symmetric(9.0)), report)
    got = oracle.run(integer, {"x": EVERY[16]})["y"]
    where = "the table has the value of the nearest input where it is"
    assert report.notes == [f"y: LOG isn't defined for some of the inputs that its range can hold; there {where}"]
    assert (got[:32700] == got[0]).all()


def test_a_function_that_is_nowhere_defined() -> None:
    f = Floats()
    x = f.input((4,), QParams((0.1,), (-128,)))
    y = f.op("LOG", [f.op("SUB", [f.const([-1.0]), x])], QParams((0.1,), (0,)), name="y")
    with pytest.raises(DataError, match="no TABLE for LOG: the function is NaN for every input"):
        quantize(f.outputs(y))


def test_infinity_that_no_maximum_takes() -> None:
    f = Floats()
    x = f.input((4, 4), QParams((0.1,), (0,)))
    mask = f.op("GREATER", [x, f.const([[0.0]])], dtype=types.bool_)
    masked = f.op("SELECT", [mask, x, f.const([[-np.inf]])], QParams((0.1,), (0,)), name="masked")
    f.block.tensors[masked].source = Location("net.nnef", 3, "masked")
    y = f.composite("softmax", masked, QParams((1 / 256,), (-128,)), axis=1)
    with pytest.raises(
        Unsupported, match=r"softmax reads a tensor with an infinite constant in it.*such as -30 before"
    ):
        quantize(f.outputs(y))


@pytest.mark.parametrize(("into", "base", "exponent"), [(8, 3.0, 2.0), (16, 3.0, 2.0)])
def test_power(into: int, base: float, exponent: float) -> None:
    """x in 0.1 .. base, y in -exponent .. exponent; the output holds 0 .. base^exponent."""
    f = Floats()
    quants = (
        (
            activation_qparams(0.0, base),
            activation_qparams(-exponent, exponent),
            activation_qparams(0.0, base**exponent),
        )
        if into == 8
        else (symmetric(base), symmetric(exponent), symmetric(base**exponent))
    )
    x, y = f.input((60, 1), quants[0]), f.input((1, 60), quants[1], name="e")
    graph = f.outputs(f.op("POW", [x, y], quants[2], name="y"))
    integer = quantize(graph)
    rng = np.random.default_rng(0)
    stored = [np.sort(rng.integers(q.low, q.high, 60)) for q in quants[:2]]
    lowest = quants[0].zero_point[0] + round(0.1 / quants[0].scale[0])
    kind = np.int8 if into == 8 else np.int16
    feeds = {"x": np.maximum(stored[0], lowest).astype(kind).reshape(-1, 1), "e": stored[1].astype(kind).reshape(1, -1)}
    got = dequantize_array(oracle.run(integer, feeds)["y"], quants[2])
    exact = np.power(dequantize_array(feeds["x"], quants[0]), dequantize_array(feeds["e"], quants[1]))
    held = exact <= base**exponent
    relative = {8: 0.02, 16: 0.0006}[into]
    assert (np.abs(got - exact) <= quants[2].scale[0] * 1.1 + relative * exact)[held].all()
