"""What the Fourier transforms compute (specification 2.3.6 and 2.3.9): direct sums in fp64, rounded once.

The loops run over the input positions, in the specification's order; each step is done for all outputs together.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from .arith import IEEE, narrow, wide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..spec.table import Call
    from ..types import Array


def turns(call: Call, columns: int) -> Iterator[tuple[int, int, Array, Array, Array]]:
    """For each input position iy, ix, and all outputs [H, columns]: cosine and sine of the angle between both, and
    where the angle is a whole number of half turns along each axis. At quarter turns both are whole numbers
    (docs/errata.md), which those of fp64's multiples of pi miss.
    """
    oy, ox = np.arange(call.H)[:, None], np.arange(columns)[None, :]
    for iy, ix in itertools.product(range(call.H), range(call.W)):
        ay, ax = iy * oy % call.H, ix * ox % call.W
        part = ay / call.H + ax / call.W
        half_turns = (2 * ay % call.H == 0) & (2 * ax % call.W == 0)
        quarter, angle = 4 * part % 1 == 0, 2 * np.pi * part
        cosine, sine = (np.where(quarter, np.round(wave), wave) for wave in (np.cos(angle), np.sin(angle)))
        yield iy, ix, cosine, sine, half_turns


def fft2d(call: Call, input_real: Array, input_imag: Array) -> list[Array]:
    """Sums of input times e to the power of -i times the angle, or of +i where `inverse` is set; not normalised."""
    real, imag = wide(input_real), wide(input_imag)
    sum_real, sum_imag = np.zeros(real.shape), np.zeros(real.shape)
    with np.errstate(**IEEE):
        for iy, ix, cosine, sine, _ in turns(call, call.W):
            sine = -sine if call.inverse else sine
            re, im = real[:, iy, ix, None, None], imag[:, iy, ix, None, None]
            sum_real += re * cosine + im * sine
            sum_imag += -re * sine + im * cosine
    return [narrow(sum_real, call.in_out_t), narrow(sum_imag, call.in_out_t)]


def rfft2d(call: Call, input_real: Array) -> list[Array]:
    """The first W/2 + 1 columns of the transform of real values. Terms at half turns add nothing to imaginary parts."""
    real = wide(input_real)
    columns = call.W // 2 + 1
    sum_real, sum_imag = np.zeros((call.N, call.H, columns)), np.zeros((call.N, call.H, columns))
    with np.errstate(**IEEE):
        for iy, ix, cosine, sine, half_turns in turns(call, columns):
            re = real[:, iy, ix, None, None]
            sum_real += re * cosine
            sum_imag += np.where(half_turns, 0.0, -re * sine)
    return [narrow(sum_real, call.in_out_t), narrow(sum_imag, call.in_out_t)]


ORACLES = {"FFT2D": fft2d, "RFFT2D": rfft2d}
