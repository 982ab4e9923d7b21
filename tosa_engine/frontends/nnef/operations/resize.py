"""multilinear_upsample (section 4.3.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....lower.borders import FILLED
from ....lower.resize import METHODS, upsampled
from ....lower.views import shape_of
from .windows import border_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....graph import Tensor
    from ..build import Mapper, NnefWriter
    from ..language.flat import Operation


def multilinear_upsample(b: NnefWriter, operation: Operation) -> Tensor:
    arguments = operation.arguments
    x, factors = b.value(arguments["input"]), arguments["factor"]
    spatial, method = len(shape_of(x)) - 2, method_of(b, arguments["method"])
    border = border_of(b, arguments, FILLED)
    if len(factors) != spatial or min(factors, default=1) < 1:
        raise b.error(f"'factor' needs {spatial} positive items, got {list(factors)}")
    return upsampled(b, x, factors, method, border)


def method_of(b: NnefWriter, method: str) -> str:
    if method not in METHODS:
        raise b.error(f"unknown method '{method}'; choose from: {', '.join(METHODS)}")
    return method


MAPPERS: Final[Mapping[str, Mapper]] = {"multilinear_upsample": multilinear_upsample}
