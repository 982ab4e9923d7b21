"""First results in fresh processes: python benchmarks/cold.py [--networks NAME ...] [--times 3] [--compiled]

For each network: a process with an empty cache of kernels; when all kernels have been compiled, further processes. The
clock starts before Python does and stops when the outputs of a run on zeros are there. With --compiled the first
process compiles its kernels before it runs (`TOSA_ENGINE_FIRST_RUN`). At last, what `import tosa_engine` takes.
Models are read from ../shared/models.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

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
print(time.time(), session.is_compiled)
"""
IMPORT = "import time; begin = time.perf_counter(); import tosa_engine; print(time.perf_counter() - begin)"


def first_result(model: Path, cache: str, how: str) -> tuple[float, bool]:
    """Seconds from before the process starts, and whether kernels were compiled."""
    environment = os.environ | {"TOSA_ENGINE_CACHE_DIR": cache, "TOSA_ENGINE_FIRST_RUN": how}
    begin = time.time()
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(model)], env=environment, check=True, capture_output=True, text=True
    )
    end, compiled = done.stdout.split()
    return float(end) - begin, compiled == "True"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS), metavar="NAME")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--compiled", action="store_true")
    args = parser.parse_args()
    how = "compiled" if args.compiled else "plain"
    print("| network | empty cache, s | kernels compiled | full cache, s |\n|---|---|---|---|")
    for name in args.networks:
        model = MODELS / NETWORKS[name]
        cold = []
        for _ in range(args.times):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
                cold.append(first_result(model, cache, how))
        with tempfile.TemporaryDirectory() as cache:
            first_result(model, cache, "compiled")
            warm = [first_result(model, cache, how)[0] for _ in range(args.times)]
        seconds = ", ".join(f"{time:.2f}" for time, _ in cold)
        print(f"| {name} | {seconds} | {'yes' if cold[0][1] else 'no'} | {', '.join(f'{t:.2f}' for t in warm)} |")
        sys.stdout.flush()
    times = [
        subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True) for _ in range(5)
    ]
    print("import tosa_engine:", ", ".join(f"{float(done.stdout) * 1000:.1f} ms" for done in times))


if __name__ == "__main__":
    main()
