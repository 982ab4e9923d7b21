"""Arrays in files: what is written can be read, and what is damaged is one error."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tosa_engine import arrays
from tosa_engine.compare import Difference, Tolerance, WrongForm, compare
from tosa_engine.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ARRAYS = {
    "a/b": np.arange(6, dtype=np.int16).reshape(2, 3),
    "file": np.array(3.5, np.float32),
    "empty": np.zeros((0, 3), np.int8),
    "flags": np.array([True, False]),
    "wide": np.array([-(1 << 47)], np.int64),
}


def test_a_bundle_holds_arrays_by_name(tmp_path: Path) -> None:
    arrays.write(tmp_path / "x.npz", ARRAYS)
    for found in (arrays.read_bundle(tmp_path / "x.npz"), dict(np.load(tmp_path / "x.npz", allow_pickle=False))):
        assert list(found) == list(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array, strict=True)


def test_names_of_members_that_are_no_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("é.npy", b"")
    (tmp_path / "x.npz").write_bytes((tmp_path / "x.npz").read_bytes().replace("é".encode(), b"\x80\x80"))
    with pytest.raises(DataError, match=r"not an \.npz file, or damaged: 'utf-8' codec"):
        arrays.read_bundle(tmp_path / "x.npz")


def test_equal_arrays_give_equal_files(tmp_path: Path) -> None:
    arrays.write(tmp_path / "x.npz", ARRAYS)
    arrays.write(tmp_path / "y.npz", ARRAYS)
    assert (tmp_path / "x.npz").read_bytes() == (tmp_path / "y.npz").read_bytes()


@pytest.mark.parametrize("array", [ARRAYS["a/b"], ARRAYS["a/b"].astype(">i2"), np.asfortranarray(ARRAYS["a/b"])])
def test_arrays_come_back_native_in_c_order(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    found = arrays.read(tmp_path / "x.npy")
    assert found.dtype.isnative
    assert found.flags.c_contiguous
    assert found.flags.writeable
    np.testing.assert_array_equal(found, array)


def test_one_array_may_be_an_npy_file(tmp_path: Path) -> None:
    arrays.write(tmp_path / "x.npy", {"any": ARRAYS["wide"]})
    np.testing.assert_array_equal(arrays.read(tmp_path / "x.npy"), ARRAYS["wide"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x.npy", "DATA.npy: '{path}' holds one array, not 5; use an .npz file"),
        ("x.bin", "DATA.suffix: can't write arrays to '{path}'; the name must end in .npy or .npz"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    path = tmp_path / name
    with pytest.raises(UsageError) as caught:
        arrays.write(path, ARRAYS)
    assert str(caught.value) == message.format(path=path)
    assert not path.exists()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npy_with_header(text: str, data: bytes = b"") -> bytes:
    header = text.encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


DAMAGED = {
    "empty": (b"", "not an .npy file"),
    "text": (b"hello, world", "not an .npy file"),
    "version": (b"\x93NUMPY\x09\x00" + bytes(100), "not an .npy file"),
    "truncated": (npy(np.arange(6))[:-1], "int64 of shape [6] takes 48 bytes, the file has 47"),
    "longer": (npy(np.arange(6)) + b"x", "int64 of shape [6] takes 48 bytes, the file has 49"),
    "huge": (
        npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}"),
        f"int64 of shape [1099511627776, 1099511627776] takes {8 << 80} bytes, the file has 0",
    ),
    "negative": (
        npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (-1, -1)}", bytes(8)),
        "(-1, -1) is no shape",
    ),
    "dimensions": (
        npy_with_header(f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({'1,' * 100})}}", bytes(8)),
        "100 dimensions, at most 32 are possible",
    ),
    "overflow": (
        npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 4, 0)}"),
        "shape [4611686018427387904, 4, 0] is beyond any array",
    ),
    "objects": (
        npy_with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", bytes(8)),
        "elements must be numbers or booleans, not '|O'",
    ),
    "records": (
        npy_with_header("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}", bytes(4)),
        "elements must be numbers or booleans, not [('a', '<i4')]",
    ),
    "keys": (npy_with_header("{'descr': '<i4'}"), "the header lacks descr, fortran_order or shape"),
    "tokens": (npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (1,"), "the header can't be read"),
    "code": (npy_with_header("__import__('os').getcwd()"), "the header can't be read: malformed node or string"),
}


@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_array_is_one_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        arrays.read(path)
    assert str(caught.value).startswith(f"DATA.npy: {path}: {message}")


@pytest.mark.parametrize(("content", "message"), DAMAGED.values(), ids=DAMAGED)
def test_so_is_one_in_a_bundle(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(DataError) as caught:
        arrays.read_bundle(path)
    assert str(caught.value).startswith(f"DATA.npy: {path}, member 'x.npy': {message}")


def peak_of(call: Callable[[], object]) -> int:
    """The most bytes that were in memory at once."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("suffix", ["npy", "npz"])
