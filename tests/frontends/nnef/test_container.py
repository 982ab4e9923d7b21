"""Folders and archives: what is read, and how hostile ones end."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from typing import TYPE_CHECKING, Any

import pytest

from tosa_engine.errors import DataError
from tosa_engine.frontends import nnef
from tosa_engine.frontends.nnef.files.container import Archive, open_container

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = b"version 1.0;\ngraph g(x) -> (y) { x = external(shape = [1]); y = relu(x); }\n"


def member(name: str, data: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("mode", ["w:gz", "w"])
@pytest.mark.parametrize("root", ["", "./", "digits.nnef/"])
def test_archives_of_every_form(tmp_path: Path, mode: str, root: str) -> None:
    folder = [member(root.rstrip("/"), type=tarfile.DIRTYPE)] if root else []
    path = tar(tmp_path / "m.nnef.tgz", *folder, member(root + "graph.nnef", GRAPH), member(root + "a/w.dat", b"w"),
               member(root + "vendor/blob.bin", b"?" * 10), mode=mode)  # fmt: skip
    container = open_container(path)
    assert container.read("graph.nnef") == GRAPH
    assert container.read("a/w.dat") == b"w"
    assert not container.has("vendor/blob.bin")
    assert nnef.load_document(path).tensors == ["x", "y"]


def test_an_archive_gives_the_same_graph_as_its_folder(tmp_path: Path, digits: Path) -> None:
    path = tmp_path / "digits.nnef.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(digits / "digits.nnef", arcname="digits.nnef")
    folder, packed = nnef.load(digits / "digits.nnef"), nnef.load(path)
    assert list(folder.main.tensors) == list(packed.main.tensors)
    for name, tensor in folder.main.tensors.items():
        other = packed.main.tensors[name]
        assert (tensor.data is None and other.data is None) or (tensor.data == other.data).all()


HOSTILE = [
    (member("../graph.nnef", GRAPH), "member '../graph.nnef' is a path with '..'"),
    (member("a/../../graph.nnef", GRAPH), "member 'a/../../graph.nnef' is a path with '..'"),
    (member("..\\w.dat", b""), "member '..\\w.dat' is a path with '..'"),
    (member("/etc/w.dat", b""), "member '/etc/w.dat' is an absolute path"),
    (member("C:\\w.dat", b""), "member 'C:\\w.dat' is an absolute path"),
    (member("w.dat", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "member 'w.dat' is a link to '/etc/passwd'"),
    (member("w.dat", type=tarfile.LNKTYPE, linkname="graph.nnef"), "member 'w.dat' is a link to 'graph.nnef'"),
    (member("dir", type=tarfile.SYMTYPE, linkname=".."), "member 'dir' is a link to '..'"),
    (member("w.dat", type=tarfile.CHRTYPE), "member 'w.dat' is neither a file nor a folder"),
    (member("w.dat", type=tarfile.FIFOTYPE), "member 'w.dat' is neither a file nor a folder"),
    (member("graph.nnef", GRAPH), "member 'graph.nnef' is in the archive twice"),
]


@pytest.mark.parametrize(("bad", "message"), HOSTILE, ids=[m for _, m in HOSTILE])
def test_a_bad_member_is_named(tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes], message: str) -> None:
    path = tar(tmp_path / "m.nnef.tgz", member("graph.nnef", GRAPH), bad)
    with pytest.raises(DataError) as caught:
        nnef.load(path)
    assert str(caught.value) == f"{path}: {message}"
    assert sorted(os.listdir(tmp_path)) == ["m.nnef.tgz"]


def test_sizes_are_bounded_before_reading(tmp_path: Path) -> None:
    path = tar(
        tmp_path / "m.tgz", member("graph.nnef", GRAPH), member("w.dat", bytes(1000)), member("v.dat", bytes(1000))
    )
    with pytest.raises(DataError) as caught:
        Archive(path, max_member=999)
    assert str(caught.value) == f"{path}: member 'w.dat' is too large (1000 bytes)"
    with pytest.raises(DataError) as caught:
        Archive(path, max_total=2000)
    assert str(caught.value) == f"{path}: member 'v.dat' is too large (1000 bytes)"


def test_an_archive_holds_one_graph(tmp_path: Path) -> None:
    none = tar(tmp_path / "none.tgz", member("w.dat", b""))
    two = tar(tmp_path / "two.tgz", member("a/graph.nnef", GRAPH), member("b/graph.nnef", GRAPH))
    for path, found in ((none, "no graph.nnef"), (two, "2 files named graph.nnef")):
        with pytest.raises(DataError) as caught:
            nnef.load(path)
        assert str(caught.value) == f"{path}: the archive holds {found}"


@pytest.mark.parametrize("cut", [0, 1, 2, 10, 100, 400, -20, -1])
def test_a_truncated_archive_is_one_clear_error(tmp_path: Path, cut: int) -> None:
    path = tar(tmp_path / "m.nnef.tgz", member("graph.nnef", GRAPH), member("w.dat", os.urandom(2000)))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"not a readable tar archive|cut off after|holds no graph\.nnef"):
        nnef.load(path)


def test_a_damaged_archive_is_noticed(tmp_path: Path) -> None:
    path = tar(tmp_path / "m.nnef.tgz", member("graph.nnef", GRAPH), member("w.dat", os.urandom(5000)))
    data = bytearray(path.read_bytes())
    data[3000] ^= 1
    path.write_bytes(data)
    with pytest.raises(DataError, match="not a readable tar archive"):
        nnef.load(path)


@pytest.mark.parametrize(
    "data", [b"hello", gzip.compress(b"hello" * 1000, mtime=0), bytes(2000)], ids=["text", "gzip", "zeros"]
)
def test_other_files_are_no_archives(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.nnef.tgz"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"not a readable tar archive|holds no graph\.nnef"):
        nnef.load(path)


def test_a_folder_is_not_left(tmp_path: Path) -> None:
    (tmp_path / "secret.dat").write_bytes(b"secret")
    folder = tmp_path / "m.nnef"
    folder.mkdir()
    (folder / "link.dat").symlink_to(tmp_path / "secret.dat")
    container = open_container(folder)
    for name, reason in (
        ("../secret.dat", f"{folder}: '../secret.dat' is a path with '..'"),
        (str(tmp_path / "secret.dat"), f"{folder}: '{tmp_path / 'secret.dat'}' is an absolute path"),
        ("link.dat", f"{folder}/link.dat: a link that leaves the folder"),
        ("none.dat", f"{folder}/none.dat: no such file"),
    ):
        with pytest.raises(DataError) as caught:
            container.read(name)
        assert str(caught.value) == reason


def test_text_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "graph.nnef").write_bytes(b"version 1.0;\n\xff")
    with pytest.raises(DataError) as caught:
        nnef.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}/graph.nnef: not UTF-8 text at byte 13"


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        nnef.load(tmp_path / "none.nnef")
    assert str(caught.value) == f"{tmp_path}/none.nnef: no such file or folder"


def test_a_small_archive_cant_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.nnef.tgz"
    with gzip.open(path, "wb", compresslevel=9) as packed:
        info = tarfile.TarInfo("w.dat")
        info.size = 300 << 20
        packed.write(info.tobuf())
        for _ in range(300):
            packed.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DataError) as caught:
        open_container(path)
    assert str(caught.value) == f"{path}: member 'w.dat' is too large ({300 << 20} bytes)"
