"""Checked runs of all networks: python benchmarks/checked.py MODELS [NAME...] [--seconds 60] [--record]

Each network runs checked: every operator by its kernel, unfused, and by the oracle, which tests every REQUIRE. Then the
plan that users have runs, with all that is fused, with 1 thread and with 3. Integers have to be equal in all of them;
of floats, threads change no byte, and *apart* is the largest difference of an output, relative to its largest value.

Networks: those of overview.py; the TFLite files of `perf` and `real` by Arm's converter; NNEF of `nnef` and `digits`;
of `zoo` the NNEF that torch_to_nnef writes. Files with scales become integers by `quantize`; `digits` and `zoo` are
quantized, too (`.int8`), with random samples. NAME is a network or a group. Inputs are the first recorded case, or
random numbers.

A checked run that takes longer than --seconds ends: *checked* says how many results agreed until then. Exit code 1:
something differs. A network that is refused is a line with the reason.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from all_networks import Network, graph_of, networks
from overview import said
from pages import record

from tosa_engine import Session
from tosa_engine.commands.samples import rows_of_indices
from tosa_engine.errors import TimeLimit, TosaEngineError
from tosa_engine.probe import Probe
from tosa_engine.runtime.real import stored
from tosa_engine.samples.arrays import RandomSamples
from tosa_engine.spec import is_constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tosa_engine.graph import Graph

    Array = np.ndarray[Any, np.dtype[Any]]

HEADING: Final = "Checked runs"
HEAD: Final = ("network", "operators", "checked", "fused steps", "1 and 3 threads", "apart", "seconds")
CLOSE: Final = 1e-4  # of the largest output, for floats
EQUAL: Final = "equal"


def every(models: Path) -> Iterator[Network]:
    yield from networks(models)
    for file in sorted([*models.glob("perf/*/int8.tflite"), *models.glob("real/*/model.tflite")]):
        yield Network(f"{file.parent.name}.tflite", f"{file.parent.parent.name} tflite", file)
    for file in sorted(models.glob("nnef/from_*/*/graph.nnef")):
        yield Network(f"{file.parent.parent.name}/{file.parent.name}", "nnef", file.parent)
    for file in sorted(models.glob("nnef/quantized/*/graph.nnef")):
        yield Network(f"quantized/{file.parent.name}", "nnef", file.parent, quantized=True)
    for file in sorted([*models.glob("digits/*/graph.nnef"), *models.glob("zoo/*/tract/graph.nnef")]):
        name, group = (file.parts[-3], "zoo") if file.parent.name == "tract" else ("digits", "digits")
        yield Network(name, group, file.parent)
        yield Network(f"{name}.int8", group, file.parent, quantized=True, samples=4)


@dataclass
class Row:
    """What was found of a network: `fault` where something differs, `refused` where it doesn't run."""

    network: Network
    operators: int = 0
    agreed: int | None = None  # results, until the time was over; None: all
    steps: int = 0
    threads: str = ""
    apart: str = ""
    seconds: float = 0.0
    fault: str = ""
    refused: str = ""

    def cells(self) -> list[str]:
        if self.fault or self.refused:
            return [self.network.name, str(self.operators or ""), self.fault or f"refused: {self.refused}", *[""] * 4]
        checked = "all agree" if self.agreed is None else f"the first {self.agreed} results agree"
        cells = [str(self.operators), checked, str(self.steps), self.threads, self.apart]
        return [self.network.name, *cells, f"{self.seconds:.1f}"]


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks or groups; default: all")
    parser.add_argument("--seconds", type=float, default=60.0, help="of a checked run; default: 60")
    parser.add_argument("--record", action="store_true", help="write the table to benchmarks/RESULTS.md")
    args = parser.parse_intermixed_args(words)
    rows = list[Row]()
    with tempfile.TemporaryDirectory() as scratch:
        for network in every(args.models):
            if not args.names or {network.name, network.group} & {*args.names}:
                rows.append(looked_at(network, Path(scratch), args.seconds))
                print(" | ".join([network.group, *rows[-1].cells()]), flush=True)
    print("\n".join(table(rows)))
    if args.record:
        options = f"--seconds {args.seconds:g} " if args.seconds != parser.get_default("seconds") else ""
        record(HEADING, "\n".join([" ".join(said(options, "checked.py", ())), "", *table(rows)]))
    return 1 if any(row.fault for row in rows) else 0


