"""Samples in files: which array feeds which input, and what is wrong with files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tosa_engine import serialize, types
from tosa_engine.builder import Builder
from tosa_engine.errors import DataError
from tosa_engine.graph import Tensor
from tosa_engine.samples.arrays import RandomSamples, array_samples

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = [Tensor("input", types.fp32, (1, 2, 3))]
PAIR = [Tensor("a", types.fp32, (1, 2)), Tensor("b", types.fp32, (1, 3))]
FIVE = np.arange(30, dtype=np.float32).reshape(5, 1, 2, 3)


def read(path: Path, inputs: list[Tensor] = IMAGE) -> list[dict[str, Any]]:
    found = array_samples(path, inputs)
    listed = list(found.read(range(found.total)))
    assert [number for number, _ in listed] == list(range(found.total))
    return [sample for _, sample in listed]


def assert_five(found: list[dict[str, Any]]) -> None:
    assert [sorted(s) for s in found] == [["input"]] * 5
    assert all(s["input"].shape == (1, 2, 3) and s["input"].dtype == np.float32 for s in found)
    assert (np.stack([s["input"] for s in found]) == FIVE).all()


@pytest.mark.parametrize("name", ["input", "calibration_images", "arr_0"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_npz_by_name_or_the_only_array(tmp_path: Path, name: str, save: Any) -> None:
    save(tmp_path / "d.npz", **{name: FIVE})
    assert_five(read(tmp_path / "d.npz"))


def test_the_input_s_name_wins_then_calibration_images_then_what_fits(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    labels = np.arange(5)
    np.savez(path, input=FIVE, calibration_images=FIVE + 1)
    assert_five(read(path))
    np.savez(path, test_images=FIVE + 1, calibration_images=FIVE, labels=labels)
    assert_five(read(path))
    np.savez(path, images=FIVE, labels=labels, scores=np.zeros((5, 10), np.float32))
    assert_five(read(path))


def test_several_that_fit_are_an_error_that_lists_them(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", one=FIVE, two=FIVE)
    with pytest.raises(
        DataError, match=r"input 'input' \[1, 2, 3\]\? 2 arrays fit it; arrays: 'one' \[5, 1, 2, 3\], 'two'"
    ):
        read(tmp_path / "d.npz")


def test_npy_in_any_order_of_memory_and_without_the_dimensions_of_1(tmp_path: Path) -> None:
    np.save(tmp_path / "c.npy", FIVE[:, 0])
    assert_five(read(tmp_path / "c.npy"))
    np.save(tmp_path / "f.npy", np.asfortranarray(FIVE))
    assert_five(read(tmp_path / "f.npy"))
    np.save(tmp_path / "d.npy", FIVE.astype(np.float64))
    assert_five(read(tmp_path / "d.npy"))
    np.save(tmp_path / "b.npy", FIVE.astype(">f4"))
    assert_five(read(tmp_path / "b.npy"))


def test_a_folder_in_the_order_of_names(tmp_path: Path) -> None:
    np.save(tmp_path / "2.npy", FIVE[3:])
    np.savez(tmp_path / "1.npz", input=FIVE[:3])
    (tmp_path / "notes.txt").write_text("not data")
    assert_five(read(tmp_path))


def test_two_inputs_by_name(tmp_path: Path) -> None:
    a, b = np.ones((4, 2), np.float32), np.zeros((4, 3), np.float32)
    np.savez(tmp_path / "d.npz", a=a, b=b, labels=np.arange(4))
    found = read(tmp_path / "d.npz", PAIR)
    assert [s["a"].shape for s in found] == [(1, 2)] * 4
    assert [s["b"].shape for s in found] == [(1, 3)] * 4


@pytest.mark.parametrize(
    ("arrays", "inputs", "message"),
    [
        ({"input": np.zeros((5, 3, 2), np.float32)}, IMAGE, "shape [5, 3, 2] is not a number of samples of shape"),
        ({"input": np.zeros((5, 2, 3), np.uint8)}, IMAGE, "must be floats, got uint8"),
        ({"input": np.zeros((5, 2, 3), np.complex64)}, IMAGE, "must be floats, got complex64"),
        ({"input": np.zeros((0, 2, 3), np.float32)}, IMAGE, "there are no samples in it"),
        ({"input": np.float32(1)}, IMAGE, "shape [] is not a number of samples"),
        ({"a": np.zeros((5, 2), np.float32)}, PAIR, "which array is for input 'b' [1, 3]? no array has its name"),
        ({"a": np.zeros((5, 2), np.float32), "b": np.zeros((4, 3), np.float32)}, PAIR,
         "different numbers of samples: 'a' 5, 'b' 4"),
    ],
)  # fmt: skip
def test_data_that_does_not_fit(tmp_path: Path, arrays: dict[str, Any], inputs: list[Tensor], message: str) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(DataError) as raised:
        array_samples(tmp_path / "d.npz", inputs)
    assert message in str(raised.value)
    assert "d.npz" in str(raised.value)


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (1e300, "infinity")])
def test_nan_and_infinity_name_file_array_and_sample(tmp_path: Path, value: float, word: str) -> None:
    bad = FIVE.astype(np.float64)
    bad[3, 0, 1, 1] = value
    np.savez(tmp_path / "d.npz", input=bad)
    with pytest.raises(DataError) as raised:
        read(tmp_path / "d.npz")
    assert str(raised.value) == f"{tmp_path / 'd.npz'}, array 'input': sample 3 has {word} in it (tensor 'input')"


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such data"):
        array_samples(tmp_path / "absent.npz", IMAGE)
    with pytest.raises(DataError, match=r"the folder has no \.npy, no \.npz and no pictures"):
        array_samples(tmp_path, IMAGE)
    (tmp_path / "d.npz").write_bytes(b"PK not a zip")
    with pytest.raises(DataError, match=r"not an \.npz file, or damaged"):
        array_samples(tmp_path / "d.npz", IMAGE)
    (tmp_path / "d.npy").write_bytes(b"not numpy")
    with pytest.raises(DataError, match=r"not an \.npy file"):
        array_samples(tmp_path / "d.npy", IMAGE)


def test_objects_are_never_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="must be floats, got object"):
        array_samples(tmp_path / "d.npy", IMAGE)


def test_a_truncated_file(tmp_path: Path) -> None:
    np.save(tmp_path / "d.npy", FIVE)
    whole = (tmp_path / "d.npy").read_bytes()
    (tmp_path / "d.npy").write_bytes(whole[:-8])
    with pytest.raises(DataError, match=r"takes 120 bytes, the file has 112$"):
        read(tmp_path / "d.npy")


def test_memory_does_not_grow_with_the_samples(tmp_path: Path) -> None:
    import tracemalloc

    many = np.zeros((20000, 1, 2, 3), np.float32)
    np.savez(tmp_path / "d.npz", input=many)
    tracemalloc.start()
    data = array_samples(tmp_path / "d.npz", IMAGE)
    found = data.read(range(data.total))
    for _ in found:
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < many.nbytes / 2


TOKENS = [Tensor("tokens", types.i32, (1, 4))]


def test_integers_for_an_integer_input_get_its_type(tmp_path: Path) -> None:
    path = tmp_path / "d.npy"
    np.save(path, np.arange(8, dtype=np.int64).reshape(2, 4))
    found = read(path, TOKENS)
    assert [s["tokens"].dtype for s in found] == [np.int32] * 2
    assert [s["tokens"].tolist() for s in found] == [[[0, 1, 2, 3]], [[4, 5, 6, 7]]]
    np.save(path, np.full((1, 4), 1 << 40))
    with pytest.raises(DataError, match="sample 0 has 1099511627776, which i32 can't hold"):
        read(path, TOKENS)
    np.save(path, np.zeros((1, 4), np.float32))
    with pytest.raises(DataError, match="data for an input of type i32 must be integers, got float32"):
        read(path, TOKENS)


def test_integers_for_a_real_input_are_numbers_where_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "d.npy"
    np.save(path, FIVE.astype(np.uint8))
    found = array_samples(path, IMAGE, as_real=True)
    assert_five([sample for _, sample in found.read(range(5))])
    assert found.describe()["as_real"] is True
    with pytest.raises(DataError, match="got uint8; --as-real takes integers as the numbers that they are"):
        read(path)


def test_random_integers_for_integer_inputs(command: Any, tmp_path: Path) -> None:
    """Indices stay below the number of rows; bool is 0 or 1; other integers are what 8 bits hold."""
    b = Builder()
    indices = b.input(types.i32, (1, 6), "indices")
    b.input(types.bool_, (4,), "mask")
    b.input(types.i32, (2, 3), "other")
    values = b.const(np.arange(15, dtype=np.float32).reshape(1, 5, 3))
    b.output(b.op("ABS", b.op("GATHER", values, indices)))
    serialize.write(b.graph(), tmp_path / "net.tosa")
    done = command("quantize", tmp_path / "net.tosa", "--random", 3, "-o", tmp_path / "int.tosa")
    assert done.code == 0, done.err
    for _, sample in RandomSamples(20, 1, b.graph().inputs, {"indices": 5}).read(range(20)):
        assert sample["indices"].dtype == sample["other"].dtype == np.int32
        assert (sample["indices"].min() >= 0) & (sample["indices"].max() < 5)
        assert sample["mask"].dtype == np.bool_
        assert np.abs(sample["other"] + 0.5).max() <= 127.5
