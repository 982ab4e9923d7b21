"""A sample of a file that tests can break, and what reading a broken one must give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tosa_engine import serialize, types
from tosa_engine.errors import DataError, Unsupported
from tosa_engine.graph import Graph, Location, Operator, Tensor
from tosa_engine.serialize.pack import record_of
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable


def sample() -> Graph:
    """A convolution, a CLAMP and a RESHAPE: constants of several formats, shapes, all kinds of attributes."""
    graph = TABLE["CONV2D"].example(TABLE["CONV2D"].rows[0]).graph()
    block = graph.main
    size = block.tensors["output"].size
    block.add(Tensor("clamped", types.i32, block.tensors["output"].shape))
    block.add(Tensor("wide", types.i48, (2,), np.asarray([-1, 1 << 40])))
    block.add(Tensor("sizes", types.shape, (1,), np.asarray([size])))
    block.add(Tensor("flat", types.i32, (size,)))
    block.operators += [
        Operator("CONST", [], ["wide"], location=Location(name="somewhere")),
        Operator("CONST_SHAPE", [], ["sizes"]),
        Operator("MAXIMUM", ["output", "output"], ["clamped"], {"nan_mode": "PROPAGATE"}),
        Operator("RESHAPE", ["clamped", "sizes"], ["flat"]),
    ]
    block.outputs = ["flat"]
    return graph


BINARY = serialize.tosa_to_bytes(sample())
EXTERNAL = serialize.tosa_to_bytes(sample(), external=True)
TEXT = serialize.json_to_text(sample())


def survives(read: Callable[[], Graph], name: str) -> Graph | None:
    """The graph; None where it was refused with an error of ours that names the file."""
    try:
        return read()
    except (DataError, Unsupported) as error:
        message = str(error)
    assert message.startswith(name)
    assert len(message) < 2000
    return None


def survives_binary(data: bytes) -> Graph | None:
    return survives(lambda: serialize.tosa_from_bytes(data, "bad.tosa"), "bad.tosa")


def survives_text(text: str) -> Graph | None:
    return survives(lambda: serialize.json_from_text(text, "bad.json"), "bad.json")


def record() -> Any:
    """The sample as a record that tests can break."""
    return record_of(sample())


def block_of(root: Any) -> Any:
    return root["regions"][0]["blocks"][0]


def tensor_of(root: Any, name: str) -> Any:
    return next(t for t in block_of(root)["tensors"] if t["name"] == name)


def operator_of(root: Any, code: int) -> Any:
    return next(op for op in block_of(root)["operators"] if op["op"] == code)


def change(root: Any, place: str, fields: dict[str, Any]) -> None:
    """Set fields of a record, None removes one; `place`: graph, region, block, tensor NAME, operator OP."""
    kind, _, name = place.partition(" ")
    places = {"graph": lambda: root, "region": lambda: root["regions"][0], "block": lambda: block_of(root)}
    places |= {"tensor": lambda: tensor_of(root, name), "operator": lambda: operator_of(root, TABLE[name].code)}
    target = places[kind]()
    target.update(fields)
    for field in [f for f, value in fields.items() if value is None]:
        del target[field]
