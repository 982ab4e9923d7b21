"""Do our tables of Ethos-U agree with Vela? `python conformance/vela_legality.py [--graphs 500] [--seed 1] [--record]`

Needs the extra `peers` (ethos-u-vela). Graphs of one integer operator, in the order of our own suite, that are legal
TOSA 1.0 at level 8K; the tables were made with seed 0. Vela compiles each in a process of its own for one size of U55,
U65 and U85. It takes a graph if it leaves nothing to a CPU. Differences are listed; exit code 1 below 99 %.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from datetime import datetime, timezone
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tosa_engine import serialize
from tosa_engine.check import check
from tosa_engine.compliance.suite import Selection, make, schedule
from tosa_engine.errors import TosaEngineError
from tosa_engine.npu import npu, violations
from tosa_engine.npu.ethos_u import ETHOS_U
from tosa_engine.spec import is_constant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tosa_engine.graph import Graph

NAMES = ("ethos-u55-256", "ethos-u65-256", "ethos-u85-256")
PAGE = Path(__file__).with_name("ETHOS-U.md")
ENOUGH = 0.99
SECONDS = 60
SETTINGS = {
    "u55": ("EthosU55", "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u65": ("EthosU65", "Ethos_U65_High_End", "Dedicated_Sram"),
    "u85": ("EthosU85", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB"),
}


def graphs(seed: int) -> Iterator[tuple[str, Graph]]:
    """Legal ones of one operator, again with another seed when the schedule ends."""
    target = ETHOS_U[NAMES[0]].target
    while True:
        for name in schedule(Selection((), (), target, graphs=False)):
            graph = make(name, seed, target).graph
            if sum(not is_constant(op) for op in graph.main.operators) == 1 and not check(graph, target):
                yield name, graph
        seed += 1


def vela(content: bytes, name: str, answer: Any) -> None:
    """In a process: whether Vela takes the graph, or what it says."""
    import ethosu
    from ethosu import regor

    folder = Path(next(iter(ethosu.__path__)))
    ini = next(folder.rglob("vela.ini")).read_text(encoding="utf-8")
    _, family, macs = name.split("-")
    arch, system, memory = SETTINGS[family]
    chosen = f"[architecture]\nmacs={macs}\ncores=1\n[vela]\nsystem_config_name={system}\nmemory_mode_name={memory}\n"
    options = "[compiler]\noutput_format=Raw\n[scheduler]\noptimize=Performance\n"
    try:
        report = regor.compile(arch, content, "TOSA", chosen + ini, options=options, verbose=False).perf_report
        answer.send("" if report.cpuOps == 0 else f"{report.cpuOps} operators on the CPU")
    except (RuntimeError, ValueError) as problem:
        answer.send(" ".join(str(problem).split()))


def asked(content: bytes, name: str) -> str:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=vela, args=(content, name, theirs))
    child.start()
    theirs.close()
    try:
        said: str = ours.recv() if ours.poll(SECONDS) else f"no answer after {SECONDS} s"
    except EOFError:
        said = "its process died"
    child.kill()
    child.join()
    return said


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args(words)
    same: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    lines, total = [], 0
    for name, graph in islice(graphs(args.seed), args.graphs):
        try:
            content = serialize.tosa_to_bytes(graph)
        except TosaEngineError:  # no file can hold it
            continue
        total += 1
        for target in NAMES:
            said, broken = asked(content, target), violations(graph, npu(target))
            taken[target] += not said
            same[target] += bool(said) == bool(broken)
            if bool(said) != bool(broken):
                lines.append(f"{target} {name}: Vela: {said or 'takes it'}; ours: {broken[0] if broken else 'legal'}")
    for line in lines:
        print(line)
    rows = [f"| {t} | {total} | {taken[t]} | {same[t]} | {same[t] / total:.2%} |" for t in NAMES]
    print("\n".join(rows))
    if args.record:
        PAGE.write_text(_recorded(args, rows, lines), encoding="utf-8")
    return int(any(same[t] < ENOUGH * total for t in NAMES))


def _recorded(args: argparse.Namespace, rows: list[str], lines: list[str]) -> str:
    today, vela_version = datetime.now(timezone.utc).date(), metadata.version("ethos-u-vela")
    command = f"python conformance/vela_legality.py --graphs {args.graphs} --seed {args.seed} --record"
    what = "does `check --target` take the graphs that Vela takes?"
    about = f"`{command}`, {today}, ethos-u-vela {vela_version}: {what}"
    columns = "| target | graphs of one operator | Vela takes | ours agree | share |"
    head = ["# Legality on Ethos-U", "", about, "", columns, "|---|---|---|---|---|"]
    return "\n".join([*head, *rows, "", *(f"- {line}" for line in lines)]).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
