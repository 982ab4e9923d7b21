"""Inputs and outputs of a module. Unsigned integers of 8 and 16 bits are their bits there, 64-bit integers int32."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import types
from ...errors import Unsupported, UsageError
from ...lower.elementary import number
from ...lower.integers import tested
from ...lower.views import shape_of
from .call import element_of
from .elements import F64, Element, is_wide
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...graph import Tensor
    from .module import Function, Kind
    from .writer import HloWriter, Reach


def inputs(g: HloWriter, function: Function, within: Mapping[str, Reach]) -> list[Value]:
    """The values of a function's arguments. Raises UsageError for ranges of what isn't there."""
    for name in within:
        if name not in function.names:
            listed = ", ".join(f"'{one}'" for one in function.names) or "none"
            raise UsageError(f"the model has no input '{name}'; it has {listed}")
    return [
        port(g, name, kind, within.get(name))
        for name, (_, kind) in zip(function.names, function.body.arguments, strict=True)
    ]


def port(g: HloWriter, name: str, kind: Kind, reach: Reach | None = None) -> Value:
    """One more input of the graph."""
    try:
        element = element_of(kind)
    except Unsupported as problem:
        raise Unsupported(f"{g.file}: input '{name}': {problem.message}") from None
    if element is F64:
        raise Unsupported(f"{g.file}: input '{name}': TOSA has no number format for f64")
    if 0 in kind.shape:
        raise Unsupported(f"{g.file}: input '{name}' has the shape {list(kind.shape)}, TOSA needs one element at least")
    g.begin(name)
    tensor = g.tensor(g.fresh(name), element.port, kind.shape)
    tensor.source = g.location
    g.block.inputs.append(tensor.name)
    g.named.add(tensor.name)
    if is_wide(element) and not element.is_signed:
        g.bound(tensor, 0, types.i32.maximum)
    elif element.is_integer and element.bits < 8:
        g.bound(tensor, element.minimum, element.maximum)
    found = numbers(g, tensor, element)
    if reach is not None:
        found = _within(g, name, found, element, reach)
    return Value(element, kind.shape, None, found)


def _within(g: HloWriter, name: str, x: Tensor, element: Element, reach: Reach) -> Tensor:
    low, high = reach
    if not element.is_integer or not types.i32.minimum <= low <= high <= types.i32.maximum:
        raise UsageError(f"--within {name}={low},{high}: '{name}' is {element}, a range is LOW,HIGH of int32")
    g.begin(f"{name}/within")
    wide = x if x.dtype is types.i32 else g.operator("CAST", [x], shape_of(x), types.i32)
    found = tested(g, wide, low, high)
    if x is not wide:
        found = g.operator("CAST", [found], shape_of(x), x.dtype)
    low, high = max(low, element.minimum, x.dtype.minimum), min(high, element.maximum, x.dtype.maximum)
    if low > high:
        raise UsageError(f"--within {name}={reach[0]},{reach[1]}: '{name}' is {element}, which has none of these")
    g.bound(found, low, high)
    return found


def numbers(g: HloWriter, tensor: Tensor, element: Element) -> Tensor:
    """The bits of a port as the carrier has them."""
    if element.port is element.carrier:
        return tensor
    wide = g.operator("CAST", [tensor], shape_of(tensor), types.i32)
    return g.operator("BITWISE_AND", [wide, number(g, element.maximum, wide)], shape_of(wide))


def outputs(g: HloWriter, names: Sequence[str], values: Sequence[Value]) -> None:
    """The module's outputs, each under its name."""
    for name, value in zip(names, values, strict=True):
        g.begin(name)
        if 0 in value.shape:
            shape = list(value.shape)
            raise Unsupported(f"{g.file}: output '{name}' has the shape {shape}, TOSA needs one element at least")
        tensor, element = g.full(value), value.element
        own = tensor.name == name and name not in (*g.block.inputs, *g.block.outputs)
        if element.port is not tensor.dtype:
            if own:
                g.give_up_name(tensor)
            tensor, own = g.operator("CAST", [tensor], shape_of(tensor), element.port), False
        elif tensor.data is not None:
            tensor = g.const(tensor.data, tensor.dtype)
        elif not own:
            quant, tensor = tensor.quant, g.unary("IDENTITY", tensor)
            tensor.quant = quant
        if not own:
            g.rename(tensor, g.fresh(name))
            tensor.source = g.location
        g.block.outputs.append(tensor.name)
