"""ONNX models from floats to integers, beside ONNX Runtime's own: python benchmarks/onnx_models.py FOLDER...

Each FOLDER has `model.onnx` and `io.npz`: `cN.in.NAME` are the inputs of case N, `cN.out.NAME` its outputs by ONNX
Runtime. Inputs without axes are constants. Cases of one shape make a binding: the model is loaded for it, run in
floats, and quantized by `tosa-engine quantize --data` with those cases, to int8 and to int16. ONNX Runtime's
`quantize_static` gets the same cases: QDQ, weights of 8 bits per channel (per tensor where that fails, which the table
says), activations of 8 bits, then of 16; its own adjustment of weights to biases is off, since it fails, too.

*float* is the largest difference of an output, relative to its largest value; the others are SQNR over all cases, of
the output that has the least. Needs the packages `onnx` and `onnxruntime`. Exit code 1: a model is refused, or a float
differs by more than 1e-4 (of a model that isn't quantized already).
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quant_pre_process, quantize_static

from tosa_engine import Session, cli
from tosa_engine.errors import TosaEngineError
from tosa_engine.load import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Array = np.ndarray[Any, np.dtype[Any]]
CLOSE = 1e-4
PER_CHANNEL = 13
PACKAGES = ("onnx", "onnxruntime", "numpy")
QUANTIZED = ("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM")


@dataclass
class Case:
    inputs: dict[str, Array]
    outputs: dict[str, Array]

    def constants(self) -> dict[str, Array]:
        return {name: array for name, array in self.inputs.items() if array.ndim == 0}

    def fed(self) -> dict[str, Array]:
        return {name: array for name, array in self.inputs.items() if array.ndim > 0}


@dataclass
class Noise:
    """Powers of outputs by name, and of what differs from them."""

    power: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    noise: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, name: str, found: Array, wanted: Array) -> None:
        self.power[name] += float(np.square(wanted.astype(np.float64)).sum())
        self.noise[name] += float(np.square(found.astype(np.float64) - wanted).sum())

    def __str__(self) -> str:
        least = min(10 * np.log10(self.power[name] / noise) if noise else np.inf for name, noise in self.noise.items())
        return f"{least:.1f} dB"


def cases_of(bundle: Path) -> list[Case]:
    found: dict[int, Case] = defaultdict(lambda: Case({}, {}))
    with np.load(bundle) as arrays:
        for key in arrays.files:
            number, kind, name = key.split(".", 2)
            if kind in ("in", "out"):
                case = found[int(number[1:])]
                (case.inputs if kind == "in" else case.outputs)[name] = arrays[key]
    return [found[number] for number in sorted(found)]


def bindings(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases that one binding of the model takes."""
    found: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        shapes = {name: array.shape for name, array in case.fed().items()}
        found[f"{shapes} {case.constants()}"].append(case)
    return list(found.values())


@dataclass
class Row:
    """One model. `cells`: what was found, or why there is nothing."""

    name: str
    cases: int
    bindings: int
    floats: float = 0.0
    cells: dict[str, Noise | str] = field(default_factory=dict)
    quantized: bool = False
    per_tensor: set[str] = field(default_factory=set)

    def add(self, what: str, name: str, found: Array, wanted: Array) -> None:
        cell = self.cells.setdefault(what, Noise())
        if isinstance(cell, Noise):
            cell.add(name, found, wanted)

    @property
    def is_wrong(self) -> bool:
        refused = [w for w, cell in self.cells.items() if isinstance(cell, str) and not w.startswith("peer")]
        return bool(refused) or (self.floats > CLOSE and not self.quantized)


def measured(folder: Path, scratch: Path) -> Row:
    cases, model = cases_of(folder / "io.npz"), folder / "model.onnx"
    groups = bindings(cases)
    row = Row(folder.name, len(cases), len(groups))
    row.quantized = any(node.op_type in QUANTIZED for node in onnx.load(model).graph.node)
    for group in groups:
        try:
            floats(row, model, group)
        except TosaEngineError as problem:
            row.cells["float"] = str(problem).splitlines()[0]
            return row
        data = scratch / "data.npz"
        np.savez(data, **{name: np.stack([case.inputs[name] for case in group]) for name in group[0].fed()})
        for bits in (8, 16):
            integers(row, model, group, data, bits)
            if not row.quantized:
                _peer(row, model, group, scratch, bits)
    return row


def floats(row: Row, model: Path, group: Sequence[Case]) -> None:
    shapes = {name: array.shape for name, array in group[0].fed().items()}
    session = Session(load(model, shape=shapes, constant=group[0].constants()), threads=1, compiled=True)
    for case in group:
        for name, found in _outputs(session, case):
            wanted = case.outputs[name]
            most = float(np.abs(wanted).max(initial=0)) or 1.0
            row.floats = max(row.floats, float(np.abs(found.astype(np.float64) - wanted).max(initial=0)) / most)


