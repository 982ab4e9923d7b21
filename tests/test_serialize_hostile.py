"""Damaged and malicious files: one clear error that names the file and the place, never another exception."""

from __future__ import annotations

import json
import random
import struct
import time
from typing import TYPE_CHECKING, Any

import flatbuffers
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine import serialize, types
from tosa_engine.errors import DataError, ParseError, TosaEngineError, Unsupported
from tosa_engine.graph import Graph, Location, Operator, Tensor
from tosa_engine.serialize import binary_write, schema
from tosa_engine.serialize.json_read import Parser
from tosa_engine.serialize.pack import record_of
from tosa_engine.spec import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


@pytest.mark.parametrize("data", [BINARY, EXTERNAL], ids=["inline", "external"])
def test_truncated_at_every_byte(data: bytes) -> None:
    last = max(i for i, byte in enumerate(data) if byte) + 1  # zeros at the end may be padding
    for length in range(last):
        with pytest.raises(DataError, match=r"^bad\.tosa: "):
            serialize.tosa_from_bytes(data[:length], "bad.tosa")


def test_text_truncated_at_every_character() -> None:
    for length in range(len(TEXT.rstrip())):
        with pytest.raises(ParseError, match=r"^bad\.json:\d+:\d+: "):
            serialize.json_from_text(TEXT[:length], "bad.json")


@pytest.mark.parametrize("data", [BINARY, EXTERNAL], ids=["inline", "external"])
def test_every_byte_flipped(data: bytes) -> None:
    refused = 0
    for at, byte in enumerate(data):
        for other in (0, 0xFF, byte ^ 1, byte ^ 0x80):
            refused += survives_binary(data[:at] + bytes([other]) + data[at + 1 :]) is None
    assert refused > len(data)


def test_every_word_replaced() -> None:
    words = (0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFC, len(BINARY), len(BINARY) - 4)
    for at in range(0, len(BINARY) - 3, 4):
        for word in words:
            survives_binary(BINARY[:at] + struct.pack("<I", word) + BINARY[at + 4 :])


def test_characters_replaced() -> None:
    for at in range(0, len(TEXT), 3):
        for other in '"{]x9,\\':
            survives_text(TEXT[:at] + other + TEXT[at + 1 :])


def test_what_is_read_from_damaged_files_can_be_written_or_is_refused() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        damaged = bytearray(BINARY)
        for _ in range(rng.choice((1, 2, 4))):
            damaged[rng.randrange(8, len(damaged))] = rng.randrange(256)
        graph = survives_binary(bytes(damaged))
        if graph is not None:
            try:
                again = serialize.tosa_to_bytes(graph)
            except TosaEngineError:
                continue
            assert serialize.tosa_to_bytes(serialize.tosa_from_bytes(again)) == again


@given(st.binary(max_size=300), st.booleans())
def test_random_bytes(data: bytes, dressed: bool) -> None:
    survives_binary(data[:4] + b"TOSA" + data[4:] if dressed else data)


@given(st.data())
def test_random_splices(data: st.DataObject) -> None:
    cut = data.draw(st.integers(8, len(BINARY)))
    survives_binary(
        BINARY[:cut] + data.draw(st.binary(max_size=64)) + BINARY[data.draw(st.integers(cut, len(BINARY))) :]
    )


@given(st.data())
def test_random_text_splices(data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(TEXT)))
    middle = data.draw(st.text(st.sampled_from('{}[]",:\\ue019-.atfn\n\x00é'), max_size=20))
    survives_text(TEXT[:cut] + middle + TEXT[data.draw(st.integers(cut, len(TEXT))) :])


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


