"""How long whole models take, beside tosa_reference_model on the same inputs, in interleaved runs.

    python benchmarks/models.py FOLDER [NAME ...] [--threads 1,2] [--rounds N]

FOLDER holds one folder per model with `model.tosa` and cases (`CASE_desc.json` naming inputs and outputs). Every output
is compared before it is timed; models with operators that the engine lacks are named and left out.
tosa_reference_model is called as a process, its start included, when it is installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from cases import read_case, timed
from runtimes import BIN

from tosa_engine import Session
from tosa_engine.errors import TosaEngineError


def reference(folder: Path, case: dict) -> list[str] | None:
    """The command line of the reference model; its outputs go to a folder of their own."""
    program = shutil.which("tosa_reference_model", path=os.pathsep.join([str(BIN), os.environ.get("PATH", "")]))
    if program is None:
        return None
    names = ["ofm_" + str(i) + ".npy" for i in range(len(case["ofm_name"]))]
    return [
        program, "--tosa_file", "model.tosa", "--flatbuffer_dir", str(folder), "--output_dir", tempfile.mkdtemp(),
        "--ifm_name", ",".join(case["ifm_name"]), "--ifm_file", ",".join(case["ifm_file"]),
        "--ofm_name", ",".join(case["ofm_name"]), "--ofm_file", ",".join(names),
    ]  # fmt: skip


def measure(folder: Path, threads: list[int], rounds: int) -> str:
    feeds, outputs, case = read_case(folder)
    try:
        sessions = {n: Session(folder / "model.tosa", n, compiled=True) for n in threads}
    except TosaEngineError as error:
        return f"left out: {str(error).splitlines()[0]}"
    exact = True
    for session in sessions.values():
        for got, wanted in zip(session.run(list(outputs), feeds), outputs.values(), strict=True):
            exact &= np.array_equal(got, wanted)
    command = reference(folder, case)
    best = dict.fromkeys([*threads, 0], float("inf"))
    for _ in range(rounds):
        for n, session in sessions.items():
            best[n] = min(best[n], *(timed(lambda s=session: s.run(None, feeds)) for _ in range(5)))
    for _ in range(2 if command else 0):
        best[0] = min(best[0], timed(lambda: subprocess.run(command, check=True, capture_output=True)))
    arena = sessions[threads[0]].plan().arena
    ours = ", ".join(f"{1e3 * best[n]:9.4f} ms ({n})" for n in threads)
    theirs = f"reference {1e3 * best[0]:8.0f} ms" if command else "reference not installed"
    memory = f"arena {arena.size / 1024:.0f} KiB of {arena.total / 1024:.0f}, bound {arena.lower_bound / 1024:.0f}"
    return f"{'exact' if exact else 'DIFFERENT'}  {ours}, {theirs}; {memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, like 1,2")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    threads = [int(n) for n in arguments.threads.split(",")]
    for folder in sorted(p.parent for p in arguments.folder.glob("*/model.tosa")):
        if not arguments.names or folder.name in arguments.names:
            print(f"{folder.name:<28} {measure(folder, threads, arguments.rounds)}", flush=True)


if __name__ == "__main__":
    main()
