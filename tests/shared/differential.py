"""One graph on our engine and on Arm's reference model: do verdicts and bytes agree, and if not, is it known why?

The reference model runs in a process of its own, which a graph may take down. What it calls valid although a REQUIRE
fails is explained by the label of the rule, if `docs/errata.md` has that label for it.
"""

from __future__ import annotations

import importlib
import json
import re
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import Session, arrays, check, oracle, serialize, types
from tosa_engine.errors import GraphError, Problems, RequireViolation, TosaEngineError
from tosa_engine.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

SECONDS = 60
EXIT_CODES = {0: "valid", 1: "unpredictable", 2: "error"}
# REQUIREs that the reference model doesn't test (docs/errata.md): it goes on with a value of its own.
UNTESTED = {
    "MUL.R1", "MUL.R2", "CAST.R1", "CONV2D.R1", "DEPTHWISE_CONV2D.R1", "MATMUL.R1", "AVG_POOL2D.R1",
    "CONV2D.R2", "CONV3D.R2", "DEPTHWISE_CONV2D.R2", "TRANSPOSE_CONV2D.R2",
}  # fmt: skip
# REQUIREs whose violation takes the reference model's process down, even where another was violated before.
FATAL = {"INTDIV.R1": "SIGFPE", "GATHER.R1": "SIGABRT", "SCATTER.R1": "SIGABRT"}
# Rules of graphs that it doesn't test in full.
MISSED = {"TABLE.shape.output", *(f"REDUCE_{name}.E2" for name in ("ALL", "ANY", "MAX", "MIN", "PRODUCT", "SUM"))}
DIES = "an error that it dies of"
LEVEL = "a level that it calls unpredictable"
NO_FILE = "an error that no file can hold"


@dataclass(frozen=True)
class Run:
    """How an implementation took a graph: the verdict's word (or what kept it from having one), labels, outputs."""

    verdict: str
    label: str = ""
    outputs: dict[str, Array] | None = None

    def __str__(self) -> str:
        return f"{self.verdict} ({self.label})" if self.label else self.verdict


@dataclass(frozen=True)
class Comparison:
    """Both runs. `explained`: the documented reason of a difference. `difference`: what differs, empty if nothing."""

    ours: Run
    reference: Run
    difference: str = ""
    explained: str = ""

    @property
    def is_finding(self) -> bool:
        return bool(self.difference) and not self.explained


def compare(graph: Graph, feeds: dict[str, Array], folder: Path, *, with_oracle: bool) -> Comparison:
    """Run a graph on the kernels and on the reference model, and where asked on the oracle, which must agree with the
    kernels to the letter.
    """
    ours = on_kernels(graph, feeds)
    theirs = on_reference(graph, feeds, folder)
    if with_oracle:
        judge = on_oracle(graph, feeds)
        if difference := unlike(ours, judge):
            return Comparison(ours, theirs, f"kernels and oracle: {difference}")
    difference = unlike(ours, theirs)
    return Comparison(ours, theirs, difference, explanation(graph, ours, theirs) if difference else "")


def on_kernels(graph: Graph, feeds: dict[str, Array]) -> Run:
    def run() -> dict[str, Array]:
        session = Session(graph, threads=1)
        names = [port.name for port in session.outputs]
        return dict(zip(names, session.run(names, feeds), strict=True))

    return _run(run)


def on_oracle(graph: Graph, feeds: dict[str, Array]) -> Run:
    def run() -> dict[str, Array]:
        check.validate(graph, Target())
        return oracle.run(graph, feeds)

    return _run(run)


def _run(function: Any) -> Run:
    try:
        return Run("valid", outputs=function())
    except RequireViolation as violation:
        return Run("unpredictable", violation.label)
    except (GraphError, Problems) as problem:
        first = problem.problems[0] if isinstance(problem, Problems) else problem
        return Run("error", first.label)
    except TosaEngineError as problem:
        return Run(type(problem).__name__, problem.label)


