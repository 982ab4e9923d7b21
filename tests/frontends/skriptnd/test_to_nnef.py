"""`convert` from SkriptND to NNEF 1, and back again: the same graph, or all operators named that NNEF 1 can't say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.frontends.skriptnd.same_graph import drawn
from tests.frontends.skriptnd.test_from_nnef import DIGITS, PAIRS, STATEMENTS, VALUES, model
from tosa_engine import oracle
from tosa_engine.cli import main
from tosa_engine.frontends.nnef.files.dat import write_dat
from tosa_engine.frontends.nnef.files.graph_quant import read
from tosa_engine.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Tensor

X = "x: real[2,3,4];"
IMAGE = "x: real[1,5,4,3];"
CASES = {
    "math.add(x, w)": (X, "w: real[4];"),
    "math.sub{lhs_align=-1}(w, x)": (X, "w: real[3];"),
    "math.div(2.0, x)": (X, ""),
    "math.select{cond_align=1}(c, x, 0.5)": (f"c: bool[3]; {X}", ""),
    "math.clamp(x, w, 0.5)": (X, "w: real[4];"),
    "math.axpb(w, x, 0.5)": (X, "w: real[4];"),
    "math.axpby(w, x, 0.5, x)": (X, "w: real[4];"),
    "math.max_n([x, x, x])": (X, ""),
    "math.sum_n([x, x])": (X, ""),
    "math.sum_reduce{axes=[-1,0], squeeze=true}(x)": (X, ""),
    "math.argmax{axis=-2, squeeze=true}(x)": (X, ""),
    "math.lp_reduce{axes=[2], p=3.0}(x)": (X, ""),
    "math.sinh(x)": (X, ""),
    "layout.cast<int>(x)": (X, ""),
    "layout.flatten{axis=1}(x)": (X, ""),
    "layout.unflatten{axis=-1, shape=[2,2]}(x)": (X, ""),
    "layout.stack{axis=-1}([x, x])": (X, ""),
    "layout.broadcast{axes=[1], shape=[4]}(x)": ("x: real[2,1];", ""),
    "layout.slice{axes=[1,2], begin=[2,3], end=[-1,0], stride=[-1,-2]}(x)": (X, ""),
    "layout.slice{axes=[1], begin=[0], end=[3]}(x)": (X, ""),
    "layout.pad{axes=[1], padding=[1,2], method='SYMMETRIC'}(x)": (X, ""),
    "layout.pad{axes=[0], padding=[1,0]}(x, 7.0)": (X, ""),
    "layout.transpose{axis=1, perm=[2,1]}(x)": (X, ""),
    "layout.space_to_depth{block_size=[2,2]}(x)": ("x: real[1,2,4,4];", ""),
    "linalg.matmul{transB=true}(x, w, b)": (X, "w: real[5,4]; b: real[3,5];"),
    "nn.linear(x, w, b)": ("x: real[2,3];", "w: real[4,3]; b: real[4];"),
    "nn.linear(x, z)": ("x: real[2,3]; z: real[4,3];", ""),
    "nn.conv{stride=2, ceil_mode=true, padding=[0,1,0,0]}(x, w, b)": (
        "x: real[1,3,5,6];", "w: real[2,3,2,2]; b: real[2];"
    ),
    "nn.conv{groups=0, padding_align='LOWER'}(x, w)": ("x: real[1,3,5,6];", "w: real[3,1,2,2];"),
    "nn.conv{data_format='NXC', filter_format='XCN'}(x, w, b)": (IMAGE, "w: real[2,2,3,4]; b: real[4];"),
    "nn.deconv{stride=2, output_size=[8]}(x, w)": ("x: real[1,2,4];", "w: real[2,3,3];"),
    "nn.deconv{stride=3, dilation=1}(x, w)": ("x: real[1,2,4];", "w: real[2,3,2];"),
    "nn.max_pool{axes=[1], size=2, padding=[1,0]}(x)": (IMAGE, ""),
    "nn.avg_pool{size=[2,2], stride=[2,1]}(x)": (IMAGE, ""),
    "nn.sum_pool{size=[3,1], stride=2, ceil_mode=true, padding=0}(x)": (IMAGE, ""),
    "nn.relu{max=6.0}(x)": (X, ""),
    "nn.elu(x)": (X, ""),
    "nn.prelu(x, w)": (X, "w: real[3];"),
    "nn.batch_norm(x, w, v)": (X, "w: real[3]; v: real[3];"),
    "nn.batch_norm{channel_axis=2}(x, w, v)": (X, "w: real[4]; v: real[4];"),
    "nn.l2_norm{axes=[1], epsilon=0.1}(x)": (X, ""),
    "nn.mean_variance_norm(x)": (X, ""),
    "image.linear_resize{axes=[2,3], size=[8,6], coordinate_transform='ASYMMETRIC'}(x)": (IMAGE, ""),
    "quant.zero_point_linear_quantize{scale=0.05, zero_point=3, bits=8}(x)": (X, ""),
}  # fmt: skip
MODULES = "import layout, math, nn, linalg, image, quant;"


def written(place: Path, body: str, declared: str, variables: str = "") -> Path:
    place.mkdir()
    kind = "int" if "<int>" in body or "argm" in body else "real"
    text = f"{MODULES} graph G {{ @input {{ {declared} }} @output {{ y: {kind}[~]; }}"
    text += f" @variable {{ {variables} }}" if variables else ""
    (place / "main.sknd").write_text(f"{text} @compose {{ {body} }} }}")
    generator = np.random.default_rng(0)
    for one in filter(None, (part.strip() for part in variables.split(";"))):
        shape = tuple(map(int, one[one.index("[") + 1 : -1].split(",")))
        data = generator.uniform(0.5, 1.5, shape).astype(np.float32)
        (place / f"main.G.{one.split(':')[0]}.dat").write_bytes(write_dat(data))
    return place


@pytest.mark.parametrize("invocation", CASES)
def test_operators(invocation: str, tmp_path: Path) -> None:
    """The same values; the same graph again from what was written."""
    declared, variables = CASES[invocation]
    new, old, again = written(tmp_path / "n.nnef2", f"y = {invocation};", declared, variables), "o.nnef", "a.nnef2"
    assert main(["convert", str(new), "-o", str(tmp_path / old)]) == 0
    assert main(["check", str(tmp_path / old), "--strict"]) == 0
    graphs = load(new), load(tmp_path / old)
    generator = np.random.default_rng(1)
    inputs = {name: _sample(graphs[0].main.tensors[name], generator) for name in graphs[0].main.inputs}
    wanted, found = (next(iter(oracle.run(graph, inputs).values())) for graph in graphs)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    assert main(["convert", str(tmp_path / old), "-o", str(tmp_path / again)]) == 0
    assert drawn(load(tmp_path / again)) == drawn(graphs[1])


def _sample(tensor: Tensor, generator: np.random.Generator) -> np.ndarray:
    values = generator.uniform(-2, 2, tensor.shape or ())
    return values > 0 if str(tensor.dtype) == "bool" else values.astype(np.float32)


@pytest.mark.parametrize("statements", STATEMENTS + VALUES[:2])
def test_there_and_back(statements: str, tmp_path: Path) -> None:
    old, new, back = model(tmp_path / "net.nnef", statements), tmp_path / "net.nnef2", tmp_path / "back.nnef.tgz"
    assert main(["convert", str(old), "-o", str(new)]) == 0
    assert main(["convert", str(new), "-o", str(back)]) == 0
    assert drawn(load(back)) == drawn(load(new))


def test_digits_there_and_back(tmp_path: Path) -> None:
    new, back = tmp_path / "digits.nnef2.tar", tmp_path / "digits.nnef"
    assert main(["convert", str(DIGITS), "-o", str(new)]) == 0
    assert main(["convert", str(new), "-o", str(back)]) == 0
    assert drawn(load(back)) == drawn(load(DIGITS))
    assert np.array_equal(*(load(place).main.tensors["c1_filter"].data for place in (back, new)))


@pytest.mark.skipif(not PAIRS.is_dir(), reason="needs the folder ../shared/models")
def test_operator_tests_of_nnef(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of the branch's texts but one, which NNEF 1 has no word for; and back again."""
    found = sorted(PAIRS.glob("*.nnef2"))
    assert len(found) == 130
    for new in found:
        old = tmp_path / f"{new.stem}"
        if new.name == "test_gelu.nnef.nnef2":
            assert main(["convert", str(new), "-o", str(old)]) == 5
            assert "'nn.gelu' can't be said in NNEF 1: that of NNEF 1 is the approximation" in capsys.readouterr().err
            continue
        assert main(["convert", str(new), "-o", str(old)]) == 0, new.name
        assert drawn(load(old)) == drawn(load(new)), new.name


