"""Whether a node fits the schema of its operator: attributes and their kinds, inputs and their element types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ...errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .values import Value

NEWEST_SET: Final = (1 << 31) - 1  # beyond, the package takes no number


@dataclass(frozen=True)
class Formal:
    """An input of an operator: the element types that it takes are those in one of `types`."""

    name: str
    optional: bool
    types: tuple[str, ...]

    def takes(self, element: str) -> bool:
        return any(f"tensor({element})" in kind for kind in self.types)


class Signature:
    """What an operator takes, read once from its schema: each look at that goes through the bindings of `onnx`."""

    def __init__(self, schema: Any) -> None:
        from onnx import helper

        self.schema, self.since = schema, int(schema.since_version)
        self.inputs, self.outputs = (int(schema.min_input), int(schema.max_input)), int(schema.max_output)
        self.formals = [Formal(one.name, one.option.name == "Optional", tuple(one.types)) for one in schema.inputs]
        self.attributes = {name: (one.type.value, bool(one.required)) for name, one in schema.attributes.items()}
        self.required = [name for name, (_, needed) in self.attributes.items() if needed]
        self.defaults = {
            name: decoded(helper.get_attribute_value(one.default_value))
            for name, one in schema.attributes.items()
            if one.default_value.type
        }
        self._taken: set[tuple[int, str]] = set()

    def takes(self, at: int, element: str) -> bool:
        """Whether the input `at` can be of an element type; not looked up again where it can."""
        if (at, element) in self._taken:
            return True
        if good := self.formals[at].takes(element):
            self._taken.add((at, element))
        return good


def signature_of(op: str, domain: str, version: int) -> Signature | None:
    """None where `onnx` has no schema of the operator."""
    from onnx import defs

    try:
        schema = defs.get_schema(op, version, domain)
    except defs.SchemaError:
        return None
    return Signature(schema)


def decoded(found: Any) -> Any:
    if isinstance(found, bytes):
        return found.decode(errors="replace")
    if isinstance(found, (list, tuple)) or hasattr(found, "append"):
        return [one.decode(errors="replace") if isinstance(one, bytes) else one for one in found]
    return found


def check_attributes(node: Any, its: Signature) -> None:
    """Raise GraphError for attributes of another kind than the operator has, and for those that it needs and aren't
    there. Attributes that the operator doesn't have are left alone.
    """
    given = {one.name: one.type for one in node.attribute}
    for name in its.required:
        if name not in given:
            raise GraphError(f"attribute '{name}' is missing")
    for name, kind in given.items():
        wanted = its.attributes.get(name, (kind, False))[0]
        if kind != wanted:
            from onnx import AttributeProto

            kinds = [AttributeProto.AttributeType.Name(one).lower() for one in (kind, wanted)]
            raise GraphError(f"attribute '{name}' is of kind {kinds[0]}, not {kinds[1]}")


def check_inputs(node: Any, its: Signature, inputs: Sequence[Value | None]) -> None:
    """Raise GraphError for inputs that are missing, too many, or of an element type that the operator doesn't take, and
    for too many outputs.
    """
    (least, most), count = its.inputs, len(node.input)
    if not least <= count <= most or len(node.output) > its.outputs:
        found = f"{count} inputs and {len(node.output)} outputs"
        raise GraphError(f"{found}, of which it has {least} to {most} and at most {its.outputs}")
    for i, value in enumerate(inputs):
        at = min(i, len(its.formals) - 1)
        if value is None:
            if not its.formals[at].optional:
                raise GraphError(f"input '{its.formals[at].name}' is missing")
        elif not its.takes(at, value.element.name):
            raise GraphError(f"input '{its.formals[at].name}' can't be of type {value.element}")
