"""Reading and writing the graphs of tests: read, write, read back, write again; the two writings are the same bytes.

With the reference model at hand, what was written is run by it too and must end in the verdict of the original file.
"""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.model_files import TosaFileType, find_tosa_file
from official_runner import REFERENCE

from tosa_engine import arrays, serialize
from tosa_engine.compare import compare
from tosa_engine.compliance import Description
from tosa_engine.errors import TosaEngineError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tosa_engine.graph import Graph

VALID, ERROR = 0, 2  # the reference model's exit codes


@dataclass(frozen=True)
class Files:
    """What became of the graphs: how many there are, which of them didn't come back the same, and why."""

    graphs: int
    unlike: tuple[str, ...]

    @property
    def good(self) -> bool:
        return self.graphs > 0 and not self.unlike


def round_trips(tests: Sequence[Path], jobs: int, *, reference: bool = True) -> Files:
    """Both file forms of every test's graph. A graph that can't be read or written counts as unlike, with the reason.

    `reference`: the reference model runs what was written; tests that ran before bring its earlier outputs.
    """

    def look(test: Path) -> list[str]:
        try:
            description = Description.read(test / "desc.json")
            graph = serialize.read(description.graph)
            found = rewritten(graph, test.name)
            if reference:
                found += accepted(graph, test, expected=ERROR if description.expected_failure else VALID)
        except TosaEngineError as problem:
            found = [str(problem)]
        return [f"{test.name}: {problem}" for problem in found]

    with ThreadPoolExecutor(jobs) as pool:
        return Files(len(tests), tuple(problem for one in pool.map(look, tests) for problem in one))


def rewritten(graph: Graph, name: str) -> list[str]:
    """Which of the file forms isn't the same when it is written again."""
    found = []
    binary = serialize.tosa_to_bytes(graph)
    if serialize.tosa_to_bytes(serialize.tosa_from_bytes(binary, name)) != binary:
        found.append(".tosa written again has other bytes")
    text = serialize.json_to_text(graph)
    if serialize.json_to_text(serialize.json_from_text(text, name)) != text:
        found.append(".json written again has other bytes")
    if serialize.json_to_text(serialize.tosa_from_bytes(binary, name)) != text:
        found.append(".json made from the .tosa has other bytes than .json made from the test")
    return found


def accepted(graph: Graph, test: Path, *, expected: int) -> list[str]:
    """How the reference model takes our file instead of the test's: its exit code and its outputs."""
    description = json.loads((test / "desc.json").read_text(encoding="utf-8"))
    (test / "rewritten.tosa").write_bytes(serialize.tosa_to_bytes(graph))
    description["tosa_file"] = "rewritten.tosa"
    before = [test / f"{name.removesuffix('.npy')}.{REFERENCE}.npy" for name in description["ofm_file"]]
    description["ofm_file"] = [f"rewritten-{name}" for name in description["ofm_file"]]
    (test / "desc_rewritten.json").write_text(json.dumps(description), encoding="utf-8")
    command = [str(find_tosa_file(TosaFileType.REF_MODEL, None, False)), "--tosa_level", "EIGHTK", "--precise_mode=1"]
    command += ["--test_desc", str(test / "desc_rewritten.json")]
    ran = subprocess.run(command, capture_output=True, check=False)
    if ran.returncode != expected:
        return [f"the reference model ends with {ran.returncode} on our file: {ran.stderr.decode(errors='replace')}"]
    found = []
    for name, earlier in zip(description["ofm_file"], before, strict=True):
        if expected == VALID and earlier.is_file():
            difference = compare(name, arrays.read(test / name), arrays.read(earlier))
            found += [] if difference is None else [f"the reference model's output of our file: {difference}"]
    return found
