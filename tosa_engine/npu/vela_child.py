"""A process of its own that asks Vela: a program may end in it, hang, or print what it likes.

It gets settings as one line of JSON and then the bytes of a .tosa file, and gives one line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

OPTIONS: Final = """[compiler]
output_format=Raw
enable_db=true
[scheduler]
optimize=Performance
arena_size_limit={arena}
disable_feature=
cpu_tensor_alignment=16
"""


def configuration(settings: dict[str, Any]) -> str:
    import ethosu

    ini = next(Path(next(iter(ethosu.__path__))).rglob("vela.ini")).read_text(encoding="utf-8")
    chosen = {
        "architecture": {"macs": settings["macs"], "cores": settings["cores"]},
        "vela": {"system_config_name": settings["system"], "memory_mode_name": settings["memory"]},
    }
    lines = [f"[{name}]\n" + "".join(f"{k}={v}\n" for k, v in section.items()) for name, section in chosen.items()]
    return "".join(lines) + ini


def answer(settings: dict[str, Any], content: bytes) -> dict[str, Any]:
    from ethosu import regor

    options = OPTIONS.format(arena=settings["arena"])
    try:
        made = regor.compile(
            settings["architecture"], content, "TOSA", configuration(settings), options=options, verbose=False
        )
    except (RuntimeError, ValueError) as problem:
        return {"error": " ".join(str(problem).split())}
    report = made.perf_report
    memories = {
        name: {
            "peak": one.peakUsage,
            "cycles": one.totalAccessCycles,
            "read": sum(access.bytesRead for access in one.accesses.values()),
            "written": sum(access.bytesWritten for access in one.accesses.values()),
        }
        for name, one in report.memories.items()
    }
    return {
        "cycles": report.totalCycles, "npu_cycles": report.npuCycles, "macs": report.macCount,
        "on_cpu": report.cpuOps, "memories": memories, "rows": _rows(made.opt_database.tables),
    }  # fmt: skip


def _rows(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """What the operators of the NPU cost, each with the place in the file of the operator that it comes from."""
    source = tables["source"]
    key, place = source.header.index("id"), source.header.index("ext_key")
    places = {row[key]: row[place] for row in source.data}
    perf = tables["perf"]
    found = []
    for row in perf.data:
        one = dict(zip(perf.header, row, strict=True))
        found.append(
            {
                "place": int(places.get(one["source_id"], "-1") or -1),
                "cycles": int(one["op_cycles"]),
                "npu_cycles": int(one["npu_cycles"]),
                "macs": int(one["mac_count"]),
            }
        )
    return found


def main() -> None:
    out = os.dup(1)
    os.dup2(2, 1)  # what Vela prints isn't the answer
    line = sys.stdin.buffer.readline()
    said = json.dumps(answer(json.loads(line), sys.stdin.buffer.read())) + "\n"
    with os.fdopen(out, "w", encoding="utf-8") as stream:
        stream.write(said)


if __name__ == "__main__":
    main()
