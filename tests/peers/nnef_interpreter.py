"""Runs NNEF documents with the PyTorch interpreter of PyPI `nnef_tools`. It has no imports of ours.

Argument: a folder of cases. Each case is a folder with a document `m.nnef` and its inputs by name in `inputs.npz`; it
gets its outputs by name in `outputs.npz`, or `problem.txt` with what the interpreter said. The operations that it has
are printed as a JSON list.
"""

import json
import pathlib
import sys
import warnings

import numpy as np
from nnef_tools.interpreter.pytorch import Interpreter
from nnef_tools.interpreter.pytorch.nnef_operators import Operators

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for case in sorted(path.parent for path in pathlib.Path(sys.argv[1]).glob("*/inputs.npz")):
        inputs = np.load(case / "inputs.npz")
        try:
            interpreter = Interpreter(str(case / "m.nnef"), decomposed=[])
            outputs = interpreter([inputs[tensor.name] for tensor in interpreter.input_details()])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
            (case / "problem.txt").write_text(f"{type(error).__name__}: {error}")
        else:
            np.savez(case / "outputs.npz", **outputs)
    json.dump(sorted(Operators), sys.stdout)
