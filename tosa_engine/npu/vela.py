"""What a graph costs on an Ethos-U, as Vela (the extra `vela`) computes it: cycles, memory, traffic, by operator."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .. import serialize
from ..errors import Unsupported, UsageError
from .ethos_u import ETHOS_U

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph

SECONDS: Final = 600
# what the program `vela` takes for each family where it is told nothing: the configuration, the memory mode, the bytes
# of the cache for tensors, and the configuration's clock
USUAL: Final = {
    "u55": ("EthosU55", "Ethos_U55_High_End_Embedded", "Shared_Sram", 1 << 32, 500e6),
    "u65": ("EthosU65", "Ethos_U65_Client_Server", "Dedicated_Sram_384KB", 384 << 10, 1e9),
    "u85": ("EthosU85", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB", 384 << 10, 1e9),
}


@dataclass(frozen=True)
class OperatorCost:
    """Of an operator of the graph, with those that Vela computes in one step with it: cycles of the step and of the
    NPU's arithmetic alone, and products.
    """

    node: str
    op: str
    cycles: int
    npu_cycles: int
    macs: int


@dataclass(frozen=True)
class Costs:
    """`clock` in Hz. Cycles, of the NPU and with waiting for memory; per memory its peak in bytes, access cycles and
    bytes read and written. `macs` are those that Vela counts; `unnamed` cycles belong to no operator of the graph.
    """

    target: str
    clock: float
    cycles: int
    npu_cycles: int
    macs: int
    utilisation: float
    memories: Mapping[str, Mapping[str, int]]
    operators: tuple[OperatorCost, ...]
    unnamed: int


def available() -> bool:
    return importlib.util.find_spec("ethosu") is not None


def known_to_vela(name: str | None) -> None:
    """Raise UsageError where Vela isn't installed, or doesn't know a processor that is named."""
    if name is None:
        return
    if name not in ETHOS_U:
        raise UsageError(f"Vela knows no '{name}'; it knows {', '.join(ETHOS_U)}")
    if not available():
        raise UsageError("cycles come from Vela; try: pip install 'tosa-engine[vela]'")


def costs(graph: Graph, name: str, seconds: float = SECONDS) -> Costs:
    """What Vela says of a graph for the processor of this name, with its usual settings.

    Raises:
        UsageError: Vela isn't installed, or doesn't know the processor.
        Unsupported: Vela refuses the graph, ends, or takes more than `seconds`.
    """
    known_to_vela(name)
    _, family, size = name.split("-")
    architecture, system, memory, arena, _ = USUAL[family]
    cores = 2 if name == "ethos-u65-512" else 1
    settings = {
        "architecture": architecture, "macs": int(size) // cores, "cores": cores, "system": system, "memory": memory,
        "arena": arena,
    }  # fmt: skip
    content = serialize.tosa_to_bytes(graph)
    return _read(name, int(size), _asked(settings, content, seconds), serialize.tosa_from_bytes(content))


def _asked(settings: dict[str, Any], content: bytes, seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "tosa_engine.npu.vela_child"]
    given = json.dumps(settings).encode() + b"\n" + content
    try:
        done = subprocess.run(command, input=given, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Unsupported(f"Vela takes more than {seconds:g} s", label="TARGET.vela") from None
    if done.returncode != 0 or not done.stdout:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Unsupported(f"Vela ended with {done.returncode}: {said[-1] if said else ''}", label="TARGET.vela")
    found: dict[str, Any] = json.loads(done.stdout)
    if "error" in found:
        raise Unsupported(f"Vela refuses the graph: {found['error']}", label="TARGET.vela")
    return found


def _read(name: str, size: int, found: dict[str, Any], written: Graph) -> Costs:
    rows: dict[int, list[int]] = {}
    unnamed = 0
    operators = written.main.operators
    for row in found["rows"]:
        if 0 <= row["place"] < len(operators):
            sums = rows.setdefault(row["place"], [0, 0, 0])
            for i, key in enumerate(("cycles", "npu_cycles", "macs")):
                sums[i] += row[key]
        else:
            unnamed += row["cycles"]
    made = tuple(OperatorCost(operators[i].name, operators[i].op, *sums) for i, sums in sorted(rows.items()))
    most = size * found["cycles"]
    return Costs(
        name, USUAL[name.split("-")[1]][-1], found["cycles"], found["npu_cycles"], found["macs"],
        found["macs"] / most if most else 0.0,
        found["memories"], made, unnamed,
    )  # fmt: skip
