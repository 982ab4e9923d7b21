"""Every rule against the float operator, in LSB of the output, with the operators that come out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from quant_tools import Floats, errors, operators

from quant.legalize.quantize import Report, quantize
from quant.ranges import activation_qparams, weight_qparams
from tosa_engine import types
from tosa_engine.graph import QParams

ROUNDING = 0.5 + 1e-3  # one rounding, and what fp32 and 31-bit multipliers add
IMAGE = (1, 5, 6, 4)
OTHER = QParams((0.031,), (-17,))


def weights(*shape: int) -> Any:
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def weight_error(taps: int) -> float:
    """Weights are rounded to 8 bits: the error of a sum grows with the root of its length. Generous, not tight."""
    return float(0.5 + np.sqrt(taps) / 2)


@pytest.mark.parametrize(
    "spatial",
    [{}, {"pad": (1, 1, 1, 1)}, {"pad": (1, 1, 0, 0), "stride": (2, 2)}, {"dilation": (2, 1), "pad": (2, 0, 1, 0)}],
)
def test_conv2d(spatial: dict[str, Any]) -> None:
    f = Floats()
    y = f.conv(f.input((1, 6, 6, 3)), weights(7, 2, 2, 3), weights(7), **spatial)
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["CONV2D", "RESCALE"]
    assert worst <= weight_error(12)
    rescale = next(op for op in integer.main.operators if op.op == "RESCALE")
    assert rescale.attributes["per_channel"]
    assert integer.main.tensors[rescale.inputs[1]].shape == (7,)


@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise(multiplier: int) -> None:
    f = Floats()
    w = weights(3, 3, 4, multiplier) * np.array([1, 10, 0.1, 3])[:, None].astype(np.float32)
    y = f.conv(f.input(IMAGE), w, weights(4 * multiplier), op="DEPTHWISE_CONV2D", pad=(1, 1, 1, 1))
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["DEPTHWISE_CONV2D", "RESCALE"]
    assert worst <= weight_error(9)


def test_weights_that_are_exact_leave_one_rounding() -> None:
    """Weights and bias that int8 and int32 hold exactly: only the RESCALE rounds."""
    f = Floats()
    scale = 2.0**-6
    rng = np.random.default_rng(5)
    stored = rng.integers(-127, 128, (5, 3, 3, 4))
    stored[:, 0, 0, 0] = 127
    quant = QParams((2.0**-5,), (3,))
    bias = (rng.integers(-5000, 5000, 5) * scale * 2.0**-5).astype(np.float32)
    y = f.conv(f.input(IMAGE, quant), (stored * scale).astype(np.float32), bias, pad=(1, 1, 1, 1))
    assert errors(f.outputs(y))[0] <= ROUNDING


def test_scales_from_graph_quant_are_used_per_channel() -> None:
    w = weights(5, 1, 1, 4)
    hint = weight_qparams(w * 2, 0)
    f = Floats()
    y = f.conv(f.input(IMAGE), w, weights(5), weight_quant=hint)
    _, integer = errors(f.outputs(y))
    conv = next(op for op in integer.main.operators if op.op == "CONV2D")
    stored = integer.main.tensors[conv.inputs[1]].data
    assert stored is not None
    assert np.abs(stored).max() == 64  # half of 127: the hint says so


@pytest.mark.parametrize(
    "hint", [QParams((0.01,), (3,)), QParams((0.01, 0.02), (0, 0), axis=0), QParams((0.1,), (0,), bits=3)]
)
def test_scales_that_cannot_be_used_are_replaced_with_a_note(hint: QParams) -> None:
    f = Floats()
    x = f.input(IMAGE, OTHER)
    y = f.conv(x, weights(5, 1, 1, 4), weights(5), OTHER, weight_quant=hint)
    report = Report()
    quantize(f.outputs(y), report)
    assert len(report.notes) == 1
    assert "scales are taken from the values instead" in report.notes[0]


def test_scales_that_are_too_small_for_the_weights_are_noted() -> None:
    f = Floats()
    y = f.conv(f.input(IMAGE, OTHER), np.full((1, 1, 1, 4), 10.0, np.float32), weights(1), OTHER,
               weight_quant=QParams((0.01,), (0,)))  # fmt: skip
    report = Report()
    quantize(f.outputs(y), report)
    assert "weights saturate, the largest is 1000.0 steps" in report.notes[0]


def test_a_dead_channel_keeps_its_bias() -> None:
    """Weights of 1e-12 would need a bias beyond int32: the channel's weight scale is raised and it is said."""
    w, b = weights(3, 1, 1, 4), np.array([1.0, 2.0, -1.5], np.float32)
    w[1] *= 1e-12
    f = Floats()
    y = f.conv(f.input(IMAGE), w, b)
    assert errors(f.outputs(y))[0] <= weight_error(4)
    report = Report()
    quantize(f.graph, report)
    assert [lint.label for lint in report.lints] == ["QUANT.L1"]
    assert report.lints[0].message.startswith("the bias of 1 of 3 channels (1) would need up to ")
    assert 0 <= report.margins["conv2d"] < 31


