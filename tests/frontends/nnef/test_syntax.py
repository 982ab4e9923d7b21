"""The text of NNEF documents: what parses, and the exact message of everything that doesn't."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine.errors import ParseError, Problems, TosaEngineError, Unsupported
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.document import parse_text
from tosa_engine.frontends.nnef.language.parser import format_literal, parse_document, parse_quant
from tosa_engine.frontends.nnef.language.syntax import Invocation, Literal, Name, Sequence, literal_value

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "version 1.0;\ngraph g(x) -> (y)\n{\n    x = external(shape = [2, 3]);\n"


def failure(text: str) -> TosaEngineError:
    with pytest.raises(TosaEngineError) as caught:
        parse_text(text, "graph.nnef")
    return caught.value


def test_literals_are_exact() -> None:
    text = r"""version 1.0; # a comment; with "things"
    graph g(x)->(y){ y = f<scalar>(x, [], -99999999999999999999, 0.1, 1e-45, -2.5E+3, 7., true, false,
        ['it\'s', "a\\b", '"'], (1, (2.0, a)), key = [(1, 2), (3, 4)]); }"""
    (assignment,) = parse_document(text, "t").graph.body
    call = assignment.value
    assert isinstance(call, Invocation)
    assert (call.operation, call.type_name) == ("f", "scalar")
    values = [a.value for a in call.arguments]
    assert isinstance(values[0], Name)
    assert values[0].place.line == 2
    literals = [v.value for v in values if isinstance(v, Literal)]
    assert literals == [-99999999999999999999, 0.1, 1e-45, -2500.0, 7.0, True, False]
    assert [type(v) for v in literals] == [int, float, float, float, float, bool, bool]
    assert literal_value(values[9]) == ("it's", "a\\b", '"')
    assert isinstance(values[10], Sequence)
    assert values[10].is_tuple
    assert call.arguments[-1].name == "key"
    assert literal_value(values[-1]) == ((1, 2), (3, 4))


@pytest.mark.parametrize("target", ["a, b", "(a, b)", "[a, b]", "[a, (b, c)]", "[]"])
def test_left_sides(target: str) -> None:
    (assignment,) = parse_document(f"version 1.0; graph g(x)->(y) {{ {target} = f(x); }}", "t").graph.body
    assert isinstance(assignment.target, Sequence)
    assert assignment.target.is_tuple is not target.startswith("[")


def test_white_space_and_carriage_returns() -> None:
    text = "version\t1.0;\r\n\f\x0bgraph g ( x ) -> ( y )\r\n{ x = external(shape=[1]);\r\n y = oops(x); }\r\n"
    assert str(failure(text)) == (
        "graph.nnef:4:6: NNEF.A1: operation 'oops' isn't declared, nor is it one of NNEF 1.0.4\n"
        "     y = oops(x); }\n         ^"
    )
    assert str(failure(text.replace("oops(x)", "relu(x"))) == (
        "graph.nnef:4:12: NNEF.S1: unexpected ';', expected '(', ')', ',', '=', an operator\n"
        "     y = relu(x; }\n               ^"
    )


SYNTAX = [
    ("", "1:1: NNEF.S1: unexpected end of the text, expected 'version'"),
    ("version 1.0;\n", "2:1: NNEF.S1: unexpected end of the text, expected 'extension', 'fragment', 'graph'"),
    ("version x;", "1:9: NNEF.S1: unexpected 'x', expected a number\n    version x;\n            ^"),
    (
        "version 1.0;\ngraph g(x) -> (y) { relu(x); }",
        (
            "2:25: NNEF.S1: unexpected '(', expected ',', '='\n"
            "    graph g(x) -> (y) { relu(x); }\n                            ^"
        ),
    ),
    (
        HEAD + "    y = relu(x;\n}",
        (
            "5:15: NNEF.S1: unexpected ';', expected '(', ')', ',', '=', an operator\n"
            "        y = relu(x;\n                  ^"
        ),
    ),
    (
        HEAD + "    y = f(a = 'abc);\n}",
        "5:15: NNEF.L3: the string has no end on its line\n        y = f(a = 'abc);\n                  ^",
    ),
    (
        HEAD + "    y = x + 1;\n}",
        (
            "5:11: NNEF.S3: expressions like this need 'extension KHR_enable_operator_expressions;'\n"
            "        y = x + 1;\n              ^"
        ),
    ),
    (
        HEAD + "    y = f(a = 1e999);\n}",
        "5:15: NNEF.LIMIT: the scalar 1e999 is beyond double precision\n        y = f(a = 1e999);\n                  ^",
    ),
    (
        HEAD + "    y = f(a = 'ä');\n}",
        (
            "5:15: NNEF.L4: a string may hold printable ASCII characters only\n"
            "        y = f(a = 'ä');\n                  ^"
        ),
    ),
    (
        HEAD + "    for = f(x);\n}",
        "5:5: NNEF.L6: 'for' is a keyword; it can't be a name\n        for = f(x);\n        ^",
    ),
    (
        "version 1.0;\nfragment f(x: tensor<>) -> ();",
        (
            "2:29: NNEF.S1: unexpected ')', expected an identifier\n"
            "    fragment f(x: tensor<>) -> ();\n                                ^"
        ),
    ),
    (HEAD + "    y = relu(x);\n} more", "6:3: NNEF.S1: unexpected 'more', expected the end\n    } more\n      ^"),
    (
        HEAD + "    y = f<tensor>(x);\n}",
        "5:11: NNEF.L6: 'tensor' is a keyword; it can't be a name\n        y = f<tensor>(x);\n              ^",
    ),
]


@pytest.mark.parametrize(("text", "message"), SYNTAX)
def test_a_syntax_error_has_line_column_caret_and_what_was_expected(text: str, message: str) -> None:
    found = failure(text)
    assert type(found) is ParseError
    assert str(found) == f"graph.nnef:{message}"
    assert found.exit_code == 6


SEMANTICS = [
    ("y = relu();", "unexpected ')', expected an expression", 14),
    ("y = relu(z);", "'z' isn't defined before this use", 14),
    ("y = relu(x = x, y = x);", "'relu' has no argument 'y'; it has: x", 21),
    ("y = relu(x, x);", "'relu' takes 1 arguments, this is number 2", 17),
    ("y = add(x);", "'add' needs 'y'", 9),
    ("y = add(x, x = x);", "argument 'x' of 'add' is given twice", 16),
    ("y = add(y = x, x);", "a positional argument stands after a named one", 20),
    ("y = softmax(x, [1]);", "attribute 'axes' of 'softmax' must be named", 20),
    ("y = softmax(x, axes = 1);", "argument 'axes' must be an array of integers, got the integer 1", 27),
    ("y = softmax(x, axes = [1.0]);", "argument 'axes' must be an array of integers, got an array of scalars", 27),
    (
        "y = softmax(x, axes = [x]);",
        "argument 'axes' must be an array of integers, got an array of tensors of scalars",
        27,
    ),
    ("y = relu([x]);", "argument 'x' must be a tensor of scalars, got an array of tensors of scalars", 14),
    ("y = relu('x');", "argument 'x' must be a tensor of scalars, got the string 'x'", 14),
    ("y = add(x, 1);", "argument 'y' must be a tensor of scalars, got the integer 1", 16),
    ("y = add(x, true);", "argument 'y' must be a tensor of scalars, got the logical true", 16),
    ("y = concat(x, axis = 0);", "argument 'values' must be an array of tensors, got a tensor of scalars", 9),
    ("y = matmul(x, x, transposeB = 1);", "argument 'transposeB' must be true or false, got the integer 1", 35),
    (
        "y = pad(x, padding = [1, 2]);",
        "argument 'padding' must be an array of pairs of integers like [(1, 1), (0, 0)], got an array of integers",
        26,
    ),
    ("y = pad(x, padding = [], value = 1);", "argument 'value' must be a scalar (like 1.0), got the integer 1", 38),
    ("y = reshape(x, shape = [99999999999]);", "argument 'shape' of 'reshape': 99999999999 is beyond 32 bits", 9),
    ("y = relu<scalar>(x);", "'relu' isn't generic: it takes no type name", 9),
    (
        "y = reshape<integer>(x, shape = [6]);",
        "argument 'input' must be a tensor of integers, got a tensor of scalars",
        26,
    ),
    (
        "y = constant(shape = [1], value = [1]);",
        "argument 'value' must be an array of scalars, got an array of integers",
        39,
    ),
    ("y = copy<string>(x);", "argument 'x' must be a tensor of strings, got a tensor of scalars", 22),
    ("x = relu(x); y = relu(x);", "'x' is assigned twice", 5),
    ("y, z = relu(x);", "'relu' has one result, not 2", 5),
    (
        "y = split(x, axis = 0, ratios = [1, 1]);",
        "'split' returns an array; assign it to an array of names like [a, b]",
        5,
    ),
    ("a = relu(x);", "result 'y' of the graph is never assigned", None),
    ("y = external(shape = [1]);", "external tensor 'y' isn't a parameter of the graph", 9),
]


@pytest.mark.parametrize(("line", "message", "column"), SEMANTICS)
def test_a_wrong_invocation_has_its_message(line: str, message: str, column: int | None) -> None:
    found = failure(f"{HEAD}    {line}\n}}")
    assert type(found) is ParseError
    assert found.message == message
    if column is not None:
        assert (found.line, found.column) == (5, column)
        assert str(found).endswith(f"\n        {line}\n{' ' * (column + 3)}^")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "version 1.0; graph g(x, x) -> (y) { x = external(shape=[1]); y = relu(x); }",
            "parameter 'x' of the graph is listed twice",
        ),
        (
            "version 1.0; graph g(x) -> (y, y) { x = external(shape=[1]); y = relu(x); }",
            "result 'y' of the graph is listed twice",
        ),
        (
            "version 1.0; graph g(x, z) -> (y) { x = external(shape=[1]); y = relu(x); }",
            "parameter 'z' of the graph isn't the result of an external operation",
        ),
    ],
)
def test_the_graph_declaration_is_checked(text: str, message: str) -> None:
    assert failure(text).message == message


def test_versions_and_extensions_are_refused_by_name() -> None:
    found = failure(HEAD.replace("1.0", "2.0") + "    y = relu(x);\n}")
    assert type(found) is Unsupported
    assert str(found) == "graph.nnef:1:9: version 2.0 of NNEF; this reader knows 1.0"
    text = "version 1.0;\nextension KHR_other vendor;\nextension KHR_vendor;\nfragment f();"
    both = failure(text)
    assert isinstance(both, Problems)
    assert both.exit_code == 5
    assert [str(p) for p in both.problems] == [
        "graph.nnef:2:11: extension 'KHR_other vendor' isn't supported",
        "graph.nnef:3:11: extension 'KHR_vendor' isn't supported",
    ]


def test_all_problems_are_reported_together() -> None:
    text = (
        HEAD + "    a = sin(x, 1);\n    b = foo(a, 1);\n    c = softmax(b, axis = 1);\n"
        "    d = relu(e);\n    y = pow(d, 2.0);\n}"
    )
    found = failure(text)
    assert isinstance(found, Problems)
    assert found.exit_code == 6
    assert str(found).split("\n")[0] == "graph.nnef: 4 problems"
    assert [str(p).split("\n")[0] for p in found.problems] == [
        "graph.nnef:5:16: NNEF.A2: 'sin' takes 1 arguments, this is number 2",
        "graph.nnef:6:9: NNEF.A1: operation 'foo' isn't declared, nor is it one of NNEF 1.0.4",
        "graph.nnef:7:20: NNEF.A5: 'softmax' has no argument 'axis'; it has: x, axes",
        "graph.nnef:8:14: NNEF.I8: 'e' isn't defined before this use",
    ]


def test_syntax_errors_are_reported_together() -> None:
    text = (
        HEAD
        + "    a = relu(x;\n    b = relu(x) c = 3;\n    d = 'abc;\n    e = relu(x, ;\n    ~ = ?;\n    y = relu(x);\n}"
    )
    found = failure(text)
    assert isinstance(found, Problems)
    assert [str(p).split("\n")[0] for p in found.problems] == [
        "graph.nnef:5:15: NNEF.S1: unexpected ';', expected '(', ')', ',', '=', an operator",
        "graph.nnef:6:17: NNEF.S1: unexpected 'c', expected ';', an operator",
        "graph.nnef:7:9: NNEF.L3: the string has no end on its line",
        "graph.nnef:8:17: NNEF.S1: unexpected ';', expected an expression",
        "graph.nnef:9:5: NNEF.L1: unexpected character '~'",
    ]


def test_errors_of_declarations_dont_hide_those_of_the_graph() -> None:
    text = (
        "version 1.0;\nextension KHR_enable_fragment_definitions;\n"
        "fragment f(x: tensor<scalar> -> (y: tensor<scalar>);\nfragment g(x) -> (y: tensor<scalar>);\n"
        "graph g(x) -> (y) { x = external(shape = [1]); y = relu(x };"
    )
    found = failure(text)
    assert isinstance(found, Problems)
    assert [(p.line, p.column) for p in found.problems] == [(3, 30), (4, 13), (5, 59), (5, 60)]  # type: ignore[attr-defined]


SHAPES = [
    ("y = add(x, w);", "'add': shapes [2, 3] and [3, 2] don't agree"),
    ("y = softmax(x, axes = [2]);", "'softmax': axis 2 isn't one of the 2 axes"),
    ("y = sum_reduce(x, axes = [1, 1]);", "'sum_reduce': axes [1, 1] aren't unique"),
    ("y = reshape(x, shape = [4]);", "'reshape': shape [2, 3] can't become [4]"),
    ("y = reshape(x, shape = [-1, 4]);", "'reshape': 6 elements don't divide by 4"),
    ("y = reshape(x, shape = [-1, -1]);", "'reshape': shape [-1, -1] may hold -1 once, and no other negative number"),
    ("y = reshape(x, shape = [6], axis_start = 3);", "'reshape': axes 3 to 2 aren't a range of the 2 axes"),
    ("y = squeeze(x, axes = [0]);", "'squeeze': axes [0] of shape [2, 3] aren't all 1"),
    ("y = transpose(x, axes = [1, 2]);", "'transpose': axes [1, 2] aren't a permutation of the first of 2 axes"),
    ("[y, z] = split(x, axis = 1, ratios = [1, 1]);", "'split': an extent of 3 doesn't split in the ratios [1, 1]"),
    ("[y, z] = split(x, axis = 1, ratios = [1, 1, 1]);", "'split': gives 3 tensors, but 2 are assigned"),
    ("y = concat([x, w], axis = 0);", "'concat': shapes [2, 3], [3, 2] differ outside of axis 0"),
    (
        "y = slice(x, axes = [0], begin = [1], end = [1]);",
        "'slice': nothing is left of axis 0: begin 1, end 1, extent 2",
    ),
    ("y = pad(x, padding = [(1, 1)]);", "'pad': 'padding' needs 2 items, got 1"),
    ("y = matmul(x, x);", "'matmul': shapes [2, 3] and [2, 3] don't multiply"),
    ("y = linear(x, w);", "'linear': input of shape [2, 3] doesn't fit a filter of shape [3, 2]"),
    ("y = constant(shape = [2], value = [1.0, 2.0, 3.0]);", "'constant': shape [2] needs 2 values or 1, got 3"),
    ("y = constant(shape = [0], value = [1.0]);", "'constant': extents must be positive, got [0]"),
    (
        "v = constant(shape = [1, 3, 2, 2], value = [1.0]); y = conv(x, v);",
        "'conv': input of shape [2, 3] and filter of shape [1, 3, 2, 2]",
    ),
    (
        "i = constant(shape=[1,3,2,2], value=[1.0]); f = constant(shape=[4,2,1,1], value=[1.0]); y = conv(i, f);",
        "'conv': filter of shape [4, 2, 1, 1] doesn't fit 3 channels in 1 groups",
    ),
    (
        (
            "i = constant(shape=[1,3,2,2], value=[1.0]); f = constant(shape=[4,3,3,3], value=[1.0]);"
            " y = conv(i, f, padding = [(0, 0), (0, 0)]);"
        ),
        "'conv': a window of 3 doesn't fit into 0 + 2 + 0",
    ),
    (
        "i = constant(shape=[1,3,2,2], value=[1.0]); y = max_pool(i, size = [1, 1, 1, 1], border = 'edge');",
        "'max_pool': unknown border 'edge'; choose from: ignore, constant, replicate, reflect, reflect-even",
    ),
]


@pytest.mark.parametrize(("line", "message"), SHAPES, ids=[m[:50] for _, m in SHAPES])
def test_shapes_are_checked_with_their_numbers(tmp_path: Path, line: str, message: str) -> None:
    text = f"{HEAD}    w = constant(shape = [3, 2], value = [1.0]);\n    {line}\n}}"
    (tmp_path / "graph.nnef").write_text(text, encoding="utf-8")
    with pytest.raises(ParseError) as caught:
        nnef.load(tmp_path)
    assert caught.value.message == message
    assert caught.value.line == 6


SIX = "i = constant(shape=[1,1,2,2,2,2], value=[1.0]); f = constant(shape=[1,1,1,1,1,1], value=[1.0]); y = conv(i, f);"
SHAPES = "input of shape [1, 1, 2, 2, 2, 2] and filter of shape [1, 1, 1, 1, 1, 1]"
UNSUPPORTED = [
    (SIX, f"'conv': {SHAPES}; one to three spatial axes are supported"),
    (
        "y = constant(shape = [2147483647, 2147483647], value = [1.0]);",
        "'constant': a constant of 4611686014132420609 elements; at most 268435456 are made",
    ),
    (
        "i = constant(shape=[1,1,64,64], value=[1.0]); y = argmax_pool(i, size = [1, 1, 64, 64]);",
        "'argmax_pool': a window of 4096 elements; at most 1024",
    ),
]


@pytest.mark.parametrize(("line", "message"), UNSUPPORTED, ids=[m[:50] for _, m in UNSUPPORTED])
def test_what_is_legal_but_unsupported_says_so(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "graph.nnef").write_text(f"{HEAD}    {line}\n}}", encoding="utf-8")
    with pytest.raises(Unsupported) as caught:
        nnef.load(tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/graph.nnef:5:")


def test_bombs_end_quickly() -> None:
    start = time.process_time()
    deep = failure(HEAD + "y = f(a = " + "[" * 50_000 + "]" * 50_000 + ");\n}")
    assert deep.message == "expressions nest deeper than 100"
    long = failure(HEAD + "y = f(a = " + "9" * 100_000_000 + ");\n}")
    assert long.message == "a number of 100000000 characters; at most 4000 are read"
    assert len(str(long)) < 1000
    open_ = failure(HEAD + "y = f(a = '" + "a" * 10_000_000)
    assert open_.message == "the string has no end on its line"
    assert time.process_time() - start < 60  # of processor time; they must not hang


def test_quantization_files() -> None:
    text = """# ranges
    "x": zero_point_linear_quantize(scale = [0.5, 1e-3], zero_point = -3, bits = 8, signed = true, symmetric = false);
    'a/b' : f ( ) ;"""
    first, second = parse_quant(text, "graph.quant")
    assert (first.tensor, first.op, first.line) == ("x", "zero_point_linear_quantize", 2)
    assert first.args == {"scale": (0.5, 1e-3), "zero_point": -3, "bits": 8, "signed": True, "symmetric": False}
    assert (second.tensor, second.op, second.args, second.line) == ("a/b", "f", {}, 3)
    assert parse_quant("", "graph.quant") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x: f(a = 1);",
            "graph.quant:1:1: NNEF.S1: unexpected 'x', expected a string, the end\n    x: f(a = 1);\n    ^",
        ),
        (
            "'x': f(1);",
            "graph.quant:1:8: NNEF.Q1: arguments of a quantization must be named\n    'x': f(1);\n           ^",
        ),
        (
            "'x': f(a = 1, a = 2);",
            "graph.quant:1:15: NNEF.A6: argument 'a' is given twice\n    'x': f(a = 1, a = 2);\n                  ^",
        ),
        ("'x': f(a = y);", "graph.quant:1:12: NNEF.Q1: 'y' isn't a literal\n    'x': f(a = y);\n               ^"),
        (
            "'x': f(a = 1)",
            (
                "graph.quant:1:14: NNEF.S1: unexpected end of the text, expected ';'\n"
                "    'x': f(a = 1)\n                 ^"
            ),
        ),
    ],
)
def test_wrong_quantization_files(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_quant(text, "graph.quant")
    assert str(caught.value) == message


LITERALS = st.recursive(
    st.integers(-(1 << 70), 1 << 70)
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126)),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(LITERALS)
def test_written_literals_are_read_back(value: object) -> None:
    (line,) = parse_quant(f"'x': f(a = {format_literal(value)});", "q")  # type: ignore[arg-type]
    assert repr(line.args["a"]) == repr(value)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_infinities_have_no_literal(value: float) -> None:
    with pytest.raises(ValueError, match="NNEF has no literal for"):
        format_literal(value)
