"""Other consumers of TOSA files, as commands: Arm's reference model, Vela, IREE."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BIN = Path(sys.executable).parent
REFERENCE = HERE.parents[1] / "examples" / "digits" / "reference.py"


def run(*command: object, folder: Path) -> str:
    """What a command prints to its standard output; AssertionError with all it says where it fails."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, f"{' '.join(words)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def cpu_operators(model: Path, folder: Path) -> int:
    """How many operators Vela leaves to the CPU."""
    return cpu_operators_in(
        run(BIN / "vela", model, "--accelerator-config", "ethos-u85-256", "--output-dir", folder, folder=folder)
    )


def cpu_operators_in(report: str) -> int:
    found = re.search(r"^CPU operators = (\d+) ", report, re.MULTILINE)
    assert found, f"Vela's report doesn't say how many CPU operators there are:\n{report}"
    return int(found[1])


def iree_outputs(model: Path, samples: np.ndarray, folder: Path) -> np.ndarray:
    """The output for each sample, compiled by IREE for this machine's processor."""
    empty, text, module = folder / "empty.mlir", folder / "model.mlir", folder / "model.vmfb"
    empty.write_text("module {}\n", encoding="utf-8")
    # tosa-opt and IREE print the short form of operators differently; both read the generic form
    deserialize = f"--tosa-deserialize=tosa-flatbuffer-filename={model}"
    run(BIN / "tosa-opt", deserialize, "--mlir-print-op-generic", empty, "-o", text, folder=folder)
    flags = ("--iree-input-type=tosa", "--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")
    run(BIN / "iree-compile", *flags, text, "-o", module, folder=folder)
    return _outputs(HERE / "iree_outputs.py", module, samples, folder)


def reference_outputs(model: Path, samples: np.ndarray, folder: Path) -> np.ndarray:
    """The output for each sample, from tosa_reference_model."""
    return _outputs(REFERENCE, model, samples, folder)


def _outputs(script: Path, model: Path, samples: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "samples.npy", samples)
    run(sys.executable, script, model, folder / "samples.npy", folder / "outputs.npy", folder=folder)
    return np.load(folder / "outputs.npy", allow_pickle=False)
