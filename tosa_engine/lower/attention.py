"""Scaled dot-product attention, softmax with a mask, rotary embedding.

What a mask of truths leaves out is -infinity before the softmax, by a SELECT, which has an integer form (`quant`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import types
from .axes import part
from .elementary import chosen, number, times
from .linear import matmul, turned
from .normalization import softmax
from .problems import Misfit, Unlowered, check_made
from .views import shape_of

if TYPE_CHECKING:
    from ..graph import Tensor
    from .writer import Writer


def attention(
    g: Writer, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, scale: float | None, causal: bool
) -> Tensor:
    """softmax(q * k^T * scale + mask) * v, of [..., heads, length, features]; k and v may have fewer heads than q.

    `scale` is 1 / sqrt(features) where it is None. A `mask` of truths says what is left; `causal`: of every query the
    keys up to its own place.
    """
    queries, keys, values = shape_of(q), shape_of(k), shape_of(v)
    _check(queries, keys, values)
    share = queries[-3] // keys[-3] if len(queries) > 2 and queries[:-2] != keys[:-2] else 1
    if share > 1:  # neighbouring heads of q share one of k and v: their rows are one matrix
        q = g.reshape(q, (*keys[:-2], share * queries[-2], queries[-1]))
    scaled = times(g, q, 1 / math.sqrt(queries[-1]) if scale is None else scale)
    scores = g.reshape(matmul(g, scaled, turned(g, k)), (*queries[:-1], keys[-2]))
    if causal:
        if queries[-2] != keys[-2]:
            raise Unlowered(
                f"a causal mask of {queries[-2]} queries and {keys[-2]} keys, which PyTorch and tract don't place alike"
            )
        check_made(queries[-2] * keys[-2], "a causal mask")
        mask = g.const(np.tri(queries[-2], dtype=np.bool_), types.bool_, "causal")
    weights = masked_softmax(g, scores, mask)
    weights = g.reshape(weights, (*keys[:-2], share * queries[-2], keys[-2]))
    return g.reshape(matmul(g, weights, v), (*queries[:-1], values[-1]))


def _check(q: tuple[int, ...], k: tuple[int, ...], v: tuple[int, ...]) -> None:
    shown = f"queries {list(q)}, keys {list(k)} and values {list(v)}"
    if not 2 <= len(q) == len(k) == len(v) or q[-1] != k[-1] or k[:-1] != v[:-1]:
        raise Misfit(f"{shown} don't fit together")
    alike = q[:-2] == k[:-2] or (len(q) > 2 and q[:-3] == k[:-3] and q[-3] % k[-3] == 0)
    if not alike:
        raise Misfit(f"{shown} have batches or heads that don't fit together")


def masked_softmax(g: Writer, scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the last axis of `scores` plus a mask of numbers, or of what a mask of truths leaves."""
    if not shape_of(scores):
        raise Misfit("softmax of a tensor without axes")
    axis = len(shape_of(scores)) - 1
    if mask is None:
        return softmax(g, scores, (axis,))
    mask = _aligned(g, mask, scores)
    if mask.dtype is not types.bool_:
        return softmax(g, g.binary("ADD", scores, mask), (axis,))
    if mask.data is not None and not mask.data.any(axis=-1).all():
        raise Unlowered("a mask that leaves nothing of a row, whose softmax isn't defined")
    return softmax(g, chosen(g, mask, scores, number(g, -math.inf, scores)), (axis,))


def _aligned(g: Writer, mask: Tensor, scores: Tensor) -> Tensor:
    """The mask with axes of 1 in front, as PyTorch broadcasts."""
    shape, wanted = shape_of(mask), shape_of(scores)
    found = (1,) * (len(wanted) - len(shape)) + shape
    if len(shape) > len(wanted) or any(m not in (1, n) for m, n in zip(found, wanted, strict=True)):
        raise Misfit(f"a mask of shape {list(shape)} doesn't fit scores of shape {list(wanted)}")
    return g.reshape(mask, found)


def rotated(g: Writer, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """x * cosine + (-second half of x, first half of x) * sine, along the last axis."""
    shape = shape_of(x)
    if not shape or shape[-1] % 2:
        raise Misfit(f"the last axis of shape {list(shape)} has no halves")
    axis, half = len(shape) - 1, shape[-1] // 2
    first, second = part(g, x, axis, 0, half), part(g, x, axis, half, half)
    turned_half = g.concat([g.negate(second), first], axis)
    cosine, sine = _aligned(g, cosine, x), _aligned(g, sine, x)
    return g.binary("ADD", g.binary("MUL", x, cosine), g.binary("MUL", turned_half, sine))
