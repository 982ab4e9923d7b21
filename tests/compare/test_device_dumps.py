"""Dumps as devices write them: bare elements, flat arrays, bricks of 16 channels, padded channels, big endian."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import device_networks
import numpy as np
import pytest
from devices import simulate
from nets import feeds_of, words_net

from tosa_engine import arrays, serialize

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tosa_engine.graph import Graph
    from tosa_engine.types import Array

GENERAL = 'layout = "NHCWB16"\nendian = "big"\n'


class Scene:
    """net.tosa, in.npz, and what a device has in memory."""

    def __init__(self, command: Any, folder: Path, graph: Graph) -> None:
        self.command, self.folder, self.graph = command, folder, graph
        feeds = feeds_of(graph)
        known = {name for name, tensor in graph.main.tensors.items() if tensor.data is not None}
        self.tensors = {n: a for n, a in simulate(graph, feeds, {}).items() if n not in known}
        serialize.write(graph, folder / "net.tosa")
        arrays.write(folder / "in.npz", feeds)
        (folder / "dump").mkdir()

    def bits(self, name: str) -> int:
        return self.graph.main.tensors[name].dtype.bits

    def dump(self, lies: Callable[[Array], Array] = lambda a: a, order: str = "little") -> None:
        """Bare elements of what operators wrote, number by number."""
        for name, array in self.tensors.items():
            if name not in self.graph.main.inputs:
                flat = lies(array).reshape(-1).tolist()
                size = self.bits(name) // 8
                raw = b"".join(int(v).to_bytes(size, order, signed=True) for v in flat)  # type: ignore[arg-type]
                (self.folder / "dump" / f"{name}.bin").write_bytes(raw)

    def compare(self, dump: str = "dump", *flags: object) -> Any:
        return self.command(
            "compare", self.folder / "net.tosa", self.folder / dump, "-i", self.folder / "in.npz", *flags
        )


@pytest.fixture
def scene(command, tmp_path: Path) -> Scene:
    return Scene(command, tmp_path, device_networks.convolutions())


def bricks(array: Array, group: int = 16) -> Array:
    """NHCWB16 with loops; channels padded to a multiple of `group` with what nobody reads."""
    if array.ndim != 4:
        return array
    n, h, w, c = array.shape
    padded = -(-c // group) * group
    found = np.full((n, h, padded // 16, w, 16), 77, array.dtype)
    for at in np.ndindex(n, h, w, c):
        found[at[0], at[1], at[3] // 16, at[2], at[3] % 16] = array[at]
    return found


def padded(array: Array) -> Array:
    if array.ndim != 4:
        return array
    width = -(-array.shape[3] // 32) * 32 - array.shape[3]
    return np.pad(array, [(0, 0)] * 3 + [(0, width)], constant_values=5)


def first(array: Array) -> Array:
    return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array


@pytest.mark.parametrize(
    ("lies", "order", "flags"),
    [
        (lambda a: a, "little", ()),
        (lambda a: a, "big", ("--endian", "big")),
        (first, "little", ("--layout", "NCHW")),
        (padded, "little", ("--channels", "32")),
        (bricks, "big", ("--layout", "NHCWB16", "--endian", "big")),
        (lambda a: bricks(a, 32), "little", ("--layout", "NHCWB16", "--channels", "32")),
    ],
)
def test_folders_of_bare_elements(scene: Scene, lies, order: str, flags: tuple[str, ...]) -> None:
    scene.dump(lies, order)
    outcome = scene.compare("dump", *flags, "--require", "all")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "EQUAL: 17 tensors"), outcome.err or outcome.out


def test_a_difference_is_where_the_model_has_it(scene: Scene) -> None:
    scene.tensors["conv"][0, 2, 3, 5] ^= 1
    scene.dump(bricks)
    outcome = scene.compare("dump", "--layout", "NHCWB16", "--no-causes")
    assert outcome.code == 1
    assert "first difference: 'conv' at [0, 2, 3, 5]" in outcome.out


def test_wrong_sizes_are_named_together(scene: Scene) -> None:
    scene.dump(padded)
    outcome = scene.compare("dump", "--layout", "NHCWB16")
    lines = outcome.err.splitlines()
    assert outcome.code == 6
    assert any(
        line.endswith(
            "acc.bin: i32[1, 8, 8, 8], which lies as NHCWB16 [1, 8, 1, 8, 16], takes 4096 bytes, the file has 8192"
        )
        for line in lines
    )
    assert sum(", the file has " in line for line in lines) > 10


def test_int48_and_a_description(command, tmp_path: Path) -> None:
    """One file for what is different: another layout, another name, int48 in eight bytes."""
    scene = Scene(command, tmp_path, words_net())
    names = [name for name in scene.tensors if name not in scene.graph.main.inputs]
    scene.dump(bricks, "big")
    dump = tmp_path / "dump"
    (dump / "acc.bin").write_bytes(bricks(scene.tensors["acc"]).astype(">i8").tobytes())
    (dump / "y.bin").rename(dump / "buffer 7.bin")
    (dump / "z.bin").write_bytes(first(scene.tensors["z"]).astype("<i4").tobytes())
    described = f"""{GENERAL}
    [tensors.acc]
    dtype = "i64"
    [tensors."buffer 7"]
    tensor = "y"
    [tensors.z]
    layout = "NCHW"
    endian = "little"
    """
    (tmp_path / "device.toml").write_text(described)
    outcome = scene.compare("dump", "--device", tmp_path / "device.toml", "--require", "all")
    assert (outcome.code, outcome.out.splitlines()[-1]) == (0, f"EQUAL: {len(names)} tensors"), outcome.err


def test_single_files(scene: Scene) -> None:
    out = scene.tensors["out"]
    (scene.folder / "result.bin").write_bytes(out.tobytes())
    np.save(scene.folder / "result.npy", out)
    np.save(scene.folder / "flat.npy", out.reshape(-1))
    for file in ("result.bin", "result.npy", "flat.npy"):
        outcome = scene.compare(file)
        assert (outcome.code, outcome.out.splitlines()[-1]) == (0, "EQUAL: 1 tensor"), outcome.err
    np.save(scene.folder / "conv.npy", scene.tensors["conv"])  # called like a tensor
    assert scene.compare("conv.npy", "--require", "none").out.splitlines()[-1] == "EQUAL: 1 tensor"
    (scene.folder / "short.bin").write_bytes(out.tobytes()[1:])
    outcome = scene.compare("short.bin")
    assert outcome.code == 6
    assert outcome.err.endswith(f"takes {out.size} bytes, the file has {out.size - 1}\n")


def test_flat_arrays(scene: Scene) -> None:
    inner = {name: array for name, array in scene.tensors.items() if name != "x"}
    arrays.write(scene.folder / "flat.npz", {name: array.reshape(-1) for name, array in inner.items()})
    assert scene.compare("flat.npz", "--require", "all").out.splitlines()[-1] == "EQUAL: 17 tensors"
    arrays.write(scene.folder / "bricks.npz", {name: bricks(array).reshape(-1) for name, array in inner.items()})
    outcome = scene.compare("bricks.npz", "--layout", "NHCWB16", "--require", "all")
    assert outcome.out.splitlines()[-1] == "EQUAL: 17 tensors", outcome.err
    outcome = scene.compare("bricks.npz", "--layout", "NCHW")
    assert outcome.code == 6
    assert "[1, 8, 8, 8] lies as NCHW [1, 8, 8, 8], 512 elements, the array has 1024" in outcome.err


@pytest.mark.parametrize("flags", [("--format", "npy"), ("--format", "bin", "--endian", "big")])
def test_vectors_are_a_dump(scene: Scene, flags: tuple[str, ...]) -> None:
    folder = scene.folder / "v"
    given = ("-i", scene.folder / "in.npz", "-o", scene.folder / "o.npz")
    vectors = ("--vectors", folder, "--layout", "NHCWB16")
    assert scene.command("run", scene.folder / "net.tosa", *given, *vectors, *flags).code == 0
    assert scene.compare("v", "--require", "all").out.splitlines()[-1] == "EQUAL: 17 tensors"
    index = json.loads((folder / "index.json").read_text())
    file = folder / index["tensors"]["conv"]["file"]
    raw = bytearray(file.read_bytes())
    raw[-16] ^= 1  # channel 0 of the last pixel
    file.write_bytes(raw)
    assert "first difference: 'conv' at [0, 7, 7, 0]" in scene.compare("v", "--no-causes").out
    index["tensors"]["conv"]["dtype"] = ["i8"]
    (folder / "index.json").write_text(json.dumps(index))
    assert scene.compare("v").err.endswith("'conv' needs a 'shape', a 'dtype' and a 'layout'\n")
    index["format"] = "hex"
    (folder / "index.json").write_text(json.dumps(index))
    assert scene.compare("v").err.endswith("index.json: vectors in 'hex' aren't read; those in npy and bin are\n")


def test_inputs_of_a_run(command, tmp_path: Path) -> None:
    graph = words_net()
    scene = Scene(command, tmp_path, graph)
    (x,) = graph.main.inputs
    (tmp_path / "x.bin").write_bytes(bricks(scene.tensors[x]).astype(">i2").tobytes())
    (tmp_path / "device.toml").write_text(GENERAL)
    run = ("run", tmp_path / "net.tosa", "-i")
    assert command(*run, tmp_path / "in.npz", "-o", tmp_path / "a.npz").code == 0
    given = ("--device", tmp_path / "device.toml")
    assert command(*run, tmp_path / "x.bin", *given, "-o", tmp_path / "b.npz").code == 0
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    outcome = command(*run, tmp_path / "x.bin")
    assert (outcome.code, "i16[1, 5, 5, 6] takes 300 bytes, the file has 800" in outcome.err) == (6, True)


def test_inputs_of_a_comparison(scene: Scene) -> None:
    scene.dump(bricks, "big")
    (scene.folder / "x.bin").write_bytes(bricks(scene.tensors["x"]).tobytes())
    given = ("compare", scene.folder / "net.tosa", scene.folder / "dump", "-i", scene.folder / "x.bin")
    outcome = scene.command(*given, "--layout", "NHCWB16", "--endian", "big")
    assert outcome.out.splitlines()[-1] == "EQUAL: 17 tensors", outcome.err
    (scene.folder / "dump" / "x.bin").write_bytes((scene.folder / "x.bin").read_bytes())
    outcome = scene.command(*given[:3], "--layout", "NHCWB16", "--endian", "big")  # out of the dump
    assert outcome.out.splitlines()[-1] == "EQUAL: 17 tensors", outcome.err


def test_a_bad_description_names_all_that_is_wrong(scene: Scene) -> None:
    file = scene.folder / "device.toml"
    file.write_text('layout = "NHWX"\nchannels = 0\n[tensors.a]\nsize = 3\ndtype = "u8"\nshape = [1, "n"]\n')
    outcome = scene.compare("dump", "--device", file)
    assert outcome.code == 6
    for part in (
        "layout is one of NHWC, NCHW, NHCWB16, not 'NHWX'",
        "channels is a whole number from 1 to 65536, not 0",
        "tensor 'a': 'size' is none of layout, channels, endian, tensor, dtype, shape",
        "tensor 'a': dtype is one of bool, i4,",
        "tensor 'a': shape is a list of sizes, not [1, 'n']",
    ):
        assert part in outcome.err
    file.write_text("layout = ")
    assert f"{file}: not TOML: " in scene.compare("dump", "--device", file).err
    scene.dump()
    file.write_text('[tensors.conv]\ntensor = "cnov"\n')
    outcome = scene.compare("dump", "--device", file)
    assert outcome.err.endswith("no model has a tensor 'cnov', which 'conv' is said to be\n")
