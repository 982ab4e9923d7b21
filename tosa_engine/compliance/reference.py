"""`tosa-engine-reference`: a drop-in for Arm's `tosa_reference_model` where a test runner calls it.

It has the flags with which that program is given a test, writes the same files, and returns the same exit codes:
0 valid, 1 unpredictable, 2 the graph is an error. Flags that only show what happens inside are refused.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from .. import arrays, check, oracle, serialize
from ..errors import DataError, TosaEngineError, UsageError, Verdict, verdict_of
from ..infer import infer
from ..spec import bind_operator, macs_of
from ..target import LEVELS, Target
from ..text import say
from ..types import of_bits
from .inexact import inexact_ends
from .resident import SERVE, SLOT, Server, start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..graph import Graph
    from ..types import Array

EXIT_CODES: Final = {Verdict.VALID: 0, Verdict.UNPREDICTABLE: 1, Verdict.ERROR: 2}
OTHER: Final = 3  # an error of another kind
LEVEL_NAMES: Final = {"EIGHTK": "8K", "NONE": "none"}
SLOW: Final = 1 << 18  # multiplications, or elements, that the oracle takes longer for than kernels take to be loaded
LOADED: Final = 1 << 16  # the same, where they are loaded already
LISTS: Final = ("ifm_name", "ifm_file", "ofm_name", "ofm_file")
IGNORED: Final = ("operator_fbs", "logfile", "loglevel", "debugmask", "fp_format")


class _Parser(argparse.ArgumentParser):
    """Wrong flags are no verdict: 2, the usual exit code, is that of a graph that is an error."""

    def error(self, message: str) -> NoReturn:
        self.exit(OTHER, f"{self.prog}: {message}\n")


@functools.cache
def parser() -> argparse.ArgumentParser:
    made = _Parser(prog="tosa-engine-reference", description=(__doc__ or "").split("\n\n")[0])
    made.add_argument("--test_desc", help="description of a test (JSON); the flags below go before what it says")
    made.add_argument("--tosa_file", help="graph, .tosa or .json")
    for name in LISTS:
        made.add_argument(f"--{name}", help="separated by commas")
    made.add_argument("--flatbuffer_dir", help="where the graph and the inputs are; default: beside the description")
    made.add_argument("--output_dir", help="where outputs go; default: beside the description")
    made.add_argument("--tosa_level", choices=tuple(LEVEL_NAMES), default="EIGHTK")
    made.add_argument("--eval", type=int, choices=(0, 1), default=1)
    made.add_argument("--validate_only", type=int, choices=(0, 1), default=0)
    made.add_argument("--output_tensors", type=int, choices=(0, 1), default=1)
    made.add_argument("-p", "--precise_mode", type=int, choices=(0, 1), default=0, help="1: refused for floats")
    for name in IGNORED:
        made.add_argument(f"--{name}", help="taken, and without effect")
    made.add_argument(
        "--no-server", action="store_true", help="run the test in this process, and start none that stays"
    )
    made.add_argument("-v", "--version", action="store_true")
    return made


def main(words: Sequence[str] | None = None) -> int:
    args = parser().parse_args(words)
    if args.version:
        from importlib import metadata

        say(f"tosa-engine-reference {metadata.version('tosa-engine')}")
        return 0
    try:
        return _run(args)
    except TosaEngineError as problem:
        say(str(problem), file=sys.stderr)
        verdict = verdict_of(problem)
        return OTHER if verdict is None else EXIT_CODES[verdict]


def _described(args: argparse.Namespace) -> tuple[dict[str, Any], Path, Path]:
    """The description with what flags say in its place, and the folders of what is read and written."""
    found: dict[str, Any] = {name: [] for name in LISTS}
    folder = Path()
    if args.test_desc:
        path = Path(args.test_desc)
        folder = path.parent
        try:
            found |= json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise DataError(f"{path}: {problem}") from None
    for name in LISTS:
        given = getattr(args, name)
        if given is not None:
            found[name] = [one for one in given.split(",") if one]
    found["tosa_file"] = args.tosa_file or found.get("tosa_file")
    if not found["tosa_file"]:
        raise UsageError("no graph: --test_desc or --tosa_file says which")
    read = Path(args.flatbuffer_dir) if args.flatbuffer_dir else folder
    return found, read, Path(args.output_dir) if args.output_dir else folder


def _run(args: argparse.Namespace) -> int:
    """The exit code of a valid run; verdicts are raised."""
    described, read, written = _described(args)
    target = replace(Target(), level=LEVELS[LEVEL_NAMES[args.tosa_level]])
    graph = serialize.read(read / described["tosa_file"])
    if args.precise_mode and any(t.dtype.is_float for t in graph.main.tensors.values()):
        raise UsageError("--precise_mode 1 is for graphs without floats: our results are rounded to their format")
    check.validate(graph, target)
    if args.validate_only or not args.eval:
        return 0
    formats = {tensor.name: tensor.dtype for tensor in graph.inputs}
    feeds = {}
    for name, file in zip(described["ifm_name"], described["ifm_file"], strict=True):
        try:
            stored = arrays.read(read / file)
        except OSError as problem:
            raise DataError(f"{read / file}: {problem.strerror}") from None
        feeds[name] = of_bits(stored, formats[name]) if name in formats else stored
    outputs = _outputs(graph, feeds, target)
    if args.precise_mode and described.get("test_requirements", {}).get("bounds_file_required"):
        outputs = _with_bounds(
            graph, feeds, outputs, dict(zip(described["ofm_name"], described["ofm_file"], strict=True)), written
        )
    if args.output_tensors:
        for name, file in zip(described["ofm_name"], described["ofm_file"], strict=True):
            arrays.write(written / file, {name: outputs[name]})
    return 0


def _with_bounds(
    graph: Graph, feeds: dict[str, Array], outputs: dict[str, Array], files: dict[str, str], folder: Path
) -> dict[str, Array]:
    """Of RESCALE with INEXACT_ROUND the least that it may give as the output, and the greatest in a file of its own, as
    Arm's checker has it.
    """
    shown = graph.copy()
    infer(shown)
    values = {t.name: t.data for t in shown.main.tensors.values() if t.data is not None} | feeds
    found = dict(outputs)
    for op in shown.main.operators:
        name = op.outputs[0]
        if op.op != "RESCALE" or op.attributes["rounding_mode"] != "INEXACT_ROUND" or name not in files:
            continue
        if not all(one in values for one in op.inputs):
            raise UsageError(f"'{name}': bounds are for a RESCALE of an input of the graph")
        least, most = (
            end.astype(outputs[name].dtype) for end in inexact_ends(bind_operator(op, shown.main, shown), values)
        )
        found[name] = least
        path = folder / files[name]
        arrays.write(path.with_name(f"bounds_{path.name}"), {name: most})
    return found


def _outputs(graph: Graph, feeds: dict[str, Array], target: Target) -> dict[str, Array]:
    """By the oracle where that is sooner done than kernels are loaded."""
    shown = graph.copy()
    infer(shown)
    work = sum(macs_of(op, shown.main) for op in shown.main.operators)
    work += sum(tensor.size for tensor in shown.main.tensors.values())
    if work <= (LOADED if "tosa_engine.runtime.session" in sys.modules else SLOW):
        return oracle.run(graph, feeds, level=target.level)
    from .engines import run_kernels

    return run_kernels(graph, feeds, target)


def script() -> None:
    """The entry point of `tosa-engine-reference-once`, which `tosa-engine-reference` calls where no server answers."""
    if sys.argv[1:2] == [SERVE]:
        Server(Path(sys.argv[2]), main).serve()
        return
    slot = os.environ.pop(SLOT, "")
    if slot:
        start(Path(slot))
    sys.exit(main())


if __name__ == "__main__":
    script()
