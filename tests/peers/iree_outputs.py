"""Run a compiled IREE module, once per sample: python iree_outputs.py MODEL.vmfb SAMPLES.npy OUTPUTS.npy

A process of its own, so that IREE's threads and warnings stay out of the tests'.
"""

from __future__ import annotations

import sys

import iree.runtime
import numpy as np


def main(model: str, samples: str, outputs: str) -> None:
    """Samples are stacked along a new first axis, and so are the results of the only output."""
    config = iree.runtime.Config("local-sync")
    module = iree.runtime.load_vm_module(iree.runtime.VmModule.mmap(config.vm_instance, model), config)
    results = [module["main"](sample).to_host() for sample in np.load(samples, allow_pickle=False)]
    np.save(outputs, np.stack(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