def looked_at(network: Network, scratch: Path, seconds: float) -> Row:
    row, begin = Row(network), time.perf_counter()
    try:
        compare(row, scratch, seconds)
    except TosaEngineError as error:
        message = str(error).splitlines()[0]
        row.fault, row.refused = (message, "") if error.label == "RUN.disagree" else ("", message)
    row.seconds = time.perf_counter() - begin
    return row


def compare(row: Row, scratch: Path, seconds: float) -> None:
    """Raises what loading, planning and running do."""
    graph = graph_of(row.network, scratch)
    sessions = [Session(graph, threads, compiled=True) for threads in (1, 3)]
    row.operators = sum(not is_constant(op) for op in sessions[0].graph.main.operators)
    row.steps = len(sessions[0].plan().steps)
    feeds = feeds_of(row.network, graph, sessions[0])
    one, three = (session.run(None, feeds) for session in sessions)
    unfused: dict[str, Array] = {}
    checked: dict[str, Array] = {}
    sessions[0].reset()
    sessions[0].run(None, feeds, probes=[Probe(lambda _, name, array: unfused.update({name: array}), keeps=True)])
    row.agreed = checked_run(Session(graph, 1, checked=True, time_limit=seconds), feeds, checked)
    outputs = {port.name: array for port, array in zip(sessions[0].outputs, one, strict=True)}
    pairs = [(array, side[name]) for side in (unfused, checked) for name, array in outputs.items() if name in side]
    if not any(array.dtype.kind == "f" for array in unfused.values()):
        pairs += [(unfused[name], array) for name, array in checked.items() if name in unfused]
    floats = [relative(*pair) for pair in pairs if pair[0].dtype.kind == "f"]
    row.apart = f"{max(floats):.1e}" if floats else ""
    row.threads = EQUAL if all(map(same, one, three)) else "differ"
    if row.threads != EQUAL:
        row.fault = "1 and 3 threads differ"
    elif max(floats, default=0.0) > CLOSE or not all(same(*pair) for pair in pairs if pair[0].dtype.kind != "f"):
        row.fault = f"fused and unfused results differ {row.apart}".rstrip()


def checked_run(session: Session, feeds: dict[str, Array], tensors: dict[str, Array]) -> int | None:
    """How many results agreed until the time was over, None for all; adds them to `tensors`. Raises TosaEngineError
    (RUN.disagree) where one doesn't.
    """
    try:
        session.run(None, feeds, probes=[Probe(lambda _, name, array: tensors.update({name: array}), keeps=True)])
    except TimeLimit:
        return len(tensors)
    return None


def feeds_of(network: Network, graph: Graph, session: Session) -> dict[str, Array]:
    if network.feeds:
        return {port.name: network.feeds[port.name].astype(port.dtype) for port in session.inputs}
    ((_, sample),) = RandomSamples(1, 0, graph.inputs, rows_of_indices(graph)).read([0])
    return stored(session.inputs, sample)


def same(a: Array, b: Array) -> bool:
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def relative(got: Array, wanted: Array) -> float:
    """The largest difference, of the largest value; infinite where one isn't finite and the other is."""
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return np.inf
    finite = np.isfinite(b)
    most = float(np.abs(b[finite]).max(initial=0.0)) or 1.0
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / most


def table(rows: Sequence[Row]) -> list[str]:
    """All rows; what differs, and what is refused, is counted at the end."""
    lines = [f"| {' | '.join(HEAD)} |", f"|{'---|' * len(HEAD)}", *(f"| {' | '.join(row.cells())} |" for row in rows)]
    fine = [row for row in rows if not row.fault and not row.refused]
    counts = {
        "agree in every operator": sum(row.agreed is None for row in fine),
        "as far as the time went": sum(row.agreed is not None for row in fine),
        "differ": sum(bool(row.fault) for row in rows),
        "are refused": sum(bool(row.refused) for row in rows),
    }
    return [*lines, "", f"{len(rows)} networks: {', '.join(f'{count} {what}' for what, count in counts.items())}."]


if __name__ == "__main__":
    sys.exit(main())
