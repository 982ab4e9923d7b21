# ruff: noqa: E501
"""The 61 operations of XLA's document: each runs as the document says, or is refused by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from stablehlo_modules import graph, main, needs_jaxlib, run

from tosa_engine.errors import Unsupported

pytestmark = needs_jaxlib
F = np.float32
N = np.int32


@dataclass
class Case:
    """A module, the arrays of its inputs, and what comes out."""

    text: str
    inputs: list[Any]
    wanted: list[Any]
    close: float = 0.0
    told: dict[str, Any] = field(default_factory=dict)


def binary(op: str, kind: str, x: Any, y: Any, wanted: Any) -> Case:
    text = main(f"%x: {kind}, %y: {kind}", f"%out = stablehlo.{op} %x, %y : {kind}", kind)
    return Case(text, [x, y], [wanted])


def unary(op: str, x: Any, wanted: Any, close: float = 0.0) -> Case:
    kind = f"tensor<{len(x)}xf32>"
    return Case(main(f"%x: {kind}", f"%out = stablehlo.{op} %x : {kind}", kind), [F(x)], [F(wanted)], close)


def compare(direction: str, wanted: list[bool]) -> Case:
    body = f"%out = stablehlo.compare {direction}, %x, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>"
    given = [F([1, 2, 3, np.nan]), F([2, 2, 2, 2])]
    return Case(main("%x: tensor<4xf32>, %y: tensor<4xf32>", body, "tensor<4xi1>"), given, [np.array(wanted)])


def several(arguments: str, body: str, results: str, names: str) -> str:
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\nreturn {names} : {results}\n}}"


# the arrays of the document's examples
V = N(
    [
        [[10, 11, 12], [15, 16, 17]],
        [[20, 21, 22], [25, 26, 27]],
        [[30, 31, 32], [35, 36, 37]],
        [[40, 41, 42], [45, 46, 47]],
    ]
)
A = F([0, 1, 2, 3, 4])
B = F([[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]])
NORM = "{epsilon = 1.0 : f32, feature_index = 1 : i64}"
ADDS = "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%q = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %q : tensor<f32>"
MOST = ADDS.replace("stablehlo.add", "stablehlo.maximum")
KEEPS = (
    "^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%q = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "stablehlo.return %q : tensor<i1>"
)
LOOP = """%c0 = stablehlo.constant dense<0> : tensor<i32>
%r:2 = stablehlo.while(%i = %c0, %v = %x) : tensor<i32>, tensor<10xf32>
cond { %n = stablehlo.constant dense<1000> : tensor<i32>
  %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %t : tensor<i1> }
do { %one = stablehlo.constant dense<1> : tensor<i32>
  %j = stablehlo.add %i, %one : tensor<i32>
  %k = stablehlo.constant dense<0.5> : tensor<10xf32>
  %w = stablehlo.add %v, %k : tensor<10xf32>
  stablehlo.return %j, %w : tensor<i32>, tensor<10xf32> }
%out = stablehlo.add %r#1, %r#1 : tensor<10xf32>"""

