"""Functions: operators whose body is a list of nodes, of the model itself or of the operator's schema.

Bodies are mapped where they are called, so that a function of functions needs no copy of the model. How deep they go
and how many nodes they make is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .values import Value

DEEPEST: Final = 32


@dataclass(frozen=True)
class Body:
    """Nodes with the names of what enters and leaves them, and the operator sets that they are written in."""

    nodes: Sequence[Any]
    inputs: Sequence[str]
    outputs: Sequence[str]
    sets: Mapping[str, int]
    defaults: Mapping[str, Any]  # AttributeProto by name
    checked: bool = True  # against schemas, which the bodies of ONNX's own operators don't always fit


def of_function(proto: Any) -> Body:
    """The body of a FunctionProto."""
    sets = {one.domain: one.version for one in proto.opset_import}
    defaults = {one.name: one for one in proto.attribute_proto}
    return Body(proto.node, list(proto.input), list(proto.output), sets, defaults)


def of_schema(schema: Any, version: int, node: Any, inputs: Sequence[Value | None]) -> Body | None:
    """The body that an operator's schema gives, which may depend on its attributes and the types of its inputs."""
    from onnx import FunctionProto

    text = b""
    if schema.has_context_dependent_function:
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= version]
        if versions:
            kinds = [_type_of(value) for value in inputs]
            text = schema.get_context_dependent_function_with_opset_version(
                max(versions), node.SerializeToString(), kinds
            )
    elif schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= version]
        if versions:
            text = schema.get_function_with_opset_version(max(versions))
    if not text:
        return None
    proto = FunctionProto()
    proto.ParseFromString(text)
    found = of_function(proto)
    sets = {"": version, **found.sets}
    defaults = {name: one for name, one in _defaults(schema).items() if one.type}
    return Body(found.nodes, found.inputs, found.outputs, sets, {**defaults, **found.defaults}, checked=False)


def _defaults(schema: Any) -> dict[str, Any]:
    return {name: attribute.default_value for name, attribute in schema.attributes.items()}


def _type_of(value: Value | None) -> bytes:
    from onnx import TypeProto

    proto = TypeProto()
    if value is not None and value.items is not None:
        proto.sequence_type.elem_type.tensor_type.elem_type = value.element.code
    elif value is not None:
        proto.tensor_type.elem_type = value.element.code
        for extent in value.shape:
            proto.tensor_type.shape.dim.add().dim_value = extent
    return bytes(proto.SerializeToString())


def bound(node: Any, given: Mapping[str, Any]) -> Any:
    """A node of a body with the attributes of the call in place of references; a reference to nothing is left out."""
    references = any(one.ref_attr_name for one in node.attribute)
    inner = any(one.HasField("g") for one in node.attribute)
    if not references and not inner:
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for one in node.attribute:
        if not one.ref_attr_name:
            kept = copy.attribute.add()
            kept.CopyFrom(one)
            if one.HasField("g"):
                for index, nested in enumerate(one.g.node):
                    kept.g.node[index].CopyFrom(bound(nested, given))
        elif one.ref_attr_name in given:
            taken = copy.attribute.add()
            taken.CopyFrom(given[one.ref_attr_name])
            taken.name = one.name
    return copy


__all__ = ["DEEPEST", "Body", "bound", "of_function", "of_schema"]
