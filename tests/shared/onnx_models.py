"""Small ONNX models for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

FLOAT = TensorProto.FLOAT


def model(
    nodes: list[Any], inputs: dict[str, Any], outputs: list[str], constants: dict[str, Any] | None = None, **more: Any
) -> Any:
    """A ModelProto. `inputs`: name -> shape, or (element type, shape)."""
    ports = []
    for name, kind in inputs.items():
        code, shape = kind if isinstance(kind, tuple) else (FLOAT, kind)
        ports.append(helper.make_tensor_value_info(name, code, shape))
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    held = [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", ports, ends, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("own", 1)], **more)


def written(folder: Path, proto: Any) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    return path
