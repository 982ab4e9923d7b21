"""How far is our estimate of cycles from Vela's? `python conformance/vela_costs.py MODELS [--record]`

Needs the extra `peers` (ethos-u-vela). Networks of integers under MODELS (`tosa`, `perf_tflite`) that Vela compiles,
for two sizes of U55, U65 and U85. Vela gives the cycles of several operators to one of them, so an operator counts
with those that cost nothing beside it. The rank correlation (Spearman) is over operators to which Vela gives cycles.
Exit code 1 where it is below 0.9.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import serialize
from tosa_engine.errors import Unsupported
from tosa_engine.infer import infer
from tosa_engine.npu import npu, vela
from tosa_engine.npu.estimate import VIEWS, estimate, is_free

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tosa_engine.graph import Graph

TARGETS = ("ethos-u55-64", "ethos-u55-256", "ethos-u65-256", "ethos-u65-512", "ethos-u85-256", "ethos-u85-1024")
PAGE = Path(__file__).with_name("CYCLES.md")
ENOUGH = 0.9
HEAD = """# Cycles of Ethos-U: our estimate beside Vela's

`python conformance/vela_costs.py MODELS --record`, {when}, ethos-u-vela {version}. Rank correlation (Spearman) over
operators to which Vela gives cycles; an operator counts with those that cost nothing beside it. The last columns: the
estimate of whole networks divided by Vela's cycles, the geometric mean and each. The estimate's constants (bytes in a
cycle, cycles to begin with) were fitted to these networks.

| target | networks | operators | rank correlation | beyond a factor of 2 | of networks | each |
|---|---|---|---|---|---|---|
"""


def networks(models: Path) -> Iterator[tuple[str, Graph]]:
    for path in sorted([*models.glob("tosa/*/model.tosa"), *models.glob("perf_tflite/*/model.tosa")]):
        graph = serialize.read(path)
        if not any(tensor.dtype.is_float for tensor in graph.main.tensors.values()):
            infer(graph)
            yield path.parent.name, graph


def leaders(graph: Graph) -> dict[str, str]:
    """For each operator the one that does its work."""
    producers, consumers = graph.main.producers(), graph.main.consumers()
    leader = {op.name: op.name for op in graph.main.operators}

    def found(name: str) -> str:
        while leader[name] != name:
            name = leader[name]
        return name

    for op in graph.main.operators:
        if op.inputs and op.outputs and is_free(op, producers, consumers):
            maker, readers = producers.get(op.inputs[0]), consumers.get(op.outputs[0], [])
            alone = len(consumers.get(op.inputs[0], [])) == 1
            if maker is not None and maker.inputs and (op.op in VIEWS or alone):
                leader[found(op.name)] = found(maker.name)
            elif len(readers) == 1:
                leader[found(op.name)] = found(readers[0].name)
    return {name: found(name) for name in leader}


def ranks(values: Sequence[float]) -> np.ndarray:
    """From 0; equal values share the mean of theirs."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: np.ndarray = (ends - counts + ends - 1) / 2
    return means[places]


def correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return float(np.corrcoef(ranks(ours), ranks(theirs))[0, 1])


def compared(name: str, found: Sequence[tuple[str, Graph]]) -> tuple[str, float]:
    """A row of the table, and the correlation."""
    ours, theirs, ratios, far = list[float](), list[float](), dict[str, float](), 0
    for title, graph in found:
        try:
            right = vela.costs(graph, name)
        except Unsupported:
            continue
        leader, mine, vela_s = leaders(graph), Counter[str](), Counter[str]()
        made = estimate(graph, npu(name))
        for one in made:
            mine[leader[one.node]] += one.cycles
        for one in right.operators:
            vela_s[leader.get(one.node, one.node)] += one.cycles
        counted = [key for key, cycles in vela_s.items() if cycles]
        ours += [mine[key] for key in counted]
        theirs += [vela_s[key] for key in counted]
        far += sum(not 0.5 <= mine[key] / vela_s[key] <= 2 for key in counted)
        ratios[title] = sum(one.cycles for one in made) / right.cycles
    rank = correlation(ours, theirs)
    mean = math.exp(np.mean([math.log(one) for one in ratios.values()]))
    shown = ", ".join(f"{title} {ratio:.2f}" for title, ratio in ratios.items())
    return f"| {name} | {len(ratios)} | {len(ours)} | {rank:.3f} | {far} | {mean:.2f} | {shown} |", rank


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("models", type=Path, metavar="MODELS")
    parser.add_argument("--record", action="store_true", help=f"write {PAGE.name}")
    args = parser.parse_args()
    found = list(networks(args.models))
    rows, least = list[str](), 1.0
    for name in TARGETS:
        row, rank = compared(name, found)
        print(row, flush=True)
        rows.append(row)
        least = min(least, rank)
    if args.record:
        when, version = f"{datetime.now(timezone.utc):%Y-%m-%d}", metadata.version("ethos-u-vela")
        PAGE.write_text(HEAD.format(when=when, version=version) + "\n".join(rows) + "\n", encoding="utf-8")
    return 0 if least >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
