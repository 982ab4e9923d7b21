"""Inputs and outputs of an ONNX model: free dimensions are bound, element types get the formats that TOSA has.

64-bit integers and uint32 are int32 at the border, and every run tests that unsigned ones aren't negative. uint8 and
uint16 keep their bits there, and a RESCALE makes numbers of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import types
from ...errors import DataError, TosaEngineError, Unsupported, UsageError, raise_all
from ...lower.elementary import plus
from ...lower.views import shape_of
from .elements import BY_CODE, DOUBLE, Element
from .narrowing import is_wide, within
from .values import Value, known
from .writer import carrier_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ...graph import Tensor
    from ...types import Array, DType, Shape
    from .writer import OnnxWriter

UNSIGNED = {"uint8": types.i8, "uint16": types.i16}


@dataclass(frozen=True)
class Bindings:
    """Shapes of inputs by name, extents of named dimensions, inputs that are constants, and ranges of integers."""

    shapes: Mapping[str, Shape] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, Array | float | str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)


def inputs(g: OnnxWriter, protos: Iterable[Any], bindings: Bindings) -> dict[str, Value]:
    """The values of a model's inputs. Raises Problems with all that can't be, UsageError for unknown names."""
    protos = list(protos)
    _refuse_unknown(protos, bindings)
    problems: list[TosaEngineError] = []
    values: dict[str, Value] = {}
    for proto in protos:
        try:
            values[proto.name] = _input(g, proto, bindings)
        except TosaEngineError as problem:
            problems.append(problem)
    raise_all(problems, f"{g.file}: {len(problems)} problems")
    return values


def _input(g: OnnxWriter, proto: Any, bindings: Bindings) -> Value:
    kind = proto.type.WhichOneof("value")
    if kind == "sequence_type" and proto.name in bindings.constants:
        return _known_sequence(g, proto, bindings.constants[proto.name])
    if kind != "tensor_type":
        raise Unsupported(
            f"{g.file}: input '{proto.name}' is a {str(kind).removesuffix('_type')}, TOSA has tensors only"
        )
    element = BY_CODE.get(proto.type.tensor_type.elem_type)
    if element is None:
        raise Unsupported(f"{g.file}: input '{proto.name}' has an element type that isn't known here")
    if proto.name in bindings.constants:
        return known(_constant(g, proto, element, bindings))
    shape = shape_of_port(g.file, proto, bindings)
    if 0 in shape:  # what has no elements doesn't depend on data
        return known(np.zeros(shape, element.storage))
    if element is DOUBLE:
        raise Unsupported(f"{g.file}: input '{proto.name}': TOSA has no number format for double")
    try:
        carrier = carrier_of(element)
    except Unsupported as problem:
        raise Unsupported(f"{g.file}: input '{proto.name}': {problem.message}") from None
    g.begin(proto.name)
    port = g.tensor(proto.name, UNSIGNED.get(element.name, carrier), shape)
    port.source = g.location
    g.block.inputs.append(port.name)
    g.named.add(port.name)
    value = Value(element, shape, None, _numbers(g, port, element))
    tested = bindings.ranges.get(proto.name, (-1, 0))[0] >= 0
    if is_wide(element) and not element.minimum and not tested:
        return within(g, proto.name, value, (0, types.i32.maximum))
    return value


def _known_sequence(g: OnnxWriter, proto: Any, given: Any) -> Value:
    """A sequence that is a constant: a list of arrays. Raises UsageError."""
    element = BY_CODE.get(proto.type.sequence_type.elem_type.tensor_type.elem_type)
    if element is None or not isinstance(given, (list, tuple)):
        raise UsageError(f"{g.file}: input '{proto.name}' is a sequence: a list of arrays makes it a constant")
    return Value(element, (), items=tuple(known(np.asarray(one).astype(element.storage)) for one in given))


def shape_of_port(file: str, proto: Any, bindings: Bindings) -> Shape:
    """The shape of an input with its free dimensions bound. Raises UsageError that says how to bind them."""
    if proto.name in bindings.shapes:
        return tuple(bindings.shapes[proto.name])
    declared = proto.type.tensor_type
    if not declared.HasField("shape"):
        raise UsageError(f"{file}: input '{proto.name}' has no shape: --shape {proto.name}=N,N,... says it")
    if len(declared.shape.dim) > types.MAX_RANK:
        rank = len(declared.shape.dim)
        raise DataError(f"{file}: input '{proto.name}' has {rank} dimensions, at most {types.MAX_RANK} are read")
    extents = [_extent(dim, bindings.dims) for dim in declared.shape.dim]
    if all(isinstance(extent, int) and extent > 0 for extent in extents):
        return tuple(int(extent) for extent in extents)
    shown = ", ".join(str(extent) for extent in extents)
    wanted = ",".join(str(e) if isinstance(e, int) and e > 0 else "N" for e in extents)
    names = [str(e) for e in extents if isinstance(e, str) and e != "?"]
    by_name = f", or --dim {names[0]}=N" if names else ""
    raise UsageError(
        f"{file}: input '{proto.name}' has the shape [{shown}]: --shape {proto.name}={wanted}{by_name} binds it"
    )


def _extent(dim: Any, dims: Mapping[str, int]) -> int | str:
    if dim.WhichOneof("value") == "dim_value":
        return int(dim.dim_value) if dim.dim_value > 0 else "?"
    return dims.get(dim.dim_param, dim.dim_param or "?")


def _refuse_unknown(protos: list[Any], bindings: Bindings) -> None:
    names = [proto.name for proto in protos]
    dims = {d.dim_param for p in protos for d in p.type.tensor_type.shape.dim if d.dim_param}
    for given, there, what in (
        (bindings.shapes, names, "input"),
        (bindings.constants, names, "input"),
        (bindings.dims, sorted(dims), "dimension"),
    ):
        for name in given:
            if name not in there:
                listed = ", ".join(f"'{one}'" for one in there) or "none"
                raise UsageError(f"the model has no {what} '{name}'; it has {listed}")


def _constant(g: OnnxWriter, proto: Any, element: Element, bindings: Bindings) -> Array:
    """What is given for an input, as an array of its element type. Raises UsageError."""
    given = bindings.constants[proto.name]
    try:
        if isinstance(given, str) and given.endswith(".npy"):
            from ...arrays import read

            values = np.asarray(read(given))
        elif isinstance(given, str):
            values = np.asarray(float(given) if element.is_float else int(given))
        else:
            values = np.asarray(given)
        found = values.astype(element.storage)
    except (ValueError, OverflowError, TypeError):
        raise UsageError(f"'{given}' is no constant of type {element} for the input '{proto.name}'") from None
    if not np.array_equal(found.astype(values.dtype), values, equal_nan=values.dtype.kind == "f"):
        raise UsageError(f"'{given}' doesn't fit the type {element} of the input '{proto.name}'")
    if found.ndim == 0 and proto.type.tensor_type.HasField("shape"):
        return np.full(shape_of_port(g.file, proto, bindings), found)
    return found


def _numbers(g: OnnxWriter, port: Tensor, element: Element) -> Tensor:
    """Unsigned bits as numbers in i32; RESCALE reads them as i16, in which those of 16 bits are less by 2^15."""
    if element.name not in UNSIGNED:
        return port
    less = 1 << 15 if port.dtype is types.i16 else 0
    short = _rescaled(g, port, types.i16, (-less, 0), unsigned_input=True)
    numbers = g.operator("CAST", [short], shape_of(port), types.i32)
    return plus(g, numbers, less) if less else numbers


def _bits(g: OnnxWriter, numbers: Tensor, element: Element) -> Tensor:
    """Numbers in i32 as the bits of an unsigned format."""
    wanted = UNSIGNED[element.name]
    less = 1 << 15 if wanted is types.i16 else 0
    whole = plus(g, numbers, -less) if less else numbers
    short = g.operator("CAST", [whole], shape_of(numbers), types.i16)
    return _rescaled(g, short, wanted, (0, -less), unsigned_output=True)


def _rescaled(
    g: OnnxWriter, x: Tensor, wanted: DType, zero_points: tuple[int, int], *, unsigned_input: bool = False,
    unsigned_output: bool = False,
) -> Tensor:  # fmt: skip
    """The same numbers in another format, whose bits may be unsigned. Zero points are as their formats store them."""
    scale = [
        g.scalar(1 << 30, types.i32), g.scalar(30, types.i8), g.scalar(zero_points[0], x.dtype),
        g.scalar(zero_points[1], wanted),
    ]  # fmt: skip
    return g.operator(
        "RESCALE", [x, *scale], shape_of(x), wanted, scale32=True, rounding_mode="SINGLE_ROUND", per_channel=False,
        input_unsigned=unsigned_input, output_unsigned=unsigned_output,
    )  # fmt: skip


def spread(wanted: Iterable[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
    """The elements of a sequence are outputs of their own, each with its number behind the name."""
    for name, value in wanted:
        if value.items is None:
            yield name, value
        else:
            yield from ((f"{name}.{i}", item) for i, item in enumerate(value.items))


def outputs(g: OnnxWriter, wanted: list[tuple[str, Value]]) -> None:
    """The model's outputs, each under its name."""
    for name, value in spread(wanted):
        g.begin(name)
        tensor = g.tensor_of(value)
        if value.element.name in UNSIGNED:
            numbers, tensor = tensor, _bits(g, tensor, value.element)
            if numbers.name == name:
                g.give_up_name(numbers)
        elif tensor.name != name:
            tensor = g.unary("IDENTITY", tensor) if tensor.data is None else g.const(tensor.data, tensor.dtype)
        if tensor.name != name and name not in g.block.tensors:
            g.rename(tensor, name)
        g.block.outputs.append(tensor.name)
