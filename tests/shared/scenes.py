# ruff: noqa: E501
"""Small files of every kind that verbs read, and command lines that read them: what `fuzz_commands.py` breaks."""

from __future__ import annotations

import io
import json
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from nets import feeds_of, residual_net, words_net

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.cli import main
from tosa_engine.frontends import nnef
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph

FLOAT: Final = """version 1.0;
extension KHR_enable_fragment_definitions;
fragment twice(x: tensor<scalar>, times: integer = 1) -> (y: tensor<scalar>) { y = add(x, x); }
graph net(input) -> (output)
{
    input = external(shape = [1, 3, 8, 8]);
    filter = variable(shape = [4, 3, 3, 3], label = 'filter');
    bias = variable(shape = [1, 4], label = 'bias');
    c = conv(input, filter, bias, padding = [(1, 1), (1, 1)], stride = [2, 2]);
    r = relu(c);
    t = twice(r, times = 2);
    p = max_pool(t, size = [1, 1, 2, 2], stride = [1, 1, 2, 2], padding = [(0, 0), (0, 0), (0, 0), (0, 0)]);
    m = mean_reduce(p, axes = [2, 3]);
    s = softmax(m, axes = [1]);
    output = reshape(s, shape = [1, 4]);
}
"""


@dataclass(frozen=True)
class Scene:
    """`broken`: the files that are broken, one at a time. `commands`: argument lists, with paths of the scene's folder."""

    name: str
    broken: tuple[str, ...]
    commands: tuple[str, ...]


READS: Final = (
    "check {}",
    "check {} --ranges",
    "inspect {}",
    "inspect {} --plan",
    "convert {} -o out.json",
    "convert {} -o out.tosa",
)
FLOATS: Final = (
    *READS,
    "convert {} -o out.nnef",
    "quantize {} --random 2 -o out.tosa",
    "calibrate {} --random 2 -o out.quant",
)
DATA: Final = "--statistics net.stats.json --random 2 --samples 2"


def lines(templates: tuple[str, ...], model: str) -> tuple[str, ...]:
    return tuple(template.format(model) for template in templates)


