"""Einstein sums: letters name the axes of each operand, and of the result. What isn't in the result is summed up.

Operands are multiplied one after the other. Axes that both have and later ones or the result need are the batch of a
MATMUL, those that only they have are its depth; without a depth it is a MUL.
"""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from ..types import count
from .layout import stepped
from .linear import matmul
from .problems import Misfit
from .reductions import reduced
from .views import shape_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ..graph import Tensor
    from .writer import Writer

DOTS = "..."


def einsum(g: Writer, expression: str, operands: Sequence[Tensor]) -> Tensor:
    """The sum that an expression like 'bij,bjk->bik' says. '...' are axes of any number, which broadcast."""
    inputs, output = _letters(expression, operands)
    extents = _extents(expression, inputs, operands)
    if len(set(output)) != len(output) or not set(output) <= set(extents):
        raise Misfit(f"'{expression}' has a result that isn't made of different axes of the operands")
    terms = [_separate(g, x, axes, extents) for x, axes in zip(operands, inputs, strict=True)]
    x, axes = terms[0]
    for i, (y, more) in enumerate(terms[1:], 2):
        wanted = {*output, *(letter for _, later in terms[i:] for letter in later)}
        x, axes = _product(g, _summed(g, x, axes, {*wanted, *more}), _summed(g, y, more, {*wanted, *axes}), wanted)
    x, axes = _summed(g, x, axes, set(output))
    return g.transpose(x, [axes.index(c) for c in output])


def _letters(expression: str, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """The letters of every operand and of the result, with letters in place of the dots."""
    text = expression.replace(" ", "")
    left, arrow, output = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise Misfit(f"'{expression}' is of {len(inputs)} operands, got {len(operands)}")
    free = [c for c in string.ascii_letters if c not in text]
    ranks = [len(shape_of(x)) - len(a.replace(DOTS, "")) for x, a in zip(operands, inputs, strict=True)]
    most = max([r for r, a in zip(ranks, inputs, strict=True) if DOTS in a], default=0)
    dots = "".join(free[: max(most, 0)])
    if not arrow:
        alone = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
        output = (DOTS if DOTS in left else "") + "".join(alone)
    found = [a.replace(DOTS, dots[len(dots) - max(r, 0) :]) for a, r in zip(inputs, ranks, strict=True)]
    output = output.replace(DOTS, dots)
    for axes, x in zip(found, operands, strict=True):
        if not (axes.isalpha() or not axes) or len(axes) != len(shape_of(x)):
            raise Misfit(f"'{expression}' doesn't fit an operand of shape {list(shape_of(x))}")
    return found, output


def _extents(expression: str, inputs: Sequence[str], operands: Sequence[Tensor]) -> dict[str, int]:
    """The extent of every letter; an extent of 1 broadcasts."""
    found: dict[str, int] = {}
    for axes, x in zip(inputs, operands, strict=True):
        for letter, extent in zip(axes, shape_of(x), strict=True):
            known = found.setdefault(letter, extent)
            if 1 not in (known, extent) and known != extent:
                raise Misfit(f"axis '{letter}' of '{expression}' has {known} elements and {extent}")
            found[letter] = max(known, extent)
    return found


def _separate(g: Writer, x: Tensor, axes: str, extents: dict[str, int]) -> tuple[Tensor, str]:
    """An operand whose axes all differ: of axes with one letter the diagonal; what broadcasts is left out."""
    for letter in dict.fromkeys(axes):
        while axes.count(letter) > 1:
            first = axes.index(letter)
            second = axes.index(letter, first + 1)
            x, axes = _diagonal(g, x, axes, first, second)
    for letter in axes:
        shape, axis = shape_of(x), axes.index(letter)
        if shape[axis] == 1 and extents[letter] != 1:
            x, axes = g.reshape(x, shape[:axis] + shape[axis + 1 :]), axes.replace(letter, "")
    return x, axes


def _diagonal(g: Writer, x: Tensor, axes: str, first: int, second: int) -> tuple[Tensor, str]:
    """Both axes as one, the last."""
    shape = shape_of(x)
    if shape[first] != shape[second]:
        raise Misfit(f"axes of {shape[first]} and {shape[second]} elements have no diagonal")
    rest = [i for i in range(len(shape)) if i not in (first, second)]
    turned = g.transpose(x, (*rest, first, second))
    extent = shape[first]
    flat = g.reshape(turned, (*(shape[i] for i in rest), extent * extent))
    return stepped(g, flat, len(rest), 0, extent + 1, extent), "".join(axes[i] for i in rest) + axes[first]


def _summed(g: Writer, x: Tensor, axes: str, wanted: Collection[str]) -> tuple[Tensor, str]:
    """Without the axes that nobody needs."""
    lost = [i for i, letter in enumerate(axes) if letter not in wanted]
    shape, total = shape_of(x), reduced(g, "REDUCE_SUM", x, lost)
    kept = [i for i in range(len(axes)) if i not in lost]
    return g.reshape(total, tuple(shape[i] for i in kept)), "".join(axes[i] for i in kept)


def _product(
    g: Writer, left: tuple[Tensor, str], right: tuple[Tensor, str], wanted: Collection[str]
) -> tuple[Tensor, str]:
    """The product of two operands, without the axes that only they have in common."""
    if left[0].data is not None and right[0].data is None:
        left, right = right, left  # a constant on the right is a weight
    (x, a), (y, b) = left, right
    batch = [c for c in a if c in b and c in wanted]
    depth = [c for c in a if c in b and c not in wanted]
    rows, columns = [c for c in a if c not in b], [c for c in b if c not in a]
    extent = {**dict(zip(a, shape_of(x), strict=True)), **dict(zip(b, shape_of(y), strict=True))}
    sizes = [count(tuple(extent[c] for c in group)) for group in (batch, rows, depth, columns)]
    x = g.transpose(x, [a.index(c) for c in (*batch, *rows, *depth)])
    y = g.transpose(y, [b.index(c) for c in (*batch, *depth, *columns)])
    if depth:
        found = matmul(g, g.reshape(x, (sizes[0], sizes[1], sizes[2])), g.reshape(y, (sizes[0], sizes[2], sizes[3])))
    else:
        found = g.binary("MUL", g.reshape(x, (sizes[0], sizes[1], 1)), g.reshape(y, (sizes[0], 1, sizes[3])))
    axes = (*batch, *rows, *columns)
    return g.reshape(found, tuple(extent[c] for c in axes)), "".join(axes)
