"""RESCALE by one scale, and ADD, SUB or MUL between scales, as vector loops. The caller has proved every REQUIRE.

Their numbers are those of `numbers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._jit import JIT, inline, jit, lanes_of, native
from ..work import BLOCK
from .exact_loops import offset
from .numbers import (  # fmt: skip
    BOTH,
    DOUBLE,
    EXACT,
    HIGH_WORD,
    MULTIPLIER,
    NUMBERS,
    ONE,
    OUT,
    PRODUCT,
    ROUND,
    SHIFT,
    SIGN_FIRST,
    SIGN_SECOND,
    SPLIT,
    ZERO_IN,
)

if TYPE_CHECKING:
    from ...types import Array
    from .._jit.typed import Compiled, Number
    from .._jit.variants import Variant

if JIT:
    from .emit import ANY, HIGH, WIDE, make_binary, make_rescale, make_split


@inline
def plain_scale(value: Number, p: Array, at: int) -> Number:
    """apply_scale of value - zero point, by the scale whose numbers start at `at`."""
    difference = np.int64(value) - p[at + ZERO_IN]
    rounding = p[at + ROUND] + (p[at + DOUBLE] if difference >= 0 else -p[at + DOUBLE])
    return (difference * p[at + MULTIPLIER] + rounding) >> p[at + SHIFT]


@inline
def plain_finish(value: Number, p: Array, at: int) -> Number:
    """Zero point and clip."""
    return min(max(value + p[at], p[at + 1]), p[at + 2])


@inline
def plain_rescale(x: Array, p: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = plain_finish(plain_scale(x[i], p, 0), p, NUMBERS)


@inline
def plain_binary(product: bool, a: Array, b: Array, step: int, p: Array, out: Array) -> None:
    """out = scaled(scaled(a) op scaled(b)); b is one value where `step` is 0."""
    for i in range(len(out)):
        first, second = plain_scale(a[i], p, 0), plain_scale(b[i * step], p, NUMBERS)
        total = first * second if product else p[SIGN_FIRST] * first + p[SIGN_SECOND] * second
        out[i] = plain_finish(plain_scale(total, p, 2 * NUMBERS), p, OUT)


if JIT:
    rescale_high, rescale_wide, rescale_any = (make_rescale(how) for how in (HIGH, WIDE, ANY))


@inline
def simple_scale(simd: Variant, x: Array, p: Array, out: Array, count: int) -> None:
    """A scale that doesn't round twice."""
    if p[HIGH_WORD] != 0:
        rescale_high(simd, x, p, out, count)
    else:
        rescale_wide(simd, x, p, out, count)


@inline
def any_scale(simd: Variant, x: Array, p: Array, out: Array, count: int) -> None:
    rescale_any(simd, x, p, out, count)


def by_scale(vectors: Compiled) -> Compiled:
    """The loop of a RESCALE by one scale of the kind that `vectors` knows."""

    @jit
    def rescale(simd: Variant, x: Array, p: Array, out: Array, low: int, high: int) -> int:
        """Of int8, int16 or int32 in units of BLOCK elements; p: a scale, then output zero point and bounds."""
        low, high = low * BLOCK, min(high * BLOCK, len(out))
        source, target = x[low:high], out[low:high]
        done = 0
        if native(simd):
            done = len(target) // lanes_of(simd) * lanes_of(simd)
            vectors(simd, source, p, target, done)
        plain_rescale(source[done:], p, target[done:])
        return -1

    return rescale


rescale, rescale_by_any_scale = by_scale(simple_scale), by_scale(any_scale)