SIZES = 12 * 0x7FFFFFFF**2
GRAPH_MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("graph", {"version": None}, "the graph has no version"),
    ("graph", {"regions": None}, "the graph has no regions"),
    ("graph", {"compatibility": {"features": 7 | 1 << 63}},
     "the file needs compatibility features that this reader doesn't know: 2, 63"),
    ("graph", {"regions": [{"name": "a", "blocks": [{}]}, {"name": "a"}]}, "two regions are called 'a'"),
    ("region", {"blocks": []}, "region 'main' has no blocks"),
    ("region", {"blocks": [{"name": "a\n"}, {"name": "a\n"}]}, "two blocks are called 'a?'"),
]  # fmt: skip
BLOCK_MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("block", {"outputs": ["flat", "no", "n" * 500]},
     f"outputs that are no tensors of the block: no, {'n' * 196}..."),
    ("block", {"inputs": ["input", "input"]}, "the same tensor stands twice in the inputs"),
    ("tensor clamped", {"name": "flat"}, "two tensors are called 'flat'"),
    ("tensor clamped", {"name": "sizes"}, "two tensors are called 'sizes'"),
    ("tensor clamped", {"name": None}, "a tensor has no name"),
    ("tensor flat", {"type": 19}, "data type 19 isn't one of the schema's (tensor 'flat')"),
    ("tensor flat", {"type": None}, "data type 0 isn't one of the schema's (tensor 'flat')"),
    ("tensor flat", {"type": 10}, "a tensor of type SHAPE stands among the tensors, not the shapes (tensor 'flat')"),
    ("tensor wide", {"is_unranked": True}, "an unranked tensor has the shape [2] (tensor 'wide')"),
    ("tensor wide", {"is_unranked": True, "shape": None}, "an unranked tensor has data (tensor 'wide')"),
    ("tensor wide", {"shape": [3]}, "shape [3] of i48 needs 18 bytes of data, got 12 (tensor 'wide')"),
    ("tensor wide", {"shape": [1]},
     "shape [1] of i48 needs 6 bytes of data, got 12, and the rest isn't zero (tensor 'wide')"),
    ("tensor wide", {"shape": [2, 0x7FFFFFFF, 0x7FFFFFFF]},
     f"shape [2, 2147483647, 2147483647] of i48 needs {SIZES} bytes of data, got 12 (tensor 'wide')"),
    ("tensor wide", {"shape": [0, 0x7FFFFFFF, 0x7FFFFFFF], "data": b"\0"},
     "shape [0, 2147483647, 2147483647] is beyond any array (tensor 'wide')"),
    ("tensor wide", {"shape": [-2]},
     "constant data needs a shape of at most 32 dimensions >= 0, got [-2] (tensor 'wide')"),
    ("tensor wide", {"type": 1, "data": b"\1\x09"}, "a bool is 0 or 1, got 9 at element 1 (tensor 'wide')"),
    ("tensor wide", {"offset": 8, "size": 12}, "data both inside and outside of the flatbuffer (tensor 'wide')"),
    ("operator MAXIMUM", {"attribute_type": 27}, "MAXIMUM has the attributes of MINIMUM (node 'clamped')"),
    ("operator MAXIMUM", {"attribute": None}, "MAXIMUM has no attributes (node 'clamped')"),
    ("operator MAXIMUM", {"attribute": {"nan_mode": 3}},
     "MAXIMUM: nan_mode 3 isn't one of NanPropagationMode (node 'clamped')"),
    ("operator MAXIMUM", {"op": None}, "an operator of unknown kind (node 'clamped')"),
    ("operator MAXIMUM", {"op": 11, "attribute_type": 11, "attribute": {"min_val": b"123"}},
     "CLAMP: min_val: shape [] of i32 needs 4 bytes of data, got 3 (node 'clamped')"),
]  # fmt: skip
MISTAKES = [(*m[:2], f"bad.tosa: {m[2]}") for m in GRAPH_MISTAKES]
MISTAKES += [(*m[:2], f"bad.tosa: region 'main', block 'main': {m[2]}") for m in BLOCK_MISTAKES]


