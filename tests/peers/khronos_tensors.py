"""Tensor files by the Khronos tools (PyPI `nnef`): arguments are an .npz and a folder. It has no imports of ours.

Each `NAME.dat` in the folder is read into `NAME.npy`; each array of the .npz is written to `ARRAY.theirs`.
"""

import pathlib
import sys

import nnef
import numpy as np

if __name__ == "__main__":
    arrays, folder = np.load(sys.argv[1]), pathlib.Path(sys.argv[2])
    for path in folder.glob("*.dat"):
        with path.open("rb") as file:
            np.save(path.with_suffix(".npy"), nnef.read_tensor(file))
    for name, array in arrays.items():
        with (folder / f"{name}.theirs").open("wb") as file:
            nnef.write_tensor(file, array)
