"""The node tests of ONNX (`onnx.backend.test`), made in memory, on our engine: totals by operator.

    python conformance/onnx_nodes.py                all tests
    python conformance/onnx_nodes.py Conv MaxPool   those of these operators
    python conformance/onnx_nodes.py --list         a line for each test that doesn't pass
    python conformance/onnx_nodes.py --record       all tests, oracle and kernels, and ONNX.md with the totals

Inputs that say shapes, axes or amounts (`SHAPE_LIKE`) are constants of the model; all others are data. Where sums or
products of 64-bit inputs could leave int32, the range of the test's data is told as a user would, with `--within`. A
test passes where every output is equal within the test's own tolerance. What is refused is counted by reason; a wrong
result or an error of any other kind is a failure, and the exit code 1.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import platform
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tosa_engine import oracle
from tosa_engine.errors import LevelError, Problems, TosaEngineError, Unsupported
from tosa_engine.frontends.onnx.source import ModelSource
from tosa_engine.runtime.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

SHAPE_LIKE = {
    "AffineGrid": (1,), "BlackmanWindow": (0,), "CenterCropPad": (1,), "Col2Im": (1, 2), "ConstantOfShape": (0,),
    "CumProd": (1,), "CumSum": (1,), "DFT": (1, 2), "Dropout": (1, 2), "Expand": (1,), "GRU": (4,),
    "HammingWindow": (0,), "HannWindow": (0,), "If": (0,), "LSTM": (4,), "Loop": (0, 1), "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4), "OneHot": (1,), "Pad": (1, 2, 3), "RNN": (4,), "Range": (0, 1, 2),
    "Reshape": (1,), "Resize": (1, 2, 3), "STFT": (1, 3),
    "SequenceAt": (1,), "SequenceInsert": (2,), "SplitToSequence": (1,),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,),
    "Tile": (1,), "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
    **{f"Reduce{kind}": (1,) for kind in (
        "L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"
    )},
}  # fmt: skip


TOLD = "with the ranges of its 64-bit inputs told"
VERDICTS = ("passed", "refused", "failed")
PAGE = Path(__file__).resolve().with_name("ONNX.md")


class Outcome(NamedTuple):
    test: str
    op: str
    verdict: str  # passed, refused, failed
    reason: str = ""


def cases() -> list[Any]:
    """All node tests of the package, with their data."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(collect_testcases(None))
    _PLAIN.update({case.name: str(case.model.graph.node[0].op_type) for case in found if case.model.graph.node})
    return found


def operator_of(case: Any) -> str:
    """The operator that a test is about: the first node's, or, of an expanded test, the one that its name says."""
    expanded = "_expanded" in case.name
    nodes = case.model.graph.node
    if not expanded or len(nodes) == 1:
        return str(nodes[0].op_type) if nodes else ""
    plain = case.name.split("_expanded")[0]
    return _PLAIN.get(plain, str(nodes[0].op_type))


_PLAIN: dict[str, str] = {}


def run(case: Any, folder: Path, *, kernels: bool) -> Outcome:
    op = operator_of(case)
    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    told = ""
    try:
        for given, expected in case.data_sets:
            graph, feeds, told = graph_of(case, path, op, list(given))
            problem = _one(case, graph, feeds, list(expected), kernels=kernels)
            if problem:
                return Outcome(case.name, op, "failed", problem)
    except Unsupported as refused:
        return Outcome(case.name, op, "refused", str(refused).splitlines()[0])
    except TosaEngineError as refused:
        each = refused.problems if isinstance(refused, Problems) else [refused]
        beyond = all(isinstance(one, LevelError) for one in each)  # the level, which sessions hold a graph against
        kind = "refused" if refused.exit_code == 5 or beyond else "failed"
        return Outcome(case.name, op, kind, f"{type(refused).__name__}: {str(refused).splitlines()[0]}")
    except Exception as crash:  # noqa: BLE001  # a crash is what this looks for
        return Outcome(case.name, op, "failed", f"CRASH {type(crash).__name__}: {crash}")
    return Outcome(case.name, op, "passed", told)


