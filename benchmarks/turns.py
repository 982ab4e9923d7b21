"""Two checkouts in turns: python benchmarks/turns.py OLD/.venv/bin/python NEW/.venv/bin/python MODELS...

Each interpreter runs the engine of its own checkout in one long process. A round runs a model in both, some times each;
printed are the best times, their ratio and the median ratio of the rounds, the bytes of both arenas, and whether the
outputs are the same bytes. Exit code 1 where they aren't. Run it twice: the first process to compile a kernel may be a
few per cent slower than those that read it from the cache, and the place of memory makes small networks vary as much.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROUND_SECONDS = 0.25

WORKER = """
import hashlib, json, sys, time
import numpy as np
from tosa_engine import Session

def best(session, feeds, times):
    found = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        session.run(None, feeds)
        found = min(found, time.perf_counter() - start)
    return found

for line in sys.stdin:
    wanted = json.loads(line)
    if "load" in wanted:
        session, rng = Session(wanted["load"], wanted["threads"]), np.random.default_rng(0)
        feeds = {
            i.name: rng.integers(-100, 100, i.shape).astype(i.dtype) if i.dtype.kind in "iu"
            else rng.standard_normal(i.shape).astype(i.dtype)
            for i in session.inputs
        }
        outputs = session.run(None, feeds)
        digest = hashlib.sha256(b"".join(np.ascontiguousarray(o).tobytes() for o in outputs)).hexdigest()
        print(json.dumps({"digest": digest, "arena": session.plan().arena.size, "seconds": best(session, feeds, 3)}))
    else:
        print(json.dumps({"seconds": best(session, feeds, wanted["times"])}))
    sys.stdout.flush()
"""


class Checkout:
    """A process with one checkout's engine."""

    def __init__(self, python: str) -> None:
        folder = Path(python).absolute().parents[2]  # the checkout's, so that it is imported from there
        self.process = subprocess.Popen(
            [python, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
        )

    def ask(self, **request: object) -> dict:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit("a process ended; its error is above")
        return json.loads(answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("models", nargs="+", type=Path, help="files, or folders with .tosa files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    sides = [Checkout(python) for python in (options.old, options.new)]
    files = [f for model in options.models for f in (sorted(model.rglob("*.tosa")) if model.is_dir() else [model])]
    same = True
    for file in files:
        loaded = [side.ask(load=str(file.absolute()), threads=options.threads) for side in sides]
        times = max(1, min(2000, int(ROUND_SECONDS / max(one["seconds"] for one in loaded))))
        rounds = [[side.ask(times=times)["seconds"] for side in sides] for _ in range(options.rounds)]
        old, new = (min(column) for column in zip(*rounds, strict=True))
        ratio = statistics.median(b / a for a, b in rounds)
        equal = loaded[0]["digest"] == loaded[1]["digest"]
        same &= equal
        print(
            f"{file.parent.name}/{file.name}: {old * 1e3:.4f} -> {new * 1e3:.4f} ms, best {new / old:.3f}, "
            f"median {ratio:.3f}; arena {loaded[0]['arena']:,} -> {loaded[1]['arena']:,}; "
            f"{'same bytes' if equal else 'DIFFERENT BYTES'}",
            flush=True,
        )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
