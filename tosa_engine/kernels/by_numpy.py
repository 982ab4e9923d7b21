"""Elementwise work by numpy's functions, in slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import types
from .data_layout import strip
from .work import DONE, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..types import Array, Shape
    from .work import Run


def by_numpy(shape: Shape, cost: float, function: Callable[..., Any]) -> Work:
    """function(*inputs, out) on slices along the first axis longer than 1; inputs broadcast to `shape`.

    `function` returns None, or an array of flags of elements that violate a REQUIRE.
    """
    lead = strip(shape)
    inner = types.count(shape[lead + 1 :])

    def bind(inputs: Sequence[Array], outputs: Sequence[Array]) -> Run:
        views = [np.atleast_1d(np.broadcast_to(x, shape))[(0,) * lead] for x in inputs]
        out = np.atleast_1d(outputs[0])[(0,) * lead]

        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            with np.errstate(all="ignore"):
                bad = function(*(v[low:high] for v in views), out[low:high])
            if bad is None or not bad.any():
                return DONE
            return low * inner + int(np.argmax(bad))

        return run

    return Work(shape[lead] if shape else 1, cost * types.count(shape), bind)