def _one(case: Any, graph: Any, feeds: dict[str, Any], expected: list[Any], *, kernels: bool) -> str:
    """What is wrong with the results of one set of data; nothing where they are right."""
    ready = {port.name: _as_port(feeds[port.name], port) for port in graph.inputs}
    if kernels:
        session = Session(graph, threads=1, compiled=True)
        found = dict(zip(graph.main.outputs, session.run(None, ready), strict=True))
    else:
        found = oracle.run(graph, ready)
    each = [one for whole in expected for one in (whole if isinstance(whole, list) else [whole])]
    for name, wanted in zip(graph.main.outputs, each, strict=True):
        problem = _difference(found[name], _array(wanted), case)
        if problem:
            return f"output '{name}': {problem}"
    return ""


def graph_of(case: Any, path: Path, op: str, given: list[Any]) -> tuple[Any, dict[str, Any], str]:
    """The graph of a test whose model is at `path`, the arrays of its inputs that are data, and `TOLD` where it took
    the ranges of these.
    """
    names = [port.name for port in case.model.graph.input]
    fixed = [name for i, name in enumerate(_argument_names(case, op)) if i in SHAPE_LIKE.get(op, ()) and name in names]
    constants: dict[str, Any] = {}
    shapes, feeds = {}, {}
    for name, value in zip(names, given, strict=False):
        if value is None:
            raise Unsupported(f"the input '{name}' is nothing")
        if isinstance(value, list):
            constants[name] = [_array(one) for one in value]
            continue
        array = np.asarray(_array(value))
        if name in fixed:
            constants[name] = array
        else:
            shapes[name], feeds[name] = array.shape, array
    try:
        return ModelSource(path, shape=shapes, constant=constants).graph(), feeds, ""
    except TosaEngineError as problem:
        if "--within" not in str(problem):
            raise
    long = {name: one for name, one in feeds.items() if one.dtype.name in ("int64", "uint64", "uint32")}
    ranges = {name: (int(one.min()), int(one.max())) for name, one in long.items()}
    return ModelSource(path, shape=shapes, constant=constants, within=ranges).graph(), feeds, TOLD


