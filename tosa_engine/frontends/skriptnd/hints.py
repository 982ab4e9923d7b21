"""@quantize blocks as quantization hints (section 2.14)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import TosaEngineError, raise_all
from ...graph import QParams

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .tensors import Composed, Instance


def hints_of(composed: Composed) -> Mapping[str, QParams]:
    """QParams by tensor name. Raises Problems for operators that have no QParams."""
    problems: list[TosaEngineError] = []
    found = {}
    for name, instance in composed.quantizations:
        try:
            found[name] = qparams_of(instance)
        except TosaEngineError as problem:
            problems.append(problem)
    raise_all(problems)
    return found


def qparams_of(instance: Instance) -> QParams:
    """A linear quantization; that by a range has the zero point that puts 0 on a whole number."""
    symbols, text = instance.symbols, instance.text
    if not instance.operator.standard or instance.operator.module != "quant":
        raise text.unsupported(f"'{instance.name}' isn't a quantization of the standard library", instance.place)
    bits, signed, symmetric = symbols["bits"], symbols["signed"], symbols["symmetric"]
    if instance.operator.name == "zero_point_linear_quantize":
        scales, zeros = symbols["scale"], symbols["zero_point"]
    else:
        steps = 2**bits - 1 - int(signed and symmetric)
        low = -(2 ** (bits - 1)) + int(symmetric) if signed else 0
        pairs = list(zip(symbols["min"], symbols["max"], strict=True))
        if any(high <= least for least, high in pairs):
            raise text.error("'max' must be more than 'min'", instance.place, "SKND.Q2")
        scales = [(high - least) / steps for least, high in pairs]
        zeros = [round(low - least / scale) for (least, _), scale in zip(pairs, scales, strict=True)]
    axis: int | None = symbols["channel_axis"]
    one = all(s == scales[0] for s in scales) and all(z == zeros[0] for z in zeros)
    if one:
        scales, zeros, axis = scales[:1], zeros[:1], None
    rank = len(instance.inputs[0].shape)
    axis = axis + rank if axis is not None and axis < 0 else axis
    return QParams(tuple(map(float, scales)), tuple(zeros), bits, signed, symmetric, axis)