SCENES: Final = (
    Scene("tosa", ("int.tosa",), (*lines(READS, "int.tosa"), "run int.tosa -i x.npz", "run int.tosa -i x.npz --checked", "warmup int.tosa", "compare int.tosa device.npz -i x.npz", "run int.tosa -i x.npz --dump-intermediates dump")),
    Scene("json", ("int.json",), (*lines(READS, "int.json"), "run int.json -i x.npz")),
    Scene("words", ("words.tosa",), (*lines(READS, "words.tosa"), "run words.tosa -i words.npz")),
    Scene("loops", ("loops.tosa", "variables.json"), (*lines(READS, "loops.tosa"), "run loops.tosa -i n.npy", *lines(READS, "variables.json"), "run variables.json")),
    Scene("operators", ("operators/*.tosa",), (*lines(READS, "{broken}"), "quantize {broken} --random 2 -o out.tosa", "convert {broken} -o out.nnef", "run {broken} -i {broken}.npz")),
    Scene("float", ("float.tosa",), (*lines(FLOATS, "float.tosa"), "run float.tosa -i input.npy")),
    Scene("nnef", ("net.nnef/graph.nnef", "net.nnef/filter.dat", "net.nnef/bias.dat"), (*lines(FLOATS, "net.nnef"), "check net.nnef --flat", "check net.nnef --strict", "run net.nnef -i input.npy")),
    Scene("archive", ("net.nnef.tgz",), (*lines(FLOATS, "net.nnef.tgz"), "run net.nnef.tgz -i input.npy")),
    Scene("quant", ("quantized.nnef/graph.quant",), (*lines(FLOATS[:6], "quantized.nnef"), "quantize quantized.nnef -o out.tosa", "run quantized.nnef -i input.npy", "quantize net.nnef --quant quantized.nnef/graph.quant -o out.tosa", "compare net.nnef q.tosa -i input.npy --quant quantized.nnef/graph.quant")),
    Scene("arrays", ("input.npy", "x.npz", "x.npy"), ("run net.nnef -i input.npy", "run net.nnef -i input=@input.npy", "run int.tosa -i x.npz", "run int.tosa -i x=@x.npy", "run int.tosa -i x.npz --expect x.npz", "compare int.tosa device.npz -i x.npz")),
    Scene("data", ("samples.npz", "samples.npy"), ("calibrate net.nnef --data samples.npz -o out.quant", "calibrate net.nnef --data samples.npy -o out.quant", "quantize net.nnef --data samples.npy -o out.tosa", "compare net.nnef q.tosa --data samples.npz", "report net.nnef q.tosa --data samples.npz -o out.json", "run net.nnef -i samples.npz")),
    Scene("pictures", ("pictures/a.png", "pictures/b.jpg", "pictures/c.bmp", "pictures/d.gif", "pictures/e.tiff", "pictures/f.webp", "pictures/g.ppm"), ("calibrate net.nnef --data pictures -o out.quant",)),
    Scene("sidecar", ("q.qparams.json", "q.json"), ("report net.nnef q.json --random 2 -o out.html -o out.json -o out.csv", "compare net.nnef q.json -i input.npy", "compare net.nnef q.json --random 2", "run q.json -i codes.npy", "convert q.json -o out.tosa")),
    Scene("scales", ("q.tosa",), ("report net.nnef q.tosa --random 2 -o out.html -o out.json -o out.csv", "compare net.nnef q.tosa -i input.npy", "compare net.nnef q.tosa --random 2", "run q.tosa -i codes.npy", "convert q.tosa -o out.json")),
    Scene("statistics", ("net.stats.json",), ("quantize net.nnef --statistics net.stats.json -o out.tosa", "calibrate net.nnef --merge net.stats.json -o out.quant", "calibrate net.nnef --random 3 --resume --statistics net.stats.json -o out.quant", f"sensitivity net.nnef {DATA}")),
    Scene("journal", ("journal.jsonl",), (f"sensitivity net.nnef {DATA} --journal journal.jsonl --resume",)),
    Scene("labels", ("labels.npy", "labels.npz"), (f"sensitivity net.nnef {DATA} --labels labels.npy", f"search net.nnef {DATA} --labels labels.npz:y --accuracy 10")),
    Scene("layers", ("layers.txt",), ("quantize net.nnef --random 2 --layers layers.txt -o out.tosa",)),
    Scene("dumps", ("device.npz", "device/index.json", "device/*.npy", "map.json"), ("compare int.tosa device.npz -i x.npz", "compare int.tosa device -i x.npz", "compare device.npz device", "compare int.tosa device.npz -i x.npz --map map.json", "compare int.tosa device --format json -i x.npz", "compare int.tosa device.npz --map order")),
)  # fmt: skip


def make(folder: Path) -> None:
    """Write all files into a folder, which has to be the current one."""
    rng = np.random.default_rng(0)
    (folder / "net.nnef").mkdir()
    _document(folder / "net.nnef", rng)
    with tarfile.open(folder / "net.nnef.tgz", "w:gz") as packed:
        for file in sorted((folder / "net.nnef").iterdir()):
            packed.add(file, file.name)
    image = rng.standard_normal((1, 3, 8, 8)).astype(np.float32)
    samples = rng.standard_normal((3, 1, 3, 8, 8)).astype(np.float32)
    np.save("input.npy", image)
    np.save("samples.npy", samples)
    np.savez("samples.npz", input=samples)
    _graphs(rng)
    _operators(folder / "operators")
    _pictures(folder / "pictures", rng)
    np.save("labels.npy", np.array([0, 1, 2]))
    np.savez("labels.npz", y=np.array([0, 1, 2]))
    (folder / "layers.txt").write_text("c=int16\nop:CONV2D=int8\n*=int8\n", encoding="utf-8")
    (folder / "map.json").write_text(json.dumps({"x": "x", "stem_i8": "stem_i8"}), encoding="utf-8")
    for line in (
        "convert net.nnef -o float.tosa",
        "quantize net.nnef --random 2 -o q.tosa",
        "convert q.tosa -o q.json",
        "calibrate net.nnef --random 2 --statistics net.stats.json -o graph.quant",
        f"sensitivity net.nnef {DATA} --journal journal.jsonl",
        "run int.tosa -i x.npz --dump-intermediates device -o device.npz",
    ):
        assert main([*line.split()]) == 0, line
    np.save("codes.npy", np.zeros((1, 3, 8, 8), np.int8))
    (folder / "quantized.nnef").mkdir()
    _document(folder / "quantized.nnef", np.random.default_rng(0))
    (folder / "graph.quant").rename(folder / "quantized.nnef" / "graph.quant")


