"""A flat graph as an ONNX model. A library whose domain is that of an operator set is that set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...errors import Unsupported
from ..onnx.model import package
from .data import value_of
from .flatten import NEWEST, OWN
from .kinds import BY_NAME, ListKind, ScalarKind, TensorKind, called
from .shapes import ANY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...types import Array
    from .document import Attribute, Document
    from .flatten import Flat, FlatNode

UNNAMED: Final = "invalid.unnamed"  # the domain of a model that has none
LONGEST: Final = (1 << 31) - (1 << 20)  # bytes of tensors in a protobuf


def model_of(document: Document, flat: Flat) -> Any:
    """The ModelProto. Raises Unsupported for what ONNX has no word for."""
    onnx = package()
    model = onnx.ModelProto(ir_version=max(document.ir_version, 4), model_version=document.version)
    if sum(one.nbytes for one in flat.constants.values()) > LONGEST:
        raise Unsupported(f"{document.file}: its tensors are longer than a protobuf can be")
    _add_metadata(model, document)
    for domain, version in _sets(document, flat).items():
        model.opset_import.add(domain=domain, version=version)
    graph = model.graph
    graph.name = document.sources.get(document.name, document.name)
    for name, kind in flat.inputs:
        _add_port(graph.input, name, kind, document.sources)
    for name, kind in flat.outputs:
        _add_port(graph.output, name, kind, document.sources)
    graph.initializer.extend(tensor_of(array, name) for name, array in flat.constants.items())
    graph.node.extend(_node(one) for one in flat.nodes)
    return model


def _add_metadata(model: Any, document: Document) -> None:
    more: Mapping[str, Any] = document.more
    model.domain = "" if document.domain == UNNAMED else document.domain
    model.producer_name = more.get("producer_tag", "")
    model.producer_version = str(more["producer_version"]) if "producer_version" in more else ""
    model.doc_string = more.get("doc_string", "")
    for key in ("model_author", "model_license"):
        if key in more:
            model.metadata_props.add(key=key, value=more[key])


def _sets(document: Document, flat: Flat) -> dict[str, int]:
    """The operator sets of the nodes. Raises Unsupported for two versions of one."""
    found: dict[str, int] = {}
    for one in flat.nodes:
        domain = "" if one.domain == OWN else one.domain
        if found.setdefault(domain, one.version) != one.version:
            raise Unsupported(
                f"{document.file}: uses the versions {found[domain]} and {one.version} of the operators of {one.domain}"
            )
    return found or {"": NEWEST}


def _add_port(ports: Any, name: str, kind: TensorKind, sources: Mapping[str, str]) -> None:
    proto = ports.add(name=name).type.tensor_type
    proto.elem_type = BY_NAME[kind.element].code
    if kind.shape is None or any(isinstance(one, str) and one.endswith(ANY) for one in kind.shape):
        return
    proto.shape.SetInParent()
    for one in kind.shape:
        dim = proto.shape.dim.add()
        if isinstance(one, int):
            dim.dim_value = one
        elif name := sources.get(one, one):
            dim.dim_param = name


def _node(one: FlatNode) -> Any:
    from onnx import NodeProto

    proto = NodeProto(op_type=one.operator, name=one.name, input=one.inputs, output=one.outputs)
    if one.domain != OWN:
        proto.domain = one.domain
    proto.attribute.extend(_attribute(attribute, one.name) for attribute in one.attributes)
    return proto


def _attribute(one: Attribute, node: str) -> Any:
    from onnx import AttributeProto

    place = f"node '{node}': attribute '{one.name}'"
    value, proto = value_of(one.kind, one.value, place), AttributeProto(name=one.name)
    match one.kind:
        case ScalarKind("int64"):
            proto.type, proto.i = AttributeProto.INT, value
        case ScalarKind("float32"):
            proto.type, proto.f = AttributeProto.FLOAT, value
        case ScalarKind("string"):
            proto.type, proto.s = AttributeProto.STRING, value.encode()
        case ListKind(ScalarKind("int64")):
            proto.type = AttributeProto.INTS
            proto.ints.extend(value)
        case ListKind(ScalarKind("float32")):
            proto.type = AttributeProto.FLOATS
            proto.floats.extend(value)
        case ListKind(ScalarKind("string")):
            proto.type = AttributeProto.STRINGS
            proto.strings.extend(text.encode() for text in value)
        case TensorKind():
            proto.type = AttributeProto.TENSOR
            proto.t.CopyFrom(tensor_of(value, one.name))
        case kind:
            raise Unsupported(f"{place}: ONNX has no attributes that are a {called(kind)}")
    return proto


def tensor_of(array: Array, name: str) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(array), name)
