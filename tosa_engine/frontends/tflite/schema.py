"""The fields of a TFLite flatbuffer that this front end reads, and the numbers of its element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ... import types
from ...serialize.schema import Field, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...types import DType

IDENTIFIER: Final = b"TFL3"

QUANTIZATION: Final = Table("QuantizationParameters", (
    Field("scale", 2, "f32s"),
    Field("zero_point", 3, "i64s"),
))  # fmt: skip
TENSOR: Final = Table("Tensor", (
    Field("shape", 0, "i32s"),
    Field("shape_at", 0, "place"),
    Field("type", 1, "union"),
    Field("name", 3, "string"),
    Field("quantization", 4, "table", QUANTIZATION),
    Field("signature", 7, "i32s"),
    Field("signature_at", 7, "place"),
))  # fmt: skip
OPERATOR: Final = Table("Operator", (
    Field("opcode", 0, "u32"),
    Field("inputs", 1, "i32s"),
    Field("outputs", 2, "i32s"),
))  # fmt: skip
SUBGRAPH: Final = Table("SubGraph", (
    Field("tensors", 0, "tables", TENSOR),
    Field("inputs", 1, "i32s"),
    Field("outputs", 2, "i32s"),
    Field("operators", 3, "tables", OPERATOR),
))  # fmt: skip
OPERATOR_CODE: Final = Table("OperatorCode", (
    Field("old_code", 0, "union"),
    Field("code", 3, "i32"),
))  # fmt: skip
MODEL: Final = Table("Model", (
    Field("version", 0, "u32"),
    Field("codes", 1, "tables", OPERATOR_CODE),
    Field("subgraphs", 2, "tables", SUBGRAPH),
))  # fmt: skip

QUANTIZE: Final = 114

# The number of an element type -> its name; what carries it in the graph, where TOSA has that; signed.
ELEMENTS: Final[Mapping[int, tuple[str, DType | None, bool]]] = {
    0: ("float32", types.fp32, True), 1: ("float16", types.fp16, True), 2: ("int32", types.i32, True),
    3: ("uint8", types.i8, False), 4: ("int64", None, True), 5: ("string", None, True), 6: ("bool", types.bool_, True),
    7: ("int16", types.i16, True), 8: ("complex64", None, True), 9: ("int8", types.i8, True),
    10: ("float64", None, True), 11: ("complex128", None, True), 12: ("uint64", None, False),
    13: ("resource", None, True), 14: ("variant", None, True), 15: ("uint32", types.i32, False),
    16: ("uint16", types.i16, False), 17: ("int4", types.i4, True), 18: ("bfloat16", types.bf16, True),
}  # fmt: skip
