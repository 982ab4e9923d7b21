"""The one loop of all elementwise operators: it walks the lines of broadcast inputs, and computes one at a time.

Code is emitted once for each formula and the kinds of its arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .._jit import JIT, described, inline, jit

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...types import Array
    from .formula import Formula

if JIT:
    from .formula_emit import line_of

LOOPS: Final[dict[str, Callable[..., int]]] = {}  # by what describes their formulas, which may be made more than once


def plain_line(formula: Formula) -> Callable[..., bool]:
    """`line_of` in numpy: out[at + i] = formula(a[ia + i * sa], ...) for `count` elements; steps are 0 or 1.

    Returns whether an element violates a REQUIRE.
    """

    def line(
        a: Array, ia: int, sa: int, b: Array, ib: int, sb: int, c: Array, ic: int, sc: int, p: Array, out: Array,
        at: int, count: int,
    ) -> bool:  # fmt: skip
        places = ((a, ia, sa), (b, ib, sb), (c, ic, sc))[: formula.inputs]
        inputs = [x[first : first + count] if step else x[first : first + 1] for x, first, step in places]
        computed: Any = formula.compute(*inputs, *p[: formula.parameters])
        found, bad = computed if isinstance(computed, tuple) else (computed, np.False_)
        assert found.dtype in (out.dtype, np.bool_), f"{formula.name}: {found.dtype} is stored as {out.dtype}"
        out[at : at + count] = found
        return bool(np.any(bad))

    return line


@inline
def lines_from(g: Array, at: int, high: int) -> tuple[int, int, int, int, int]:
    """The place in each input of output element `at`, how many elements are left in its line before `high`, and how
    many such lines follow each other. Apart from the loops, because it is compiled once for all of them.
    """
    axes = len(g) // 4
    inner, sa, sb, sc = g[axes - 1], g[2 * axes - 1], g[3 * axes - 1], g[4 * axes - 1]
    lines, la, lb, lc = g[axes - 2], g[2 * axes - 2], g[3 * axes - 2], g[4 * axes - 2]
    row = at // inner
    column, first, rest = at - row * inner, row % lines, row // lines
    ia, ib, ic = column * sa + first * la, column * sb + first * lb, column * sc + first * lc
    for axis in range(axes - 3, -1, -1):
        index = rest % g[axis]
        rest //= g[axis]
        ia += index * g[axes + axis]
        ib += index * g[2 * axes + axis]
        ic += index * g[3 * axes + axis]
    count = min(inner - column, high - at)
    several = min(lines - first, (high - at) // inner) if count == inner else 1
    return ia, ib, ic, count, several


def loop_of(formula: Formula) -> Callable[..., int]:
    """The loop of a formula (see `make_loop`), the same one for the same formula."""
    text = described(formula)
    if text not in LOOPS:
        LOOPS[text] = make_loop(formula)
    return LOOPS[text]


def make_loop(formula: Formula) -> Callable[..., int]:
    """The loop of a formula on up to three inputs, over output elements low .. high - 1.

    g: the sizes of two axes or more, then each input's strides along them; those along the last are 0 or 1.
    """
    compute_line = line_of(formula) if JIT else plain_line(formula)

    def loop(a: Array, b: Array, c: Array, p: Array, g: Array, out: Array, low: int, high: int) -> int:
        axes = len(g) // 4
        sa, sb, sc = g[2 * axes - 1], g[3 * axes - 1], g[4 * axes - 1]
        la, lb, lc = g[2 * axes - 2], g[3 * axes - 2], g[4 * axes - 2]
        at = low
        while at < high:
            ia, ib, ic, count, several = lines_from(g, at, high)
            for _ in range(several):
                if compute_line(a, ia, sa, b, ib, sb, c, ic, sc, p, out, at, count):
                    return int(at)
                at += count
                ia += la
                ib += lb
                ic += lc
        return -1

    loop.__name__ = formula.name
    return jit(loop)
