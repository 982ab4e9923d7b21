"""Flatbuffers that say what a graph can't be: one message for each mistake, with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hostile_files import BINARY, TEXT, change, record, sample, tensor_of

from tosa_engine import serialize
from tosa_engine.errors import DataError, Unsupported
from tosa_engine.serialize import binary_write

SIZES = 12 * 0x7FFFFFFF**2
GRAPH_MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("graph", {"version": None}, "the graph has no version"),
    ("graph", {"regions": None}, "the graph has no regions"),
    ("graph", {"compatibility": {"features": 7 | 1 << 63}},
     "the file needs compatibility features that this reader doesn't know: 2, 63"),
    ("graph", {"regions": [{"name": "a", "blocks": [{}]}, {"name": "a"}]}, "two regions are called 'a'"),
    ("region", {"blocks": []}, "region 'main' has no blocks"),
    ("region", {"blocks": [{"name": "a\n"}, {"name": "a\n"}]}, "two blocks are called 'a\\u000a'"),
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
    ("tensor flat", {"shape": [2] * 33}, "33 dimensions, at most 32 are read (tensor 'flat')"),
    ("tensor flat", {"shape": (0x7FFFFFFF,) * 10**5}, "100000 dimensions, at most 32 are read (tensor 'flat')"),
    ("block", {"shapes": [{"name": "sizes", "rank": 0xFFFFFFFF}]},
     "a shape of 4294967295 elements, at most 64 are read (tensor 'sizes')"),
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
