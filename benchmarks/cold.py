"""First results in fresh processes: python benchmarks/cold.py [--networks NAME ...] [--times 3] [--compiled]

For each network: a process with an empty cache of kernels; when all kernels have been compiled, further processes. The
clock starts before Python does and stops when the outputs of a run on zeros are there. With --compiled the first
process compiles its kernels before it runs (`TOSA_ENGINE_FIRST_RUN`). At last, what `import tosa_engine` takes.
Models are read from ../shared/models. Python's own code is compiled before, as by `pip install`; processor time doesn't
count what other processes take of the machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

MODELS = Path(__file__).parents[2] / "shared" / "models"
NETWORKS = {
    "MobileNetV2 int8": "tosa/mobilenet_v2_w100_224.int8/model.tosa",
    "ResNet-18 int8": "tosa/resnet18_224.int8/model.tosa",
    "encoder block int8": "tosa/encoder_block_T64_D128.int8/model.tosa",
    "hand_landmark_lite": "perf_tflite/hand_landmark_lite/model.tosa",
}
RUN = """
import sys, time
import numpy as np
from tosa_engine import Session
session = Session(sys.argv[1])
session.run(None, {p.name: np.zeros(p.shape, p.dtype) for p in session.inputs})
print(time.time(), session.is_compiled, time.process_time())
"""
IMPORT = "import time; begin = time.perf_counter(); import tosa_engine; print(time.perf_counter() - begin)"


class Found(NamedTuple):
    """Seconds from before the process starts, those of its threads, and whether kernels were compiled."""

    seconds: float
    processor: float
    compiled: bool


def first_result(model: Path, cache: str, how: str, code: str) -> Found:
    """Of a process that finds its kernels in `cache` and Python's code in `code`."""
    environment = os.environ | {"TOSA_ENGINE_CACHE_DIR": cache, "TOSA_ENGINE_FIRST_RUN": how}
    begin = time.time()
    end, compiled, processor = python(code, environment, RUN, str(model)).split()
    return Found(float(end) - begin, float(processor), compiled == "True")


def python(code: str, environment: Mapping[str, str], *arguments: str) -> str:
    """What a process prints. It writes its code where it is told to, and finds it there."""
    kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", *arguments]
    done = subprocess.run(command, env=kept | {"PYTHONPYCACHEPREFIX": code}, check=True, capture_output=True, text=True)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--compiled", action="store_true")
    args = parser.parse_args()
    how = "compiled" if args.compiled else "plain"
    print("| network | empty cache, s | kernels compiled | full cache, s | processor, s |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as code:
        for name in args.networks:
            model = MODELS / NETWORKS[name]
            with tempfile.TemporaryDirectory() as cache:
                first_result(model, cache, "compiled", code)
                warm = [first_result(model, cache, how, code) for _ in range(args.times)]
            cold = []
            for _ in range(args.times):
                with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
                    cold.append(first_result(model, cache, how, code))
            compiled = "yes" if cold[0].compiled else "no"
            cells = [[f"{one.seconds:.2f}" for one in some] for some in (cold, warm)]
            cells.append([f"{one.processor:.2f}" for one in warm])
            shown = [", ".join(some) for some in cells]
            print(f"| {name} | {shown[0]} | {compiled} | {shown[1]} | {shown[2]} |")
            sys.stdout.flush()
        times = [float(python(code, os.environ, IMPORT)) for _ in range(5)]
    print("import tosa_engine:", ", ".join(f"{time * 1000:.1f} ms" for time in times))


if __name__ == "__main__":
    main()
