"""What compare.py measured: as a table, and as plain data."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from runtimes import DIFFERENT, OURS, OURS_BY_SAMPLES, REFERENCE, RUNTIMES, START_UP, TILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rounds import Entry

OUR_NAMES = (OURS, OURS_BY_SAMPLES)


@dataclass(frozen=True)
class Measured:
    """A network, its multiply-accumulates, and what each runtime took."""

    name: str
    macs: int
    entries: list[Entry]

    def of(self, runtime: str) -> Entry | None:
        """The entry of what is measured once only; None where it wasn't."""
        return next((e for e in self.entries if e.runtime == runtime and e.seconds), None)

    def peak(self) -> float:
        """Multiply-accumulates per second of the tile; 0 where it wasn't measured."""
        tile = self.of(TILE)
        return 0.0 if tile is None else tile.macs / min(tile.seconds)

    def ours(self, threads: int, batch: int, by: Callable[[list[float]], float]) -> Entry | None:
        """The fastest of our ways to do it, by the best or by the median of its runs."""
        here = [e for e in self.entries if (e.threads, e.batch) == (threads, batch) and e.runtime in OUR_NAMES]
        return min((e for e in here if e.seconds), key=lambda e: by(e.seconds), default=None)

    def record(self) -> dict[str, Any]:
        """Plain data. `ours_by_best` compares the best runs; `ours_by_turn` is the median, over the rounds, of the
        ratio of our median to the other's in the same round: other work of the machine changes more slowly.
        """
        start = self.of(START_UP)
        shown = [e for e in self.entries if e.runtime not in (TILE, START_UP) and e.left_out != ""]
        return {
            "name": self.name,
            "macs": self.macs,
            "tile_macs_per_second": round(self.peak()),
            "reference_start_seconds": None if start is None else min(start.seconds),
            "results": [self._result(entry) for entry in shown],
        }

    def _result(self, entry: Entry) -> dict[str, Any]:
        found: dict[str, Any] = {"runtime": entry.runtime, "threads": entry.threads, "batch": entry.batch}
        if not entry.seconds:
            return found | {"left_out": entry.left_out}
        best, middle = min(entry.seconds), median(entry.seconds)
        exact = RUNTIMES[entry.runtime].exact and not self.name.endswith(".fp32")
        found |= {"exact": exact, "note": entry.note, "runs": len(entry.seconds)}
        found |= {"best_seconds": best, "median_seconds": middle}
        found["macs_per_second"] = round(self.macs * entry.batch / best)
        fastest, usual = (self.ours(entry.threads, entry.batch, by) for by in (min, median))
        if fastest is not None and usual is not None and entry.runtime not in OUR_NAMES:
            found["ours_by_best"] = min(fastest.seconds) / best
            found["ours_by_turn"] = median(a / b for a, b in zip(usual.turns, entry.turns, strict=False))
        return found


def macs_of(model: Path) -> int:
    """0 where the engine doesn't read the model."""
    from tosa_engine.commands.inspect import summary
    from tosa_engine.errors import TosaEngineError
    from tosa_engine.load import load
    from tosa_engine.plan import expand

    try:
        macs: int = summary(expand(load(model)))["macs"]
    except TosaEngineError:
        return 0
    return macs