def _array(value: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    return np.asarray(numpy_helper.to_array(value) if isinstance(value, TensorProto) else value)


def _argument_names(case: Any, op: str) -> list[str]:
    for node in case.model.graph.node:
        if node.op_type == op:
            return list(node.input)
    return [port.name for port in case.model.graph.input]


def _as_port(values: Any, port: Any) -> Any:
    """Values in the port's format: 64-bit integers in 32, unsigned ones by their bits."""
    wanted = port.dtype.storage
    if values.dtype.kind == "u" and values.dtype.itemsize == wanted.itemsize:
        return values.view(wanted)
    return values.astype(wanted)


def _difference(found: Any, wanted: Any, case: Any) -> str:
    if tuple(found.shape) != tuple(wanted.shape):
        return f"shape {list(found.shape)}, not {list(wanted.shape)}"
    if wanted.dtype == object:
        raise Unsupported("strings")
    if wanted.dtype.kind == "u" and found.dtype.itemsize == wanted.dtype.itemsize:
        found = found.view(wanted.dtype)
    if wanted.dtype.kind in "iub" or wanted.dtype.name in ("int4", "uint4", "int2", "uint2"):
        same = np.asarray(found).astype(np.int64) == wanted.astype(np.int64)
        return "" if same.all() else f"{int((~same).sum())} of {same.size} elements differ"
    ours, theirs = np.asarray(found, np.float64), wanted.astype(np.float64)
    close = np.isclose(ours, theirs, rtol=case.rtol, atol=case.atol, equal_nan=True)
    if close.all():
        return ""
    worst = np.nanmax(np.abs(np.where(np.isfinite(ours - theirs), ours - theirs, np.inf)), initial=0)
    return f"{int((~close).sum())} of {close.size} elements differ, by up to {worst:.3g}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("operators", nargs="*", metavar="OPERATOR")
    parser.add_argument("--list", action="store_true", help="a line for each test that doesn't pass")
    parser.add_argument("--kernels", action="store_true", help="on the compiled kernels, not the oracle")
    parser.add_argument("--record", action="store_true", help="write ONNX.md; takes no operators")
    args = parser.parse_args(arguments)
    if args.record and (args.operators or args.kernels):
        parser.error("--record is for all operators, on the oracle and on the kernels")
    found = cases()
    if args.operators:
        found = [case for case in found if operator_of(case) in args.operators]
    with tempfile.TemporaryDirectory() as folder:
        outcomes = [run(case, Path(folder), kernels=args.kernels) for case in found]
        compiled = [run(case, Path(folder), kernels=True) for case in found] if args.record else []
    by_operator: dict[str, Counter[str]] = {}
    for one in outcomes:
        by_operator.setdefault(one.op, Counter())[one.verdict] += 1
        if args.list and one.verdict != "passed":
            print(f"{one.verdict} {one.test} ({one.op}): {one.reason}")
    for op, counts in sorted(by_operator.items()):
        print(f"{op}: {', '.join(f'{n} {verdict}' for verdict, n in sorted(counts.items()))}")
    total = Counter(one.verdict for one in outcomes)
    print(f"Totals ({len(outcomes)} tests): {', '.join(f'{total[v]} {v}' for v in VERDICTS)}")
    if args.record:
        PAGE.write_text(page(outcomes, compiled), encoding="utf-8")
    return 1 if total["failed"] else 0


def page(outcomes: Sequence[Outcome], compiled: Sequence[Outcome]) -> str:
    """ONNX.md: what the oracle gives, and what is different on the compiled kernels."""
    plain = [one for one in outcomes if "_expanded" not in one.test]
    expanded = [one for one in outcomes if "_expanded" in one.test]
    lines = [
        "# Node tests of ONNX", "",
        "Written by `python conformance/onnx_nodes.py --record`; not to be edited.", "",
        f"- {_when()}",
        "- on the oracle; inputs that say shapes or axes are constants",
        f"- {_totals(plain)}",
        f"- of operators expanded by their schema: {_totals(expanded)}",
        f"- on the compiled kernels (`--kernels`), all tests: {_totals(compiled)}", "",
        "| operator | tests | passed | refused | failed |", "|---|---:|---:|---:|---:|",
    ]  # fmt: skip
    for op in sorted({one.op for one in outcomes}):
        counts = Counter(one.verdict for one in outcomes if one.op == op)
        cells = [str(counts[verdict]) for verdict in VERDICTS]
        lines.append(f"| {op} | {sum(counts.values())} | {' | '.join(cells)} |")
    lines += ["", "## Why tests are refused", "", "| reason | tests |", "|---|---:|"]
    reasons = Counter(_kind_of(one.reason) for one in outcomes if one.verdict == "refused")
    lines += [f"| {reason} | {count} |" for reason, count in reasons.most_common()]
    failed = [one for one in outcomes if one.verdict == "failed"]
    lines += ["", "## Failures", "", *(f"- `{one.test}`: {one.reason}" for one in failed)]
    pairs = [(one, other) for one, other in zip(outcomes, compiled, strict=True) if one.verdict != other.verdict]
    lines += ["", "## Other verdicts on the compiled kernels", ""]
    lines += [f"- `{other.test}`: {other.verdict}: {other.reason}" for _, other in pairs]
    return "\n".join(lines) + "\n"


def _totals(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(one.verdict for one in outcomes)
    told = sum(one.reason == TOLD for one in outcomes)
    found = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    return f"{len(outcomes)} tests: {found}; {told} {TOLD.replace('its', 'their')}"


def _kind_of(reason: str) -> str:
    """A reason without names, places and numbers."""
    kinds = (
        ("double", "double numbers"), ("string", "strings"), ("float8", "formats of floats that TOSA lacks"),
        ("float4", "formats of floats that TOSA lacks"), ("no elements", "a tensor without elements"),
        ("MAX_RANK", "more than 6 dimensions"), ("--within", "integers that int32 may lack"),
        ("sequence", "a sequence as an input or output"), ("optional", "an optional value"),
    )  # fmt: skip
    for word, kind in kinds:
        if word in reason:
            return kind
    return reason.rpartition(": ")[2]


def _when() -> str:
    """Date, commit and versions of a measurement."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False, cwd=PAGE.parent
    ).stdout.strip()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("onnx", "ml_dtypes", "numpy"))
    day = f"{dt.datetime.now(dt.timezone.utc):%Y-%m-%d}"
    return f"{day}, commit {commit or 'unknown'}, Python {platform.python_version()}, {versions}"


if __name__ == "__main__":
    sys.exit(main())
