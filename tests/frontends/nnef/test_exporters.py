"""Forms that exporters write and the standard forbids: each means one thing, has one warning, and `strict` refuses it.

Expected numbers are PyTorch's, of the functions that the docstrings name, for `small` values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import check, oracle
from tosa_engine.errors import TosaEngineError
from tosa_engine.frontends import nnef

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tosa_engine.types import Array

TRACT = "extension tract_registry tract_core;\n"


def small(*shape: int) -> Array:
    """torch.arange(size).mul(5).remainder(7).sub(3).float().reshape(shape)"""
    return (np.arange(np.prod(shape)) * 5 % 7 - 3).astype(np.float32).reshape(shape)


def read(
    folder: Path,
    body: str,
    tensors: Mapping[str, Array] | None = None,
    *,
    shape: tuple[int, ...] = (2, 3),
    start: str = "",
) -> tuple[Array, list[str]]:
    """The output y for `small` values of the input x, and the warnings without file and place."""
    variables = "".join(
        f"{name} = variable<scalar>(shape = {list(array.shape)}, label = '{name}');\n"
        for name, array in (tensors or {}).items()
    )
    text = f"version 1.0;\n{start}graph g(x) -> (y) {{\nx = external<scalar>(shape = {list(shape)});\n"
    (folder / "graph.nnef").write_text(f"{text}{variables}{body}\n}}\n")
    for name, array in (tensors or {}).items():
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(array))
    graph = nnef.load(folder)
    check.validate(graph)
    return oracle.run(graph, {"x": small(*shape)})["y"], [w.split(": ", 1)[1] for w in graph.warnings]


def refused(folder: Path) -> str:
    """What `strict` says of the document that was read last."""
    with pytest.raises(TosaEngineError) as caught:
        nnef.load(folder, strict=True)
    return str(caught.value)


@pytest.mark.parametrize(
    ("outputs", "groups", "expected"),
    [
        (4, 1, [6, 26, -4, 9, 6, 8, 12, -21, -1, 8, -6, -3]),
        (4, 2, [-8, 13, -5, -7, 2, -3, 13, -9, 1, 15, -11, -3]),
        (6, 2, [-10, 13, -3, 12, 9, -1, 13, -9, 15, -2, -5, 6, 0, -7, 2, -5, 5, -2]),
        (4, 4, [0, 12, -8, -6, -20, -6, -8, 12, 0, -6, 10, -4]),
    ],
)
@pytest.mark.parametrize("tract", [True, False])
def test_filters_of_deconv_begin_with_the_outputs_under_tract_core(
    tmp_path: Path, outputs: int, groups: int, expected: list[int], tract: bool
) -> None:
    """conv_transpose2d(small(1, 4, 2, 2), small(4, outputs // groups, 2, 2), groups = groups, padding = (1, 0))"""
    weight = small(4, outputs // groups, 2, 2)
    if tract:
        parts = weight.reshape(groups, 4 // groups, outputs // groups, 2, 2)
        weight = parts.swapaxes(1, 2).reshape(outputs, 4 // groups, 2, 2)
    body = f"y = deconv(x, w, stride = [1, 1], padding = [(1, 1), (0, 0)], groups = {groups});"
    found, warnings = read(tmp_path, body, {"w": weight}, shape=(1, 4, 2, 2), start=TRACT if tract else "")
    assert found.reshape(-1).tolist() == expected
    message = f"'deconv': filter of shape {list(weight.shape)} begins with the outputs, as tract_core has it; "
    message += f"the standard's begins with the inputs: [4, {outputs // groups}, 2, 2]"
    assert warnings == ([message] if tract else [])
    if tract:
        assert message in refused(tmp_path)
        again = tmp_path / "again.nnef"
        nnef.save(nnef.load_document(tmp_path), again)
        assert oracle.run(nnef.load(again), {"x": small(1, 4, 2, 2)})["y"].reshape(-1).tolist() == expected


SCALARS, INTEGERS = "a tensor of scalars", "a tensor of integers"
T4 = "NNEF.T4: argument '{}' must be {}, got {}"
NORM = """fragment norm(x: tensor<scalar>, ord: integer) -> (y: tensor<scalar>)
{ y = pow(sum_reduce(pow(abs(x, axes = [1]), ord), axes = [1]), 1.0 / ord); }
"""
GLU = """fragment glu(x: tensor<scalar>, axis: integer) -> (y: tensor<scalar>)
{ [a, b] = split(x, axis = axis, ratios = [1, 1]); y = a * sigmoid(b, axes = [axis]); }
"""
FORMS = {
    # PyTorch's F.pad(x, (1, 0, 0, 2), value = 5.0)
    "pairs as arrays": (
        "y = pad(x, padding = [[0, 2], [1, 0]], border = 'constant', value = 5.0);",
        (2, 3),
        [5, -3, 2, 0, 5, -2, 3, 1, 5, 5, 5, 5, 5, 5, 5, 5],
        [T4.format("padding", "an array of pairs of integers like [(1, 1), (0, 0)]", "an array of arrays of integers")],
    ),
    # PyTorch's F.conv2d(x, small(1, 2, 2, 2), torch.tensor([0.5]))
    "an array as a bias": (
        "y = conv(x, w, [0.5], padding = [(0, 0), (0, 0)]);",
        (1, 2, 2, 3),
        [7.5, -21.5],
        [T4.format("bias", SCALARS, "an array of scalars")],
    ),
    # PyTorch's F.linear(x, small(1, 3), torch.tensor([0.25]))
    "an array as any tensor": (
        "b = unsqueeze([0.25], axes = [0]); y = linear(x, v, b);",
        (2, 3),
        [13.25, 12.25],
        [T4.format("input", SCALARS, "an array of scalars")],
    ),
    # PyTorch's F.prelu(x, torch.tensor([0.5, 0.25, 2.0]))
    "arrays in arrays as a tensor": (
        "a = unsqueeze([[[0.5]], [[0.25]], [[2.0]]], axes = [0]); y = prelu(x, a);",
        (1, 3, 1, 2),
        [-1.5, 2, 0, -0.5, 3, 1],
        [T4.format("input", SCALARS, "an array of arrays of arrays of scalars")],
    ),
    # PyTorch's x.pow(2)
    "an integer exponent": (
        "y = pow(x, 2);",
        (2, 3),
        [9, 4, 0, 4, 9, 1],
        [T4.format("y", SCALARS, "the integer 2")],
    ),
    # PyTorch's x / 2
    "an integer operand": (
        "y = x / 2;",
        (2, 3),
        [-1.5, 1, 0, -1, 1.5, 0.5],
        ["NNEF.T7: '/' needs a tensor of scalars here, got an integer"],
    ),
    # PyTorch's torch.where(x > 0, x, 0)
    "an integer choice": (
        "y = select(x > 0.0, x, 0);",
        (2, 3),
        [0, 2, 0, 0, 3, 1],
        ["NNEF.T13: 'select' mixes the data types integer and scalar"],
    ),
    # PyTorch's x * torch.tensor([2, 3, 4])
    "a tensor of integers": (
        "i = constant<integer>(shape = [1, 3], value = [2, 3, 4]); y = mul(x, i);",
        (2, 3),
        [-6, 6, 0, -4, 9, 4],
        [T4.format("y", SCALARS, INTEGERS)],
    ),
    # PyTorch's x * torch.tensor([2, 3.5, 4])
    "integers and scalars in an array": (
        "i = constant(shape = [1, 3], value = [2, 3.5, 4]); y = mul(x, i);",
        (2, 3),
        [-6, 7, 0, -4, 10.5, 4],
        ["NNEF.T6: the items of an array need one type, got an integer and a scalar (like 1.0)"],
    ),
    # PyTorch's torch.linalg.vector_norm(x, 3, 1, keepdim = True)
    "integers in a fragment": (
        "y = norm(x, ord = 3);",
        (2, 3),
        [3.271066, 3.301927],
        [
            T4.format("y", SCALARS, "an integer"),
            "NNEF.A5: 'abs' has no argument 'axes'; it has: x",
            "NNEF.T7: '/' can't take a scalar (like 1.0) and an integer",
        ],
    ),
    # PyTorch's F.glu(x, 1)
    "axes of an elementwise function": (
        "y = glu(x, axis = 1);",
        (1, 4),
        [-1.5, 0.238406],
        ["NNEF.A5: 'sigmoid' has no argument 'axes'; it has: x"],
    ),
    # PyTorch's torch.where(x.long().bool(), 7.0, x)
    "a name that is assigned again by a cast": (
        "t = cast<integer>(x); t = cast<logical>(t); y = select(t, 7.0, x);",
        (2, 3),
        [7, 7, 0, 7, 7, 7],
        ["NNEF.I9: 't' is assigned twice"],
    ),
    # PyTorch's torch.unbind(x) of which the second is taken
    "results of an array without brackets": (
        "a, y = unstack(x, axis = 0);",
        (2, 3),
        [-2, 3, 1],
        ["NNEF.I2: 'unstack' returns an array; assign it to an array of names like [a, b]"],
    ),
    # PyTorch's F.batch_norm(x, mean, variance, scale, offset, eps = 0.0): of width 3 as of 2
    "parameters of batch normalization on the last axis": (
        "y = batch_normalization(x, mean, variance, offset, scale, epsilon = 0.0);",
        (1, 3, 1, 3),
        [-2, 0.5, -0.5, -7, 3, -1, -1, -13, 17],
        [
            f"'batch_normalization': '{name}' of shape [1, 1, 1, 3] isn't [1, 3]; "
            "its values are taken as those of the channels"
            for name in ("mean", "variance", "offset", "scale")
        ],
    ),
}
TENSORS = {
    "w": small(1, 2, 2, 2),
    "v": small(1, 3),
    "mean": np.float32([[[[1, 2, -1]]]]),
    "variance": np.float32([[[[4, 1, 0.25]]]]),
    "offset": np.float32([[[[0, 1, -1]]]]),
    "scale": np.float32([[[[1, 2, 3]]]]),
}


def fragments(body: str) -> str:
    """The extensions, and the fragments that a body calls."""
    called = (NORM if "norm(" in body.replace("batch_norm", "") else "") + (GLU if "glu(" in body else "")
    return "extension KHR_enable_fragment_definitions;\nextension KHR_enable_operator_expressions;\n" + called


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("start", ["", TRACT])
def test_forms(tmp_path: Path, form: str, start: str) -> None:
    body, shape, expected, warnings = FORMS[form]
    start += fragments(body)
    found, told = read(tmp_path, body, TENSORS, shape=shape, start=start)
    np.testing.assert_allclose(found.reshape(-1), expected, rtol=1e-5)
    given = [warning for warning in told if warning in warnings]
    assert sorted(given) == sorted(warnings)
    assert warnings[0] in refused(tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_again_bends_nothing(tmp_path: Path, form: str) -> None:
    body, shape, expected, _ = FORMS[form]
    start = fragments(body)
    read(tmp_path, body, TENSORS, shape=shape, start=start)
    again = tmp_path / "again.nnef"
    nnef.save(nnef.load_document(tmp_path), again)
    graph = nnef.load(again)
    np.testing.assert_allclose(oracle.run(graph, {"x": small(*shape)})["y"].reshape(-1), expected, rtol=1e-5)
    assert [w for w in graph.warnings if "batch_normalization" not in w] == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = pad(x, padding = [[0, 2, 1], [1, 0]]);", "NNEF.T4: argument 'padding' needs 2 items here, got 3"),
        ("y = add(x, [[1.0], [1.0, 2.0]]);", "NNEF.T4: argument 'y': the arrays don't have one shape"),
        ("y = conv(x, w, axes = [1]);", "NNEF.A5: 'conv' has no argument 'axes'"),
        ("y = sigmoid(x, axis = 1);", "NNEF.A5: 'sigmoid' has no argument 'axis'"),
        ("t = relu(x); t = tanh(t); y = copy(t);", "NNEF.I9: 't' is assigned twice"),
        ("x = cast<integer>(x); y = copy(x);", "NNEF.I9: 'x' is assigned twice"),
        ("y = softmax(x, axes = [1.0]);", "NNEF.T4: argument 'axes' must be an array of integers"),
        ("y = softmax(x, axes = 1.0);", "NNEF.T4: argument 'axes' must be an array of integers"),
        ("y = select(x > 0.0, x, true);", "NNEF.T13: 'select' mixes the data types logical and scalar"),
    ],
)
def test_what_means_nothing_certain_stays_an_error(tmp_path: Path, body: str, message: str) -> None:
    start = "extension KHR_enable_operator_expressions;\n"
    with pytest.raises(TosaEngineError) as caught:
        read(tmp_path, body, TENSORS, start=start)
    assert message in str(caught.value)


def test_labels_that_begin_with_a_slash(tmp_path: Path) -> None:
    """As the nodes of ONNX have them; the exporter writes the file without the slash."""
    body = "v = variable<scalar>(shape = [1, 3], label = '/a/v'); y = mul(x, v);"
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "v.dat").write_bytes(nnef.write_dat(np.float32([[2, 3, 4]])))
    found, warnings = read(tmp_path, body)
    assert found.tolist() == [[-6, 6, 0], [-4, 9, 4]]
    message = "'variable': label '/a/v' begins with '/'; its file is 'a/v.dat'"
    assert warnings == [message]
    assert message in refused(tmp_path)
