"""What a graph costs on an Ethos-U, as Vela (the extra `vela`) computes it: cycles, memory, traffic, by operator."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final

from .. import serialize
from ..errors import Unsupported, UsageError
from .ethos_u import CLOCKS, ETHOS_U
from .figures import VELA, Costs, OperatorCost

if TYPE_CHECKING:
    from ..graph import Graph
    from .rules import Npu

SECONDS: Final = 600
# what the program `vela` takes for each family where it is told nothing: the configuration, the memory mode, and the
# bytes of the cache for tensors
USUAL: Final = {
    "u55": ("EthosU55", "Ethos_U55_High_End_Embedded", "Shared_Sram", 1 << 32),
    "u65": ("EthosU65", "Ethos_U65_Client_Server", "Dedicated_Sram_384KB", 384 << 10),
    "u85": ("EthosU85", "Ethos_U85_SYS_DRAM_Mid", "Dedicated_Sram_384KB", 384 << 10),
}


def available() -> bool:
    return importlib.util.find_spec("ethosu") is not None


def knows(npu: Npu) -> bool:
    """Whether it is one of Arm's, as it is named."""
    return ETHOS_U.get(npu.name) is npu


def costs(graph: Graph, name: str, seconds: float = SECONDS) -> Costs:
    """What Vela says of a graph for the processor of this name, with its usual settings.

    Raises:
        UsageError: Vela isn't installed.
        Unsupported: Vela refuses the graph, ends, or takes more than `seconds`.
    """
    if not available():
        raise UsageError("Vela isn't installed; try: pip install 'tosa-engine[vela]'")
    _, family, size = name.split("-")
    architecture, system, memory, arena = USUAL[family]
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
        name, VELA, CLOCKS[name.split("-")[1]], found["cycles"], found["npu_cycles"], found["macs"],
        found["macs"] / most if most else 0.0, made, found["memories"], unnamed,
    )  # fmt: skip
