"""`convert` from NNEF 1 to SkriptND: the same graph, tensors under the same names, the same hints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.skriptnd.same_graph import drawn
from tosa_engine import oracle
from tosa_engine.cli import main
from tosa_engine.errors import UsageError
from tosa_engine.formats import open_model
from tosa_engine.frontends.nnef.files.dat import write_dat
from tosa_engine.graph import QParams
from tosa_engine.load import load

PAIRS = Path(__file__).parents[4] / "shared" / "models" / "skriptnd" / "from_nnef"
DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.nnef"
IMAGE = "x = external(shape = [1, 4, 6, 6]);"
STATEMENTS = (
    "y = conv(x, w, 0.5, stride = [2, 2], dilation = [1, 2], padding = [(1, 1), (1, 1)]);",
    "y = conv(x, w, b, stride = [4, 4]);",
    "y = deconv(x, w, output_shape = [1, 4, 12, 12], stride = [2, 2]);",
    "y = deconv(x, w, groups = 1, padding = [(0, 1), (1, 0)]);",
    "y = max_pool(x, size = [1, 1, 2, 2], border = 'ignore', padding = [(0, 0), (0, 0), (1, 0), (0, 1)]);",
    "y = max_pool(x, size = [1, 1, 3, 3], padding = [(0, 0), (0, 0), (1, 1), (1, 1)]);",
    "y = max_pool(x, size = [1, 1, 3, 1], border = 'reflect');",
    "y = avg_pool(x, size = [1, 2, 2, 1], stride = [1, 2, 1, 1], border = 'ignore');",
    "y = box(x, size = [1, 1, 3, 3], border = 'replicate', normalize = true);",
    "y = box(x, size = [1, 1, 1, 1], stride = [1, 1, 2, 2]);",
    "y = nearest_downsample(x, factor = [4, 4]);",
    "z = add(x, b); y = mul(2.0, z);",
    "p = gt(x, 0.0); y = select(p, x, b);",
    "c = constant(shape = [1, 4], value = [1.0, -2.0, 3.0, 4.0]); z = max(x, c); y = div(z, -3.0);",
    "y = leaky_relu(x, alpha = 1.5);",
    "y = prelu(x, b);",
    "y = batch_normalization(x, b, c, b, 1.0, epsilon = 0.5); c = constant(shape = [1, 4], value = [2.0]);",
    "y = slice(x, axes = [2, 3], begin = [-1, 4], end = [0, 1], stride = [-2, -1]);",
    "y = slice(x, axes = [1, 3], begin = [1, -3], end = [0, 0]);",
    "y = reshape(x, shape = [0, -1]);",
    "y = reshape(x, shape = [0, 36], axis_start = 1, axis_count = 3);",
    "y = transpose(x, axes = [1, 0]);",
    "p, q = moments(x, axes = [2, 3]); y = sub(p, q);",
    "[p, q] = split(x, axis = 1, ratios = [1, 3]); y = concat([q, p], axis = 1);",
    "[p, q, r, t] = unstack(x, axis = 1); y = stack([t, r, q], axis = 0);",
    "y = pad(x, padding = [(0, 0), (1, 0), (0, 0), (2, 1)], value = 3.0);",
    "y = min_max_linear_quantize(x, -1.0, 2.0, bits = 4, signed = false, symmetric = false);",
    "y = linear_quantize(x, k, 2.0, bits = 4);",
    "y = local_response_normalization(x, size = [1, 3, 1, 1], bias = 2.0, alpha = -1.0);",
    "y = l2_normalization(x, axes = [1], epsilon = 0.1);",
    "inf = exp(x); real = neg(inf); y = sub(real, inf);",
    "p = reshape(x, shape = [24, 6]); y = linear(p, v, 0.25);",
    "p = reshape(x, shape = [1, 24, 6]); y = linear(p, m, 0.5);",
    "c = constant(shape = [1], value = [0.5]); y = batch_normalization(x, b, b, b, b, epsilon = c);",
    "p = reshape(x, shape = [24, 6]); f = reshape(x, shape = [24, 6]); y = linear(p, f);",
    "y = multilinear_upsample(x, factor = [2, 3]);",
    "y = separable_conv(x, u, w, b);",
    "y = argmin_reduce(x, axes = [3]);",
    "y = cast<integer>(x);",
)
VALUES = (  # whose operators stand in another order
    "y = conv(x, w, b, border = 'replicate', padding = [(1, 1), (1, 0)]);",
    "y = batch_normalization(x, k, 1.0, 0.0, 1.0, epsilon = 9.0);",
    "p = add(s, x); y = update(s, p);",
)


def model(place: Path, statements: str) -> Path:
    place.mkdir()
    variables = {"w": (4, 4, 1, 1), "u": (4, 1, 3, 3), "b": (1, 4), "v": (5, 6), "s": (1, 4, 6, 6), "m": (1, 5, 6)}
    body = [f"{name} = variable(shape = {list(shape)}, label = 'l/{name}');" for name, shape in variables.items()]
    body += ["k = external(shape = [1, 4, 6, 6]);", IMAGE, statements]
    text = "\n".join(sorted(body, key=lambda line: "external" not in line and "variable" not in line))
    if "c = constant" in statements:
        constant = statements[statements.index("c = constant") :].split(";")[0] + ";"
        text = text.replace(constant, "").replace(IMAGE, f"{IMAGE} {constant}")
    (place / "graph.nnef").write_text(f"version 1.0;\ngraph net(x, k) -> (y)\n{{\n{text}\n}}\n")
    (place / "l").mkdir()
    generator = np.random.default_rng(0)
    for name, shape in variables.items():
        (place / "l" / f"{name}.dat").write_bytes(write_dat(generator.uniform(0.5, 1.5, shape).astype(np.float32)))
    return place


@pytest.mark.parametrize("statements", STATEMENTS)
def test_the_same_graph(statements: str, tmp_path: Path) -> None:
    old, new, again = model(tmp_path / "net.nnef", statements), tmp_path / "net.nnef2", tmp_path / "again.nnef2"
    assert main(["convert", str(old), "-o", str(new)]) == 0
    assert drawn(load(new)) == drawn(load(old))
    assert main(["convert", str(new), "-o", str(again)]) == 0
    for file in new.iterdir():
        assert (again / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("statements", VALUES)
def test_the_same_values(statements: str, tmp_path: Path) -> None:
    old, new = model(tmp_path / "net.nnef", statements), tmp_path / "net.nnef2"
    assert main(["convert", str(old), "-o", str(new)]) == 0
    generator, graphs = np.random.default_rng(1), (load(old), load(new))
    inputs = {name: generator.uniform(-1, 1, (1, 4, 6, 6)).astype(np.float32) for name in ("x", "k")}
    wanted, found = (next(iter(oracle.run(graph, inputs).values())) for graph in graphs)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    kinds = [sorted(op.op for op in graph.main.operators if "VARIABLE" in op.op) for graph in graphs]
    assert kinds[0] == kinds[1]


@pytest.mark.skipif(not PAIRS.is_dir(), reason="needs the folder ../shared/models")
def test_operator_tests_of_nnef(tmp_path: Path) -> None:
    """All 130 operator tests of NNEF-Tools."""
    found = sorted(PAIRS.glob("*.nnef"))
    assert len(found) == 130
    for old in found:
        new = tmp_path / f"{old.stem}.nnef2"
        assert main(["convert", str(old), "-o", str(new)]) == 0
        assert drawn(load(new)) == drawn(load(old)), old.name


def test_what_cannot_be_said_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (
        "i = argmax_pool(x, size = [1, 1, 2, 2]);", "p = argmax_reduce(x, axes = [1, 2]);",
        "y = sample(x, i, size = [1, 1, 2, 2]);",
    )  # fmt: skip
    old = model(tmp_path / "net.nnef", "\n".join(lines))
    assert main(["convert", str(old), "-o", str(tmp_path / "net.nnef2")]) == 5
    errors = capsys.readouterr().err
    assert "'argmax_pool' can't be said in SkriptND\n" in errors
    assert "'argmax_reduce' can't be said in SkriptND: axes [1, 2] together" in errors
    assert "'sample' can't be said in SkriptND" in errors
    assert not (tmp_path / "net.nnef2").exists()
    assert main(["convert", str(old), "--primitive", "-o", str(tmp_path / "net.nnef2")]) == 2
    assert "--primitive has no effect on" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".nnef2", ".nnef2.tgz", ".nnef2.tar"])
def test_archives_with_hints(suffix: str, tmp_path: Path) -> None:
    """Hints go along, also those of tensors inside of compounds, and of codes in tensor files."""
    old = model(tmp_path / "net.nnef", "inf = elu(x);\ny = conv(inf, w, b);")
    (old / "l" / "w.dat").write_bytes(write_dat(np.arange(16, dtype=np.int8).reshape(4, 4, 1, 1), quantized=True))
    linear = "min_max_linear_quantize(min = {}, max = {}, bits = 8, signed = true, symmetric = false)"
    lines = {"inf": (-1.0, 2.0), "inf_lt": (0.0, 1.0), "w": ([0.0, -1.0, 0.0, 0.0], [1.0, 1.0, 2.0, 3.0])}
    (old / "graph.quant").write_text(
        "".join(f'"{name}": {linear.format(*bounds)};\n' for name, bounds in lines.items())
    )
    new = tmp_path / f"net{suffix}"
    assert main(["convert", str(old), "-o", str(new)]) == 0
    assert drawn(load(new)) == drawn(load(old))
    assert load(new).main.tensors["inf_"].quant is not None


@pytest.mark.parametrize("value", ["3.0", "3.0, 1.0, 2.0, -1.0"])
def test_constants_with_hints(value: str, tmp_path: Path) -> None:
    lines = f"c = constant(shape = [1, 4], value = [{value}]); z = max(x, c); y = mul(z, c);"
    old, new = model(tmp_path / "net.nnef", lines), tmp_path / "net.nnef2"
    linear = "zero_point_linear_quantize(zero_point = 0, scale = 0.5, bits = 8, signed = true, symmetric = false)"
    (old / "graph.quant").write_text(f'"c": {linear};\n')
    assert main(["convert", str(old), "-o", str(new)]) == 0
    assert drawn(load(new)) == drawn(load(old))


COMPOUNDS = {
    "elu(x)": ("exp", "sub", "mul"),
    "selu(x)": ("elu_exp", "elu_sub", "elu_mul", "elu"),
    "gelu(x)": ("mul", "sigmoid"),
    "silu(x)": ("sigmoid",),
    "softplus(x)": ("exp", "add"),
    "log2(x)": ("log",),
    "leaky_relu(x, alpha = 0.5)": ("mul",),
    "prelu(x, b)": ("mul",),
    "add_n([x, k, x])": ("add_n", "add_n_add_n"),
    "rms_pool(x, size = [1, 1, 3, 3])": ("sqr", "mean"),
    "l1_normalization(x, axes = [1])": ("abs", "norm", "add", "max"),
    "l2_normalization(x, axes = [1])": ("sqr", "sum_reduce", "norm", "add", "max"),
    "local_response_normalization(x, size = [1, 3, 1, 1])": ("sqr", "power", "mul", "add", "pow"),
}


@pytest.mark.parametrize("invocation", COMPOUNDS)
def test_hints_inside_of_compounds(invocation: str, tmp_path: Path) -> None:
    """A calibrated graph.quant of the document fits the model: what is inside of operators has hints, too."""
    old, new = model(tmp_path / "net.nnef", f"y = {invocation};"), tmp_path / "net.nnef2"
    assert main(["convert", str(old), "-o", str(new)]) == 0
    names = ("x", "y", *(f"y_{label}" for label in COMPOUNDS[invocation]))
    hints = {name: QParams((0.5 + i,), (i,)) for i, name in enumerate(names)}
    graphs = [open_model(place).graph(hints) for place in (old, new)]
    assert drawn(graphs[1]) == drawn(graphs[0])
    assert sum(t.quant is not None for t in graphs[1].main.tensors.values()) >= len(names)
    with pytest.raises(UsageError, match="doesn't have: y_nothing"):
        open_model(new).graph({"y_nothing": QParams((0.5,), (0,))})


def test_digits(tmp_path: Path) -> None:
    new = tmp_path / "digits.nnef2"
    assert main(["convert", str(DIGITS), "-o", str(new)]) == 0
    assert drawn(load(new)) == drawn(load(DIGITS))