@pytest.mark.parametrize(("place", "fields", "message"), MISTAKES, ids=[m[2][-60:] for m in MISTAKES])
def test_one_message_for_each_mistake(place: str, fields: dict[str, Any], message: str) -> None:
    root = record()
    change(root, place, fields)
    with pytest.raises(DataError) as caught:
        serialize.tosa_from_bytes(binary_write.write(root), "bad.tosa")
    assert str(caught.value) == message


def test_block_scaled_tensors_are_listed_with_the_operators_that_are_missing() -> None:
    root = record()
    change(root, "tensor wide", {"scale_type": 16})
    change(root, "tensor flat", {"scale_data": b"1"})
    change(root, "operator MAXIMUM", {"op": 99, "attribute_type": None, "attribute": None})
    with pytest.raises(Unsupported) as caught:
        serialize.tosa_from_bytes(binary_write.write(root), "mx.tosa")
    assert str(caught.value) == (
        "mx.tosa: block-scaled tensors (TOSA 1.1 draft) aren't supported: wide, flat; "
        "operators that aren't supported: ROW_GATHER"
    )


@pytest.mark.parametrize("version", [(0, 80, 1), (1, 2, 0), (2, 0, 0), (-1, -1, -1)])
def test_other_versions_are_refused_by_name(version: tuple[int, int, int]) -> None:
    graph = sample()
    graph.version = version
    name = ".".join(map(str, version))
    message = (
        f"the file is of TOSA version {name}; versions 1.0.x and 1.1 (draft) are read. "
        "Make the file anew from its source with the converter set to TOSA 1.0"
    )
    for read in (
        lambda: serialize.tosa_from_bytes(serialize.tosa_to_bytes(graph), "old"),
        lambda: serialize.json_from_text(serialize.json_to_text(graph), "old"),
    ):
        with pytest.raises(DataError) as caught:
            read()
        assert str(caught.value) == f"old: {message}"


@pytest.mark.parametrize("version", [(1, 0, 0), (1, 0, 2), (1, 1, 0)])
def test_versions_that_are_read(version: tuple[int, int, int]) -> None:
    graph = sample()
    graph.version = version
    for draft in (True, False):
        graph.draft = draft
        again = serialize.tosa_from_bytes(serialize.tosa_to_bytes(graph))
        assert (again.version, again.draft) == (version, draft)


