"""A network at several batches: all samples at once, in parts one after the other, and every thread with parts of its
own, beside batch 1; and what a session chooses.

    python benchmarks/batch.py MODEL [--batches 8,32] [--threads 1] [--rounds 7]

MODEL is a folder with a model.tosa of batch 1. All forms run in turn, the best round counts, and every sample of a
batch is compared with what batch 1 gives first.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from unittest import mock

import numpy as np

from tosa_engine import Session
from tosa_engine.load import load
from tosa_engine.plan import batch, expand, make_plan

NEVER = float("inf")


def sessions(graph, samples: int, threads: int) -> dict[str, Session]:
    """By name; some may be the same."""
    large, found = batch.with_batch(graph, samples), {}
    for name, cache, long in (
        ("at once", 1 << 60, NEVER), ("in parts", batch.IN_CACHE, NEVER), ("apart", batch.IN_CACHE, 0.0),
        ("chosen", batch.IN_CACHE, batch.LONG),
    ):  # fmt: skip
        if name == "apart" and threads == 1:
            continue
        with mock.patch.object(batch, "IN_CACHE", cache), mock.patch.object(batch, "LONG", long):
            found[name] = Session(large, threads, compiled=True)
            found[name].plan()
    return found


def measure(graph, samples: int, threads: int, rounds: int) -> None:
    rng = np.random.default_rng(samples)
    single, several = Session(graph, threads, compiled=True), sessions(graph, samples, threads)
    (port,) = several["at once"].inputs
    whole = rng.integers(-128, 128, port.shape).astype(port.dtype)
    rows = [{port.name: whole[i : i + 1]} for i in range(samples)]
    wanted = [single.run(None, row) for row in rows]
    for session in several.values():
        for i, array in enumerate(session.run(None, {port.name: whole})):
            np.testing.assert_array_equal(array, np.concatenate([found[i] for found in wanted]))
    jobs = {name: (lambda s=s: s.run(None, {port.name: whole})) for name, s in several.items()}
    jobs["batch 1"] = lambda: [single.run(None, row) for row in rows]
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    lines = [f"batch 1 {1e3 * best['batch 1'] / samples:.4f}"]
    for name, session in several.items():
        plan = session.plan()
        memory = (
            f"{plan.arena.size / 1e6:.1f} MB" if plan.parts == 1 else f"{plan.parts} x {plan.arena.size / 1e6:.1f} MB"
        )
        how = ", each thread its own" if plan.parts_in_parallel else ""
        lines.append(f"{name} {1e3 * best[name] / samples:.4f} ({memory}{how})")
    print(f"batch {samples}, {threads} threads: ms per sample: {'; '.join(lines)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--batches", default="8,32")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    graph = expand(load(args.model / "model.tosa"))
    graph = batch.with_constants(graph, make_plan(graph.copy()).constants)
    for samples in map(int, args.batches.split(",")):
        measure(graph, samples, args.threads, args.rounds)


if __name__ == "__main__":
    main()
