"""The kernel of CUSTOM: the registered operator's own function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..spec.custom import compute
from .work import DONE, Kernel, effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..spec.table import Call
    from ..types import Array
    from .work import Around, Effect, Run


def custom(call: Call) -> Effect:
    def bind(inputs: Sequence[Array], outputs: Sequence[Array], around: Around) -> Run:
        def run(low: int, high: int, scratch: Sequence[Array]) -> int:
            # copies: the function may keep or change what it gets
            for output, value in zip(outputs, compute(call, [array.copy() for array in inputs]), strict=True):
                np.copyto(output, value)
            return DONE

        return run

    return effect(bind)


KERNELS = {("CUSTOM", "all"): Kernel(custom)}