def test_an_array_is_never_in_memory_twice(tmp_path: Path, order: str, suffix: str) -> None:
    array = np.asarray(np.arange(6 << 20, dtype=">i2").reshape(3, 1 << 10, 2 << 10), order=order)
    path = tmp_path / f"x.{suffix}"
    if suffix == "npy":
        np.save(path, array)
    else:
        np.savez(path, x=array)
    found: list[np.ndarray] = []
    read = (lambda: arrays.read(path)) if suffix == "npy" else (lambda: arrays.read_bundle(path)["x"])
    assert peak_of(lambda: found.append(read())) < 1.5 * array.nbytes
    np.testing.assert_array_equal(found[0], array)


def test_a_header_is_read_without_the_elements(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", a=np.zeros(1 << 25, np.int8), b=np.zeros((2, 3), np.float32))
    found: dict[str, arrays.Stored] = {}
    assert peak_of(lambda: found.update(arrays.stored_bundle(tmp_path / "x.npz"))) < 1 << 20
    assert {name: (one.dtype, one.shape) for name, one in found.items()} == {
        "a": (np.dtype(np.int8), (1 << 25,)),
        "b": (np.dtype(np.float32), (2, 3)),
    }


def test_a_bundle_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.npz"
    np.savez_compressed(path, zeros=np.zeros(1 << 20, np.int8))
    monkeypatch.setattr(arrays, "MAX_BUNDLE_BYTES", 1 << 20)
    with pytest.raises(DataError) as caught:
        arrays.read_bundle(path)
    assert (
        str(caught.value) == f"DATA.npz: {path}: 1048704 bytes unpacked are more than the 1048576 that are read at once"
    )


@pytest.mark.parametrize("cut", [10, 200, 300])
def test_a_truncated_bundle_is_one_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "x.npz"
    arrays.write(path, ARRAYS)
    path.write_bytes(path.read_bytes()[:-cut])
    with pytest.raises(DataError, match=r"^DATA.npz: .*x.npz: not an .npz file, or damaged: File is not a zip file$"):
        arrays.read_bundle(path)


def test_a_bundle_with_a_wrong_checksum_is_one_error(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    arrays.write(path, {"x": np.arange(100, dtype=np.int8)})
    content = bytearray(path.read_bytes())
    content[content.index(bytes(range(10, 20)))] ^= 1
    path.write_bytes(content)
    with pytest.raises(DataError, match="Bad CRC-32"):
        arrays.read_bundle(path)


def test_a_member_that_is_no_array_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "")
    with pytest.raises(DataError) as caught:
        arrays.read_bundle(path)
    assert str(caught.value) == f"DATA.npz: {path}: member 'notes.txt' is not an .npy array"


def test_equal_arrays_have_no_difference() -> None:
    for array in (*ARRAYS.values(), np.array([np.nan, np.inf, -0.0], np.float32)):
        assert compare("x", array, array.copy()) is None


def test_a_difference_tells_where_and_how_much() -> None:
    got, expected = np.array([[1, 2], [3, -128]], np.int8), np.array([[1, 4], [3, 127]], np.int8)
    found = compare("x", got, expected)
    assert found == Difference("x", 2, 4, (0, 1), 2, 4, 255.0, is_float=False)
    assert str(found) == ("'x' first differs at [0, 1]: got 2, expected 4; 2 of 4 elements differ, by at most 255 LSB")


def test_floats_are_compared_by_bits_or_within_a_tolerance() -> None:
    got, expected = np.array([0.0, 1.0, np.nan], np.float32), np.array([-0.0, 1.5, np.nan], np.float32)
    found = compare("x", got, expected)
    assert str(found) == "'x' first differs at [0]: got 0.0, expected -0.0; 2 of 3 elements differ, by at most 0.5"
    assert compare("x", got, expected, Tolerance(atol=0.5)) is None
    assert compare("x", got, expected, Tolerance(rtol=0.4)) is None
    assert compare("x", got, expected, Tolerance(atol=0.4)) is not None


def test_a_tolerance_is_for_floats_only() -> None:
    assert compare("x", np.array([1]), np.array([2]), Tolerance(atol=5)) is not None


def test_another_form_is_a_difference() -> None:
    found = compare("x", np.zeros((2, 3), np.int8), np.zeros((3, 2), np.int32))
    assert isinstance(found, WrongForm)
    assert str(found) == "'x' is int8[2, 3], expected int32[3, 2]"
