"""The schema of TOSA files as data: tables, fields with their numbers, enumerations.

Both forms of a file, flatbuffer and JSON, decode to and encode from *records*: a record is a dict of the fields of one
table that are present, by name. Enumerations are held as numbers. The tables of operators' attributes aren't listed
here: they come from the op table (`attribute_table`). Operators that the op table lacks still have a name here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .. import types
from ..spec import TABLE
from ..spec.table import ENUMERATIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..spec.table import OpSpec

Record = dict[str, Any]
IDENTIFIER: Final = b"TOSA"

# The kinds of fields, with their width in bytes inside a flatbuffer table (offsets to things elsewhere take 4).
WIDTHS: Final[Mapping[str, int]] = {
    "bool": 1, "union": 1, "i32": 4, "u32": 4, "u64": 8, "enum": 4,
    "string": 4, "bytes": 4, "i32s": 4, "strings": 4, "table": 4, "tables": 4, "attribute": 4,
    "i64s": 4, "f32s": 4, "place": 4,
}  # fmt: skip
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "i32": (-(1 << 31), (1 << 31) - 1), "u32": (0, (1 << 32) - 1), "u64": (0, (1 << 64) - 1),
    "enum": (0, (1 << 32) - 1), "union": (0, 255), "i32s": (-(1 << 31), (1 << 31) - 1), "bytes": (0, 255),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Enumeration:
    """An enumeration of the schema; number 0 is UNKNOWN in all of them."""

    name: str
    values: Mapping[str, int]
    names: Mapping[int, str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", {value: name for name, value in self.values.items()})

    def name_of(self, number: int) -> str | None:
        return self.names.get(number)


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its number in the table, its kind (a key of `WIDTHS`), and what it holds where the kind says so."""

    name: str
    id: int
    kind: str
    table: Table | None = None
    enum: Enumeration | None = None
    default: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    fields: tuple[Field, ...]
    by_name: Mapping[str, Field] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {f.name: f for f in self.fields})

    def field(self, name: str) -> Field | None:
        return self.by_name.get(name)


# In the order of their numbers, from 1.
_OPERATORS: Final = """
    ARGMAX AVG_POOL2D CONV2D CONV3D DEPTHWISE_CONV2D FFT2D MATMUL MAX_POOL2D RFFT2D TRANSPOSE_CONV2D CLAMP ERF SIGMOID
    TANH ADD ARITHMETIC_RIGHT_SHIFT BITWISE_AND BITWISE_OR BITWISE_XOR INTDIV LOGICAL_AND LOGICAL_LEFT_SHIFT
    LOGICAL_RIGHT_SHIFT LOGICAL_OR LOGICAL_XOR MAXIMUM MINIMUM MUL POW SUB TABLE ABS BITWISE_NOT CEIL CLZ COS EXP FLOOR
    LOG LOGICAL_NOT NEGATE RECIPROCAL RSQRT SIN SELECT EQUAL GREATER GREATER_EQUAL REDUCE_ALL REDUCE_ANY REDUCE_MAX
    REDUCE_MIN REDUCE_PRODUCT REDUCE_SUM CONCAT PAD RESHAPE REVERSE SLICE TILE TRANSPOSE GATHER SCATTER RESIZE CAST
    RESCALE CONST IDENTITY CUSTOM COND_IF WHILE_LOOP VARIABLE VARIABLE_WRITE VARIABLE_READ CONST_SHAPE
    MATMUL_T_BLOCK_SCALED CAST_FROM_BLOCK_SCALED CAST_TO_BLOCK_SCALED DIM CONCAT_SHAPE ADD_SHAPE SUB_SHAPE MUL_SHAPE
    SLICE_SHAPE EXP2_SHAPE LOG2_CEIL_SHAPE LOG2_FLOOR_SHAPE MAX_SHAPE MIN_SHAPE MOD_SHAPE DIV_CEIL_SHAPE
    DIV_FLOOR_SHAPE ASSERT_EQUAL_SHAPE CONV2D_BLOCK_SCALED MAX_POOL2D_ADAPTIVE AVG_POOL2D_ADAPTIVE RESHAPE_BLOCK_SCALED
    ROW_GATHER_BLOCK_SCALED ROW_GATHER MATMUL_T
""".split()  # noqa: SIM905

DTYPE: Final = Enumeration("DType", {"UNKNOWN": 0, **{t.schema: t.code for t in types.ALL}})
_SCHEMA_NAMES: Final = {
    "nan_mode": "NanPropagationMode", "resize_mode": "ResizeMode", "rounding_mode": "RoundingMode",
}  # fmt: skip
MODES: Final = {kind: Enumeration(_SCHEMA_NAMES[kind], {"UNKNOWN": 0, **words}) for kind, words in ENUMERATIONS.items()}
BLOCK_SHAPE: Final = Enumeration("BlockShape", {"UNKNOWN": 0, "BLOCK_SHAPE_32": 32})
OP: Final = Enumeration("Op", {"UNKNOWN": 0, **{name: code for code, name in enumerate(_OPERATORS, 1)}})

