"""The floating-point formats as rows list them: which profile or extension has them, and in which order they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..types import bf16, fp8e4m3, fp8e5m2, fp16, fp32
from .table import with_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..types import DType
    from .table import Row

NEEDS: Final[Mapping[DType, str]] = {
    fp8e4m3: "EXT-FP8E4M3", fp8e5m2: "EXT-FP8E5M2", fp16: "PRO-FP", bf16: "EXT-BF16", fp32: "PRO-FP",
}  # fmt: skip
FP8: Final = (fp8e4m3, fp8e5m2)
FP: Final = (fp16, bf16, fp32)
ALL: Final = (*FP8, *FP)


def float_rows(formats: tuple[DType, ...], *variables: str, **fixed: DType) -> tuple[Row, ...]:
    """A row for each format, which the type variables share; `fixed` are those that all rows have alike."""
    return tuple(with_types(t.name, NEEDS[t], {**dict.fromkeys(variables, t), **fixed}) for t in formats)


def sum_row(operand: DType, acc: DType, /, **variables: DType) -> Row:
    """A row of an operator that adds up products of `operand` in `acc`."""
    return with_types(f"{operand} with {acc} accumulate", NEEDS[operand], variables)