CASES: dict[str, Case] = {
    "Broadcast": Case(
        main("%x: tensor<f32>", '%out = "stablehlo.broadcast"(%x) {broadcast_sizes = array<i64: 2, 3>} : (tensor<f32>) -> tensor<2x3xf32>', "tensor<2x3xf32>"),
        [F(2)], [np.full((2, 3), 2, F)],
    ),
    "Call": Case(
        main("%x: tensor<2xf32>", "%out = func.call @f(%x) : (tensor<2xf32>) -> tensor<2xf32>", "tensor<2xf32>")
        + "\nfunc.func private @f(%a: tensor<2xf32>) -> tensor<2xf32> {\n%s = stablehlo.add %a, %a : tensor<2xf32>\nreturn %s : tensor<2xf32>\n}",
        [F([1, 2])], [F([2, 4])],
    ),
    "Clamp": Case(
        main("%x: tensor<3xi32>, %a: tensor<i32>, %b: tensor<i32>", "%out = stablehlo.clamp %a, %x, %b : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>", "tensor<3xi32>"),
        [N([-1, 5, 9]), N(0), N(6)], [N([0, 5, 6])],
    ),
    "Collapse": Case(
        main("%x: tensor<4x2x3xi32>", "%out = stablehlo.reshape %x : (tensor<4x2x3xi32>) -> tensor<4x6xi32>", "tensor<4x6xi32>"),
        [V], [V.reshape(4, 6)],
    ),
    "Concatenate": Case(
        main("%x: tensor<3x2xi32>, %y: tensor<1x2xi32>", "%out = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>", "tensor<4x2xi32>"),
        [N([[1, 2], [3, 4], [5, 6]]), N([[7, 8]])], [N([[1, 2], [3, 4], [5, 6], [7, 8]])],
    ),
    "ConvertElementType": Case(
        several("%x: tensor<3xi32>, %y: tensor<4xf32>", "%a = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xf32>\n%b = stablehlo.convert %y : (tensor<4xf32>) -> tensor<4xi32>", "tensor<3xf32>, tensor<4xi32>", "%a, %b"),
        [N([0, 1, 2]), F([1.7, -1.7, 2.5, -0.9])], [F([0, 1, 2]), N([1, -1, 2, 0])],
    ),
    "Conv": Case(  # VALID: no padding
        main("%x: tensor<1x1x3x3xf32>, %w: tensor<1x1x2x2xf32>", "%out = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>", "tensor<1x1x2x2xf32>"),
        [np.arange(9, dtype=F).reshape(1, 1, 3, 3), F([[[[1, 2], [3, 4]]]])], [F([[[[27, 37], [57, 67]]]])],
    ),
    "ConvWithGeneralPadding": Case(  # x, 0, y, 0, z with 1 in front, less 1 behind; the filter over every second place
        main("%x: tensor<1x1x3xf32>, %w: tensor<1x1x2xf32>", "%out = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[1, -1]], lhs_dilate = [2], rhs_dilate = [2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>", "tensor<1x1x3xf32>"),
        [F([[[1, 2, 3]]]), F([[[1, 10]]])], [F([[[0, 21, 0]]])],
    ),
    "CrossReplicaSum": Case(
        main("%x: tensor<2xf32>", '%out = "stablehlo.all_reduce"(%x) ({' + ADDS + '}) {replica_groups = dense<0> : tensor<1x1xi64>} : (tensor<2xf32>) -> tensor<2xf32>', "tensor<2xf32>"),
        [F([1, 2.5])], [F([1, 2.5])],
    ),
    "Dot": Case(
        main("%x: tensor<2x3xf32>, %y: tensor<3xf32>", "%out = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>", "tensor<2xf32>"),
        [F([[1, 2, 3], [4, 5, 6]]), F([1, 0, 2])], [F([7, 16])],
    ),
    "Add": binary("add", "tensor<3xi32>", N([2**31 - 1, -5, 7]), N([1, -6, 8]), N([-(2**31), -11, 15])),
    "Sub": binary("subtract", "tensor<2xi32>", N([-(2**31), 7]), N([1, 9]), N([2**31 - 1, -2])),
    "Mul": binary("multiply", "tensor<3xi32>", N([65536, -7, 123456789]), N([65536, 9, 987654321]), N([0, -63, -67153019])),
    "Div": binary("divide", "tensor<4xi32>", N([7, -7, 7, 5]), N([2, 2, -2, 0]), N([3, -3, -3, -1])),
    "Rem": binary("remainder", "tensor<4xi32>", N([7, -7, 7, -8]), N([3, 3, -3, 5]), N([1, -1, 1, -3])),
    "Max": binary("maximum", "tensor<2xf32>", F([1, 5]), F([3, 2]), F([3, 5])),
    "Min": binary("minimum", "tensor<2xf32>", F([1, 5]), F([3, 2]), F([1, 2])),
    "LogicalAnd": binary("and", "tensor<3xi1>", np.array([1, 1, 0], bool), np.array([1, 0, 0], bool), np.array([1, 0, 0], bool)),
    "LogicalOr": binary("or", "tensor<3xi1>", np.array([1, 1, 0], bool), np.array([1, 0, 0], bool), np.array([1, 1, 0], bool)),
    "Eq": compare("EQ", [False, True, False, False]), "Ne": compare("NE", [True, False, True, True]),
    "Ge": compare("GE", [False, True, True, False]), "Gt": compare("GT", [False, False, True, False]),
    "Le": compare("LE", [True, True, False, False]), "Lt": compare("LT", [True, False, False, False]),
    "Abs": unary("abs", [-1.5, 2], [1.5, 2]), "Ceil": unary("ceil", [1.2, -1.2], [2, -1]),
    "Cos": unary("cosine", [0, 1.5], np.cos(F([0, 1.5])), 1e-6), "Exp": unary("exponential", [0, 1], [1, np.e], 1e-6),
    "Floor": unary("floor", [1.2, -1.2], [1, -2]),
    "IsFinite": Case(
        main("%x: tensor<4xf32>", "%out = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>", "tensor<4xi1>"),
        [F([1, np.inf, -np.inf, np.nan])], [np.array([1, 0, 0, 0], bool)],
    ),
    "Log": unary("log", [1, 10], [0, np.log(10)], 1e-6),
    "LogicalNot": Case(main("%x: tensor<2xi1>", "%out = stablehlo.not %x : tensor<2xi1>", "tensor<2xi1>"), [np.array([1, 0], bool)], [np.array([0, 1], bool)]),
    "Neg": unary("negate", [1, -2], [-1, 2]), "Sign": unary("sign", [-3, 0, 7], [-1, 0, 1]),
    "Tanh": unary("tanh", [0, 0.5], np.tanh(F([0, 0.5])), 1e-6),
    "BatchNormTraining": Case(  # mean 2 and 4, variance 1 and 4: (x - mean) / sqrt(variance + 1) * scale + offset
        several("%x: tensor<2x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>", '%a, %b, %c = "stablehlo.batch_norm_training"(%x, %s, %o) ' + NORM + " : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)", "tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>", "%a, %b, %c"),
        [F([[1, 2], [3, 6]]), F([2, 1]), F([0, 10])],
        [F([[-2 / 2**0.5, 10 - 2 / 5**0.5], [2 / 2**0.5, 10 + 2 / 5**0.5]]), F([2, 4]), F([1, 4])], 1e-5,
    ),
    "BatchNormInference": Case(
        main("%x: tensor<2x2xf32>, %s: tensor<2xf32>, %o: tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>", '%out = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) ' + NORM + " : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>", "tensor<2x2xf32>"),
        [F([[1, 2], [3, 6]]), F([2, 1]), F([0, 10]), F([2, 4]), F([3, 8])], [F([[-1, 10 - 2 / 3], [1, 10 + 2 / 3]])], 1e-5,
    ),
    "BatchNormGrad": Case(  # x - mean is -1, 1; dy 1, 3: sum(dy * (x - mean)) = 2, r = 1 / 2
        several("%x: tensor<2x1xf32>, %s: tensor<1xf32>, %m: tensor<1xf32>, %v: tensor<1xf32>, %g: tensor<2x1xf32>", '%a, %b, %c = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g) ' + NORM + " : (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1xf32>, tensor<2x1xf32>) -> (tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>)", "tensor<2x1xf32>, tensor<1xf32>, tensor<1xf32>", "%a, %b, %c"),
        [F([[1], [3]]), F([4]), F([2]), F([3]), F([[1], [3]])], [F([[-1.5], [1.5]]), F([1]), F([4])], 1e-5,
    ),
    "GetTupleElement": Case(
        main("%x: tensor<2xf32>, %y: tensor<i32>", "%t = stablehlo.tuple %x, %y : tuple<tensor<2xf32>, tensor<i32>>\n%out = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<i32>>) -> tensor<i32>", "tensor<i32>"),
        [F([1, 2]), N(5)], [N(5)],
    ),
    "Infeed": Case(
        main("%x: tensor<2xf32>", '%t = stablehlo.create_token : !stablehlo.token\n%i:2 = "stablehlo.infeed"(%t) {infeed_config = ""} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)\n%out = stablehlo.subtract %x, %i#0 : tensor<2xf32>', "tensor<2xf32>"),
        [F([5, 6]), F([1, 4])], [F([4, 2])],
    ),
    "Map": Case(
        main("%x: tensor<2xf32>, %y: tensor<2xf32>", '%out = "stablehlo.map"(%x, %y) ({' + ADDS + "}) {dimensions = array<i64: 0>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>", "tensor<2xf32>"),
        [F([1, 2]), F([10, 20])], [F([11, 22])],
    ),
    "Pad": Case(  # one element between two, one in front, the last one cut off
        main("%x: tensor<3xi32>, %p: tensor<i32>", "%out = stablehlo.pad %x, %p, low = [1], high = [-1], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<5xi32>", "tensor<5xi32>"),
        [N([1, 2, 3]), N(9)], [N([9, 1, 9, 2, 9])],
    ),
    "Reduce": Case(
        main("%x: tensor<4x2x3xf32>, %i: tensor<f32>", "%out = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x2x3xf32>, tensor<f32>) -> tensor<3xf32>", "tensor<3xf32>"),
        [np.broadcast_to(F([[1, 2, 3], [4, 5, 6]]), (4, 2, 3)), F(0)], [F([20, 28, 36])],
    ),
    "ReducePrecision": Case(  # 3 bits behind the point, exponents of 4 bits: up to 240
        main("%x: tensor<4xf32>", "%out = stablehlo.reduce_precision %x, format = e4m3 : tensor<4xf32>", "tensor<4xf32>"),
        [F([1.07, 1.0625, 1.1875, 300])], [F([1.125, 1, 1.25, np.inf])],
    ),
    "ReduceWindow": Case(
        main("%x: tensor<4x6xf32>, %i: tensor<f32>", '%out = "stablehlo.reduce_window"(%x, %i) ({' + MOST + "}) {window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 2, 3>} : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x2xf32>", "tensor<2x2xf32>"),
        [np.arange(24, dtype=F).reshape(4, 6), F(-np.inf)], [F([[8, 11], [20, 23]])],
    ),
    "Reshape": Case(  # {1, 2, 0} collapsed to 8 x 3
        main("%x: tensor<4x2x3xi32>", "%t = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<4x2x3xi32>) -> tensor<2x3x4xi32>\n%out = stablehlo.reshape %t : (tensor<2x3x4xi32>) -> tensor<8x3xi32>", "tensor<8x3xi32>"),
        [V], [N([[10, 20, 30], [40, 11, 21], [31, 41, 12], [22, 32, 42], [15, 25, 35], [45, 16, 26], [36, 46, 17], [27, 37, 47]])],
    ),
    "Rev": Case(main("%x: tensor<2x3xf32>", "%out = stablehlo.reverse %x, dims = [1] : tensor<2x3xf32>", "tensor<2x3xf32>"), [F([[1, 2, 3], [4, 5, 6]])], [F([[3, 2, 1], [6, 5, 4]])]),
    "SelectAndScatter": Case(  # windows of 3 by 2: the second element is the largest of both
        main("%x: tensor<5xf32>, %s: tensor<2xf32>, %i: tensor<f32>", '%out = "stablehlo.select_and_scatter"(%x, %s, %i) ({' + KEEPS + "}, {" + ADDS + "}) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>} : (tensor<5xf32>, tensor<2xf32>, tensor<f32>) -> tensor<5xf32>", "tensor<5xf32>"),
        [F([1, 2, 9, 3, 4]), F([2, 6]), F(0)], [F([0, 0, 8, 0, 0])],
    ),
    "Select": Case(
        main("%p: tensor<i1>, %x: tensor<4xi32>, %y: tensor<4xi32>", "%out = stablehlo.select %p, %x, %y : tensor<i1>, tensor<4xi32>", "tensor<4xi32>"),
        [np.array(True), N([1, 2, 3, 4]), N([100, 200, 300, 400])], [N([1, 2, 3, 4])],
    ),
    "Slice": Case(main("%x: tensor<4x3xf32>", "%out = stablehlo.slice %x [2:4, 1:3] : (tensor<4x3xf32>) -> tensor<2x2xf32>", "tensor<2x2xf32>"), [B], [F([[7, 8], [10, 11]])]),
    "DynamicSlice": Case(
        main("%x: tensor<4x3xf32>, %i: tensor<i32>, %j: tensor<i32>", "%out = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x2xf32>", "tensor<2x2xf32>"),
        [B, N(2), N(1)], [F([[7, 8], [10, 11]])],
    ),
    "DynamicUpdateSlice": Case(
        main("%x: tensor<4x3xf32>, %u: tensor<3x2xf32>, %i: tensor<i32>, %j: tensor<i32>", "%out = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<4x3xf32>, tensor<3x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>", "tensor<4x3xf32>"),
        [B, F([[12, 13], [14, 15], [16, 17]]), N(1), N(1)], [F([[0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]])],
    ),
    "Sort": Case(
        main("%x: tensor<5xf32>", '%out = "stablehlo.sort"(%x) ({' + KEEPS.replace("GE", "LT") + "}) {dimension = 0 : i64, is_stable = true} : (tensor<5xf32>) -> tensor<5xf32>", "tensor<5xf32>"),
        [F([3, 1, 2, 1, -np.inf])], [F([-np.inf, 1, 1, 2, 3])],
    ),
    "Transpose": Case(main("%x: tensor<4x2x3xi32>", "%out = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<4x2x3xi32>) -> tensor<3x4x2xi32>", "tensor<3x4x2xi32>"), [V], [V.transpose(2, 0, 1)]),
    "While": Case(main("%x: tensor<10xf32>", LOOP, "tensor<10xf32>"), [np.zeros(10, F)], [np.full(10, 1000, F)]),
}  # fmt: skip
CASES["Tuple"] = CASES["GetTupleElement"]
RANDOM = {"RngBernoulli": "UNIFORM", "RngNormal": "NORMAL", "RngUniform": "UNIFORM"}
CUSTOM = "CustomCall"