def test_what_cannot_be_said_is_named_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = """z = math.mod(x, 2.0); [a, b] = layout.split{axis=0, sizes=[1,1]}(z);
        c = with h = a while math.lt(n, 4.0) do math.mul(h, 2.0); d = math.add(i, 1); y = nn.gelu(c);"""
    new = written(tmp_path / "n.nnef2", body, f"{X} n: real[]; i: int[2];")
    assert main(["convert", str(new), "-o", str(tmp_path / "o.nnef")]) == 5
    errors = capsys.readouterr().err
    for wanted in (
        "'math.mod' can't be said in NNEF 1", "a condition or a loop can't be said in NNEF 1",
        "'math.add' can't be said in NNEF 1 of type int", "'nn.gelu' can't be said in NNEF 1: ",
    ):  # fmt: skip
        assert wanted in errors, errors
    assert not (tmp_path / "o.nnef").exists()


def test_names_hints_and_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scopes become folders of labels; names of NNEF's words get an underscore; the graph that is asked for counts."""
    text = """import math; import layer;
        graph one { @input { x: real[1]; } @output { y: real[1]; } @compose { y = math.exp(x); } }
        graph fragment { @attrib { n: int; } @input { scalar: real[1,3,n]; } @output { y: real[1,2,n]; }
            @compose { y = first: layer.conv{channels=2, size=[1]}(scalar); }
            @quantize { scalar: quant.zero_point_linear_quantize{zero_point=3, scale=0.5, bits=8}; } }"""
    new, old = tmp_path / "n.nnef2", tmp_path / "o.nnef"
    new.mkdir()
    (new / "main.sknd").write_text(f"import quant; {text}")
    for name, shape in (("filter", (2, 3, 1)), ("bias", (2,))):
        (new / f"main.fragment.first.{name}.dat").write_bytes(write_dat(np.ones(shape, np.float32)))
    flags = ["--graph", "fragment", "--attribute", "n=4"]
    assert main(["convert", str(new), "-o", str(old), *flags]) == 0
    assert capsys.readouterr().out == f"{old}: 4 operations, 2 variables\n"
    assert "graph fragment_(scalar_) -> (y)" in (old / "graph.nnef").read_text()
    assert (old / "first" / "bias.dat").stat().st_size == 128 + 8
    assert read(old / "graph.quant")["scalar_"].zero_point == (3,)
    assert drawn(load(old)) == drawn(load(new, graph="fragment", attribute=[("n", "4")]))
