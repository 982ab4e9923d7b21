"""`run --vectors`: files for a testbench, read back by readers that share nothing with what wrote them."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import device_networks
import numpy as np
import pytest
from nets import feeds_of, words_net

from tosa_engine import arrays, oracle, serialize, types
from tosa_engine.graph import Block, Operator, Region, Tensor, new_graph
from tosa_engine.vectors.elements import intel_hex

if TYPE_CHECKING:
    from collections.abc import Callable

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

ROOT = Path(__file__).parents[2]
TESTBENCH = ROOT / "examples" / "vectors" / "testbench.py"
MODELS = ROOT.parent / "shared" / "models" / "tosa"
BITS = {"bool": 8, "i8": 8, "i16": 16, "i32": 32, "i48": 48, "shape": 64}


@pytest.fixture
def written(command, tmp_path: Path) -> Callable[..., tuple[Path, dict[str, Any], dict[str, Array]]]:
    """Runs a graph with --vectors and flags: the folder, the index, and what the oracle says of each tensor."""

    def write(graph: Graph, *flags: str) -> tuple[Path, dict[str, Any], dict[str, Array]]:
        feeds = feeds_of(graph)
        serialize.write(graph, tmp_path / "net.tosa")
        arrays.write(tmp_path / "in.npz", feeds)
        model, given = tmp_path / "net.tosa", ("-i", tmp_path / "in.npz")
        outcome = command("run", model, *given, "--vectors", tmp_path / "v", "-o", tmp_path / "out.npz", *flags)
        assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
        values = dict(feeds) | {n: t.data for n, t in graph.main.tensors.items() if t.data is not None}

        def see(call: Any, inputs: Any, outputs: list[Array]) -> None:
            values.update(zip(call.operator.outputs, outputs, strict=True))

        oracle.run(graph, feeds, observe=see)
        return tmp_path / "v", json.loads((tmp_path / "v" / "index.json").read_text()), values

    return write


def read_ihex(text: str) -> bytes:
    memory: dict[int, int] = {}
    base = 0
    for line in text.splitlines():
        record = bytes.fromhex(line.removeprefix(":"))
        assert line[0] == ":"
        assert sum(record) % 256 == 0
        length, address, kind, part = record[0], int.from_bytes(record[1:3], "big"), record[3], record[4:-1]
        assert length == len(part)
        if kind == 0:
            memory.update({base + address + i: byte for i, byte in enumerate(part)})
        elif kind == 4:
            base = int.from_bytes(part, "big") << 16
        else:
            assert (kind, line) == (1, ":00000001FF")
    assert sorted(memory) == list(range(len(memory)))
    return bytes(memory[i] for i in range(len(memory)))


def words(raw: bytes, bits: int, order: str = "little") -> list[int]:
    size = bits // 8
    return [int.from_bytes(raw[i : i + size], order, signed=True) for i in range(0, len(raw), size)]  # type: ignore[arg-type]


def from_bricks(elements: list[int], shape: list[int]) -> list[int]:
    """NHCWB16 by its address: brick by brick, each of 16 channels for a row of pixels."""
    n, h, w, c = shape
    bricks = (c + 15) // 16
    assert len(elements) == n * h * bricks * w * 16
    found = []
    for image, y, x, channel in np.ndindex(n, h, w, c):
        row = image * h + y
        found.append(elements[((row * bricks + channel // 16) * w + x) * 16 + channel % 16])
    return found


def flat(index: dict[str, Any], name: str, elements: list[int]) -> list[int]:
    tensor = index["tensors"][name]
    return from_bricks(elements, tensor["shape"]) if tensor["layout"] == "NHCWB16" else elements


def same_names(index: dict[str, Any], values: dict[str, Array]) -> list[str]:
    assert set(index["tensors"]) == set(values)
    return list(values)


@pytest.mark.parametrize("net", [device_networks.convolutions, words_net])
def test_hex_and_bricks_are_read_back(written, net) -> None:
    folder, index, values = written(net(), "--format", "hex", "--layout", "NHCWB16")
    for name in same_names(index, values):
        tensor = index["tensors"][name]
        raw = read_ihex((folder / tensor["file"]).read_text())
        assert flat(index, name, words(raw, BITS[tensor["dtype"]])) == values[name].reshape(-1).tolist(), name
    assert "NHCWB16" in {t["layout"] for t in index["tensors"].values()}


def test_big_endian_and_channels_first(written) -> None:
    folder, index, values = written(words_net(), "--format", "bin", "--layout", "NCHW", "--endian", "big")
    assert index["endian"] == "big"
    for name in same_names(index, values):
        tensor, value = index["tensors"][name], values[name]
        found = words((folder / tensor["file"]).read_bytes(), BITS[tensor["dtype"]], "big")
        wanted = value.transpose(0, 3, 1, 2) if tensor["layout"] == "NCHW" else value
        assert (found, list(wanted.shape)) == (wanted.reshape(-1).tolist(), tensor["stored_shape"]), name


def test_words_of_a_memory_file(written) -> None:
    folder, index, values = written(words_net(), "--format", "mem")
    for name in same_names(index, values):
        bits = BITS[index["tensors"][name]["dtype"]]
        start, *lines = (folder / index["tensors"][name]["file"]).read_text().split()
        assert (start, {len(line) for line in lines}) == ("@0", {bits // 4})
        codes = [int(line, 16) for line in lines]
        assert [c - (1 << bits) * (c >> (bits - 1)) for c in codes] == values[name].reshape(-1).tolist(), name


def test_headers_of_c(written) -> None:
    folder, index, values = written(words_net(), "--format", "c-header")
    for name in same_names(index, values):
        tensor, value = index["tensors"][name], values[name]
        text = (folder / tensor["file"]).read_text()
        kind, symbol, size, body = re.findall(r"const (\w+) (\w+)\[(\d+)\] = \{(.*)\};", text, re.DOTALL)[0]
        assert (kind, symbol, int(size)) == (f"{value.dtype}_t", tensor["symbol"], value.size)
        assert [int(word) for word in body.replace(",", " ").split()] == value.reshape(-1).tolist(), name


def test_floats_are_their_bits(command, tmp_path: Path) -> None:
    graph = new_graph()
    for name in ("x", "y"):
        graph.main.add(Tensor(name, types.fp32, (3,)))
    graph.main.inputs, graph.main.outputs = ["x"], ["y"]
    graph.main.operators = [Operator("CLAMP", ["x"], ["y"], {
        "min_val": -1.0, "max_val": float("inf"), "nan_mode": "PROPAGATE",
    })]  # fmt: skip
    serialize.write(graph, tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", np.array([1.5, -0.0, np.inf], np.float32))
    given = ("run", tmp_path / "net.tosa", "-i", tmp_path / "x.npy", "--vectors", tmp_path / "v")
    assert command(*given, "--format", "c-header").code == 0
    assert (
        "const uint32_t v0000_x[3] = {\n0x3fc00000, 0x80000000, 0x7f800000,\n"
        in (tmp_path / "v" / "0000_x.h").read_text()
    )
    index = json.loads((tmp_path / "v" / "index.json").read_text())
    assert index["operators"][0]["attributes"] == {"min_val": -1.0, "max_val": "inf", "nan_mode": "PROPAGATE"}


def test_hex_beyond_64_kilobytes() -> None:
    raw = np.random.default_rng(1).bytes((1 << 16) + 33)
    assert read_ihex(intel_hex(raw).decode()) == raw


def test_the_index_says_who_makes_and_who_reads(written) -> None:
    _, index, _ = written(device_networks.convolutions())
    tensors, operators = index["tensors"], index["operators"]
    assert (index["inputs"], index["outputs"], index["format"]) == (["x"], ["out"], "npy")
    assert len(index["sha256"]) == 64
    conv = operators[tensors["acc"]["made_by"]]
    assert (conv["op"], conv["attributes"]["pad"], conv["attributes"]["acc_type"]) == ("CONV2D", [1, 1, 1, 1], "i32")
    assert list(conv["inputs"]) == ["input", "weight", "bias", "input_zp", "weight_zp"]
    roles = {name: tensors[name]["role"] for name in ("x", "acc", "conv", "out", conv["inputs"]["weight"])}
    assert list(roles.values()) == ["input", "accumulator", "intermediate", "output", "constant"]
    (reader,) = tensors["acc"]["read_by"]
    assert (operators[reader]["op"], operators[reader]["outputs"]) == ("RESCALE", {"output": "conv"})
    assert tensors[operators[reader]["inputs"]["multiplier"]]["shape"] == [8]
    (joined,) = [op for op in operators if op["op"] == "CONCAT"]
    assert joined["inputs"] == {"input1": ["pooled", "negated"]}


def looping() -> Graph:
    """x + 1 while 5 is greater."""
    graph = new_graph()
    graph.main.inputs, graph.main.outputs = ["x"], ["y"]
    graph.main.operators = [Operator("WHILE_LOOP", ["x"], ["y"], {"cond_graph": "more", "body_graph": "next"})]
    blocks = {"more": ("GREATER", ["limit", "a"], types.bool_, 5), "next": ("ADD", ["a", "one"], types.i32, 1)}
    for name in ("x", "y"):
        graph.main.add(Tensor(name, types.i32, (1,)))
    for name, (op, operands, dtype, number) in blocks.items():
        block = Block(name, ["a"], ["found"])
        (constant,) = set(operands) - {"a"}
        block.add(Tensor("a", types.i32, (1,)))
        block.add(Tensor(constant, types.i32, (1,), np.array([number], np.int32)))
        block.add(Tensor("found", dtype, (1,)))
        block.operators = [Operator("CONST", [], [constant]), Operator(op, operands, ["found"])]
        graph.regions.append(Region(name, [block]))
    return graph


def test_rounds_of_a_loop(command, tmp_path: Path) -> None:
    serialize.write(looping(), tmp_path / "net.tosa")
    np.save(tmp_path / "x.npy", np.array([2], np.int32))
    run = ("run", tmp_path / "net.tosa", "-i", tmp_path / "x.npy", "--extension", "EXT-CONTROLFLOW")
    outcome = command(*run, "--vectors", tmp_path / "v", "--corners", "text")
    assert (outcome.code, outcome.err) == (0, "")
    assert "operators in regions of control flow, not looked at: 2" in outcome.out
    index = json.loads((tmp_path / "v" / "index.json").read_text())
    values = {name: np.load(tmp_path / "v" / t["file"]).tolist() for name, t in index["tensors"].items()}
    assert values == {
        "x": [2], "more/limit": [5], "next/one": [1], "y": [5],
        "more/found": [True], "more/found#2": [True], "more/found#3": [True], "more/found#4": [False],
        "next/found": [3], "next/found#2": [4], "next/found#3": [5],
    }  # fmt: skip
    assert index["regions"] == {
        "main": {"inputs": ["x"], "outputs": ["y"]},
        "more": {"inputs": ["more/a"], "outputs": ["more/found"]},
        "next": {"inputs": ["next/a"], "outputs": ["next/found"]},
    }
    assert [op["region"] for op in index["operators"]] == ["main", "more", "next"]


def test_looking_changes_no_byte(command, written, tmp_path: Path) -> None:
    graph = device_networks.convolutions()
    written(graph)
    seen = arrays.read_bundle(tmp_path / "out.npz")
    assert command("run", tmp_path / "net.tosa", "-i", tmp_path / "in.npz", "-o", tmp_path / "plain.npz").code == 0
    assert (tmp_path / "plain.npz").read_bytes() == (tmp_path / "out.npz").read_bytes()
    stored = arrays.read(next((tmp_path / "v").glob("*_out.npy")))
    np.testing.assert_array_equal(stored, seen["out"], strict=True)


def test_the_testbench_meets_every_byte(written, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, index, _ = written(device_networks.convolutions(), "--format", "bin")
    monkeypatch.setattr(sys, "argv", ["testbench.py", str(folder)])
    runpy.run_path(str(TESTBENCH), run_name="__main__")
    assert (
        capsys.readouterr().out == "acc: accumulators: 512 elements, all equal\nconv: int8: 512 elements, all equal\n"
    )
    file = folder / index["tensors"]["conv"]["file"]
    raw = bytearray(file.read_bytes())
    raw[77] ^= 1
    file.write_bytes(raw)
    with pytest.raises(SystemExit):
        runpy.run_path(str(TESTBENCH), run_name="__main__")
    assert capsys.readouterr().out.endswith("conv: int8: 512 elements, 1 differ, the first at 77\n")


@pytest.mark.slow("runs MobileNetV2 with all its tensors, and a layer of it in plain Python")
@pytest.mark.skipif(not MODELS.is_dir(), reason="the shared models are not there")
def test_the_testbench_with_mobilenet(command, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS / "mobilenet_v2_w100_224.int8"
    given = ("run", model / "model.tosa", "-i", model / "real_in0.npy", "--vectors", tmp_path, "--format", "bin")
    assert command(*given, "--expect", model / "real_out0.npy").code == 0
    monkeypatch.setattr(sys, "argv", ["testbench.py", str(tmp_path)])
    runpy.run_path(str(TESTBENCH), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ", 1)[1] for line in lines] == [
        "accumulators: 401408 elements, all equal", "int8: 401408 elements, all equal",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--format", "bin"), "--format is of the files of --vectors DIR"),
        (("--vectors", "v", "--dump-intermediates", "d"),
         "--vectors writes every tensor, as --dump-intermediates does: give one of them"),
        (("--vectors", "v", "--format", "mem", "--endian", "big"),
         "--endian big: --format mem has whole elements, not bytes; it goes with bin, hex, npy"),
        (("--vectors", "v", "--random", "2"), "--vectors is for a single run; --data and --random give samples"),
    ],
)  # fmt: skip
def test_flags_that_do_not_go_together(command, tmp_path: Path, flags: tuple[str, ...], message: str) -> None:
    serialize.write(words_net(), tmp_path / "net.tosa")
    outcome = command("run", tmp_path / "net.tosa", *flags)
    assert (outcome.code, outcome.err) == (2, f"error: {message}\n")
