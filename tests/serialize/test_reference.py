"""Our files under Arm's tools: the schema's facts, `flatc` both ways, and the reference model on every row."""

from __future__ import annotations

import json
import re
import subprocess
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import Session, arrays, serialize, types
from tosa_engine.builder import Builder
from tosa_engine.serialize import schema
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from tosa_engine.graph import Graph
    from tosa_engine.spec import OpSpec, Row

pytestmark = pytest.mark.reference
TOOLS = Path(sysconfig.get_path("scripts"))
ROWS = [(spec, row) for spec in TABLE.values() for row in spec.rows]
NOT_IN_THE_MODEL = {
    "CONST_SHAPE": "has no graph output: a shape can't be one",
    "CUSTOM": "the model knows no operators of users",
    "VARIABLE": "files leave it out, or the model can't read them (docs/errata.md)",
    "VARIABLE_WRITE": "its example has no graph output; see test_variables",
}
RUN = [(spec, row) for spec, row in ROWS if spec.name not in NOT_IN_THE_MODEL]
KINDS = {
    "bool": "bool", "i32": "int32", "u32": "uint32", "u64": "ulong|uint64", "string": "string", "bytes": r"\[ubyte\]",
    "i32s": r"\[int32\]", "strings": r"\[string\]", "union": "Attribute", "attribute": "Attribute",
}  # fmt: skip


@pytest.fixture(scope="module")
def fbs() -> Path:
    """The schema that tosa-tools brings."""
    pytest.importorskip("tosa_reference_model", reason="needs tosa-tools, the extra `conformance`")
    return Path(sysconfig.get_path("purelib")) / "bin" / "tosa.fbs"


def body(text: str, kind: str, name: str) -> list[str]:
    found = re.search(rf"^{kind} {name}\b[^{{]*{{(.*?)^}}", text, re.DOTALL | re.MULTILINE)
    assert found, name
    return [part.strip() for part in re.split("[,;]", found.group(1)) if part.strip()]


def official(fbs: Path) -> str:
    return re.sub("//.*", "", fbs.read_text(encoding="utf-8"))


def test_enumerations(fbs: Path) -> None:
    for enum in (schema.DTYPE, schema.OP, *schema.MODES.values(), schema.BLOCK_SHAPE):
        values: dict[str, int] = {}
        for entry in body(official(fbs), "enum", enum.name):
            name, _, number = entry.partition("=")
            values[name.strip()] = int(number) if number else max(values.values()) + 1
        assert enum.values == values


def test_tables(fbs: Path) -> None:
    """Our tables are those of the schema, field by field; attributes come from the op table."""
    text = official(fbs)
    attributes = [schema.attribute_table(spec.code) for spec in TABLE.values()]
    tables = [schema.VERSION, schema.SOFTWARE_VERSION, schema.COMPATIBILITY, schema.TENSOR, schema.SHAPE]
    tables += [schema.LOCATION, schema.OPERATOR, schema.BLOCK, schema.REGION, schema.GRAPH, *filter(None, attributes)]
    assert len(tables) == 10 + len(TABLE)
    for table in tables:
        entries = body(text, "table", table.name)
        if table is schema.OPERATOR:
            entries.insert(1, "attribute_type: Attribute")  # the union's own field
        assert [f.id for f in table.fields] == list(range(len(entries)))
        for field, entry in zip(table.fields, entries, strict=True):
            found = re.fullmatch(r"(\w+)\s*:\s*([^\s=(]+)\s*(?:=\s*(\S+))?\s*(?:\(.*\))?", entry)
            assert found
            wanted = KINDS.get(field.kind) or (field.enum or field.table).name  # type: ignore[union-attr]
            wanted = rf"\[{wanted}\]" if field.kind == "tables" else wanted
            assert found.group(1) == field.name
            assert re.fullmatch(wanted, found.group(2)), (table.name, entry)
            default = {"true": 1, "false": 0, None: 0}.get(found.group(3), found.group(3))
            assert int(default or 0) == field.default


def test_union_of_attributes(fbs: Path) -> None:
    names = body(official(fbs), "union", "Attribute")
    assert [schema.union_code(name) for name in names] == list(range(1, len(names) + 1))


