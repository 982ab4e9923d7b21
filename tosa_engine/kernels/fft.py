"""Kernels of the Fourier transforms: numpy's, in fp64, rounded once. A unit is one image.

Small images are multiplied with the table of all angles: bounds are relative to an element's own terms, so that one
whose terms are all zero, as of an impulse at quarter turns, has to be zero. numpy's errors are relative to the image.

Error bounds of images with a NaN or an infinity are infinite, and where the sums are NaN the outputs must be: all
outputs of such an image are NaN.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .work import DONE, Kernel, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Run


DIRECT = 256  # elements of an image, whose table is then 1 MB


def fft2d(call: Call) -> Work:
    size = call.H * call.W
    table = angles(call, call.W, inverse=call.inverse) if size <= DIRECT else None
    # numpy's inverse is normalised, and 1 / size is a power of two
    transform = (lambda z: np.fft.ifft2(z, norm="forward")) if call.inverse else np.fft.fft2

    def image(inputs: Sequence[Array]) -> Array:
        values = np.empty(inputs[0].shape, np.complex128)
        values.real, values.imag = inputs
        return np.asarray(transform(values) if table is None else (table @ values.reshape(-1)).reshape(values.shape))

    return _transform(call, image, 2 * size)


def angles(call: Call, columns: int, *, inverse: bool = False) -> Array:
    """e to the power of -i (or i) times the angles between all outputs, of so many columns, and all inputs."""
    y, x = (np.arange(n)[:, None] * np.arange(size) % size / size for n, size in ((call.H, call.H), (columns, call.W)))
    part = (y[:, None, :, None] + x[None, :, None, :]).reshape(call.H * columns, -1) % 1.0
    quarters = np.round(4 * part)
    rest = 2 * np.pi * (part - quarters / 4)
    found = np.exp(-1j * rest) * np.array([1, -1j, -1, 1j])[quarters.astype(np.intp) % 4]
    return np.asarray(found.conj() if inverse else found)


def rfft2d(call: Call) -> Work:
    width = call.W // 2 + 1
    table = angles(call, width) if call.H * call.W <= DIRECT else None
    # whole numbers of half turns: the sums of the imaginary parts have no terms
    rows, columns = sorted({0, call.H // 2}), sorted({0, call.W // 2})

    def image(inputs: Sequence[Array]) -> Array:
        values = inputs[0].astype(np.float64)
        found = np.fft.rfft2(values) if table is None else (table @ values.reshape(-1)).reshape(call.H, width)
        found.imag[np.ix_(rows, columns)] = 0.0
        return found

    return _transform(call, image, call.H * call.W)


def _transform(call: Call, image: Callable[[Sequence[Array]], Array], values: int) -> Work:
    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                for n in range(low, high):
                    parts = [array[n] for array in inputs]
                    if all(np.isfinite(part).all() for part in parts):
                        found = image(parts)
                        outputs[0][n], outputs[1][n] = found.real, found.imag
                    else:
                        outputs[0][n], outputs[1][n] = np.nan, np.nan
            return DONE

        return run

    return Work(call.N, call.N * (10000.0 + 3.0 * values * math.log2(max(2, values))), bind)


KERNELS = {("FFT2D", "fp32"): Kernel(fft2d), ("RFFT2D", "fp32"): Kernel(rfft2d)}
