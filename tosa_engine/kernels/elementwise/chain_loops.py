"""The loop of a chain of formulas (`chain`), like that of one formula (`loops`): made for the steps of its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .._jit import JIT, described, jit
from .loops import lines_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...types import Array
    from .formula import Formula

if JIT:
    from .formula_emit import chain_line_of

LOOPS: Final[dict[str, Callable[..., int]]] = {}


def plain_line(formula: Formula, steps: tuple[int, ...]) -> Callable[..., None]:
    def line(
        a: Array, ia: int, b: Array, ib: int, c: Array, ic: int, d: Array, e: Array, f: Array, h: Array, i: Array,
        j: Array, p: Array, out: Array, at: int, count: int,
    ) -> None:  # fmt: skip
        places = ((a, ia), (b, ib), (c, ic))
        several = [x[n : n + count] if s else x[n : n + 1] for (x, n), s in zip(places, steps, strict=False)]
        single = (d, e, f, h, i, j)[: formula.inputs - len(steps)]
        found: Any = formula.compute(*several, *(x[:1] for x in single), *p[: formula.parameters])
        assert found.dtype == out.dtype, f"{found.dtype} is stored as {out.dtype}"
        out[at : at + count] = found

    return line


def loop_of(formula: Formula, steps: tuple[int, ...], alone: bool) -> Callable[..., int]:
    """The loop of a chain for inputs with these steps along a line (`alone`: of one element), the same one for the
    same chain.
    """
    text = f"{described(formula)} {steps} {alone}"
    if text not in LOOPS:
        LOOPS[text] = make_loop(formula, steps, alone)
    return LOOPS[text]


def make_loop(formula: Formula, steps: tuple[int, ...], alone: bool) -> Callable[..., int]:
    """As `loops.make_loop`, with up to six inputs of one element behind those that are walked."""
    compute_line = chain_line_of(formula, steps, alone) if JIT else plain_line(formula, steps)

    def loop(
        a: Array, b: Array, c: Array, d: Array, e: Array, f: Array, h: Array, i: Array, j: Array, p: Array, g: Array,
        out: Array, low: int, high: int,
    ) -> int:  # fmt: skip
        axes = len(g) // 4
        la, lb, lc = g[2 * axes - 2], g[3 * axes - 2], g[4 * axes - 2]
        at = low
        while at < high:
            ia, ib, ic, count, several = lines_from(g, at, high)
            for _ in range(several):
                compute_line(a, ia, b, ib, c, ic, d, e, f, h, i, j, p, out, at, count)
                at += count
                ia += la
                ib += lb
                ic += lc
        return -1

    return jit(loop)