VERSION: Final = Table("Version", (
    Field("_major", 0, "i32", default=-1),
    Field("_minor", 1, "i32", default=-1),
    Field("_patch", 2, "i32", default=-1),
    Field("_draft", 3, "bool", default=1),
))  # fmt: skip
SOFTWARE_VERSION: Final = Table("SoftwareVersion", (
    Field("_major", 0, "i32", default=-1),
    Field("_minor", 1, "i32", default=-1),
    Field("_micro", 2, "i32", default=-1),
    Field("_modifier", 3, "string"),
))  # fmt: skip
COMPATIBILITY: Final = Table("SerializationCompatibility", (
    Field("min_reader_version", 0, "table", SOFTWARE_VERSION),
    Field("features", 1, "u64"),
))  # fmt: skip
TENSOR: Final = Table("TosaTensor", (
    Field("name", 0, "string"),
    Field("shape", 1, "i32s"),
    Field("type", 2, "enum", enum=DTYPE),
    Field("data", 3, "bytes"),
    Field("variable", 4, "bool"),
    Field("is_unranked", 5, "bool"),
    Field("variable_name", 6, "string"),
    Field("offset", 7, "u64"),
    Field("size", 8, "u64"),
    Field("scale_type", 9, "enum", enum=DTYPE),
    Field("scale_data", 10, "bytes"),
    Field("block_shape", 11, "enum", enum=BLOCK_SHAPE),
    Field("scale_offset", 12, "u64"),
    Field("scale_size", 13, "u64"),
))  # fmt: skip
SHAPE: Final = Table("TosaShape", (Field("name", 0, "string"), Field("rank", 1, "u32"), Field("data", 2, "bytes")))
LOCATION: Final = Table("OpLocation", (Field("text", 0, "string"),))
OPERATOR: Final = Table("TosaOperator", (
    Field("op", 0, "enum", enum=OP),
    Field("attribute_type", 1, "union"),
    Field("attribute", 2, "attribute"),
    Field("inputs", 3, "strings"),
    Field("outputs", 4, "strings"),
    Field("location", 5, "table", LOCATION),
))  # fmt: skip
BLOCK: Final = Table("TosaBasicBlock", (
    Field("name", 0, "string"),
    Field("operators", 1, "tables", OPERATOR),
    Field("tensors", 2, "tables", TENSOR),
    Field("inputs", 3, "strings"),
    Field("outputs", 4, "strings"),
    Field("shapes", 5, "tables", SHAPE),
))  # fmt: skip
REGION: Final = Table("TosaRegion", (Field("name", 0, "string"), Field("blocks", 1, "tables", BLOCK)))
GRAPH: Final = Table("TosaGraph", (
    Field("version", 0, "table", VERSION),
    Field("regions", 1, "tables", REGION),
    Field("software_version", 2, "table", SOFTWARE_VERSION),
    Field("compatibility", 3, "table", COMPATIBILITY),
))  # fmt: skip
VERSION_ONLY: Final = Table("TosaGraph", GRAPH.fields[:1])

_ATTRIBUTE_FIELDS: Final[Mapping[str, tuple[str, Enumeration | None]]] = {
    "i32": ("i32", None), "bool": ("bool", None), "value": ("bytes", None), "acc_type": ("enum", DTYPE),
    "string": ("string", None), "graph": ("string", None), "bytes": ("bytes", None),
    **{kind: ("enum", enumeration) for kind, enumeration in MODES.items()},
}  # fmt: skip


def _attribute_table(spec: OpSpec) -> Table:
    fields = []
    for attribute in spec.attributes:
        if attribute.field is None:
            continue
        kind, enum = _ATTRIBUTE_FIELDS.get(attribute.kind, ("i32s", None))
        fields.append(Field(attribute.name, attribute.field, kind, enum=enum))
    return Table(f"{spec.schema}Attribute", tuple(sorted(fields, key=lambda f: f.id)))


_ATTRIBUTES: Final[Mapping[int, Table]] = {spec.code: _attribute_table(spec) for spec in TABLE.values()}
# The names of attribute tables of operators that the op table lacks differ from the operator's only in case and `_`.
_UNION: Final[Mapping[str, int]] = {f"{n.replace('_', '')}ATTRIBUTE": code for n, code in OP.values.items() if code}


def attribute_table(code: int) -> Table | None:
    """The table of attributes of an operator, by its number; None for operators that the op table lacks."""
    return _ATTRIBUTES.get(code)


def union_code(name: str) -> int | None:
    """The number of a table of attributes in the union of them all: that of its operator. `NONE` is 0."""
    return 0 if name == "NONE" else _UNION.get(name.upper())


def operator_name(code: int) -> str:
    """The operator's name; numbers that this schema lacks are kept as `OP_<number>`."""
    return OP.name_of(code) or f"OP_{code}"
