"""@quantize blocks as quantization hints (section 2.14)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from ...errors import DataError, TosaEngineError, raise_all
from ..nnef.files.quantfile import ARGUMENTS, Quantization
from ..nnef.language.syntax import QuantLine
from .tensors import Instance, tensors_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...graph import QParams
    from .tensors import Composed


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
    symbols, text, name = instance.symbols, instance.text, instance.operator.name
    if not is_quantization(instance):
        raise text.unsupported(f"'{instance.name}' isn't a quantization of the standard library", instance.place)
    if name == "min_max_linear_quantize" and any(
        high <= low for low, high in zip(symbols["min"], symbols["max"], strict=True)
    ):
        raise text.error("'max' must be more than 'min'", instance.place, "SKND.Q2")
    given = {key: symbols[key] for key in ARGUMENTS[name]}
    values = {key: value[0] if one_value(value) else tuple(value) for key, value in given.items() if is_pack(value)}
    found = Quantization(text.file)
    try:
        found.add(QuantLine("x", name, {**given, **values}, instance.place.line), inverted=False)
    except DataError as problem:
        raise text.error(problem.message, instance.place, "SKND.Q2") from None
    quant = found["x"]
    if len(quant.scale) == len(quant.zero_point) == 1:
        return quant
    axis, rank = symbols["channel_axis"], len(instance.inputs[0].shape)
    return replace(quant, axis=axis + rank if axis < 0 else axis)


def is_pack(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def one_value(values: list[Any]) -> bool:
    return all(value == values[0] for value in values)


def is_quantization(instance: Instance) -> bool:
    """Whether it is one of the two of the standard library."""
    return instance.operator.standard and instance.operator.module == "quant" and instance.operator.name in ARGUMENTS


def of_operators(composed: Composed) -> Mapping[str, QParams]:
    """What quantizations in the graph say of their results, and of what nothing else reads: as from NNEF 1."""
    nodes = [node for node in composed.nodes if isinstance(node, Instance)]
    reads = Counter(ref for node in nodes for value in node.inputs for ref in tensors_of(value))
    found: dict[str, QParams] = {}
    for node in nodes:
        if is_quantization(node):
            x, quant = node.inputs[0], qparams_of(node)
            found[node.outputs[0].name] = quant
            if reads[x] == 1 and x.kind not in ("variable", "constant"):
                found.setdefault(x.name, quant)
    return found
