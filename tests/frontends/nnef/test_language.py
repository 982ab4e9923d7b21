"""What documents of the compositional syntax mean: their flat form, and what they compute."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nnef_tools import Run, random, write_nnef
from nnef_tools import document as document_text

from tosa_engine import oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.document import parse_text
from tosa_engine.frontends.nnef.flattening import lower
from tosa_engine.frontends.nnef.language.library import REQUIRED, standard_library
from tosa_engine.frontends.nnef.language.parser import format_literal
from tosa_engine.frontends.nnef.language.syntax import Name
from tosa_engine.frontends.nnef.mapping import Shapes

if TYPE_CHECKING:
    from tosa_engine.frontends.nnef.language.flat import Document

EXTENSIONS = "extension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n"


def document(body: str, fragments: str = "", results: str = "y", shape: str = "[2, 3]") -> Document:
    graph = f"graph g(x) -> ({results})\n{{ x = external(shape = {shape}); {body} }}\n"
    return parse_text(f"version 1.0;\n{EXTENSIONS}{fragments}\n{graph}", "graph.nnef")


def shown(value: Any) -> str:
    if isinstance(value, Name):
        return value.text
    if isinstance(value, tuple):
        return "[" + ", ".join(map(shown, value)) + "]"
    return format_literal(value)


def flat(found: Document) -> list[str]:
    """The operations but for the external, with the arguments that aren't defaults."""
    lines = []
    for op in found.operations[1:]:
        given_ = {
            name: value
            for name, value in op.arguments.items()
            if (default := op.declaration.parameter(name)) and (default.default is REQUIRED or value != default.default)
        }
        arguments = ", ".join(shown(v) for v in given_.values())
        lines.append(f"{', '.join(r.text for r in op.results)} = {op.name}({arguments})")
    return lines


def attribute(expression: str) -> Any:
    """The value of a compile-time expression."""
    fragment = "fragment f(a: tensor<scalar>) -> (b: tensor<scalar>) { v = " + expression + "; b = h(a, v = v); }\n"
    for kind in ("integer", "scalar", "logical", "string", "integer[]", "scalar[]", "string[]", "integer[][]"):
        custom = f"fragment h(a: tensor<scalar>, v: {kind}) -> (b: tensor<scalar>);\n"
        try:
            return document("y = f(x);", custom + fragment).operations[-1].arguments["v"]
        except TosaEngineError as error:
            if getattr(error, "label", "") != "NNEF.T4":
                raise
    raise AssertionError(expression)


