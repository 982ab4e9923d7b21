"""Rules with int16 activations, and with both widths: against the float operators, in LSB of the output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from quant_tools import Floats, calibrated, operators, real

from quant.legalize.quantize import quantize
from quant.ranges import activation_qparams
from tosa_engine import oracle, types
from tosa_engine.graph import QParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph

IMAGE = (1, 5, 6, 4)
X16 = activation_qparams(-2.0, 3.0, bits=16, symmetric=True)
ROUNDING = 0.5 + 1e-2


def weights(*shape: int) -> Any:
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def run(graph: Graph, *, bits: dict[str, int] | None = None, rounds: int = 3) -> tuple[float, Graph]:
    """The largest error in LSB of the outputs; activations have 16 bits, but for those in `bits`."""
    rng = np.random.default_rng(0)
    chosen = bits or {}
    for tensor in graph.inputs:
        width = chosen.get(tensor.name, 16)
        tensor.quant = tensor.quant or activation_qparams(-2.0, 3.0, bits=width, symmetric=width == 16)
    stored = []
    for _ in range(rounds):
        feed = {}
        for tensor in graph.inputs:
            assert tensor.quant is not None
            dtype = np.int16 if tensor.quant.bits == 16 else np.int8
            values = rng.integers(tensor.quant.low, tensor.quant.high + 1, tensor.shape).astype(dtype)
            values.reshape(-1)[:2] = tensor.quant.low, tensor.quant.high
            feed[tensor.name] = values
        stored.append(feed)
    feeds = [{t.name: real(s[t.name], t.quant) for t in graph.inputs} for s in stored]
    seen: dict[str, list[Any]] = {}
    for feed in feeds:
        oracle.run(graph, feed, lambda _, name, array: seen.setdefault(name, []).append(array))
    for name, tensor in graph.main.tensors.items():
        if tensor.quant is None and tensor.data is None and tensor.dtype is types.fp32:
            width = chosen.get(name, 16)
            values = np.stack(seen[name])
            tensor.quant = activation_qparams(
                float(values.min()), float(values.max()), bits=width, symmetric=width == 16
            )
    calibrated(graph, feeds)
    integer = quantize(graph)
    worst = 0.0
    for ints, floats in zip(stored, feeds, strict=True):
        got, wanted = oracle.run(integer, ints), oracle.run(graph, floats)
        for tensor in integer.outputs:
            exact = wanted[tensor.name].astype(np.float64)
            if tensor.quant is not None:
                exact = np.clip(
                    exact / tensor.quant.scale[0] + tensor.quant.zero_point[0], tensor.quant.low, tensor.quant.high
                )
            worst = max(worst, float(np.abs(got[tensor.name] - exact).max()))
    return worst, integer


def relative_weights(shape: tuple[int, ...], axis: int = 0) -> Any:
    """Weights that int8 holds exactly: only scales and sums count."""
    rng = np.random.default_rng(shape)
    stored = rng.integers(-127, 128, shape)
    moved = np.moveaxis(stored, axis, 0).reshape(shape[axis], -1)
    moved[:, 0] = 127
    return (np.moveaxis(moved.reshape(-1, *np.delete(shape, axis)), 0, axis) * 2.0**-7).astype(np.float32)


def test_conv2d_of_16_bits_has_an_accumulator_of_48() -> None:
    f = Floats()
    y = f.conv(f.input(IMAGE), relative_weights((7, 3, 3, 4)), weights(7), pad=(1, 1, 1, 1))
    worst, integer = run(f.outputs(y))
    assert operators(integer) == ["CONV2D", "RESCALE"]
    conv = next(op for op in integer.main.operators if op.op == "CONV2D")
    assert integer.main.tensors[conv.outputs[0]].dtype is types.i48
    rescale = next(op for op in integer.main.operators if op.op == "RESCALE")
    assert rescale.attributes["scale32"] is False
    assert integer.main.tensors[rescale.inputs[1]].dtype is types.i16
    assert worst <= 2.0  # multipliers of 16 bits: up to 2^-15 of 32767 steps, and one rounding


@pytest.mark.parametrize("widths", [{"x": 8}, {"conv2d": 8}, {"x": 8, "conv2d": 8}])
def test_widths_mix(widths: dict[str, int]) -> None:
    f = Floats()
    y = f.conv(f.input(IMAGE), relative_weights((7, 1, 1, 4)), weights(7))
    worst, integer = run(f.outputs(y), bits=widths)
    assert integer.inputs[0].dtype is (types.i8 if "x" in widths else types.i16)
    assert integer.outputs[0].dtype is (types.i8 if "conv2d" in widths else types.i16)
    assert worst <= (0.6 if "conv2d" in widths else 2.0)


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("width", [8, 16])
def test_two_operands(op: str, width: int) -> None:
    f = Floats()
    y = f.op(op, [f.input((2, 9)), f.input((2, 9), name="z")])
    assert run(f.outputs(y), bits={"z": width})[0] <= ROUNDING


@pytest.mark.parametrize("op", ["ADD", "MUL"])
def test_a_constant_takes_the_bits_of_the_other_operand(op: str) -> None:
    f = Floats()
    y = f.op(op, [f.input((2, 9)), f.const(weights(1, 9))])
    assert run(f.outputs(y))[0] <= 1.6


@pytest.mark.parametrize("constant", [False, True])
def test_matmul(constant: bool) -> None:
    f = Floats()
    b = f.const(weights(1, 6, 5)) if constant else f.input((1, 6, 5), name="b")
    y = f.op("MATMUL", [f.input((1, 4, 6)), b])
    worst, integer = run(f.outputs(y))
    assert operators(integer) == ["MATMUL", "RESCALE"]
    assert worst <= 3.0


def test_matmul_of_both_widths_is_done_in_16() -> None:
    f = Floats()
    y = f.op("MATMUL", [f.input((1, 4, 6)), f.input((1, 6, 5), name="b")])
    worst, integer = run(f.outputs(y), bits={"b": 8})
    assert operators(integer) == ["RESCALE", "MATMUL", "RESCALE"]
    assert worst <= 2.0


FUNCTIONS: dict[str, Callable[[Floats, str], str]] = {
    "sigmoid": lambda f, x: f.composite("sigmoid", x),
    "tanh": lambda f, x: f.op("TANH", [x]),
    "exp": lambda f, x: f.op("EXP", [x]),
    "silu": lambda f, x: f.op("MUL", [x, f.op("SIGMOID", [x])]),
    "elu": lambda f, x: f.op("SELECT", [f.op("GREATER", [f.const([[0.0]]), x], dtype=types.bool_),
                                        f.op("SUB", [f.op("EXP", [x]), f.const([[1.0]])]), x]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize(("into", "out"), [(16, 16), (8, 8), (16, 8), (8, 16)])
def test_functions_of_one_tensor_are_one_table(name: str, into: int, out: int) -> None:
    f = Floats()
    y = FUNCTIONS[name](f, f.input((3, 500)))
    widths = dict.fromkeys(f.block.tensors, out) | {"x": into}
    worst, integer = run(f.outputs(y), bits=widths)
    kinds = {(16, 16): ["TABLE", "RESCALE"], (8, 8): ["TABLE"], (16, 8): ["TABLE", "RESCALE"],
             (8, 16): ["TABLE", "RESCALE", "TABLE", "RESCALE", "ADD", "RESCALE"]}  # fmt: skip
    assert operators(integer) == kinds[into, out]
    # exp ends at 32767, and the entry beyond, which is never read alone, would be 3 more
    assert worst <= (3.1 if (name, into, out) == ("exp", 16, 16) else {8: 0.6, 16: 1.6}[out])


def test_intermediate_values_that_only_the_chain_reads_are_not_stored() -> None:
    """t is read twice, by functions of x alone: still one TABLE."""
    f = Floats()
    x = f.input((2, 50))
    t = f.op("EXP", [x])
    y = f.op("MUL", [t, f.op("RECIPROCAL", [f.op("ADD", [t, f.const([[1.0]])])])])
    worst, integer = run(f.outputs(y), bits=dict.fromkeys(f.block.tensors, 8))
    assert operators(integer) == ["TABLE"]
    assert worst <= 0.6


@pytest.mark.parametrize(("classes", "spread"), [(3, 1.0), (10, 4.0), (600, 2.0), (1000, 8.0)])
def test_softmax(classes: int, spread: float) -> None:
    f = Floats()
    quant = activation_qparams(-spread, spread, bits=16, symmetric=True)
    y = f.composite("softmax", f.input((4, classes), quant), axis=1)
    f.block.tensors[y].quant = QParams((2.0**-15,), (0,), 16, symmetric=True)
    worst, integer = run(f.outputs(y))
    assert integer.outputs[0].dtype is types.i16
    assert worst <= 4.0  # of 32768: two tables and two factors of 15 bits


def test_moves_pools_and_sums_keep_the_width() -> None:
    f = Floats()
    x = f.input(IMAGE)
    p = f.op("MAX_POOL2D", [x], kernel=(2, 2), stride=(1, 1), pad=(0, 0, 0, 0))
    a = f.op("AVG_POOL2D", [p], kernel=(2, 2), stride=(1, 1), pad=(0, 0, 0, 0), acc_type=types.fp32)
    t = f.op("TRANSPOSE", [a], perms=(0, 3, 1, 2))
    c = f.op("CONCAT", [t, t], axis=1)
    d = f.op("PAD", [c, f.const((0, 0, 0, 0, 1, 0, 0, 1), dtype=types.shape), f.const([0.0])])
    s = f.op("REDUCE_SUM", [d], axis=2)
    worst, integer = run(f.outputs(f.relu(s)))
    assert {t.dtype for t in integer.main.tensors.values()} <= {types.i8, types.i16, types.i32, types.shape}
    assert integer.outputs[0].dtype is types.i16
    assert worst <= 8.0  # AVG_POOL2D rounds before the sum


@pytest.mark.parametrize("width", [8, 16])
def test_choices(width: int) -> None:
    f = Floats()
    x, z = f.input((2, 9)), f.input((2, 9), name="z")
    c = f.op("GREATER", [x, z], dtype=types.bool_)
    y = f.op("SELECT", [c, x, f.const([[0.25]])])
    worst, integer = run(f.outputs(y), bits=dict.fromkeys(f.block.tensors, width))
    assert "GREATER" in operators(integer)
    assert worst <= ROUNDING


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("mode", ["NEAREST", "BILINEAR"])
def test_resize(width: int, mode: str) -> None:
    f = Floats()
    sizes = [f.const(v, dtype=types.shape) for v in ((4, 2, 4, 2), (-1, -1), (1, 1))]
    y = f.op("RESIZE", [f.input(IMAGE), *sizes], mode=mode)
    worst, integer = run(f.outputs(y), bits=dict.fromkeys(f.block.tensors, width))
    assert operators(integer)[-2:] != ["RESIZE", "RESIZE"]
    assert worst <= 1.0


def test_transpose_conv2d_gather_tile_and_reverse() -> None:
    f = Floats()
    zero = f.const([0.0])
    w, v = f.const(relative_weights((3, 2, 2, 4))), f.const(weights(3))
    t = f.op("TRANSPOSE_CONV2D", [f.input(IMAGE), w, v, zero, zero],
             out_pad=(0, 0, 0, 0), stride=(2, 2), acc_type=types.fp32, local_bound=False)  # fmt: skip
    r = f.op("REVERSE", [t], axis=1)
    m = f.op("TILE", [r, f.const((1, 1, 1, 2), dtype=types.shape)])
    v = f.op("RESHAPE", [m, f.const((1, 120, 6), dtype=types.shape)])
    g = f.op("GATHER", [v, f.const([[3, 0, 7]], dtype=types.i32)])
    worst, integer = run(f.outputs(g))
    assert "GATHER" in operators(integer)
    assert worst <= 2.0
