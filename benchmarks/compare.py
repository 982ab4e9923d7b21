"""Our engine beside other runtimes on the same networks, in interleaved runs.

    python benchmarks/compare.py TOSA_FOLDER [--perf PERF_FOLDER] [NAME ...] [--json FILE] [--svg FILE]

TOSA_FOLDER holds one folder per network with `model.tosa` and a recorded case; PERF_FOLDER one folder per network with
the files that other tools quantized (`int8.tflite`, `int8_qdq.onnx`). NAME there and NAME.int8 here are the same.

Each runtime runs in processes of its own, one for each number of threads, which stay alive: the parent goes round and
tells each in turn to run a few times, so that other work of the machine hits all alike. Batch 8 is the model's own
batch where its file allows it; else, as for ours, 8 runs, and the table says so. What isn't installed is named.

Exit code 1: our outputs aren't the recorded ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from cases import write
from plot import draw
from results import Measured, environment, macs_of, markdown, report
from rounds import Entry, Pool, go_round
from runtimes import DIFFERENT, OURS, OURS_BY_SAMPLES, REFERENCE, RUNTIMES, START_UP, TILE

COMPANIONS = {OURS: (OURS_BY_SAMPLES, TILE), REFERENCE: (START_UP,)}


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tosa", type=Path, metavar="TOSA_FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all networks of integers")
    parser.add_argument("--perf", type=Path, help="default: the folder `perf` beside TOSA_FOLDER")
    parser.add_argument(
        "--floats", action="store_true", help="float32 networks instead, `float.nnef` and `float.onnx` of PERF_FOLDER"
    )
    parser.add_argument("--runtimes", help="some of them, separated by commas; default: all that are installed")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, like 1,2")
    parser.add_argument("--batch", default="1,8", help="batches; other than 1 only where PERF_FOLDER has the network")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--slot", type=float, default=0.2, help="seconds that a runtime runs in its turn")
    parser.add_argument("--scratch", type=Path, help="folder for what IREE compiles, to have it again; default: none")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="tables for a page")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="a plot of the times")
    return parser.parse_intermixed_args(words)


def chosen_runtimes(wanted: str | None) -> tuple[dict[str, str], list[str]]:
    """The versions of the runtimes to measure, and the names of those that aren't installed."""
    public = [name for name in RUNTIMES if not any(name in found for found in COMPANIONS.values())]
    names = public if wanted is None else [name.strip() for name in wanted.split(",")]
    unknown = [name for name in names if name not in public]
    if unknown:
        sys.exit(f"unknown runtime: {', '.join(unknown)}; choose from: {', '.join(public)}")
    versions = {name: RUNTIMES[name].version() for name in names}
    return {n: v for n, v in versions.items() if v is not None}, [n for n, v in versions.items() if v is None]


def perf_folder(args: argparse.Namespace) -> Path:
    found: Path = args.perf or args.tosa.parent / "perf"
    return found


def name_of(network: Path) -> str:
    return f"{network.parent.name}.fp32" if network.suffix == ".nnef" else network.name


def chosen_networks(args: argparse.Namespace) -> list[Path]:
    """Folders with a model.tosa, or NNEF folders."""
    if args.floats:
        networks = sorted(perf_folder(args).glob("*/float.nnef"))
    else:
        networks = sorted(path.parent for path in args.tosa.glob("*/model.tosa") if ".fp" not in path.parent.name)
    found = [folder for folder in networks if not args.names or name_of(folder) in args.names]
    missing = set(args.names) - {name_of(folder) for folder in found}
    if missing or not found:
        sys.exit(f"no such network: {', '.join(sorted(missing)) or args.tosa.name}")
    return found


def measure(folder: Path, args: argparse.Namespace, names: list[str], pool: Pool) -> Measured:
    """One network in all runtimes that take it."""
    perf = folder.parent if args.floats else perf_folder(args) / folder.name.removesuffix(".int8")
    batches = [int(n) for n in args.batch.split(",")] if perf.is_dir() else [1]
    entries = [
        Entry(name, threads, batch)
        for batch in batches
        for threads in map(int, args.threads.split(","))
        for base in names
        for name in (base, *COMPANIONS.get(base, ()))
        if threads == batch == 1 or not RUNTIMES[name].once
    ]
    folders = {"tosa": str(folder.resolve()), "perf": str(perf.resolve()), "scratch": str(pool.scratch)}
    go_round(entries, pool, folders, args.rounds, args.slot)
    return Measured(name_of(folder), macs_of(folder if args.floats else folder / "model.tosa"), entries)


def main() -> None:
    args = arguments(sys.argv[1:])
    versions, absent = chosen_runtimes(args.runtimes)
    for name in absent:
        print(f"left out, not installed: {name} ({', '.join(RUNTIMES[name].packages)})")
    found: list[Measured] = []
    with tempfile.TemporaryDirectory() as temporary, Pool(args.scratch or Path(temporary)) as pool:
        for folder in chosen_networks(args):
            found.append(measure(folder, args, list(versions), pool))
            print(report(found[-1], versions), flush=True)
    record = {
        "environment": environment() | {"numpy": np.__version__},
        "versions": versions,
        "networks": [network.record() for network in found],
    }
    if args.json:
        write(args.json, json.dumps(record, indent=1) + "\n")
    if args.markdown:
        write(args.markdown, markdown(record))
    if args.svg:
        write(args.svg, draw(record))
    if any(entry.left_out == DIFFERENT and entry.runtime == OURS for network in found for entry in network.entries):
        sys.exit(1)


if __name__ == "__main__":
    main()
