"""Whether a node fits the schema of its operator: attributes and their kinds, inputs and their element types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .values import Value

NEWEST_SET: Final = (1 << 31) - 1  # beyond, the package takes no number


def schema_of(op: str, domain: str, version: int) -> tuple[Any, dict[str, Any]]:
    from onnx import defs, helper

    try:
        schema = defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return None, {}
    defaults = {}
    for name, attribute in schema.attributes.items():
        if attribute.default_value.type:
            found = helper.get_attribute_value(attribute.default_value)
            defaults[name] = decoded(found)
    return schema, defaults


def decoded(found: Any) -> Any:
    if isinstance(found, bytes):
        return found.decode(errors="replace")
    if isinstance(found, (list, tuple)) or hasattr(found, "append"):
        return [one.decode(errors="replace") if isinstance(one, bytes) else one for one in found]
    return found


def check_attributes(node: Any, schema: Any) -> None:
    """Raise GraphError for attributes of another kind than the operator has, and for those that it needs and aren't
    there. Attributes that the operator doesn't have are left alone.
    """
    from onnx import AttributeProto

    given = {one.name: one.type for one in node.attribute}
    for name, attribute in schema.attributes.items():
        wanted = attribute.type.value
        if attribute.required and name not in given:
            raise GraphError(f"attribute '{name}' is missing")
        if given.get(name, wanted) != wanted:
            kinds = [AttributeProto.AttributeType.Name(one).lower() for one in (given[name], wanted)]
            raise GraphError(f"attribute '{name}' is of kind {kinds[0]}, not {kinds[1]}")


def check_inputs(node: Any, schema: Any, inputs: Sequence[Value | None]) -> None:
    """Raise GraphError for inputs that are missing, too many, or of an element type that the operator doesn't take, and
    for too many outputs.
    """
    count, least = len(node.input), schema.min_input
    if not least <= count <= schema.max_input or len(node.output) > schema.max_output:
        found = f"{count} inputs and {len(node.output)} outputs"
        raise GraphError(f"{found}, of which it has {least} to {schema.max_input} and at most {schema.max_output}")
    for i, value in enumerate(inputs):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if value is None:
            if formal.option.name != "Optional":
                raise GraphError(f"input '{formal.name}' is missing")
        elif not any(f"tensor({value.element.name})" in kind for kind in formal.types):
            raise GraphError(f"input '{formal.name}' can't be of type {value.element}")
