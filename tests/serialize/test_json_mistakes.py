"""Mistakes in JSON files: what was wanted and what is there, with line and column."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hostile_files import BINARY, TEXT

from tosa_engine import serialize
from tosa_engine.errors import DataError, ParseError
from tosa_engine.serialize import schema
from tosa_engine.serialize.json_read import Parser

if TYPE_CHECKING:
    from pathlib import Path

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