if JIT:
    add_vector, sub_vector, mul_vector = (make_binary(op, uniform=False) for op in ("add", "sub", "mul"))
    add_uniform, sub_uniform, mul_uniform = (make_binary(op, uniform=True) for op in ("add", "sub", "mul"))
    rsub_uniform = make_binary("rsub", uniform=True)
    split_sum_one, split_sum_both, split_product = (make_split(form) for form in (ONE, BOTH, EXACT))
    any_sum, any_product = (make_binary(op, False, ANY, ANY) for op in ("sum", "mul"))
    any_sum_uniform, any_product_uniform = (make_binary(op, True, ANY, ANY) for op in ("sum", "mul"))
    any_split_one, any_split_both, any_split_product = (make_split(form, ANY) for form in (ONE, BOTH, EXACT))


@inline
def sums(simd: Variant, a: Array, b: Array, p: Array, out: Array, count: int) -> None:
    if p[SIGN_SECOND] > 0:
        add_vector(simd, a, b, p, out, count)
    else:
        sub_vector(simd, a, b, p, out, count)


@inline
def sums_uniform(simd: Variant, a: Array, b: Array, p: Array, out: Array, count: int) -> None:
    if p[SIGN_FIRST] < 0:
        rsub_uniform(simd, a, b, p, out, count)
    elif p[SIGN_SECOND] < 0:
        sub_uniform(simd, a, b, p, out, count)
    else:
        add_uniform(simd, a, b, p, out, count)


def choosing(products: tuple[Compiled, ...], sums: tuple[Compiled, ...]) -> Compiled:
    """Which code runs: of products and of sums, that for a uniform second input, for any, and for each split form."""
    product_uniform, product, product_exact = products
    sum_uniform, sum_of_any, sum_one, sum_both = sums

    @inline
    def vectors(
        simd: Variant, is_product: bool, a: Array, b: Array, step: int, p: Array, out: Array, count: int
    ) -> None:
        if is_product:
            if step == 0:
                product_uniform(simd, a, b, p, out, count)
            elif p[SPLIT] == EXACT:
                product_exact(simd, a, b, p, out, count)
            else:
                product(simd, a, b, p, out, count)
        elif step == 0:
            sum_uniform(simd, a, b, p, out, count)
        elif p[SPLIT] == ONE:
            sum_one(simd, a, b, p, out, count)
        elif p[SPLIT] == BOTH:
            sum_both(simd, a, b, p, out, count)
        else:
            sum_of_any(simd, a, b, p, out, count)

    return vectors


def between_scales(vectors: Compiled) -> Compiled:
    """The loop of a binary operator between scales of the kind that `vectors` knows."""

    @jit
    def rescaled(
        simd: Variant, a: Array, b: Array, dims: Array, sa: Array, sb: Array, p: Array, out: Array, low: int, high: int
    ) -> int:
        """Units of BLOCK elements. Along the last of `dims` the step sa is 1, and sb 1 or 0."""
        last, product = len(dims) - 1, p[PRODUCT] != 0
        at, end = low * BLOCK, min(high * BLOCK, len(out))
        while at < end:
            row = at // dims[last]
            column = at - row * dims[last]
            count = min(dims[last] - column, end - at)
            ia, ib = offset(row, dims, sa) + column, offset(row, dims, sb) + column * sb[last]
            first, second, target = a[ia : ia + count], b[ib:], out[at : at + count]
            done = 0
            if native(simd):
                done = count // lanes_of(simd) * lanes_of(simd)
                vectors(simd, product, first, second, sb[last], p, target, done)
            plain_binary(product, first[done:], second[done * sb[last] :], sb[last], p, target[done:])
            at += count
        return -1

    return rescaled


if JIT:
    # scales that don't round twice, the last one by a high word; and any
    rescaled = between_scales(
        choosing((mul_uniform, mul_vector, split_product), (sums_uniform, sums, split_sum_one, split_sum_both))
    )
    rescaled_by_any_scale = between_scales(
        choosing(
            (any_product_uniform, any_product, any_split_product),
            (any_sum_uniform, any_sum, any_split_one, any_split_both),
        )
    )
else:

    def no_vectors(*arguments: object) -> None:
        raise AssertionError("plain code has no vectors")

    rescaled = rescaled_by_any_scale = between_scales(no_vectors)