def test_relu_after_a_convolution_is_saturation() -> None:
    f = Floats()
    y = f.relu(f.conv(f.input(IMAGE), weights(5, 1, 1, 4), weights(5)))
    worst, integer = errors(f.outputs(y), skip=["conv2d"])
    assert operators(integer) == ["CONV2D", "RESCALE"]
    assert worst <= 2 * weight_error(4)  # half the range, so half the step
    assert integer.outputs[0].name == y


def test_relu_with_other_parameters_than_its_input_clamps_and_rescales() -> None:
    f = Floats()
    c = f.conv(f.input(IMAGE), weights(5, 1, 1, 4), weights(5), QParams((0.1,), (0,)))
    y = f.relu(c, QParams((0.05,), (-128,)))
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["CONV2D", "RESCALE", "CLAMP", "RESCALE"]
    assert worst <= weight_error(4) + 2 * weight_error(4)


def test_clamp_inside_the_range_stays() -> None:
    f = Floats()
    quant = activation_qparams(-2.0, 3.0)
    y = f.relu(f.input((2, 9), quant), quant, low=-1.0, high=1.5)
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["CLAMP"]
    assert worst <= ROUNDING


@pytest.mark.parametrize("op", ["ADD", "SUB", "MAXIMUM", "MINIMUM"])
@pytest.mark.parametrize("shapes", [((2, 3, 4), (2, 3, 4)), ((2, 1, 4), (1, 3, 1))])
@pytest.mark.parametrize("second", [(-2.0, 3.0), (-0.001, 0.02), (0.0, 500.0)])
def test_two_tensors_at_a_common_scale(op: str, shapes: tuple[Any, Any], second: Any) -> None:
    f = Floats()
    y = f.op(op, [f.input(shapes[0], name="a"), f.input(shapes[1], activation_qparams(*second), name="b")])
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["RESCALE", "RESCALE", op, "RESCALE"]
    assert worst <= ROUNDING


def test_mul() -> None:
    f = Floats()
    y = f.op("MUL", [f.input((2, 3, 4), name="a"), f.input((2, 1, 4), activation_qparams(-9, 1), name="b")])
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["RESCALE", "RESCALE", "MUL", "RESCALE"]
    assert worst <= ROUNDING


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL", "MAXIMUM"])
def test_a_constant_tensor_as_an_operand(op: str) -> None:
    f = Floats()
    y = f.op(op, [f.input((2, 3, 4)), f.const(weights(1, 3, 1))])
    assert errors(f.outputs(y))[0] <= (ROUNDING if op == "MUL" else 1.1)


def test_matmul_of_two_activations() -> None:
    f = Floats()
    y = f.op("MATMUL", [f.input((2, 3, 5), name="a"), f.input((2, 5, 4), activation_qparams(-1, 7), name="b")])
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["MATMUL", "RESCALE"]
    assert worst <= ROUNDING