def test_every_operation_of_the_document_has_a_case() -> None:
    assert len({*CASES, *RANDOM, CUSTOM}) == 61


@pytest.mark.parametrize("name", sorted(CASES))
def test_runs(name: str) -> None:
    case = CASES[name]
    found = run(case.text, *case.inputs)
    assert len(found) == len(case.wanted)
    for ours, wanted in zip(found, case.wanted, strict=True):
        assert ours.shape == np.shape(wanted)
        if case.close:
            np.testing.assert_allclose(ours, wanted, rtol=case.close, atol=case.close)
        else:
            np.testing.assert_array_equal(ours, wanted)


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_random_numbers_are_refused_by_name(name: str) -> None:
    text = main(
        "%a: tensor<f32>, %b: tensor<f32>",
        "%s = stablehlo.constant dense<2> : tensor<1xi64>\n"
        f"%out = stablehlo.rng %a, %b, %s, distribution = {RANDOM[name]} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>",
        "tensor<2xf32>",
    )
    with pytest.raises(Unsupported, match=r"model.mlir:3: stablehlo.rng \(tensor<2xf32>\): .* threefry"):
        graph(text)


def test_a_custom_call_is_an_operator_of_the_users_own() -> None:
    text = main(
        "%x: tensor<2xf32>, %y: tensor<2x3xf32>",
        "%out = stablehlo.custom_call @myfunc(%x, %y) : (tensor<2xf32>, tensor<2x3xf32>) -> tensor<3x3xf32>",
        "tensor<3x3xf32>",
    )
    (op,) = [one for one in graph(text).main.operators if one.op == "CUSTOM"]
    assert (op.attributes["operator_name"], op.attributes["domain_name"]) == ("myfunc", "stablehlo")