def flatc(fbs: Path, folder: Path, *arguments: object) -> None:
    command = [TOOLS / "flatc", "-o", folder, *arguments]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_flatc_reads_both_forms_and_means_the_same(fbs: Path, tmp_path: Path) -> None:
    graphs = {f"g{i}": spec.example(row).graph() for i, (spec, row) in enumerate(ROWS)}
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    for name, graph in graphs.items():
        serialize.write(graph, ours / f"{name}.tosa")
        serialize.write(graph, ours / f"{name}.json")
    flatc(fbs, theirs, "--json", "--strict-json", "--defaults-json", "--raw-binary", fbs, "--", *ours.glob("*.tosa"))
    flatc(fbs, theirs, "--binary", fbs, *ours.glob("*.json"))
    for name, graph in graphs.items():
        content = serialize.tosa_to_bytes(graph)
        for suffix in (".json", ".tosa"):
            assert serialize.tosa_to_bytes(serialize.read(theirs / f"{name}{suffix}")) == content


def run_reference(graph: Graph, folder: Path, *, external: bool) -> int:
    """The reference model's exit status on ones (and different indices): 0 valid, 1 unpredictable, 2 error."""
    serialize.write(graph, folder / "g.tosa", external=external)
    for i, tensor in enumerate(graph.inputs):
        assert tensor.shape is not None
        values = np.arange(tensor.size) % 4 if tensor.name == "indices" else np.ones(tensor.size)
        arrays.write(folder / f"in{i}.npy", {tensor.name: values.reshape(tensor.shape).astype(tensor.dtype.storage)})
    description = {
        "tosa_file": "g.tosa",
        "ifm_name": [t.name for t in graph.inputs],
        "ifm_file": [f"in{i}.npy" for i in range(len(graph.inputs))],
        "ofm_name": [graph.outputs[0].name],
        "ofm_file": ["out.npy"],
        "expected_failure": False,
    }
    (folder / "desc.json").write_text(json.dumps(description))
    command = [TOOLS / "tosa_reference_model", "--test_desc", "desc.json"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


@pytest.mark.parametrize("write_first", [False, True])
def test_variables(fbs: Path, tmp_path: Path, write_first: bool) -> None:
    """The reference model and tosa-opt take variables as we write them; the order of reading and writing counts."""
    b = Builder()
    b.op("VARIABLE", name="v", var_shape=(2, 3), type=types.i8, initial_value=np.arange(6, dtype=np.int8).reshape(2, 3))
    x = b.input(types.i8, (2, 3), "x")
    if write_first:
        b.op("VARIABLE_WRITE", x, name="v")
    b.output(b.op("VARIABLE_READ", name="v", dtype=types.i8, output="old"))
    if not write_first:
        b.op("VARIABLE_WRITE", x, name="v")
    graph = b.graph()
    assert run_reference(graph, tmp_path, external=False) == 0
    (wanted,) = Session(graph).run(None, {"x": np.ones((2, 3), np.int8)})
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), wanted)
    empty = tmp_path / "empty.mlir"
    empty.write_text("module {}\n")
    command = [TOOLS / "tosa-opt", f"--tosa-deserialize=tosa-flatbuffer-filename={tmp_path / 'g.tosa'}", empty]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"tosa\.variable(?:_read|_write)? @v", text) == [
        "tosa.variable @v", *sorted(["tosa.variable_read @v", "tosa.variable_write @v"], reverse=write_first)
    ]  # fmt: skip


@pytest.mark.parametrize("external", [False, True], ids=["inline", "external"])
@pytest.mark.parametrize(("spec", "row"), RUN, ids=[f"{spec.name}-{row.key}" for spec, row in RUN])
def test_the_reference_model_takes_every_row(fbs: Path, tmp_path: Path, spec: OpSpec, row: Row, external: bool) -> None:
    assert run_reference(spec.example(row).graph(), tmp_path, external=external) == 0


def test_the_reference_model_reads_constants_as_we_mean_them(fbs: Path, tmp_path: Path) -> None:
    for dtype, values in (
        (types.i4, [-7, 7, 1, -1, 0]), (types.i48, [1 << 46, -(1 << 47), -1]), (types.i16, [-300, 300]),
        (types.bool_, [True, False, True]), (types.i8, [-128, 127]), (types.fp32, [1.5, -2.25]),
    ):  # fmt: skip
        case = TABLE["CONST"].example(TABLE["CONST"].row(dtype.name))
        case.output("output", dtype, (len(values),), values)
        for external in (False, True):
            assert run_reference(case.graph(), tmp_path, external=external) == 0
            assert np.load(tmp_path / "out.npy").tolist() == values
