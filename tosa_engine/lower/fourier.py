"""Discrete Fourier transforms of any length, as products with constant matrices.

Complex numbers are a last axis of two: real and imaginary parts. FFT2D of TOSA wants powers of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .axes import matrix, part
from .layout import at_constant
from .problems import Misfit, check_made
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from ..types import Array
    from .writer import Writer


def transformed(
    g: Writer, x: Tensor, axis: int, length: int, *, inverse: bool = False, onesided: bool = False
) -> Tensor:
    """The transform along `axis` of `x`, whose last axis holds real numbers (1) or complex ones (2).

    What is missing of `length` is 0, what is more is cut off. `onesided`: only the first half of the frequencies;
    with `inverse` that half comes in, and real numbers come out.
    """
    shape = shape_of(x)
    rank, parts = len(shape), shape[-1]
    if parts not in (1, 2) or not 0 <= axis < rank - 1 or length < 1:
        raise Misfit(f"a transform of {length} along axis {axis} of shape {list(shape)}")
    half = length // 2 + 1
    taken = min(shape[axis], half if onesided and inverse else length)
    frequencies = half if onesided and not inverse else length
    check_made(4 * taken * frequencies, "the matrix of a transform")
    weights = _weights(taken, frequencies, length, inverse=inverse, onesided=onesided)
    outputs = 1 if onesided and inverse else 2
    weights = weights[:, :outputs, :, :parts].reshape(frequencies * outputs, taken * parts)
    order = [*(i for i in range(rank) if i not in (axis, rank - 1)), axis, rank - 1]
    rows = g.transpose(part(g, x, axis, 0, taken), order)
    flat = g.reshape(rows, (*(shape[i] for i in order[:-2]), taken * parts))
    found = matrix(g, flat, rank - 2, weights)
    whole = g.reshape(found, (*(shape[i] for i in order[:-2]), frequencies, outputs))
    return g.transpose(whole, [order.index(i) for i in range(rank)])


def _weights(inputs: int, outputs: int, length: int, *, inverse: bool, onesided: bool) -> Array:
    """[outputs, its real and imaginary part, inputs, its real and imaginary part]."""
    turns = np.outer(np.arange(outputs), np.arange(inputs)) % length
    angles = turns * (2 * np.pi / length) * (1 if inverse else -1)
    share = np.ones(inputs)
    if inverse:
        share /= length
        if onesided:  # the other half is the conjugate
            share[1 : (length + 1) // 2] *= 2
    cosine, sine = np.cos(angles) * share, np.sin(angles) * share
    return np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], 1)


def of_frames(g: Writer, x: Tensor, length: int, step: int, window: Tensor | None, *, onesided: bool = False) -> Tensor:
    """The transforms of overlapping frames, `step` apart, of signals [N, samples, 1 or 2]: [N, frames, bins, 2]."""
    samples = shape_of(x)[1]
    if step < 1 or not 1 <= length <= samples:
        raise Misfit(f"frames of {length}, {step} apart, of {samples} samples")
    starts = np.arange((samples - length) // step + 1) * step
    check_made(starts.size * length, "frames")
    frames = at_constant(g, x, starts[:, None] + np.arange(length), 1)
    if window is not None:
        frames = g.binary("MUL", frames, g.reshape(window, (1, 1, length, 1)))
    return transformed(g, frames, 2, length, onesided=onesided)