def on_reference(graph: Graph, feeds: dict[str, Array], folder: Path) -> Run:
    """The reference model's program on files in a folder."""
    try:
        serialize.write(graph, folder / "graph.tosa")
    except GraphError:  # a CLAMP to a value that isn't of the tensor's type
        return Run(NO_FILE)
    for i, name in enumerate(graph.main.inputs):
        arrays.write(folder / f"in{i}.npy", {name: feeds[name]})
    outputs = [folder / f"out{i}.npy" for i in range(len(graph.outputs))]
    for path in outputs:
        path.unlink(missing_ok=True)
    description = {
        "tosa_file": "graph.tosa", "expected_failure": False,
        "ifm_name": graph.main.inputs, "ifm_file": [f"in{i}.npy" for i in range(len(graph.main.inputs))],
        "ofm_name": graph.main.outputs, "ofm_file": [path.name for path in outputs],
    }  # fmt: skip
    (folder / "desc.json").write_text(json.dumps(description), encoding="utf-8")
    command = [program(), f"--test_desc={folder / 'desc.json'}"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, env={})  # no gdb
    except subprocess.TimeoutExpired:
        return Run("timeout")
    if done.returncode < 0:
        return Run(signal.Signals(-done.returncode).name)
    verdict = EXIT_CODES.get(done.returncode, f"exit code {done.returncode}")
    if verdict != "valid":
        return Run(verdict)
    read = [types.of_bits(np.load(path), t.dtype) for t, path in zip(graph.outputs, outputs, strict=True)]
    return Run("valid", outputs={t.name: a.reshape(t.shape or ()) for t, a in zip(graph.outputs, read, strict=True)})


def program() -> str:
    """The reference model's program."""
    files = importlib.import_module("conformance.model_files")
    return str(files.find_tosa_file(files.TosaFileType.REF_MODEL, None, False))


def unlike(a: Run, b: Run) -> str:
    """What differs between two runs; labels only where both have one."""
    if a.verdict != b.verdict or (a.label and b.label and a.label != b.label):
        return f"{a}, {b}"
    for name, array in (a.outputs or {}).items():
        other = (b.outputs or {})[name]
        if array.size != other.size:
            return f"'{name}' is {array.dtype}{list(array.shape)}, {other.dtype}{list(other.shape)}"
        if not same(array, other.reshape(array.shape)):
            return f"'{name}' has other values"
    return ""


def same(a: Array, b: Array) -> bool:
    """Equal elements; of floats equal values, zeros with their signs, any NaN for NaN."""
    if not types.holds_floats(a):
        return np.array_equal(a, b.astype(a.dtype))
    x, y = a.astype(np.float64), b.astype(np.float64)
    return np.array_equal(x, y, equal_nan=True) and bool((np.isnan(x) | (np.signbit(x) == np.signbit(y))).all())


def explanation(graph: Graph, ours: Run, theirs: Run) -> str:
    """The documented rule that a difference comes from, or nothing."""
    if ours.verdict == "error":
        return _of_an_error(ours.label, theirs.verdict)
    operators = {op.op for op in graph.main.operators}
    if ours.verdict == "unpredictable":
        if ours.label in UNTESTED:
            return ours.label
        fatal = [label for label, end in FATAL.items() if end == theirs.verdict and label.split(".")[0] in operators]
        if fatal:
            return " or ".join(fatal)
    last = graph.main.operators[-1]
    if last.attributes.get("rounding_mode") != "INEXACT_ROUND" or theirs.verdict != "valid":
        return ""
    return "INEXACT_ROUND" if ours.verdict == "unpredictable" or nearly(ours, theirs) else ""


def _of_an_error(label: str, verdict: str) -> str:
    if verdict == NO_FILE:
        return NO_FILE
    if verdict in ("SIGSEGV", "SIGABRT"):
        return DIES
    if label in MISSED and verdict == "valid":
        return label
    return LEVEL if re.fullmatch(r"\w+\.L\d+", label) and verdict == "unpredictable" else ""


def nearly(ours: Run, theirs: Run) -> bool:
    """Whether outputs of a RESCALE with INEXACT_ROUND, which the reference model computes in floats, are as near as its
    rounding leaves them.
    """
    for name, array in (ours.outputs or {}).items():
        mine, other = array.astype(np.float64), np.asarray((theirs.outputs or {})[name]).reshape(array.shape)
        if (np.abs(mine - other) > 1 + np.abs(mine) * 2.0**-21).any():
            return False
    return True


def save(graph: Graph, feeds: dict[str, Array], comparison: Comparison, path: Path) -> None:
    """Keep a graph as `path`.json with `path`.npz beside it, and what came out in `path`.txt."""
    path.parent.mkdir(parents=True, exist_ok=True)
    serialize.write(graph, path.with_suffix(".json"))
    np.savez(path.with_suffix(".npz"), **{name: feeds[name] for name in graph.main.inputs})
    seen = {"ours": str(comparison.ours), "reference": str(comparison.reference), "explained": comparison.explained}
    path.with_suffix(".txt").write_text(json.dumps({**seen, "difference": comparison.difference}, indent=1) + "\n")


def load(path: Path) -> tuple[Graph, dict[str, Array]]:
    """A kept graph with its inputs."""
    with np.load(path.with_suffix(".npz")) as bundle:
        return serialize.read(path.with_suffix(".json")), {name: bundle[name] for name in bundle.files}
