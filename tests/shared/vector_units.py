"""The vector units that tests of whole layers run at.

`make test` takes this processor's best unit and plain code; `make test-all` takes every unit that the processor has.
Tests of single micro-kernels take all units in both.
"""

from __future__ import annotations

import pytest

from tosa_engine.kernels._jit import has, variants

RUNNABLE = [v for v in variants.VARIANTS if has(*v.needs)]
SLOW = "whole layers at other units than the best one here, or than plain code, compile for minutes"


def _params(units: list[variants.Variant]) -> list[object]:
    quick = (next(unit for unit in units if unit in RUNNABLE), variants.GENERIC)
    return [pytest.param(unit.name, marks=_mark(unit, quick)) for unit in units]


def _mark(unit: variants.Variant, quick: tuple[variants.Variant, ...]) -> list[pytest.MarkDecorator]:
    if unit not in RUNNABLE:
        return [pytest.mark.skip(reason=f"this processor has no {unit.name}")]
    return [] if unit in quick else [pytest.mark.slow(SLOW)]


UNITS = _params(list(variants.VARIANTS))
# in `make test` the best unit alone: of layers that test_kernels.py has at plain code, too
BEST = [
    pytest.param(unit.name, marks=_mark(unit, (next(u for u in variants.VARIANTS if u in RUNNABLE),)))
    for unit in variants.VARIANTS
]
# one unit for each kind of vector code: units that differ in their products of bytes alone have the same
VECTOR_CODE = _params(list({(v.lanes, v.native): v for v in reversed(RUNNABLE)}.values())[::-1])
