"""Models in files: folders, archives, single texts; through the one door; the same operators as NNEF 1."""

from __future__ import annotations

import importlib.util
import tarfile
from pathlib import Path

import numpy as np
import pytest

from tosa_engine import oracle
from tosa_engine.cli import main
from tosa_engine.errors import DataError, TosaEngineError, UsageError
from tosa_engine.frontends.nnef.files.dat import write_dat
from tosa_engine.frontends.skriptnd.source import SkriptndSource
from tosa_engine.load import load

TEXT = """import nn;
graph G {
    @input { x: real[1,2,6,6]; }
    @output { y: real[1,3]; }
    @variable { w: real[3,2,3,3]; b: real[3]; v: real[3,12]; }
    @compose {
        c = nn.conv{padding=0, stride=2}(x, w, b);
        r = nn.relu(c);
        f = layout.flatten{axis=1}(r);
        l = nn.linear(f, v);
        y = nn.softmax(l);
    }
    @quantize {
        x: quant.zero_point_linear_quantize{zero_point=0, scale=0.01, bits=8};
        main.G.r: quant.min_max_linear_quantize{min=0.0, max=2.55, bits=8, signed=false};
    }
}
""".replace("import nn;", "import nn; import layout; import quant;")
NNEF = """version 1.0;
graph G(x) -> (y)
{
    x = external(shape = [1, 2, 6, 6]);
    w = variable(shape = [3, 2, 3, 3], label = 'w');
    b = variable(shape = [1, 3], label = 'b');
    v = variable(shape = [3, 12], label = 'v');
    c = conv(x, w, b, padding = [(0, 0), (0, 0)], stride = [2, 2]);
    r = relu(c);
    f = reshape(r, shape = [1, 12]);
    l = linear(f, v);
    y = softmax(l);
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The model, and beside it the same one in NNEF 1."""
    place, old = tmp_path / "net.nnef2", tmp_path / "net.nnef"
    place.mkdir()
    old.mkdir()
    (place / "main.sknd").write_text(TEXT)
    (old / "graph.nnef").write_text(NNEF)
    generator = np.random.default_rng(1)
    for name, shape in (("w", (3, 2, 3, 3)), ("b", (3,)), ("v", (3, 12))):
        data = generator.normal(size=shape).astype(np.float32)
        (place / f"main.G.{name}.dat").write_bytes(write_dat(data))
        (old / f"{name}.dat").write_bytes(write_dat(data.reshape(1, 3) if name == "b" else data))
    return place


def test_the_same_operators_as_from_nnef_1(folder: Path) -> None:
    mine, other = load(folder), load(folder.with_suffix(".nnef"))
    assert [op.op for op in mine.main.operators] == [op.op for op in other.main.operators]
    x = np.random.default_rng(2).normal(size=(1, 2, 6, 6)).astype(np.float32)
    found, wanted = oracle.run(mine, {"x": x}), oracle.run(other, {"x": x})
    np.testing.assert_array_equal(*(np.asarray(next(iter(r.values()))) for r in (found, wanted)))


def test_hints_of_quantize_blocks(folder: Path) -> None:
    hints = SkriptndSource(folder).hints()
    assert hints is not None
    assert hints["x"].scale == (0.01,)
    assert (hints["r"].zero_point, hints["r"].signed) == ((0,), False)
    tensors = load(folder).main.tensors
    assert tensors["x"].quant == hints["x"]


def test_archive_and_single_text(folder: Path, tmp_path: Path) -> None:
    archive = tmp_path / "packed.nnef2.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, ".")
    assert len(load(archive).main.operators) == len(load(folder).main.operators)
    assert load(folder / "main.sknd").main.outputs == ["y"]


def test_verbs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(folder)]) == 0
    assert "dialect branch" in capsys.readouterr().out
    assert main(["inspect", str(folder)]) == 0
    assert main(["check", str(folder), "--graph", "H"]) == 2


def test_missing_and_damaged_files(folder: Path) -> None:
    (folder / "main.G.b.dat").unlink()
    with pytest.raises(DataError, match=r"main\.G\.b\.dat"):
        load(folder)
    with pytest.raises(UsageError, match="nothing"):
        SkriptndSource(folder, graph="nothing").graph()


