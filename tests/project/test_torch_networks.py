"""examples/torch_networks: what its table calls a problem, and the command itself where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "torch_networks"
NEEDED = ("torch", "torch_to_nnef", "nnef_tools", "onnx", "onnxruntime", "onnxscript", "onnxsim", "sklearn", "PIL")


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("torch_networks_table", EXAMPLE / "table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_what_the_command_calls_a_problem(table: ModuleType) -> None:
    def rows(int8: float, near: float = 120.0) -> list:
        return [
            table.Row("gru", "accuracy", "torch.onnx", (98.0, int8, 98.0), (near, 30.0, 60.0)),
            table.Row("gru", "accuracy", table.PEER, (98.0, 97.5, None), (120.0, 30.0, None)),
        ]

    assert table.problems(rows(97.5)) == []
    assert table.problems(rows(97.4)) == ["gru, torch.onnx: int8 is behind ONNX Runtime's"]
    assert table.problems(rows(98, 50)) == ["gru, torch.onnx: floats differ from PyTorch's (50.0 dB)"]
    refused = table.Row("gru", "accuracy", "torch_to_nnef", refused="NNEF.T4")
    missing = table.Row("gru", "accuracy", "nnef_tools", missing="no GRU")
    assert table.problems([*rows(98), refused, missing]) == ["gru, torch_to_nnef: refused: NNEF.T4"]
    assert refused.cells()[2] == "refused: NNEF.T4"
    assert rows(97.5)[0].cells() == ["gru", "torch.onnx", "98.00 %", "97.50 %", "98.00 %", "30.0 dB", "60.0 dB"]


@pytest.mark.slow("trains five networks in PyTorch")
def test_five_networks_reach_the_int8_of_onnx_runtime(tmp_path: Path) -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs the extra `torch` ({', '.join(missing)}): make networks")
    page = tmp_path / "page.md"
    line = [sys.executable, EXAMPLE / "run.py", "--out", tmp_path, "--markdown", page]
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    rows = re.findall(r"^\| ([^|]+), \w+ \| ([\w. ]+) \|", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len({task for task, _ in rows}) == 5
    assert {by for _, by in rows} == {"PyTorch", "ONNX Runtime", "torch.onnx", "torch_to_nnef", "nnef_tools"}