def _outputs(session: Session, case: Case) -> Iterator[tuple[str, Array]]:
    arrays = {port.name: case.inputs[port.name] for port in session.inputs}
    feeds = {name: a.astype(np.int32) if a.dtype == np.int64 else a for name, a in arrays.items()}
    yield from zip([port.name for port in session.outputs], session.run_real(None, feeds), strict=True)


def integers(row: Row, model: Path, group: Sequence[Case], data: Path, bits: int) -> None:
    words: list[object] = ["quantize", model, "--data", data, "--bits", bits, "-q", "-o", data.with_suffix(".tosa")]
    for name, array in group[0].fed().items():
        words += ["--shape", f"{name}={','.join(map(str, array.shape)) or 'scalar'}"]
    for name, array in group[0].constants().items():
        words += ["--constant", f"{name}={array}"]
    what = f"int{bits}"
    if code := cli.main([str(word) for word in words]):
        row.cells[what] = f"refused, exit code {code}"
        return
    session = Session(data.with_suffix(".tosa"), threads=1, compiled=True)
    for case in group:
        for name, found in _outputs(session, case):
            row.add(what, name, found, case.outputs[name])


class _Reader(CalibrationDataReader):
    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases = iter(cases)

    def get_next(self) -> Mapping[str, Array] | None:
        case = next(self.cases, None)
        return None if case is None else {**case.inputs}


def _peer(row: Row, model: Path, group: Sequence[Case], scratch: Path, bits: int) -> None:
    """Weights per channel; per tensor of a model that can't be quantized so, or doesn't run then."""
    what, prepared = f"peer int{bits}", scratch / "prepared.onnx"
    before, model = Path.cwd(), model.resolve()
    os.chdir(scratch)  # it leaves files where it is
    try:
        try:
            quant_pre_process(str(model), str(prepared))
        except Exception:  # noqa: BLE001  # its inference of shapes gives up on some models
            quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
        _raise_opset(prepared)
        try:
            _static(row, what, prepared, group, bits, per_channel=True)
        except Exception:  # noqa: BLE001
            _static(row, what, prepared, group, bits, per_channel=False)
            row.per_tensor.add(what)
    except Exception as problem:  # noqa: BLE001  # the peer's own
        row.cells[what] = f"{type(problem).__name__}: {str(problem).splitlines()[0][:60]}"
    finally:
        os.chdir(before)


def _static(row: Row, what: str, prepared: Path, group: Sequence[Case], bits: int, *, per_channel: bool) -> None:
    made, options = prepared.with_name("peer.onnx"), onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    quantize_static(
        str(prepared), str(made), _Reader(group), quant_format=QuantFormat.QDQ, per_channel=per_channel,
        activation_type=QuantType.QInt8 if bits == 8 else QuantType.QInt16, weight_type=QuantType.QInt8,
        # what it does without this takes an array for one scale: ValueError
        extra_options={"QDQDisableWeightAdjustForInt32Bias": True},
    )  # fmt: skip
    session = onnxruntime.InferenceSession(str(made), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    for case in group:
        for name, found in zip(names, session.run(names, case.inputs), strict=True):
            row.add(what, name, found, case.outputs[name])


def versions() -> str:
    """The day, and what was measured with."""
    return f"{dt.date.today().isoformat()}; {', '.join(f'{name} {metadata.version(name)}' for name in PACKAGES)}."


def _raise_opset(model: Path) -> None:
    """DequantizeLinear has scales of channels from opset 13 on; `quantize_static` gives them to older models, too."""
    proto = onnx.load(model)
    if any(one.domain in ("", "ai.onnx") and one.version < PER_CHANNEL for one in proto.opset_import):
        onnx.save(onnx.version_converter.convert_version(proto, PER_CHANNEL), model)


def markdown(rows: Sequence[Row]) -> str:
    lines = [
        versions(),
        "",
        "| model | cases (shapes) | float | int8 | int16 | ONNX Runtime int8 | ONNX Runtime int16 |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        kinds = ["int8", "int16", "peer int8", "peer int16"]
        floats = row.cells.get("float", f"{row.floats:.1e}")
        cells = [f"{row.cells.get(kind, '-')}{' (per tensor)' * (kind in row.per_tensor)}" for kind in kinds]
        lines.append(f"| {row.name} | {row.cases} ({row.bindings}) | {floats} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--markdown", type=Path, help="write the table there, too")
    args = parser.parse_args(words)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in args.folders:
            rows.append(measured(folder, Path(scratch)))
            print(markdown(rows[-1:]).splitlines()[-1], flush=True)
    text = markdown(rows)
    print(text)
    if args.markdown is not None:
        args.markdown.write_text(text + "\n", encoding="utf-8")
    return int(any(row.is_wrong for row in rows))


if __name__ == "__main__":
    sys.exit(main())