CONTROL = {
    "y = if c then math.add(x, 1.0) else math.sub(x, 1.0);": lambda x, c: x + 1 if c else x - 1,
    "y = with z = x while math.lt(z, 100.0) do math.mul(z, 2.0);": lambda x, c: x * 64,
    "y = with z = x do math.mul(z, 2.0) while math.lt(z, 10.0);": lambda x, c: x * 8,
    "y = with z = x do..(3) math.mul(z, 2.0);": lambda x, c: x * 8,
    "y = with z = x do..(i -> 3) math.add(z, real(i));": lambda x, c: x + 3,
}


@pytest.mark.parametrize("body", CONTROL)
@pytest.mark.parametrize("condition", [True, False])
def test_control_flow(body: str, condition: bool, tmp_path: Path) -> None:
    file = tmp_path / "m.sknd"
    file.write_text(
        f"import math; graph G {{ @input {{ x: real[]; c: bool[]; }} @output {{ y: real[]; }} @compose {{ {body} }} }}"
    )
    graph = load(file)
    result = oracle.run(graph, {"x": np.array(2.0, np.float32), "c": np.array(condition)})
    assert np.asarray(next(iter(result.values()))) == CONTROL[body](2.0, condition)


def test_updates_are_variables(tmp_path: Path) -> None:
    place = tmp_path / "s.nnef2"
    place.mkdir()
    (place / "main.sknd").write_text(
        "import math; graph G { @input { x: real[2]; } @output { y: real[2]; } @variable { s: real[2]; }"
        " @compose { y = math.add(x, s); } @update { s = math.mul(y, 0.5); } }"
    )
    (place / "main.G.s.dat").write_bytes(write_dat(np.ones(2, np.float32)))
    operators = [op.op for op in load(place).main.operators]
    assert "VARIABLE" in operators
    assert "VARIABLE_WRITE" in operators


@pytest.mark.parametrize("cut", range(0, len(TEXT), 23))
def test_texts_that_end_early_are_typed_errors(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "m.sknd"
    file.write_text(TEXT[:cut])
    with pytest.raises(TosaEngineError):
        load(file)


def test_the_same_integers_as_from_nnef_1(folder: Path, tmp_path: Path) -> None:
    """Under one graph.quant: names apart, operators, attributes and constants are the same."""
    text = (folder / "main.sknd").read_text()
    (folder / "main.sknd").write_text(text[: text.index("@quantize")] + "}\n")
    samples, scales = tmp_path / "data.npz", tmp_path / "graph.quant"
    np.savez(samples, x=np.random.default_rng(3).normal(size=(4, 1, 2, 6, 6)).astype(np.float32))
    old = folder.with_suffix(".nnef")
    assert main(["calibrate", str(old), "--data", str(samples), "-o", str(scales)]) == 0
    found = []
    for place in (folder, old):
        output = tmp_path / f"{place.suffix[1:]}.tosa"
        assert main(["quantize", str(place), "--quant", str(scales), "-o", str(output)]) == 0
        block = load(output).main
        constants = [tensor.data.tobytes() for tensor in block.tensors.values() if tensor.data is not None]
        found.append(([(op.op, str(op.attributes)) for op in block.operators], constants))
    assert found[0] == found[1]


def test_the_page_of_operators_is_as_its_command_makes_it() -> None:
    place = Path(__file__).parents[3] / "docs"
    spec = importlib.util.spec_from_file_location("generate_skriptnd", place / "generate_skriptnd.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (place / "skriptnd.md").read_text(encoding="utf-8")
    assert module.page(text) == text, "run `make docs`"


def test_endless_composition_ends_in_one_error(tmp_path: Path) -> None:
    body = "@input { x: real[2]; } @output { y: real[2]; }"
    chain = "".join(
        f"operator o{i} {{ {body} @compose {{ z = o{i - 1}(x); y = o{i - 1}(z); }} }}\n" for i in range(1, 31)
    )
    first = f"import math; operator o0 {{ {body} @compose {{ y = math.exp(x); }} }}\n"
    file = tmp_path / "m.sknd"
    file.write_text(f"{first}{chain}graph G {{ {body} @compose {{ y = o30(x); }} }}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tosa_engine.frontends.skriptnd.compose.MOST_NODES", 500)
        with pytest.raises(TosaEngineError, match=r"SKND\.C5"):
            load(file)