def test_an_old_layout_is_refused_for_its_version() -> None:
    """Whatever follows the version of a file that isn't read, isn't looked at."""
    text = '{"version": {"_major": 0, "_minor": 80}, "regions": [{"unheard": 1.5}]}'
    with pytest.raises(DataError, match=r"TOSA version 0\.80\.-1; versions"):
        serialize.json_from_text(text, "old")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "bad.tosa: not a TOSA file: 0 bytes are too few"),
        (b"PK\3\4....", "bad.tosa: not a TOSA file: the identifier is b'....', not b'TOSA'"),
        (b"\xff\xff\xff\xffTOSA", "bad.tosa: byte 4294967295: TosaGraph: beyond the end of the file (8 bytes)"),
        (b"\4\0\0\0TOSA", f"bad.tosa: byte {4 - 0x41534F54}: TosaGraph, vtable: beyond the end of the file (8 bytes)"),
    ],
)
def test_no_flatbuffer_at_all(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        serialize.tosa_from_bytes(data, "bad.tosa")
    assert str(caught.value) == message


def test_names_that_are_not_utf8() -> None:
    at = BINARY.index(b"clamped\0")
    with pytest.raises(DataError, match=rf"^bad\.tosa: byte {at + 2}: .*: not UTF-8: invalid start byte$"):
        serialize.tosa_from_bytes(BINARY[: at + 2] + b"\xff" + BINARY[at + 3 :], "bad.tosa")


def test_data_outside_of_the_file() -> None:
    root = record()
    wide = tensor_of(root, "wide")
    wide.pop("data")
    wide.update(offset=1 << 63, size=12)
    with pytest.raises(
        DataError, match=rf"its data, 12 bytes at offset {1 << 63}, lies outside of the file \(\d+ bytes\)"
    ):
        serialize.tosa_from_bytes(binary_write.write(root), "bad.tosa")
    text = TEXT.replace('"name": "wide",', '"name": "wide", "offset": 8, "size": 12,')
    text = text.replace('"data": [255,255,255,255,255,255,0,0,0,0,0,1]', '"data": []')
    with pytest.raises(DataError, match=r"lies outside of the file \(0 bytes\) \(tensor 'wide'\)"):
        serialize.json_from_text(text, "bad.json")


def bomb(fan_out: int) -> bytes:
    """Regions, blocks and operators that are all the same one: small as a file, huge when followed."""
    builder = flatbuffers.Builder(1024)

    def repeated(place: int) -> int:
        builder.StartVector(4, fan_out, 4)
        for _ in range(fan_out):
            builder.PrependUOffsetTRelative(place)
        return int(builder.EndVector())

    def table(fields: int, **offsets: int) -> int:
        builder.StartObject(fields)
        for slot, place in offsets.items():
            builder.PrependUOffsetTRelativeSlot(int(slot[1:]), place, 0)
        return int(builder.EndObject())

    name = builder.CreateString(b"n")
    operators = repeated(table(6, _3=repeated(name)))
    blocks = repeated(table(6, _0=name, _1=operators))
    regions = repeated(table(2, _0=name, _1=blocks))
    builder.StartObject(4)
    builder.PrependInt32Slot(0, 1, -1)
    builder.PrependInt32Slot(1, 0, -1)
    version = builder.EndObject()
    builder.Finish(table(4, _0=version, _1=regions), b"TOSA")
    return bytes(builder.Output())


def test_a_small_file_cannot_become_a_large_graph() -> None:
    data = bomb(20_000)
    start = time.process_time()
    with pytest.raises(DataError, match="the file refers to the same bytes over and over"):
        serialize.tosa_from_bytes(data, "bomb.tosa")
    assert time.process_time() - start < 10  # of processor time; it must not hang


def test_the_same_outside_bytes_cannot_become_many_constants() -> None:
    root = record()
    size = 1 << 16
    block_of(root)["tensors"] += [
        {"name": f"t{i}", "type": 3, "shape": [size], "offset": 8, "size": size} for i in range(200)
    ]
    data = binary_write.write(root).ljust(size + 8, b"\0")
    with pytest.raises(DataError, match=r"lies outside of the file|over and over"):
        serialize.tosa_from_bytes(data, "bomb.tosa")


def test_surplus_zeros_are_padding() -> None:
    """Writers pad to 8 bytes; some write a zero point for each channel where the shape says one."""
    root = record()
    for name, surplus in (("wide", 4), ("weight_zp", 63)):
        tensor_of(root, name)["data"] += bytes(surplus)
    again = serialize.tosa_from_bytes(binary_write.write(root))
    assert serialize.tosa_to_bytes(again) == BINARY


JSON_MISTAKES = [
    ("", 1, 1, "expected '{', the start of a TosaGraph"),
    ("[" * 100_000, 1, 1, "expected '{', the start of a TosaGraph"),
    ('{"regions": ' + "[" * 100_000, 1, 14, "expected '{', the start of a TosaRegion"),
    ("{" * 100_000, 1, 2, "expected the name of a field: a string"),
    ("{}\n {}", 2, 2, "more text after the graph"),
    ('{"regions": []', 1, 15, "expected ',' or '}' in a TosaGraph"),
    ('{"regions": [],}', 1, 16, "expected the name of a field: a string"),
    ('{"regions": [],\n "regions": []}', 2, 2, "the field 'regions' stands here twice"),
    ('{"regions" []}', 1, 12, "expected ':'"),
    (
        '{"region": []}',
        1,
        2,
        "TosaGraph has no field 'region'; its fields: version, regions, software_version, compatibility",
    ),
    ('{"version": {"_major": 1.0}}', 1, 24, "expected _major: an integer"),
    ('{"version": {"_major": NaN}}', 1, 24, "expected _major: an integer"),
    ('{"version": {"_major": null}}', 1, 24, "expected _major: an integer"),
    ('{"version": {"_major": 01}}', 1, 24, "expected _major: an integer"),
    ('{"version": {"_major": 2147483648}}', 1, 24, "_major 2147483648 isn't within -2147483648 to 2147483647"),
    ('{"version": {"_major": ' + "9" * 100_000 + "}}", 1, 24, "expected _major: an integer"),
    ('{"version": {"_draft": 1}}', 1, 24, "expected _draft: true or false"),
    ('{"regions": [{"name": 7}]}', 1, 23, "expected name: a string"),
    ('{"regions": [{"name": "a\\x"}]}', 1, 25, "in a string: Invalid \\escape"),
    ('{"regions": [{"name": "\\ud800"}]}', 1, 23, "a string with half of a surrogate pair"),
    ('{"regions": [{"name": "a\n"}]}', 1, 25, "in a string: Invalid control character at"),
    ('{"regions": [{}, {"blocks": {}}]}', 1, 29, "expected blocks: '[', the start of a list"),
]
TENSOR_MISTAKES = [
    ('"shape": 3', 10, "expected shape: '[', the start of a list of integers"),
    ('"shape": [1, 2', 15, "shape: expected integers"),
    ('"shape": [1, [2]]', 14, "shape: expected integers"),
    ('"shape": [1, NaN]', 14, "shape: expected integers"),
    ('"shape": [1, 2.5]', 15, "shape: expected integers"),
    ('"shape": [1, , 2]', 14, "shape: Expecting value"),
    ('"shape": [1 2]', 13, "shape: Expecting ',' delimiter"),
    ('"shape": [1, -2147483649]', 14, "shape: -2147483649 isn't within -2147483648 to 2147483647"),
    ('"shape": [' + "9" * 5000 + "]", 10, "shape: a number of too many digits"),
    ('"data": [1, -1]', 13, "data: -1 isn't within 0 to 255"),
    ('"data": [25, 256, 2]', 14, "data: 256 isn't within 0 to 255"),
    ('"size": -1', 9, "size -1 isn't within 0 to 18446744073709551615"),
    ('"block_shape": "X"', 16, "block_shape: 'X' isn't one of BlockShape: UNKNOWN, BLOCK_SHAPE_32"),
]
OPERATOR_MISTAKES = [
    ('"attribute": {}', 14, "'attribute_type' must stand before 'attribute'"),
    ('"attribute_type": "NothingAttribute"', 19, "no operator has attributes called 'NothingAttribute'"),
    ('"attribute_type": 256', 19, "attribute_type 256 isn't within 0 to 255"),
    ('"attribute_type": 3, "attribute": {"axis": 1}', 36,
     "Conv2dAttribute has no field 'axis'; its fields: pad, stride, dilation, local_bound, acc_type"),
    ('"attribute_type": 15, "attribute": {"axis": 1}', 37, "AddAttribute has no field 'axis'; its fields: none"),
    ('"attribute_type": 99, "attribute": {"a": [}', 43, "'}' without its opening"),
    ('"attribute_type": 99, "attribute": [', 36, "expected an object that ends"),
    ('"attribute_type": 99, "attribute": {"a": 1', 36, "expected an object that ends"),
    ('"attribute_type": 99, "attribute": {"a": ' + "[" * 64, 105, "objects and lists nested more than 64 deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), JSON_MISTAKES)
def test_mistakes_in_json(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        serialize.json_from_text(text, "bad.json")
    error = caught.value
    assert (error.message, error.line, error.column, error.file) == (message, line, column, "bad.json")
    assert len(str(error)) < 1000


@pytest.mark.parametrize(("place", "mistakes"), [("tensors", TENSOR_MISTAKES), ("operators", OPERATOR_MISTAKES)])
def test_mistakes_in_parts(place: str, mistakes: list[tuple[str, int, str]]) -> None:
    before = f'{{"regions": [{{"blocks": [{{"{place}": [{{\n'
    for text, column, message in mistakes:
        test_mistakes_in_json(before + text, 2, column, message)


LONG = ", ".join(str(i % 256) for i in range(300))  # numpy parses it
LONG_MISTAKES = [
    (", -0", None),
    (", \t1 ,2\r\n", None),
    (", 256", "data: 256 isn't within 0 to 255"),
    (", -1", "data: -1 isn't within 0 to 255"),
    (", 18446744073709551617", "data: 18446744073709551617 isn't within 0 to 255"),
    (", 9223372036854775808", "data: 9223372036854775808 isn't within 0 to 255"),
    (", 007", "data: Expecting ',' delimiter"),
    (", 00", "data: Expecting ',' delimiter"),
    (", 1 2", "data: Expecting ',' delimiter"),
    (", 1,", "data: Expecting value"),
    (",, 1", "data: Expecting value"),
    (", - 1", "data: Expecting value"),
    (", +1", "data: expected integers"),
    (", 1\f", "data: expected integers"),
    (", \v1", "data: expected integers"),
    (", 1\u00a0", "data: expected integers"),
    (", \u0661", "data: expected integers"),
    (", 1.0", "data: expected integers"),
    (", 1e1", "data: expected integers"),
    (", 0x1", "data: expected integers"),
    (", 1_0", "data: expected integers"),
    (", [1", "data: expected integers"),
    (", :", "data: expected integers"),
    (", NaN", "data: expected integers"),
    (", 1\0", "data: expected integers"),
]


@pytest.mark.parametrize(("more", "message"), LONG_MISTAKES)
@pytest.mark.parametrize("first", [False, True])
def test_long_lists_are_no_less_strict(more: str, message: str | None, first: bool) -> None:
    words = more.removeprefix(",") + ", " + LONG if first else LONG + more
    text = (
        '{"regions": [{"blocks": [{"tensors": [{"name": "a", "shape": [9], "type": "INT8", "data": ['
        + words
        + "]}]}]}]}"
    )
    parser = Parser(text, "bad.json")
    if message is None:
        record = parser.root(schema.GRAPH)
        (tensor,) = record["regions"][0]["blocks"][0]["tensors"]
        assert tensor["data"] == bytes(json.loads(f"[{words}]"))
        return
    with pytest.raises(ParseError) as caught:
        parser.root(schema.GRAPH)
    assert caught.value.message == message


def test_a_position_is_shown_with_its_line() -> None:
    with pytest.raises(ParseError) as caught:
        serialize.json_from_text('{\n  "regions": [3]\n}', "bad.json")
    assert str(caught.value) == (
        "bad.json:2:15: expected '{', the start of a TosaRegion\n"
        '      "regions": [3]\n'
        "                  ^"
    )  # fmt: skip


def test_json_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b'{"regions\xff": []}')
    with pytest.raises(DataError, match=r"bad\.json: byte 9: not UTF-8: invalid start byte"):
        serialize.read(tmp_path / "bad.json")


def test_json_of_any_spacing_and_order_is_read() -> None:
    loaded = json.loads(TEXT)
    for text in (json.dumps(loaded, indent=1), json.dumps(loaded, separators=(",", ":")), TEXT.replace("\n", "\r\n\t")):
        assert serialize.tosa_to_bytes(serialize.json_from_text(text)) == BINARY
    loaded["regions"] = [dict(reversed(list(r.items()))) for r in loaded["regions"]]
    assert serialize.tosa_to_bytes(serialize.json_from_text(json.dumps(loaded))) == BINARY
