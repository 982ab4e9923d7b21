"""Documents that break one rule of the NNEF language each, with the message that names it."""

from __future__ import annotations

EXTENSIONS = "extension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n"
GOOD = "fragment f(a: tensor<scalar>, n: integer = 1) -> (b: tensor<scalar>) { b = relu(a); }"


def document(body: str, fragments: str = GOOD, parameters: str = "x", results: str = "y") -> str:
    graph = f"graph g({parameters}) -> ({results})\n{{\n    x = external(shape = [2, 3]);\n    {body}\n}}\n"
    return f"version 1.0;\n{EXTENSIONS}{fragments}\n{graph}"


def fragment(
    body: str, header: str = "(a: tensor<scalar>, n: integer = 1) -> (b: tensor<scalar>)", name: str = "f"
) -> str:
    return document("y = f(x);", f"fragment {name}{header} {{ {body} }}")


def flat(body: str) -> str:
    return document(body, "").replace(EXTENSIONS, "")


# label, document, message
BROKEN = [
    ("NNEF.L1", document("y = relu(x) @;"), "unexpected character '@'"),
    ("NNEF.L3", document("y = softmax(x, axes = 'abc\");"), "the string has no end on its line"),
    (
        "NNEF.L4",
        document("y = variable(shape = [1], label = 'a\tb');"),
        "a string may hold printable ASCII characters only",
    ),
    (
        "NNEF.L5",
        document(r"y = variable(shape = [1], label = 'a\b');"),
        "a backslash in a string must be written twice",
    ),
    ("NNEF.L6", document("yield = relu(x); y = relu(x);"), "'yield' is a keyword; it can't be a name"),
    ("NNEF.S1", document("y = relu(x, );"), "unexpected ')', expected an expression"),
    ("NNEF.S1", document("y = reshape(x, shape = [1.e, 2]);"), "unexpected 'e', expected ',', ']', an operator"),
    (
        "NNEF.S1",
        fragment("b = a;", "(a: tensor<integer[]>) -> (b: tensor<scalar>)"),
        "unexpected 'integer', expected '>'",
    ),
    ("NNEF.S1", document("relu(x) = y;"), "unexpected '(', expected ',', '='"),
    ("NNEF.S1", document("y = length_of(x, x);"), "unexpected ',', expected ')'"),
    (
        "NNEF.S2",
        document("y = relu(x);").replace("extension KHR_enable_fragment_definitions;\n", ""),
        "fragment definitions need 'extension KHR_enable_fragment_definitions;'",
    ),
    ("NNEF.S3", flat("y = -x;"), "expressions like this need 'extension KHR_enable_operator_expressions;'"),
    ("NNEF.S3", flat("y = x;"), "expressions like this need 'extension KHR_enable_operator_expressions;'"),
    ("NNEF.S3", flat("y = relu(relu(x));"), "expressions like this need 'extension KHR_enable_operator_expressions;'"),
    ("NNEF.S3", flat("y = relu((x));"), "expressions like this need 'extension KHR_enable_operator_expressions;'"),
    ("NNEF.D1", document("y = f(x);", GOOD + GOOD), "fragment 'f' is defined twice"),
    (
        "NNEF.D2",
        document("y = relu(x);", "fragment f(a: tensor<scalar>) -> (a: tensor<scalar>);"),
        "'a' is declared twice in 'f'",
    ),
    (
        "NNEF.D3",
        document("y = relu(x);", "fragment f(n: integer, a: tensor<scalar>) -> (b: tensor<scalar>);"),
        "tensor parameter 'a' stands behind the attribute 'n'",
    ),
    (
        "NNEF.D4",
        document("y = relu(x);", "fragment f(a: tensor<scalar>) -> (b: integer[]);"),
        "result 'b' must be a tensor, not an array of integers",
    ),
    (
        "NNEF.D5",
        fragment("b = relu(a);", "(a: tensor<scalar>, n: integer = 1.0) -> (b: tensor<scalar>)"),
        "the default of 'n' must be an integer, got a scalar (like 1.0)",
    ),
    (
        "NNEF.D5",
        fragment("b = relu(a);", "(a: tensor<scalar>, n: integer[] = [1, true]) -> (b: tensor<scalar>)"),
        "the default of 'n' must be an array of integers, got an array of mixed types",
    ),
    (
        "NNEF.D6",
        fragment("b = copy(a);", "(a: tensor<?>) -> (b: tensor<?>)"),
        "'f' uses '?' but isn't declared as 'f<?>'",
    ),
    (
        "NNEF.D6",
        fragment("b = relu(a);", name="f<?>", header="(a: tensor<scalar>) -> (b: tensor<scalar>)").replace(
            "y = f(", "y = f<scalar>("
        ),
        "'f<?>' has no parameter or result of type '?'",
    ),
    (
        "NNEF.D7",
        document("y = relu(x);", "fragment f(a: (tensor<scalar>, integer)) -> (b: tensor<scalar>);"),
        "the tuple type of 'a' mixes tensors and attributes",
    ),
    (
        "NNEF.D8",
        document("y = relu(x);", "fragment f(a: tensor<scalar>) -> (b: tensor<>);"),
        "result 'b' can't be an unbound tensor",
    ),
    ("NNEF.D9", document("y = relu(x);", "fragment f() -> (b: tensor<scalar>);"), "fragment 'f' has no parameters"),
    ("NNEF.A1", document("y = frobnicate(x);"), "operation 'frobnicate' isn't declared, nor is it one of NNEF 1.0.4"),
    ("NNEF.A2", document("y = relu(x, x);"), "'relu' takes 1 arguments, this is number 2"),
    ("NNEF.A3", document("y = sum_reduce(x);"), "'sum_reduce' needs 'axes'"),
    ("NNEF.A4", document("y = add(x = x, x);"), "a positional argument stands after a named one"),
    ("NNEF.A5", document("y = relu(x, slope = 0.1);"), "'relu' has no argument 'slope'; it has: x"),
    ("NNEF.A6", document("y = f(x, n = 1, n = 2);"), "argument 'n' of 'f' is given twice"),
    ("NNEF.A7", document("y = add(x, x, x = x);"), "argument 'x' of 'add' is given twice"),
    ("NNEF.A8", document("y = softmax(x, [1]);"), "attribute 'axes' of 'softmax' must be named"),
    (
        "NNEF.T4",
        document("y = softmax(x, axes = 1);"),
        "argument 'axes' must be an array of integers, got the integer 1",
    ),
    (
        "NNEF.T4",
        document("y = add(x, x < x);"),
        "argument 'y' must be a tensor of scalars, got a tensor of logical values",
    ),
    (
        "NNEF.T4",
        document("y = g(x);", "fragment g<?>(a: tensor<?>) -> (b: tensor<scalar>) { b = relu(a); }"),
        "argument 'x' must be a tensor of scalars, got a tensor",
    ),
    ("NNEF.T5", fragment("b = a < a;"), "result 'b' must be a tensor of scalars, got a tensor of logical values"),
    (
        "NNEF.T6",
        document("y = softmax(x, axes = [1, 2.0]);"),
        "the items of an array need one type, got an integer and a scalar (like 1.0)",
    ),
    ("NNEF.T7", document("y = softmax(x, axes = [1 + 2.0]);"), "'+' can't take an integer and a scalar (like 1.0)"),
    ("NNEF.T7", document("y = x + 1;"), "'+' needs a tensor of scalars here, got an integer"),
    ("NNEF.T7", document("y = x && x;"), "'&&' needs a tensor of logical values here, got a tensor of scalars"),
    ("NNEF.T7", document("y = softmax(x, axes = [!1]);"), "'!' can't take an integer"),
    ("NNEF.T7", document("y = softmax(x, axes = 'a' - 'b');"), "'-' can't take a string and a string"),
    ("NNEF.T7", document("y = softmax(x, axes = [1] + 1);"), "'+' can't take an array of integers and an integer"),
    (
        "NNEF.T8",
        document("y = x if 1 else x;"),
        "the condition must be true or false before the graph runs, got an integer",
    ),
    (
        "NNEF.T8",
        document("y = x if x < x else x;"),
        "the condition must be true or false before the graph runs, got a tensor of logical values",
    ),
    (
        "NNEF.T8",
        document("y = softmax(x, axes = [1] if true else 1);"),
        "the branches have no common type: an array of integers and an integer",
    ),
    (
        "NNEF.T9",
        document("y = softmax(x, axes = [for i in 3 yield i]);"),
        "only arrays can be iterated, got an integer",
    ),
    (
        "NNEF.T9",
        document("y = softmax(x, axes = [for i in [1] if i yield i]);"),
        "the condition must be true or false, got an integer",
    ),
    ("NNEF.T10", document("y = softmax(x, axes = [[1][true]]);"), "a subscript must be an integer, got true or false"),
    ("NNEF.T10", document("y = softmax(x, axes = [1[0]]);"), "an integer has no items"),
    (
        "NNEF.T10",
        document("y = softmax(x, axes = [(1, 2)[0 + 1]]);"),
        "the subscript of a tuple must be an integer literal",
    ),
    ("NNEF.T10", document("y = softmax(x, axes = [(1, 2)[2]]);"), "index 2 is beyond a tuple of 2 items"),
    ("NNEF.T11", document("y = x if 'a' in [1] else x;"), "'in' can't look for a string in an array of integers"),
    (
        "NNEF.T12",
        document("y = softmax(x, axes = [length_of(1)]);"),
        "'length_of' needs an array or a string, got an integer",
    ),
    (
        "NNEF.T12",
        document("y = softmax(x, axes = [integer([1])]);"),
        "'integer' needs a value of a primitive type, got an array of integers",
    ),
    ("NNEF.T13", document("y = select(true, 1.0, 2);"), "'select' mixes the data types integer and scalar"),
    ("NNEF.T13", document("y = cast(x);"), "the data type of 'cast' can't be deduced: write 'cast<type>(...)'"),
    ("NNEF.T14", document("y = relu<scalar>(x);"), "'relu' isn't generic: it takes no type name"),
    ("NNEF.T15", document("y = copy<?>(x);"), "'copy<?>' stands outside of a generic fragment"),
    (
        "NNEF.T16",
        document("y = add_n(split(x, axis = 0, ratios = [1, 1]));"),
        "'split' doesn't return a single tensor: assign its results to identifiers first",
    ),
    (
        "NNEF.I2",
        document("y = split(x, axis = 0, ratios = [1, 1]);"),
        "'split' returns an array; assign it to an array of names like [a, b]",
    ),
    ("NNEF.I2", document("y, z = relu(x);"), "'relu' has one result, not 2"),
    (
        "NNEF.I2",
        document("y = moments(x, axes = [1]);"),
        "'moments' returns 2 results; assign them to as many names like a, b",
    ),
    (
        "NNEF.I2",
        document("[y, z] = moments(x, axes = [1]);"),
        "'moments' returns 2 results; assign them to as many names like a, b",
    ),
    (
        "NNEF.I2",
        document("y, z = (x, x, x);"),
        "the right side returns 3 results; assign them to as many names like a, b",
    ),
    ("NNEF.I3", fragment("a = relu(a); b = relu(a);"), "'a' is a parameter of the fragment"),
    (
        "NNEF.I4",
        document("y = relu(x);", parameters="x, z"),
        "parameter 'z' of the graph isn't the result of an external operation",
    ),
    ("NNEF.I5", fragment("b = relu(external(shape = [1]));"), "'external' can't be used in a fragment"),
    (
        "NNEF.I6",
        document("z = external(shape = [1]); y = relu(x);"),
        "external tensor 'z' isn't a parameter of the graph",
    ),
    (
        "NNEF.I6",
        document("y = relu(external(shape = [1]));"),
        "an external tensor must be assigned to a parameter of the graph",
    ),
    ("NNEF.I7", fragment("c = relu(a);"), "result 'b' of 'f' is never assigned"),
    ("NNEF.I7", document("z = relu(x);"), "result 'y' of the graph is never assigned"),
    ("NNEF.I8", document("y = relu(z);"), "'z' isn't defined before this use"),
    ("NNEF.I8", fragment("b = relu(c); c = relu(a);"), "'c' isn't defined before this use"),
    ("NNEF.I9", document("y = relu(x); y = relu(x);"), "'y' is assigned twice"),
    ("NNEF.I9", fragment("b = relu(a); b = relu(a);"), "'b' is assigned twice"),
    ("NNEF.I9", document("[y, y] = split(x, axis = 0, ratios = [1, 1]);"), "'y' is assigned twice"),
    (
        "NNEF.I10",
        document("n = 1; y = relu(x);"),
        "'n' must be a tensor, as everything named in a graph, not an integer",
    ),
    (
        "NNEF.I10",
        document("z = [x, x]; y = relu(x);"),
        "'z' must be a tensor, as everything named in a graph, not an array of tensors of scalars",
    ),
    ("NNEF.I11", fragment("b = variable(shape = [1], label = 'a');"), "'variable' can't be used in a fragment"),
    ("NNEF.I11", fragment("b = update(a, a);"), "'update' can't be used in a fragment"),
    ("NNEF.I12", document("y = relu(x);", parameters="x, x"), "parameter 'x' of the graph is listed twice"),
    (
        "NNEF.I12",
        document("y = relu(x);", results="y, x"),
        "'x' is both a parameter and a result of the graph",
    ),
    ("NNEF.I12", document("y = relu(x);", results="y, y"), "result 'y' of the graph is listed twice"),
    ("NNEF.E1", document("y = softmax(x, axes = [[1, 2][2]]);"), "index 2 is beyond an array of 2 items"),
    ("NNEF.E1", document("y = softmax(x, axes = [1, 2][1:3]);"), "range 1:3 is beyond an array of 2 items"),
    ("NNEF.E2", document("[y, z] = [x, x, x];"), "3 items can't be unpacked to 2 names"),
    (
        "NNEF.E3",
        document("y = softmax(x, axes = [for i in [1, 2], j in [1] yield i]);"),
        "the iterated arrays have 2 and 1 items",
    ),
    ("NNEF.E5", document("y = softmax(x, axes = [integer('1.5')]);"), "'1.5' isn't a literal of type integer"),
    ("NNEF.E5", document("y = x + scalar('inf');"), "'inf' isn't a literal of type scalar"),
    ("NNEF.E6", document("y = softmax(x, axes = [1 / 0]);"), "division by zero"),
    ("NNEF.E6", document("y = softmax(x, axes = [2 ^ -1]);"), "2 ^ -1 isn't an integer"),
    (
        "NNEF.E6",
        document("y = softmax(x, axes = [2 ^ 1000000000]);"),
        "the result of '^' is beyond 9223372036854775807",
    ),
    ("NNEF.E6", document("y = x + (-2.0) ^ 0.5;"), "-2.0 ^ 0.5 isn't a number"),
    ("NNEF.V1", document("y = update(x, x);"), "'x' isn't a variable"),
    (
        "NNEF.V2",
        document("v = variable(shape = [2, 3], label = 'v'); y = update(v, x); z = update(v, x);"),
        "variable 'v' is updated twice",
    ),
    (
        "NNEF.V2",
        document(
            "v = variable(shape = [2], label = 'v'); w = variable(shape = [2], label = 'V');"
            "y = update(v, v); z = update(w, w);"
        ),
        "variable 'w' is updated twice",
    ),
    (
        "NNEF.V3",
        document("v = variable(shape = [2], label = 'v'); y = variable(shape = [3], label = 'V');"),
        "label 'V' is shared with 'v' of shape [2], not [3]",
    ),
    (
        "NNEF.V4",
        document("y = variable(shape = [2], label = 'a b');"),
        "label 'a b' has characters that a label may not have",
    ),
    ("NNEF.LIMIT", fragment("b = f(a);"), "'f': fragments call each other more than 200 deep"),
    ("NNEF.LIMIT", document("y = softmax(x, axes = [1] * 1000000000);"), "more than 4194304 items"),
    ("NNEF.LIMIT", document("y = pad(x, padding = [(1, 1)] * 4000000);"), "more than 4194304 items"),
    ("NNEF.LIMIT", document("y = softmax(x, axes = [[1] * 2097152, [1] * 2097153][0]);"), "more than 4194304 items"),
    (
        "NNEF.LIMIT",
        document("y = softmax(x, axes = [3000000000]);"),
        "argument 'axes' of 'softmax': 3000000000 is beyond 32 bits",
    ),
]
QUANT = [
    ("NNEF.Q1", "'x': f(1);", "arguments of a quantization must be named"),
    ("NNEF.Q1", "'x': f(a = y);", "'y' isn't a literal"),
    ("NNEF.Q1", "'x': f(a = g(1));", "the operation 'g' isn't a compile-time expression"),
]
