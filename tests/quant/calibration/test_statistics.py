"""Statistics of calibration: exact, mergeable, the same bytes in any order, and files that are what they say."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quant.calibration import records
from quant.calibration.records import Statistics, joined
from quant.calibration.statistics import BINS, TensorStatistics
from tosa_engine.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

floats = st.floats(-(2.0**100), 2.0**100, width=32)
samples = st.lists(hnp.arrays(np.float32, (2, 3), elements=floats), min_size=1, max_size=6)


def seen(arrays: list[np.ndarray]) -> TensorStatistics:
    found = TensorStatistics()
    for array in arrays:
        found.see(array)
    return found


def text(found: TensorStatistics) -> str:
    return json.dumps(found.to_json())


@given(samples)
def test_extremes_counts_and_sums_are_exact(arrays: list[np.ndarray]) -> None:
    found, everything = seen(arrays), np.stack(arrays)
    assert (found.low, found.high) == (everything.min(), everything.max())
    assert (found.samples, found.values) == (len(arrays), everything.size)
    assert found.channel_low.tolist() == everything.min(axis=(0, 1)).tolist()
    assert found.channel_high.tolist() == everything.max(axis=(0, 1)).tolist()
    exact = [sum((Fraction(float(end(a))) for a in arrays), Fraction(0)) / len(arrays) for end in (np.min, np.max)]
    assert found.average == (float(exact[0]), float(exact[1]))
    bits = everything.reshape(-1).view(np.uint32) >> 16
    assert found.bins.tolist() == np.bincount(bits, minlength=BINS).tolist()


@given(samples, st.randoms())
def test_neither_order_nor_parts_change_a_byte(arrays: list[np.ndarray], random: object) -> None:
    whole = seen(arrays)
    shuffled = list(arrays)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    middle = len(shuffled) // 2
    parts = [seen(shuffled[:middle]), seen(shuffled[middle:])]
    total = TensorStatistics()
    for part in parts:
        total.add(part)
    assert text(seen(shuffled)) == text(total) == text(whole)


@given(samples)
def test_json_holds_everything(arrays: list[np.ndarray]) -> None:
    found = seen(arrays)
    assert text(TensorStatistics.from_json(json.loads(text(found)), "x")) == text(found)


@given(samples)
def test_the_histogram_stays_inside_what_was_seen_and_keeps_zeros(arrays: list[np.ndarray]) -> None:
    found = seen(arrays)
    middles, counts = found.histogram()
    assert counts.sum() == found.values
    assert (np.diff(middles) >= 0).all()
    assert middles.min() >= found.low
    assert middles.max() <= found.high
    values = np.sort(np.concatenate([a.reshape(-1) for a in arrays]).astype(np.float64))
    nearest = np.sort(np.repeat(middles, counts))
    assert (np.abs(nearest - values) <= np.abs(values) * 2.0**-7 + 2.0**-126).all()


def test_denormals_alone_are_no_zeros() -> None:
    found = seen([np.full((2, 3), 1e-45, np.float32)])
    assert found.histogram()[0].tolist() == [found.low]


def test_which_zero_is_an_extreme_does_not_depend_on_the_order() -> None:
    zeros = [np.array([[0.0]], np.float32), np.array([[-0.0]], np.float32)]
    assert text(seen(zeros)) == text(seen(zeros[::-1]))


def test_channels_that_differ_in_number_do_not_mix() -> None:
    with pytest.raises(DataError, match="of 2 and of 3 channels"):
        seen([np.zeros((1, 2), np.float32)]).add(seen([np.zeros((1, 3), np.float32)]))


def statistics(numbers: list[int], model: str = "m") -> Statistics:
    found = Statistics(model, {"kind": "test"}, {"numpy": "1"})
    for number in numbers:
        found.mark(number, number + 1)
        found.tensors.setdefault("x", TensorStatistics()).see(np.full((1, 2), number, np.float32))
    return found


def test_parts_are_merged_whatever_their_order() -> None:
    parts = [("a", statistics([0, 1, 4])), ("b", statistics([2])), ("c", statistics([3, 7]))]
    whole = statistics([0, 1, 2, 3, 4, 7])
    assert records.merged(parts).to_text() == whole.to_text()
    assert records.merged(parts[::-1]).to_text() == whole.to_text()
    assert whole.done == [(0, 5), (7, 8)]
    assert (whole.samples, list(whole.missing(10))) == (6, [5, 6, 8, 9])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (statistics([2]), "sample 2 is counted twice"),
        (statistics([9], model="n"), "b: made from another model"),
        (Statistics("m", {"kind": "other"}), "b: made from another data"),
    ],
)
def test_what_cannot_be_merged(other: Statistics, message: str) -> None:
    with pytest.raises(DataError, match=message):
        records.merged([("a", statistics([1, 2])), ("b", other)])


def test_a_file_holds_everything(tmp_path: Path) -> None:
    found = statistics([0, 5])
    found.write(tmp_path / "s.json")
    assert records.read(tmp_path / "s.json").to_text() == found.to_text() == (tmp_path / "s.json").read_text()


GOOD = json.loads(statistics([0]).to_text())
CHANNELS = len(GOOD["tensors"]["x"]["channel_high"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "x"}, "not a file of calibration statistics"),
        ({"version": 2}, "statistics of version 2, this program knows 1"),
        ({"model": 3}, "'model', 'data', 'versions' or 'tensors' is missing"),
        ({"tensors": []}, "'model', 'data', 'versions' or 'tensors' is missing"),
        ({"done": [[0, 0]]}, "'done' is a list of intervals"),
        ({"done": 7}, "'done' is a list of intervals"),
        ({"done": [[0, 2], [1, 3]]}, "sample 1 is counted twice"),
        ({"tensors": {"x": 1}}, "tensor 'x': not the statistics of a tensor"),
        ({"tensors": {"x": {}}}, "tensor 'x': not the statistics of a tensor: 'samples'"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"counts": [1]}}}, "the counts of the histogram don't fit"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"bins": [-1]}}}, "the counts of the histogram don't fit"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"low": float("nan")}}}, "needs finite bounds"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"high": 1e39}}}, "needs finite bounds"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"low_sum": "9" * 400}}}, "sums of minima and maxima don't fit"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"high_sum": "-1" + "0" * 400}}}, "sums of minima and maxima don't"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"channel_low": [1e39]}}}, "of the same length of finite float32"),
        ({"tensors": {"x": GOOD["tensors"]["x"] | {"channel_high": []}}}, "of the same length of finite float32"),
        (
            {"tensors": {"x": GOOD["tensors"]["x"] | {"channel_high": [-1e30] * CHANNELS}}},
            "maximum is below its minimum",
        ),
    ],
)
def test_broken_files_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(DataError, match=message):
        records.read(path)


def test_files_that_are_not_json(tmp_path: Path) -> None:
    for content in ("", "{", "[" * 100000, "7", "\udcff".encode("utf-8", "surrogateescape").decode("latin-1")):
        (tmp_path / "s.json").write_text(content)
        with pytest.raises(DataError, match=r"not JSON|not a file of"):
            records.read(tmp_path / "s.json")


@given(st.lists(st.integers(0, 30), unique=True))
def test_intervals_hold_the_same_numbers(numbers: list[int]) -> None:
    found = joined([(n, n + 1) for n in numbers])
    assert [n for first, end in found for n in range(first, end)] == sorted(numbers)
    assert all(a[1] < b[0] for a, b in itertools.pairwise(found))
