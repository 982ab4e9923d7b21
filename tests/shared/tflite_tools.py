"""TFLite files for tests, written with the package `flatbuffers`: one subgraph of tensors and operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import flatbuffers
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FLOAT32, INT32, UINT8, INT64, INT16, INT8 = 0, 2, 3, 4, 7, 9
ADD, CUSTOM, DEQUANTIZE, RELU, TANH, QUANTIZE = 0, 32, 6, 19, 28, 114
CALLED_BEHIND = 127  # codes from here on are in the wide field alone


@dataclass
class Held:
    """A tensor: `scale` holds scale and zero point, `data` makes it a constant."""

    name: str
    shape: Sequence[int]
    kind: int = FLOAT32
    signature: Sequence[int] | None = None
    scale: tuple[float, int] | None = None
    data: Any = None


@dataclass
class Node:
    """An operator by its code; `custom` is the name of a CUSTOM one, `options` the number of its options' type."""

    code: int
    inputs: Sequence[int]
    outputs: Sequence[int]
    custom: str = ""
    options: int = 0


def tflite(tensors: Sequence[Held], nodes: Sequence[Node], inputs: Sequence[int], outputs: Sequence[int]) -> bytes:
    """The file."""
    b = flatbuffers.Builder(1024)
    buffers = [_table(b, {})]
    held = [_tensor(b, one, buffers) for one in tensors]
    codes = [_code(b, node) for node in nodes]
    operators = [
        _table(b, {
            0: ("uint32", number), 1: ("at", _numbers(b, node.inputs)), 2: ("at", _numbers(b, node.outputs)),
            **({3: ("uint8", node.options), 4: ("at", _table(b, {}))} if node.options else {}),
        })
        for number, node in enumerate(nodes)
    ]  # fmt: skip
    graph = _table(b, {
        0: ("at", _tables(b, held)), 1: ("at", _numbers(b, inputs)), 2: ("at", _numbers(b, outputs)),
        3: ("at", _tables(b, operators)), 4: ("at", b.CreateString("main")),
    })  # fmt: skip
    model = _table(b, {
        0: ("uint32", 3), 1: ("at", _tables(b, codes)), 2: ("at", _tables(b, [graph])),
        3: ("at", b.CreateString("made for a test")), 4: ("at", _tables(b, buffers)),
    })  # fmt: skip
    b.Finish(model, b"TFL3")
    return bytes(b.Output())


def _tensor(b: Any, one: Held, buffers: list[int]) -> int:
    number = 0
    if one.data is not None:
        number = len(buffers)
        content = b.CreateNumpyVector(np.frombuffer(np.ascontiguousarray(one.data).tobytes(), np.uint8))
        buffers.append(_table(b, {0: ("at", content)}))
    fields: dict[int, tuple[str, int]] = {
        0: ("at", _numbers(b, one.shape)), 1: ("uint8", one.kind), 2: ("uint32", number),
        3: ("at", b.CreateString(one.name)),
    }  # fmt: skip
    if one.scale is not None:
        scales = b.CreateNumpyVector(np.array(one.scale[:1], np.float32))
        zeros = b.CreateNumpyVector(np.array(one.scale[1:], np.int64))
        fields[4] = ("at", _table(b, {2: ("at", scales), 3: ("at", zeros)}))
    if one.signature is not None:
        fields[7] = ("at", _numbers(b, one.signature))
    return _table(b, fields)


def _code(b: Any, node: Node) -> int:
    fields = {0: ("uint8", min(node.code, CALLED_BEHIND)), 3: ("int32", node.code), 2: ("int32", 1)}
    if node.custom:
        fields[1] = ("at", b.CreateString(node.custom))
    return _table(b, fields)


def _numbers(b: Any, numbers: Sequence[int]) -> int:
    return int(b.CreateNumpyVector(np.array(numbers, np.int32)))


def _tables(b: Any, places: Sequence[int]) -> int:
    b.StartVector(4, len(places), 4)
    for place in reversed(places):
        b.PrependUOffsetTRelative(place)
    return int(b.EndVector())


def _table(b: Any, fields: dict[int, tuple[str, int]]) -> int:
    put: dict[str, Callable[[int, int, int], None]] = {
        "at": b.PrependUOffsetTRelativeSlot, "uint8": b.PrependUint8Slot, "uint32": b.PrependUint32Slot,
        "int32": b.PrependInt32Slot,
    }  # fmt: skip
    b.StartObject(max(fields, default=-1) + 1)
    for number, (kind, value) in fields.items():
        put[kind](number, value, 0)
    return int(b.EndObject())
