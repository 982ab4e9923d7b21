"""Records -> Graph: names resolved, constants decoded, attributes by the op table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .. import types
from ..errors import DataError, Unsupported
from ..graph import Block, Graph, Location, Operator, Region, Tensor
from ..spec import TABLE
from ..text import NAME, shown
from . import data, schema, variables, versions

if TYPE_CHECKING:
    from ..spec.table import Attribute, OpSpec
    from ..types import Array, DType, Shape
    from .schema import Record


UNKNOWN: Final = "loc(unknown)"  # how MLIR writes that there is no place
LONGEST_SHAPE: Final = 2 * types.MAX_RANK  # PAD has two elements for each dimension


def graph_of(root: Record, file: str, outside: bytes = b"") -> Graph:
    """The graph of a TosaGraph record. `outside` is the whole file where constants may lie beside the flatbuffer.

    Raises:
        DataError: a version that isn't read, names that are missing or given twice, data that doesn't fit its shape.
        Unsupported: block-scaled tensors (drafts of 1.1).
    """
    version, draft = versions.version(root, file)
    versions.check_features(root, file)
    return _Unpacker(file, outside).graph(root, Graph([], version, draft, source=file))


class _Unpacker:
    def __init__(self, file: str, outside: bytes) -> None:
        self.file, self.outside = file, outside
        self.outside_budget = 4 * len(outside)
        self.where = ""
        self.scaled: list[str] = []

    def error(self, message: str, *, node: str = "", tensor: str = "") -> DataError:
        return DataError(f"{self.file}: {self.where}{message}", node=node, tensor=tensor)

    def graph(self, root: Record, graph: Graph) -> Graph:
        names: set[str] = set()
        for record in root.get("regions", ()):
            region = Region(self._fresh_name(record, "region", names))
            block_names: set[str] = set()
            for inner in record.get("blocks", ()):
                name = self._fresh_name(inner, "block", block_names)
                region.blocks.append(self._block(inner, Block(name), region))
                self.where = ""
            if not region.blocks:
                raise self.error(f"region '{shown(region.name, NAME)}' has no blocks")
            graph.regions.append(region)
        if not graph.regions:
            raise self.error("the graph has no regions")
        if self.scaled:
            raise self._scaled_problem(graph)
        variables.take_up(graph)
        return graph

    def _scaled_problem(self, graph: Graph) -> Unsupported:
        unknown = sorted({op.op for _, block in graph.blocks() for op in block.operators} - set(TABLE))
        scaled, others = shown(", ".join(self.scaled), NAME), shown(", ".join(unknown), NAME) or "none"
        message = f"{self.file}: block-scaled tensors (TOSA 1.1 draft) aren't supported: {scaled}"
        return Unsupported(f"{message}; operators that aren't supported: {others}")

    def _fresh_name(self, record: Record, what: str, taken: set[str]) -> str:
        name: str = record.get("name", "")
        if name in taken:
            raise self.error(f"two {what}s are called '{shown(name, NAME)}'")
        taken.add(name)
        return name

    def _block(self, record: Record, block: Block, region: Region) -> Block:
        self.where = f"region '{shown(region.name, NAME)}', block '{shown(block.name, NAME)}': "
        operators = record.get("operators", ())
        constants = {n for op in operators if op.get("op") in _CONSTANT_CODES for n in op.get("outputs", ())}
        for kind, read_one in (("tensors", self._tensor), ("shapes", self._shape)):
            for inner in record.get(kind, ()):
                name = inner.get("name", "")
                if not name:
                    raise self.error("a tensor has no name")
                if name in block.tensors:
                    raise self.error(f"two tensors are called '{shown(name, NAME)}'")
                block.tensors[name] = read_one(inner, name, name in constants)
        block.inputs, block.outputs = list(record.get("inputs", ())), list(record.get("outputs", ()))
        for side, names in (("inputs", block.inputs), ("outputs", block.outputs)):
            missing = [n for n in names if n not in block.tensors]
            if missing:
                raise self.error(f"{side} that are no tensors of the block: {shown(', '.join(missing), NAME)}")
        if len(set(block.inputs)) < len(block.inputs):
            raise self.error("the same tensor stands twice in the inputs")
        for inner in operators:
            block.operators.append(self._operator(inner, block))
        return block

    def _tensor(self, record: Record, name: str, constant: bool) -> Tensor:
        dtype = types.BY_CODE.get(record.get("type", 0))
        if dtype is None:
            raise self.error(f"data type {record.get('type', 0)} isn't one of the schema's", tensor=name)
        if dtype is types.shape:
            raise self.error("a tensor of type SHAPE stands among the tensors, not the shapes", tensor=name)
        shape: Shape | None = tuple(record.get("shape", ()))
        if len(record.get("shape", ())) > types.MAX_RANK:
            raise self.error(f"{len(record['shape'])} dimensions, at most {types.MAX_RANK} are read", tensor=name)
        if record.get("is_unranked", False):
            if shape:
                raise self.error(f"an unranked tensor has the shape {list(shape)}", tensor=name)
            shape = None
        if record.get("scale_type", 0) or record.get("scale_data") or record.get("scale_size", 0):
            self.scaled.append(name)
            return Tensor(name, dtype, shape)
        values = self._values(self._raw(record, name), dtype, shape, name, constant)
        tensor = Tensor(name, dtype, shape, values)
        tensor.variable, tensor.variable_name = record.get("variable", False), record.get("variable_name", "")
        return tensor

    def _raw(self, record: Record, name: str) -> bytes | memoryview:
        """The bytes of a tensor's data: in the record, or beside the flatbuffer."""
        inline: bytes | memoryview = record.get("data", b"")
        offset, size = record.get("offset", 0), record.get("size", 0)
        if offset <= 1:
            return inline
        if len(inline):
            raise self.error("data both inside and outside of the flatbuffer", tensor=name)
        self.outside_budget -= size
        if offset + size > len(self.outside) or self.outside_budget < 0:
            beyond = f"its data, {size} bytes at offset {offset}, lies outside of the file ({len(self.outside)} bytes)"
            raise self.error(beyond, tensor=name)
        return memoryview(self.outside)[offset : offset + size]

    def _values(
        self, raw: bytes | memoryview, dtype: DType, shape: Shape | None, name: str, constant: bool
    ) -> Array | None:
        if not len(raw) and not (constant and shape is not None and types.count(shape) == 0):
            return None
        if shape is None:
            raise self.error("an unranked tensor has data", tensor=name)
        try:
            return data.decode(raw, dtype, shape)
        except data.ValueProblem as problem:
            raise self.error(str(problem), tensor=name) from None

    def _shape(self, record: Record, name: str, constant: bool) -> Tensor:
        shape = (record.get("rank", 0),)
        if shape[0] > LONGEST_SHAPE:
            raise self.error(f"a shape of {shape[0]} elements, at most {LONGEST_SHAPE} are read", tensor=name)
        values = self._values(record.get("data", b""), types.shape, shape, name, constant)
        return Tensor(name, types.shape, shape, values)

    def _operator(self, record: Record, block: Block) -> Operator:
        code = variables.true_code(record)
        op = Operator(schema.operator_name(code), list(record.get("inputs", ())), list(record.get("outputs", ())))
        text = record.get("location", {}).get("text", "")
        op.location = Location(name=text) if text not in ("", UNKNOWN) else None
        if code == 0:
            raise self.error("an operator of unknown kind", node=op.name)
        if record.get("attribute_type", 0) not in (0, code):
            found = schema.operator_name(record["attribute_type"])
            raise self.error(f"{op.op} has the attributes of {found}", node=op.name)
        spec = TABLE.get(op.op)
        if spec is not None and spec.attributes:
            if "attribute" not in record:
                raise self.error(f"{op.op} has no attributes", node=op.name)
            for attribute in spec.attributes:
                if attribute.field is None:
                    continue
                value = self._attribute(attribute, record["attribute"], op, spec, block)
                if value is not None:
                    op.attributes[attribute.name] = value
        return op

    def _attribute(self, attribute: Attribute, record: Record, op: Operator, spec: OpSpec, block: Block) -> Any:
        """The value of an attribute; None where an enumeration is left UNKNOWN."""
        name, kind = attribute.name, attribute.kind
        if kind == "bool":
            return record.get(name, False)
        if kind == "i32":
            return record.get(name, 0)
        if kind.startswith("i32["):
            return tuple(record.get(name, ()))
        if kind in ("string", "graph"):
            return record.get(name, "")
        if kind == "bytes":
            return bytes(record.get(name, b""))
        if kind == "value":
            return self._number(record.get(name, b""), attribute, op, spec, block)
        code = record.get(name, 0)
        if code == 0:
            return None
        table = schema.attribute_table(spec.code)
        field = table.field(name) if table is not None else None
        assert field is not None
        assert field.enum is not None
        value = field.enum.name_of(code)
        if value is None:
            raise self.error(f"{op.op}: {name} {code} isn't one of {field.enum.name}", node=op.name)
        return types.BY_SCHEMA[value] if kind == "acc_type" else value

    def _number(
        self, raw: bytes | memoryview, attribute: Attribute, op: Operator, spec: OpSpec, block: Block
    ) -> int | float | bytes:
        dtype = value_dtype(attribute, op, spec, block)
        if dtype is None:
            return bytes(raw)  # the operator's tensors are missing: `check` says so
        try:
            return data.decode_number(raw, dtype)
        except data.ValueProblem as problem:
            raise self.error(f"{op.op}: {attribute.name}: {problem}", node=op.name) from None


_CONSTANT_CODES = {TABLE["CONST"].code, TABLE["CONST_SHAPE"].code}


def value_dtype(attribute: Attribute, op: Operator, spec: OpSpec, block: Block) -> DType | None:
    """The format of a `value` attribute: that of the first input that shares its type variable."""
    for argument, name in zip(spec.inputs, op.inputs, strict=False):
        if argument.type == attribute.type and name in block.tensors:
            return block.tensors[name].dtype
    return None