def test_matmul_with_weights_and_a_bias_after_it() -> None:
    """As `linear` may be written: the product has no QParams and stays int32 until the bias is added."""
    f = Floats()
    product = f.op("MATMUL", [f.input((1, 3, 8)), f.const(weights(1, 8, 5) * [1, 10, 100, 0.1, 1])])
    y = f.op("ADD", [product, f.const(weights(1, 1, 5))])
    worst, integer = errors(f.outputs(y), skip=[product])
    assert operators(integer) == ["MATMUL", "ADD", "RESCALE"]
    assert worst <= weight_error(8)


@pytest.mark.parametrize("axes", [(1, 2), (1,), (0, 1, 2, 3)])
def test_mean(axes: tuple[int, ...]) -> None:
    f = Floats()
    y = f.composite("mean", f.input((2, 5, 6, 4)), axes=axes)
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["RESCALE", *["REDUCE_SUM"] * len(axes), "RESCALE"]
    assert worst <= ROUNDING


def test_sums_over_two_axes_stay_in_int32_between() -> None:
    f = Floats()
    first = f.op("REDUCE_SUM", [f.input((3, 4, 5))], axis=1)
    y = f.op("REDUCE_SUM", [first], axis=2)
    worst, integer = errors(f.outputs(y), skip=[first])
    assert operators(integer) == ["RESCALE", "REDUCE_SUM", "REDUCE_SUM", "RESCALE"]
    assert worst <= ROUNDING


def same(name: str) -> Any:
    """The cases of operators that move values."""
    f = Floats()
    x = f.input(IMAGE)

    def shape(*dims: int) -> str:
        return f.const(dims, dtype=types.shape)

    pool = {"kernel": (2, 2), "stride": (1, 2), "pad": (1, 0, 0, 0)}
    y = {
        "RESHAPE": lambda: f.op("RESHAPE", [x, shape(2, 60)]),
        "TRANSPOSE": lambda: f.op("TRANSPOSE", [x], perms=(0, 3, 1, 2)),
        "SLICE": lambda: f.op("SLICE", [x, shape(0, 1, 2, 0), shape(1, 3, 2, 4)]),
        "MAX_POOL2D": lambda: f.op("MAX_POOL2D", [x], **pool),
        "REDUCE_MAX": lambda: f.op("REDUCE_MAX", [x], axis=3),
        "IDENTITY": lambda: f.op("IDENTITY", [x]),
        "PAD": lambda: f.op("PAD", [x, shape(0, 0, 1, 2, 0, 1, 0, 0), f.const([0.0])]),
    }[name]()
    return f, y


MOVES = ["RESHAPE", "TRANSPOSE", "SLICE", "MAX_POOL2D", "REDUCE_MAX", "IDENTITY", "PAD"]


@pytest.mark.parametrize("name", MOVES)
def test_moves_are_exact_and_share_the_parameters(name: str) -> None:
    f, y = same(name)
    worst, integer = errors(f.outputs(y), skip=[y])
    assert operators(integer) == [name]
    assert integer.outputs[0].quant == integer.inputs[0].quant
    assert worst <= 1e-4


@pytest.mark.parametrize("name", MOVES)
def test_a_move_to_other_parameters_rescales(name: str) -> None:
    f, y = same(name)
    f.block.tensors[y].quant = OTHER
    worst, integer = errors(f.outputs(y))
    assert sorted(operators(integer)) == (["RESCALE"] if name == "IDENTITY" else sorted([name, "RESCALE"]))
    assert worst <= ROUNDING


def test_pad_with_a_value() -> None:
    f = Floats()
    x = f.input(IMAGE)
    amounts = f.const((0, 0, 1, 1, 1, 1, 0, 0), dtype=types.shape)
    y = f.op("PAD", [x, amounts, f.const([-1.5])])
    worst, integer = errors(f.outputs(y), skip=[y])
    assert operators(integer) == ["PAD"]
    assert worst <= ROUNDING


def test_concat_rescales_the_inputs_that_differ() -> None:
    f = Floats()
    quant = activation_qparams(-2.0, 3.0)
    a, b = f.input((1, 3), quant, "a"), f.input((1, 2), activation_qparams(-1, 1), "b")
    y = f.op("CONCAT", [a, b, f.const(weights(1, 4))], quant, axis=1)
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["RESCALE", "CONCAT"]
    assert worst <= ROUNDING