def environment() -> dict[str, Any]:
    """The date and the machine, without names of users, hosts or folders."""
    processor = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        processor = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), processor)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = [round(value, 2) for value in os.getloadavg()] if hasattr(os, "getloadavg") else []
    return {
        "date": date.today().isoformat(),
        "processor": processor,
        "cores": cores,
        "load_average": load,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


HEAD = f"{'best ms':>9} {'median':>9} {'runs':>5} {'ours/best':>9} {'ours/turn':>9} {'GMAC/s':>7}  bytes"


def report(measured: Measured, versions: dict[str, str]) -> str:
    """The table of one network."""
    record = measured.record()
    peak = record["tile_macs_per_second"] / 1e9
    lines = [
        f"\n{record['name']}: {record['macs'] / 1e6:,.1f} MMAC" + (f"; the tile: {peak:.0f} GMAC/s" if peak else "")
    ]
    for batch, threads in dict.fromkeys((r["batch"], r["threads"]) for r in record["results"]):
        here = [r for r in record["results"] if (r["batch"], r["threads"]) == (batch, threads)]
        title = f"  batch {batch}, {threads} thread{'s' * (threads > 1)}"
        lines.append(f"{title:36} {HEAD}")
        for result in here:
            name = f"{result['runtime']} {versions.get(result['runtime'], '')}".strip()
            numbers = result["left_out"] if "left_out" in result else _numbers(result) + _note(result, record)
            lines.append(f"    {name:32} {numbers}")
        lines += _fastest(here)
    return "\n".join(lines)


def _fastest(results: list[dict[str, Any]]) -> list[str]:
    """Our time as a multiple of the fastest other's."""
    others = [r for r in results if "ours_by_turn" in r]
    if not others:
        return []
    best, turn = (max(others, key=lambda r: r[f"ours_by_{kind}"]) for kind in ("best", "turn"))
    first = f"{_ratio(best['ours_by_best']).strip()} x the best of {best['runtime']}"
    second = f"{_ratio(turn['ours_by_turn']).strip()} x {turn['runtime']}, turn by turn"
    return [f"    ours: {first}; {second}"]


def _numbers(result: dict[str, Any]) -> str:
    times = [f"{1e3 * result[f'{kind}_seconds']:9.3f}" for kind in ("best", "median")]
    ratios = [_ratio(result.get(f"ours_by_{kind}")) for kind in ("best", "turn")]
    speed = f"{result['macs_per_second'] / 1e9:7.1f}"
    return " ".join([*times, f"{result['runs']:5}", *ratios, speed, "", "equal" if result["exact"] else "other"])


def _ratio(value: float | None) -> str:
    return f"{'':9}" if value is None else f"{value:9.2f}" if value >= 0.1 else f"{value:9.4f}"


def _note(result: dict[str, Any], record: dict[str, Any]) -> str:
    note: str = result["note"]
    if result["runtime"] == REFERENCE and record["reference_start_seconds"]:
        note += f", {1e3 * record['reference_start_seconds']:.0f} ms of it its start"
    return f"  ({note})" if note else ""


def markdown(record: dict[str, Any]) -> str:
    """Two tables for a page, best (median) milliseconds: at batch 1, and at the others. Ratios are of best runs."""
    parts = []
    for first in (True, False):
        rows = [row for network in record["networks"] for row in _rows(network, first)]
        names = list(dict.fromkeys(name for row in rows for name in row["cells"]))
        if not rows:
            continue
        head = ["network", "batch", "threads", *names, "ours / fastest other", "reference / ours"]
        parts += [head, ["---"] * len(head)]
        parts += [[*row["job"], *(row["cells"].get(name, "") for name in names), *row["ratios"]] for row in rows]
        parts.append([])
    return "\n".join(f"| {' | '.join(cells)} |" if cells else "" for cells in parts)


def _rows(network: dict[str, Any], first: bool) -> Iterator[dict[str, Any]]:
    """The lines of a network: at batch 1, or at the others."""
    chosen = [r for r in network["results"] if (r["batch"] == 1) == first]
    for batch, threads in dict.fromkeys((r["batch"], r["threads"]) for r in chosen):
        here = [r for r in chosen if (r["batch"], r["threads"]) == (batch, threads)]
        others = [r for r in here if "ours_by_best" in r and r["runtime"] != REFERENCE]
        fastest = max(others, key=lambda r: r["ours_by_best"], default=None)
        ratio = "" if fastest is None else f"{_ratio(fastest['ours_by_best']).strip()} ({fastest['runtime']})"
        slower = [f"{1 / r['ours_by_best']:,.0f}" for r in here if r["runtime"] == REFERENCE and "ours_by_best" in r]
        job = (network["name"], str(batch), str(threads))
        yield {"job": job, "cells": {r["runtime"]: _cell(r) for r in here}, "ratios": (ratio, "".join(slower))}


def _cell(result: dict[str, Any]) -> str:
    if "left_out" in result:
        reason: str = result["left_out"]
        return "other bytes" if reason == DIFFERENT else reason
    best, middle = 1e3 * result["best_seconds"], 1e3 * result["median_seconds"]
    return f"{_short(best)} ({_short(middle)})"


def _short(milliseconds: float) -> str:
    """Three digits, or all before the point."""
    return f"{milliseconds:,.0f}" if milliseconds >= 100 else f"{milliseconds:#.3g}"
