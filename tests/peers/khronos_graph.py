"""A document by the Khronos tools (PyPI `nnef`): prints the sums of its data and its quantization as JSON."""

import json
import sys

import nnef
import numpy as np

if __name__ == "__main__":
    graph = nnef.load_graph(sys.argv[1])
    found = {}
    for name, tensor in graph.tensors.items():
        values = {key: np.asarray(value).tolist() for key, value in (tensor.quantization or {}).items()}
        total = None if tensor.data is None else float(np.asarray(tensor.data).sum(dtype=np.float64))
        found[name] = {"shape": tensor.shape, "sum": total, "quantization": values}
    print(json.dumps(found))