def test_concat_of_ranges_that_are_far_apart_is_noted() -> None:
    f = Floats()
    wide, narrow = QParams((1.0,), (0,)), QParams((0.01,), (0,))
    y = f.op("CONCAT", [f.input((1, 3), wide, "a"), f.input((1, 2), narrow, "b")], wide, axis=1)
    report = Report()
    quantize(f.outputs(y), report)
    assert [lint.label for lint in report.lints] == ["QUANT.L4"]
    assert "'b' (100 times, 6.6 bits lost)" in report.lints[0].message


@pytest.mark.parametrize(
    "pool",
    [
        {"kernel": (2, 3), "stride": (1, 1), "pad": (1, 0, 2, 1)},
        {"kernel": (5, 6), "stride": (1, 1), "pad": (0, 0, 0, 0)},
    ],
)
def test_avg_pool(pool: dict[str, Any]) -> None:
    f = Floats()
    y = f.op("AVG_POOL2D", [f.input(IMAGE)], acc_type=types.fp32, **pool)
    worst, integer = errors(f.outputs(y), skip=[y])
    assert operators(integer) == ["AVG_POOL2D"]
    assert worst <= ROUNDING


def test_argmax_gives_the_same_indices() -> None:
    f = Floats()
    y = f.op("ARGMAX", [f.input((3, 50))], dtype=types.i32, axis=1)
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["ARGMAX"]
    assert integer.outputs[0].quant is None
    assert worst == 0


@pytest.mark.parametrize(("name", "quant"), [("sigmoid", (1 / 256, -128)), ("tanh", (1 / 128, 0))])
def test_functions_by_name_are_one_table(name: str, quant: tuple[float, int]) -> None:
    f = Floats()
    y = f.composite(name, f.input((2, 300), activation_qparams(-6, 5)), QParams((quant[0],), (quant[1],)))
    worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["TABLE"]
    assert worst <= ROUNDING


def test_a_chain_of_elementwise_operators_is_one_table() -> None:
    """x * clamp(x + 3, 0, 6) / 6: hard swish, whose inner tensors have no QParams and need none."""
    f = Floats()
    x = f.input((2, 300), activation_qparams(-5, 6))
    shifted = f.op("ADD", [x, f.const([[3.0]])])
    gate = f.relu(shifted, high=6.0)
    product = f.op("MUL", [x, gate])
    y = f.op("MUL", [product, f.const([[1 / 6]])])
    worst, integer = errors(f.outputs(y), skip=[shifted, gate, product])
    assert operators(integer) == ["TABLE"]
    assert worst <= ROUNDING


@pytest.mark.parametrize("op", ["EXP", "RECIPROCAL", "NEGATE", "ABS"])
def test_unary_operators_are_tables(op: str) -> None:
    f = Floats()
    quant = QParams((0.02,), (-129 + 1,)) if op == "RECIPROCAL" else activation_qparams(-3, 2)
    x = f.input((1, 400), quant)
    y = f.op(op, [x], activation_qparams(-3, 10))
    if op == "RECIPROCAL":  # 1/0 is the end of the range on both sides
        with np.errstate(divide="ignore"):
            worst, integer = errors(f.outputs(y))
    else:
        worst, integer = errors(f.outputs(y))
    assert operators(integer) == ["TABLE"]
    assert worst <= ROUNDING


def test_a_residual_block() -> None:
    """A tensor inside no chain because two tensors meet: relu(conv(x) + x)."""
    f = Floats()
    x = f.input(IMAGE)
    c = f.conv(x, weights(4, 1, 1, 4), weights(4))
    y = f.relu(f.op("ADD", [c, x]))
    worst, integer = errors(f.outputs(y), skip=["add"])
    assert operators(integer) == ["CONV2D", "RESCALE", "RESCALE", "RESCALE", "ADD", "RESCALE"]
    assert worst <= 2 * weight_error(4)
