"""Run a .tosa file in Arm's reference model, once per sample: python reference.py MODEL.tosa SAMPLES.npy OUTPUTS.npy

A process of its own, because the reference model writes to stderr as it likes. Needs the package tosa-tools.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tosa_reference_model


def main(model: str, samples: str, outputs: str) -> None:
    """Samples are stacked along a new first axis, and so are the results of the only output."""
    graph = Path(model).read_bytes()
    results = []
    for sample in np.load(samples, allow_pickle=False):
        (result, *_), status = tosa_reference_model.run(graph, [sample])
        if status != tosa_reference_model.GraphStatus.TOSA_VALID:
            sys.exit(f"the reference model says {status}")
        results.append(result)
    np.save(outputs, np.stack(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
