"""Values at places that are data, pooled regions, powers of integers, transforms, beside plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from lower_tools import Array, normal, run

from tosa_engine.lower import fourier, grids, integers, rois
from tosa_engine.lower.problems import Misfit, Unlowered


def test_powers_of_integers_wrap() -> None:
    x = np.array([[-3, -1, 0, 1, 2, 7, 10]], np.int32)
    y = np.array([[0], [1], [5], [9], [-1], [-2]], np.int32)
    with np.errstate(over="ignore"):
        wanted = x ** np.abs(y)
    wanted = np.where((y < 0) & (np.abs(x) != 1), 0, wanted)
    np.testing.assert_array_equal(run(lambda g, a, b: integers.power(g, a, b, 31), x, y), wanted)


@pytest.mark.parametrize(("length", "onesided"), [(8, False), (8, True), (5, False), (11, True), (7, True)])
@pytest.mark.parametrize("inverse", [False, True])
def test_fourier(length: int, *, onesided: bool, inverse: bool) -> None:
    x = normal(2, 8, 3, 1 if onesided and not inverse else 2)
    given = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        wanted = np.fft.irfft(given, length, 1)[..., None]
    else:
        found = (
            np.fft.rfft(given.real, length, 1)
            if onesided
            else (np.fft.ifft if inverse else np.fft.fft)(given, length, 1)
        )
        wanted = np.stack([found.real, found.imag], -1)
    got = run(lambda g, t: fourier.transformed(g, t, 1, length, inverse=inverse, onesided=onesided), x)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_a_transform_that_takes_too_large_a_matrix_is_refused() -> None:
    with pytest.raises(Unlowered, match="the matrix of a transform"):
        run(lambda g, t: fourier.transformed(g, t, 0, 1 << 14), np.zeros((1 << 14, 1), np.float32))
    with pytest.raises(Misfit, match="a transform of 4 along axis 1"):
        run(lambda g, t: fourier.transformed(g, t, 1, 4), np.zeros((4, 2), np.float32))


def test_reflection_goes_back_and_forth() -> None:
    x, at = normal(1, 1, 4), np.arange(-9, 13, dtype=np.float32).reshape(1, -1)
    for aligned, mode in ((True, "reflect"), (False, "symmetric")):
        wanted = np.pad(x, [(0, 0), (0, 0), (9, 9)], mode=mode)  # type: ignore[call-overload]
        got = run(lambda g, t, p, a=aligned: grids.sampled(g, t, [p], "linear", "reflection", aligned=a), x, at)
        np.testing.assert_array_equal(got, wanted)


def cells_of(x: Array, roi: Array, cells: tuple[int, int]) -> Array:
    """MaxRoiPool of one region."""
    found = np.zeros((x.shape[0], *cells), np.float32)
    top, left, bottom, right = (int(n) for n in roi)
    for i, j in np.ndindex(*cells):
        spans: list[Any] = []
        for start, end, number, cell, extent in (
            (top, bottom, cells[0], i, x.shape[1]), (left, right, cells[1], j, x.shape[2])
        ):  # fmt: skip
            size = max(end - start + 1, 1)
            low, high = start + cell * size // number, start - (-(cell + 1) * size // number)
            spans.append(slice(min(max(low, 0), extent), min(max(high, 0), extent)))
        part = x[:, spans[0], spans[1]]
        found[:, i, j] = part.max((1, 2)) if part.size else 0
    return found


def test_maxima_of_regions_of_whole_elements() -> None:
    maps, regions = normal(4, 2, 7, 6), np.array([[0, 0, 6, 5], [2, 1, 3, 4], [5, 4, 9, 9], [8, 8, 9, 9]], np.int32)
    got = run(lambda g, m, r: rois.maxima_of_elements(g, m, r, (3, 2)), maps, regions)
    wanted = [cells_of(x, roi, (3, 2)) for x, roi in zip(maps, regions, strict=True)]
    np.testing.assert_array_equal(got, np.stack(wanted))