VALUES = [
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("10 - 3 - 2", 5),
    ("2 ^ 3 ^ 2", 64),
    ("-2 ^ 2", 4),
    ("- 2 ^ 2", 4),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("7.0 / 2.0", 3.5),
    ("1 < 2 && 2 < 3", True),
    ("true || false && false", False),  # one level, from left to right
    ("!true || true", True),
    ("1 == 1 && 'a' != 'b'", True),
    ("1 + 1 in [1, 2]", True),
    ("(1, 2) in [(1, 2), (3, 4)]", True),
    ("[1, 2] + [3] * 2", (1, 2, 3, 3)),
    ("[1] * -1", ()),
    ("'ab' + 'c' * 2", "abcc"),
    ("'abc'[1]", "b"),
    ("'abc'[1:]", "bc"),
    ("[1, 2, 3][1:]", (2, 3)),
    ("[1, 2, 3][:2]", (1, 2)),
    ("[1, 2, 3][:]", (1, 2, 3)),
    ("[1, 2, 3][2:2]", ()),
    ("[1, 2, 3][9:4]", ()),
    ("(1, 'a')[1]", "a"),
    ("[[1, 2], [3]][0][1]", 2),
    ("[[1], []]", ((1,), ())),
    ("length_of([1, 2]) + length_of('abc')", 5),
    ("range_of([5, 6])", (0, 1)),
    ("range_of('abc')", (0, 1, 2)),
    ("scalar(3)", 3.0),
    ("scalar(true)", 1.0),
    ("scalar('-1.5e1')", -15.0),
    ("integer(-1.5)", -2),
    ("integer(1.5)", 1),
    ("integer('42')", 42),
    ("integer(false)", 0),
    ("logical(0)", False),
    ("logical(0.5)", True),
    ("logical('')", False),
    ("string(1.0)", "1.0"),
    ("string(true)", "true"),
    ("string(12)", "12"),
    ("1 if true else [1, 2][5]", 1),
    ("1 if false else 2 if false else 3", 3),
    ("[for i in [1, 2, 3] yield i * i]", (1, 4, 9)),
    ("[for i in [1, 2, 3] if i != 2 yield i]", (1, 3)),
    ("[for i in [1, 2], j in [10, 20] yield i + j]", (11, 22)),
    ("[for i in range_of('ab') yield [for j in [1, 2] if j > i yield j]]", ((1, 2), (2,))),
    ("[for p in [(1, 2), (3, 4)] yield p[0] + p[1]]", (3, 7)),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_compile_time_expressions(expression: str, value: Any) -> None:
    assert repr(attribute(expression)) == repr(value)


def test_operators_on_tensors_are_operations() -> None:
    found = document("y = select(!(-x <= 2.0 * x) || x == x, x ^ 2.0 / x, +x - 1.0);")
    assert flat(found) == [
        "y_neg = neg(x)",
        "y_mul = mul(2.0, x)",
        "y_le = le(y_neg, y_mul)",
        "y_not = not(y_le)",
        "y_eq = eq(x, x)",
        "y_or = or(y_not, y_eq)",
        "y_pow = pow(x, 2.0)",
        "y_div = div(y_pow, x)",
        "y_copy = copy(x)",
        "y_sub = sub(y_copy, 1.0)",
        "y = select(y_or, y_div, y_sub)",
    ]
    assert [op.type for op in found.operations[3:7]] == ["logical", "logical", "logical", "logical"]


def test_names_are_those_of_the_graph_and_of_what_they_are_computed_for() -> None:
    fragments = """
    fragment pair(a: tensor<scalar>) -> (p: tensor<scalar>, q: tensor<scalar>[]) {
        mean = mean_reduce(a, axes = [1]); p = a - mean; [l, r] = split(p, axis = 0, ratios = [1, 1]); q = [r, l]; }
    """
    found = document("y_mean = relu(x); y, [z, w] = pair(y_mean); y_l_2 = relu(w); v = w;", fragments, "y, v")
    assert flat(found) == [
        "y_mean = relu(x)",
        "y_mean_2 = mean_reduce(y_mean, [1])",
        "y = sub(y_mean, y_mean_2)",
        "y_l, y_r = split(y, 0, [1, 1])",
        "z = copy(y_r)",
        "w = copy(y_l)",
        "y_l_2 = relu(w)",
        "v = copy(w)",
    ]


def test_results_may_be_parameters_and_constants() -> None:
    fragments = """
    fragment same(a: tensor<scalar>) -> (b: tensor<scalar>) { b = a; }
    fragment zero(a: tensor<scalar>) -> (b: tensor<scalar>, c: tensor<logical>) { b = 0.0; c = true; }
    fragment twice(a: tensor<scalar>) -> (b: tensor<scalar>) { z, t = zero(a); b = z + 1.0 + same(a); }
    """
    found = document("y = same(x); z, t = zero(x); w = twice(x);", fragments)
    assert flat(found) == [
        "y = copy(x)",
        "z = constant([], [0.0])",
        "t = constant([], [true])",
        "w = add(1.0, x)",
    ]
    assert [op.type for op in found.operations] == ["scalar", "scalar", "scalar", "logical", "scalar"]


def test_generics_are_deduced_defaulted_and_handed_on() -> None:
    fragments = """
    fragment fill<? = scalar>(shape: integer[], value: ?[]) -> (y: tensor<?>) {
        y = constant<?>(shape = shape, value = value); }
    fragment either<?>(c: tensor<logical>, a: tensor<?>, b: tensor<?>) -> (y: tensor<?>) { y = select(c, a, b); }
    """
    found = document("a = fill(shape = [1], value = [1.0]); b = fill<integer>(shape = [1], value = [1]);"
                     "c = either(x < 0.0, 1, b); y = either<scalar>(true, a, x);", fragments)  # fmt: skip
    assert {op.result: op.type for op in found.operations} == {
        "x": "scalar", "a": "scalar", "b": "integer", "c_lt": "logical", "c": "integer", "y": "scalar"
    }  # fmt: skip


def test_recursion_and_lazy_branches() -> None:
    fragments = """
    fragment total(a: tensor<scalar>[]) -> (s: tensor<scalar>) {
        s = a[0] + total(a[1:]) if length_of(a) > 1 else a[0]; }
    """
    found = document("y = total([x, x, 2.0]);", fragments)
    assert flat(found) == ["y_total = add(x, 2.0)", "y = add(x, y_total)"]


def test_compounds_of_the_standard_are_expanded_where_they_arent_kept() -> None:
    found = document("y, v = moments(x, axes = [1]); z = softmax(x); [a, b] = copy_n(x, times = 2);")
    assert flat(found)[0] == "y, v = moments(x, [1])"
    assert flat(lower(found, lambda declaration: declaration.name == "mean_reduce", Shapes(found))) == [
        "y = mean_reduce(x, [1])",
        "y_sub = sub(x, y)",
        "y_sqr = pow(y_sub, 2.0)",
        "v = mean_reduce(y_sqr, [1])",
        "z_max_reduce = max_reduce(x, [1])",
        "z_sub = sub(x, z_max_reduce)",
        "z_e = exp(z_sub)",
        "z_sum_reduce = sum_reduce(z_e, [1])",
        "z = div(z_e, z_sum_reduce)",
        "a = copy(x)",
        "b = copy(x)",
    ]


def test_the_standard_library_is_legal() -> None:
    """Its text is a legal document, apart from the names that are the standard's."""
    text = (Path(nnef.__file__).parent / "language" / "standard.nnef").read_text(encoding="utf-8")
    names = list(standard_library())
    assert len(names) == 118
    found = document("y = x + 0.0;", text)
    assert [w.split("fragment ")[1].split("'")[1] for w in found.warnings if "takes the place" in w] == names


def test_deprecated_and_unusual_things_are_warned_of() -> None:
    fragment = "fragment silu(a: tensor<scalar>) -> (b: tensor<scalar>) { b = a; }\n"
    body = """y = add(x = x, y = x); z = silu(x); w = softmax(x, axes = shape_of(2.0));
    a = concat(values = [x], axis = 0);
    q = linear_quantize(x, 0.0, 1.0, bits = 8);"""
    found = document(body, fragment)
    assert found.warnings == [
        "graph.nnef:4:10: fragment 'silu' takes the place of the standard's operation",
        "graph.nnef:7:41: naming the tensor argument 'x' is deprecated",
        "graph.nnef:7:48: naming the tensor argument 'y' is deprecated",
        "graph.nnef:7:91: 'shape_of' is deprecated",
        "graph.nnef:8:16: naming the tensor argument 'values' is deprecated",
        "graph.nnef:9:9: 'linear_quantize' is deprecated: its name is 'min_max_linear_quantize' now",
    ]


def test_deprecated_values_are_warned_of(tmp_path: Path) -> None:
    """An end of 0, parameters in the header of a tensor file, and the old name in a quantization file."""
    body = """a = slice(x, axes = [1], begin = [1], end = [0]);
    b = slice(x, axes = [1], begin = [2], end = [0], stride = [-1]);
    w = variable(shape = [2, 4], label = 'w'); y = add(x, w);"""
    codes = bytearray(nnef.write_dat(np.zeros((2, 4), np.uint8), quantized=True))
    codes[52:60] = struct.pack("<2f", -1.0, 1.0)
    folder = write_nnef(tmp_path / "m.nnef", document_text(body, {"x": [2, 4]}, "a, b, y"))
    (folder / "w.dat").write_bytes(codes)
    (folder / "graph.quant").write_text("'x': linear_quantize(min = 0.0, max = 1.0, bits = 8);\n")
    assert nnef.load(folder).warnings == [
        f"{folder}/graph.quant:1: 'linear_quantize' is deprecated: its name is 'min_max_linear_quantize' now",
        f"{folder}/graph.nnef:5:9: 'slice': an end of 0 for the end of the axis is deprecated",
        f"{folder}/w.dat: parameters of an item type are deprecated: graph.quant is the place for quantization",
    ]


def test_shape_of_knows_shapes_of_the_graph() -> None:
    fragments = """
    fragment halves(a: tensor<scalar>) -> (y: tensor<scalar>) {
        y = slice(a, axes = [1], begin = [0], end = [shape_of(a)[1] / 2]); }
    """
    found = document("y = halves(halves(concat([x, x], axis = 1)));", fragments, shape="[2, 8]")
    assert flat(found)[-1] == "y = slice(y_halves, [1], [0], [4])"


def test_an_error_in_a_fragment_names_the_calls() -> None:
    fragments = """
    fragment inner(a: tensor<scalar>, n: integer) -> (b: tensor<scalar>) { b = softmax(a, axes = [[1, 2][n]]); }
    fragment outer(a: tensor<scalar>) -> (b: tensor<scalar>) { b = inner(a, n = 2); }
    """
    with pytest.raises(TosaEngineError) as caught:
        document("y = outer(x);", fragments)
    assert str(caught.value).startswith(
        "graph.nnef:5:105: NNEF.E1: index 2 is beyond an array of 2 items, in 'inner' called on line 6, "
        "in 'outer' called on line 9\n"
    )


def test_documents_with_fragments_run(tmp_path: Path) -> None:
    x = random((2, 3, 4))
    text = (
        "version 1.0;\n" + EXTENSIONS + "fragment norm(x: tensor<scalar>, axes: integer[], eps: scalar = 1e-5) -> "
        "(y: tensor<scalar>) { d = x - mean_reduce(x, axes = axes); "
        "y = d * (1.0 / (mean_reduce(d * d, axes = axes) + eps)); }\n"
        "graph g(x) -> (y) { x = external(shape = [2, 3, 4]); "
        "y = max(norm(x, axes = [for i in [1] yield i + 1]), 0.0); }"
    )
    (tmp_path / "graph.nnef").write_text(text, encoding="utf-8")
    result = oracle.run(nnef.load(tmp_path), {"x": x})["y"]
    d = x - x.mean(2, keepdims=True)
    np.testing.assert_allclose(result, np.maximum(d / ((d * d).mean(2, keepdims=True) + 1e-5), 0), rtol=1e-5)


def test_compounds_without_a_mapping_run_as_their_parts(tmp_path: Path) -> None:
    x, scale = random((2, 3)), random((1, 3), 1)
    Run(tmp_path, "y = linear(x, w, b);", {"x": x}, {"w": random((4, 3), 2), "b": scale[:, :1]})
    run = Run(tmp_path / "b", "[a, b] = copy_n(x, times = 2); y = add(a, b);", {"x": x})
    run.agrees("y", 2 * x)


@given(st.data())
def test_flat_expressions_mean_what_python_says(data: st.DataObject) -> None:
    """Random arithmetic of small integers, with the precedence of the standard."""
    numbers = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    signs = data.draw(st.lists(st.sampled_from("+-*"), min_size=len(numbers) - 1, max_size=len(numbers) - 1))
    text = "".join(f"{n} {s} " for n, s in zip(numbers, [*signs, ""], strict=True))
    expected, terms = numbers[0], [numbers[0]]
    for sign, number in zip(signs, numbers[1:], strict=True):
        if sign == "*":
            terms[-1] *= number
        else:
            terms.append(number if sign == "+" else -number)
    expected = sum(terms)
    assert attribute(text) == expected