@pytest.mark.parametrize("integer", ["i16", "ui16"])
@pytest.mark.parametrize("real", ["bf16", "f16"])
def test_all_bits_of_16_bit_floats(real: str, integer: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    numbers = bits.view({"bf16": ml_dtypes.bfloat16, "f16": np.float16}[real])
    nan = np.isnan(numbers.astype(np.float32))
    kinds = f"tensor<65536x{real}>", f"tensor<65536x{integer}>"
    for given, (before, after) in ((numbers, kinds), (bits.view(np.int16), kinds[::-1])):
        (found,) = run(
            main(f"%x: {before}", f"%out = stablehlo.bitcast_convert %x : ({before}) -> {after}", after), given
        )
        np.testing.assert_array_equal(np.asarray(found).view(np.uint16)[~nan], bits[~nan])
        assert np.isnan(np.asarray(found).view(numbers.dtype)[nan].astype(np.float32)).all()


@pytest.mark.parametrize("kind", ["i1", "bf16", "f32", "ui8"])
def test_the_bits_of_a_type_as_the_type(kind: str) -> None:
    tensor = f"tensor<3x{kind}>"
    text = main(f"%x: {tensor}", f"%out = stablehlo.bitcast_convert %x : ({tensor}) -> {tensor}", tensor)
    np.testing.assert_array_equal(run(text, [0, 1, 1])[0].astype(np.int32), [0, 1, 1])


def test_an_update_without_elements_changes_nothing() -> None:
    """Was refused: TOSA has no such tensors."""
    text = main(
        "%x: tensor<2x3xf32>, %i: tensor<i32>",
        "%none = stablehlo.constant dense<> : tensor<2x0xf32>\n"
        "%out = stablehlo.dynamic_update_slice %x, %none, %i, %i : "
        "(tensor<2x3xf32>, tensor<2x0xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>",
        "tensor<2x3xf32>",
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(run(text, x, 1)[0], x)
