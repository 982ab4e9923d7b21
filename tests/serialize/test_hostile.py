"""Damaged and malicious files: one clear error that names the file, never another exception, and no memory filled."""

from __future__ import annotations

import random
import struct
import time

import flatbuffers
import pytest
from hostile_files import BINARY, EXTERNAL, TEXT, block_of, record, survives_binary, survives_text, tensor_of
from hypothesis import given
from hypothesis import strategies as st

from tosa_engine import serialize
from tosa_engine.errors import DataError, ParseError, TosaEngineError
from tosa_engine.serialize import binary_write


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
