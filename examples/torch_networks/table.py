"""What the command found, as a Markdown page."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from quant.metrics import Reading

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES = ("torch", "torch_to_nnef", "nnef_tools", "onnx", "onnxruntime", "scikit-learn", "numpy")
PEER = "ONNX Runtime"
FLOAT_NOISE = 80.0  # dB; floats that add up in another order are better than that
HEAD = """# Five networks of PyTorch

Made by `make networks`: change `examples/torch_networks/`, not this page. Five networks are trained on data that
scikit-learn ships, exported by public exporters, and quantized from the exported files, which nobody edits:

    tosa-engine quantize tract.nnef.tgz --data calibration.npy --bits 8 -o tract.nnef.tgz.int8.tosa

| by | file |
|---|---|
| torch.onnx | ONNX, as `torch.onnx.export` writes it |
| torch_to_nnef | NNEF for the runtime tract |
| nnef_tools | NNEF that `nnef_tools` makes of an ONNX file of opset 14 |
| ONNX Runtime | the first file; int8 by `quantize_static` |

ONNX Runtime's int8 has QDQ and weights per channel, after `quant_pre_process`, from the same calibration samples; what
it can't quantize, as a GRU, stays float there. So does the last SUB of the denoiser, whose output isn't rounded to 8
bits: on 64 calibration samples it has 48.3 dB, with that rounding 46.2 dB, and tosa-engine's int8 46.8 dB.

The metric is of test samples that neither training nor calibration saw. *SQNR* compares their outputs with PyTorch's.
"""


@dataclass(frozen=True)
class Row:
    """One network by one way. `metric` and `sqnr` are of float, int8 and int16; None: there is none."""

    task: str
    name: str
    by: str
    metric: Sequence[float | None] = (None, None, None)
    sqnr: Sequence[float | None] = (None, None, None)
    missing: str = ""  # why the exporter wrote nothing
    refused: str = ""  # why tosa-engine didn't read or quantize what it wrote

    def cells(self) -> list[str]:
        if self.missing:
            return [self.task, self.by, f"not exported: {self.missing}", "", "", "", ""]
        if self.refused:
            return [self.task, self.by, f"refused: {self.refused}", "", "", "", ""]
        values = ["" if value is None else Reading(self.name, value).shown for value in self.metric]
        noise = ["" if value is None else f"{value:.1f} dB" for value in self.sqnr[1:]]
        return [self.task, self.by, *values, *noise]


def problems(rows: Sequence[Row]) -> list[str]:
    """What isn't as it should be: a file that is refused, other floats, or an int8 that is behind."""
    found = []
    for task in dict.fromkeys(row.task for row in rows):
        theirs = next(row.metric[1] for row in rows if row.task == task and row.by == PEER)
        for row in (row for row in rows if row.task == task and row.by != PEER):
            if row.refused:
                found.append(f"{task}, {row.by}: refused: {row.refused}")
            if row.sqnr[0] is not None and row.sqnr[0] < FLOAT_NOISE:
                found.append(f"{task}, {row.by}: floats differ from PyTorch's ({row.sqnr[0]:.1f} dB)")
            if theirs is not None and row.metric[1] is not None and row.metric[1] < theirs:
                found.append(f"{task}, {row.by}: int8 is behind {PEER}'s")
    return found


def page(rows: Sequence[Row]) -> str:
    head = ["network", "by", "float", "int8", "int16", "SQNR int8", "SQNR int16"]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *(row.cells() for row in rows))]
    lines.insert(1, "|---|---|" + "---:|" * (len(head) - 2))
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    today = dt.datetime.now(tz=dt.timezone.utc).date()
    return f"{HEAD}\n{today}; {versions}.\n\n" + "\n".join(lines) + "\n"
