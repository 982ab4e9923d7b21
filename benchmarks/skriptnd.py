"""What SkriptND costs before a network runs: python benchmarks/skriptnd.py

A graph of 1,000 operators becomes TOSA (parsed, checked, composed, lowered), and a graph of one operator is loaded and
gives its first result. Each in fresh processes; seconds of the clock and of the processor, without Python's imports.
The second process finds its kernels compiled.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OPERATORS = ("math.exp", "nn.relu", "math.neg", "math.abs", "nn.sigmoid")
PORTS = "@input { x: real[1,8,16,16]; } @output { y: real[1,8,16,16]; }"
IMPORTS = "import math; import nn;"


def chain(count: int) -> str:
    """Operators one after the other."""
    lines = [f"t{i + 1} = {OPERATORS[i % len(OPERATORS)]}(t{i});" for i in range(count)]
    body = "\n".join(["t0 = math.neg(x);", *lines, f"y = math.abs(t{count});"])
    return f"{IMPORTS}\ngraph G {{ {PORTS} @compose {{ {body} }} }}"


def convolution() -> str:
    weights = "@constant { w: real[8,8,3,3] = 0.1; }"
    return f"{IMPORTS}\ngraph G {{ {PORTS} {weights} @compose {{ y = nn.conv{{padding=1}}(x, w); }} }}"


def lowered(path: Path) -> None:
    from tosa_engine.load import load

    start = time.perf_counter(), time.process_time()
    count = len(load(path).main.operators)
    print(f"{time.perf_counter() - start[0]:.2f} s, {time.process_time() - start[1]:.2f} s, {count} operators of TOSA")


def first_result(path: Path) -> None:
    import numpy as np

    from tosa_engine import Session
    from tosa_engine.load import load

    start = time.perf_counter(), time.process_time()
    session = Session(load(path), threads=1)
    session.run(None, {port.name: np.zeros(port.shape, port.dtype) for port in session.inputs})
    print(f"{time.perf_counter() - start[0]:.2f} s, {time.process_time() - start[1]:.2f} s")


WORK = {"lowered": lowered, "first_result": first_result}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--work", nargs=2, metavar=("WORK", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        WORK[args.work[0]](Path(args.work[1]))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for work, text in (("lowered", chain(1000)), ("first_result", convolution())):
            path = Path(folder) / f"{work}.sknd"
            path.write_text(text, encoding="utf-8")
            for _ in range(args.times):
                command = [sys.executable, __file__, "--work", work, str(path)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                print(f"{work}: {done.stdout.strip()}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
