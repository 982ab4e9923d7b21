"""What the recipes share: commands that are shown and run, and a table of what is left of a network."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tosa_engine import cli

if TYPE_CHECKING:
    from collections.abc import Mapping


def enter_folder(what: str | None, default: str) -> None:
    """Go where the files are written."""
    parser = argparse.ArgumentParser(description=(what or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(default), help=f"where the files go; default: {default}")
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)


def run(commands: str) -> None:
    """Show each command and run it in this process."""
    for line in commands.strip().splitlines():
        print(f"$ {line}", flush=True)
        if code := cli.main(line.split()[1:]):
            raise SystemExit(code)


def accuracy(scores: np.ndarray, labels: np.ndarray) -> str:
    return f"accuracy {100 * np.mean(scores.argmax(1) == labels):6.2f} %"


def r2(values: np.ndarray, wanted: np.ndarray) -> str:
    off, spread = np.square(values.reshape(-1) - wanted).sum(), np.square(wanted - wanted.mean()).sum()
    return f"R2 {1 - off / spread:7.4f}"


def show(outputs: Mapping[str, tuple[str, np.ndarray]]) -> None:
    """Names, a metric, and how near the values are to those of the first."""
    first = next(values for _, values in outputs.values()).astype(np.float64)
    for name, (metric, values) in outputs.items():
        noise = float(np.square(values.reshape(first.shape) - first).sum())
        near = f"{10 * np.log10(np.square(first).sum() / noise):6.1f} dB" if noise else ""
        print(f"{name:14}{metric}  {near}".rstrip())