def _document(folder: Path, rng: np.random.Generator) -> None:
    (folder / "graph.nnef").write_text(FLOAT, encoding="utf-8")
    for name, shape in (("filter", (4, 3, 3, 3)), ("bias", (1, 4))):
        (folder / f"{name}.dat").write_bytes(nnef.write_dat(rng.standard_normal(shape).astype(np.float32)))


def _graphs(rng: np.random.Generator) -> None:
    for name, graph in (
        ("int", residual_net(4, 4)),
        ("words", words_net(3, 2)),
        ("loops", loops()),
        ("variables", variables()),
    ):
        serialize.write(graph, f"{name}.json")
        serialize.write(graph, f"{name}.tosa")
        if name in ("int", "words"):
            feeds = feeds_of(graph)
            np.savez("x.npz" if name == "int" else "words.npz", **feeds)
            np.save("x.npy" if name == "int" else "words.npy", next(iter(feeds.values())))
    np.save("n.npy", np.array(3, np.int32))


def loops() -> Graph:
    """A loop that calls a choice."""
    b = Builder()
    cond, body, then, other = (b.region(name) for name in ("cond", "body", "then", "other"))
    n, _ = (cond.input(types.i32, (), name) for name in ("n", "f"))
    cond.output(cond.op("GREATER", n, 0))
    for region in (then, other):
        v = region.input(types.i32, (), "v")
        region.output(region.op("ADD", v, 1 if region is then else 2))
    n, f = (body.input(types.i32, (), name) for name in ("n", "f"))
    chosen = body.op("COND_IF", body.op("GREATER", f, 5), [f], then_graph="then", else_graph="other")
    body.output(
        body.op("SUB", n, 1),
        *(chosen if isinstance(chosen, (list, tuple)) and not isinstance(chosen, str) else [chosen]),
    )
    x = b.input(types.i32, (), "x")
    one = b.const(np.int32(1).reshape(()), types.i32)
    b.output(*b.op("WHILE_LOOP", [x, one], cond_graph="cond", body_graph="body"))
    return b.graph()


def variables() -> Graph:
    row = TABLE["VARIABLE_READ"].rows[0]
    return TABLE["VARIABLE_READ"].example(row).graph()


def _operators(folder: Path) -> None:
    """A graph for each operator of the table, with its inputs."""
    folder.mkdir()
    for name, spec in TABLE.items():
        if name == "CUSTOM":
            continue
        graph = spec.example(spec.rows[0]).graph()
        serialize.write(graph, folder / f"{name}.tosa")
        np.savez(folder / f"{name}.tosa.npz", **feeds_of(graph))


def _pictures(folder: Path, rng: np.random.Generator) -> None:
    from PIL import Image

    folder.mkdir()
    for name in ("a.png", "b.jpg", "c.bmp", "d.gif", "e.tiff", "f.webp", "g.ppm"):
        packed = io.BytesIO()
        Image.fromarray(rng.integers(0, 255, (9, 10, 3), np.uint8)).save(
            packed, {"jpg": "JPEG"}.get(name[2:], name[2:].upper())
        )
        (folder / name).write_bytes(packed.getvalue())
