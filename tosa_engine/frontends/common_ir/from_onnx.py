"""An ONNX model as a Common IR document: names become C identifiers, schemas become declarations.

`source_names` keeps what the model calls things, so that the way back gives the same names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from ...errors import DataError, Unsupported
from .data import data_of, scalar_text
from .declarations import signature_of
from .document import FORM_VERSION
from .flatten import OWN
from .kinds import NAME_OF
from .rules import is_domain, is_identifier, markup_in
from .to_onnx import UNNAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..onnx.model import TensorReader

ATTRIBUTES: Final = {"INT": "int64", "FLOAT": "float32", "STRING": "string"}


class Identifiers:
    """C identifiers for the names of one graph. `sources` is the way back."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._dimensions: dict[str, str] = {}
        self._taken: set[str] = set()
        self._counts: dict[str, int] = {}

    def value(self, name: str) -> str:
        """The identifier of a value: one for each name."""
        if name not in self._values:
            self._values[name] = self.fresh(name)
        return self._values[name]

    def dimension(self, name: str) -> str:
        """The identifier of a dimension: one for each name, another one for each without."""
        if not name:
            return self.fresh("", "free")
        if name not in self._dimensions:
            self._dimensions[name] = self.fresh(name)
        return self._dimensions[name]

    def fresh(self, name: str, fallback: str = "value") -> str:
        """An identifier that nothing else has."""
        stem = re.sub(r"\W", "_", name, flags=re.ASCII) or fallback
        stem = stem if is_identifier(stem) else f"_{stem}"
        found = stem
        while found in self._taken:
            self._counts[stem] = self._counts.get(stem, 1) + 1
            found = f"{stem}_{self._counts[stem]}"
        self._taken.add(found)
        if found != name:
            self.sources[found] = name
        return found


def document_of(model: Any, reader: TensorReader, file: str) -> dict[str, Any]:
    """Raises Unsupported for what Common IR has no word for, DataError for what is damaged."""
    return _Conversion(model, reader, file).document()


class _Conversion:
    def __init__(self, model: Any, reader: TensorReader, file: str) -> None:
        if model.functions:
            from onnx import inliner

            model = inliner.inline_local_functions(model)
        self.model, self.reader, self.file = model, reader, file
        self.sets = {one.domain or OWN: one.version for one in model.opset_import}
        self.libraries: dict[str, dict[str, Any]] = {}
        self.declared: dict[tuple[str, str], dict[str, Any]] = {}

    def document(self) -> dict[str, Any]:
        graph, names = self.model.graph, Identifiers()
        if graph.sparse_initializer:
            raise Unsupported(f"{self.file}: sparse initializers aren't converted")
        title = names.fresh(graph.name, "model")
        held = {one.name for one in graph.initializer}
        found: dict[str, Any] = {
            "common_ir": FORM_VERSION, "kind": "graph", "name": title, **self._metadata(),
            "inputs": [self._port(one, names) for one in graph.input if one.name not in held],
        }  # fmt: skip
        initializers = [self._initializer(one, names) for one in graph.initializer]
        nodes = [self._node(one, names, self.sets) for one in graph.node]
        found["outputs"] = [self._port(one, names) for one in self._typed(graph)]
        found |= {"initializers": initializers, "nodes": nodes, "source_names": names.sources}
        found["imports"] = list(self.libraries)
        found["bundled"] = self.libraries
        return found

    def _metadata(self) -> dict[str, Any]:
        model = self.model
        props = {one.key: one.value for one in model.metadata_props}
        domain = model.domain if is_domain(model.domain) else UNNAMED
        found: dict[str, Any] = {
            "domain": domain, "ir_version": model.ir_version, "model_version": model.model_version,
            **{key: props[key] for key in ("model_author", "model_license") if key in props},
        }  # fmt: skip
        producer = f"{model.producer_name} {model.producer_version}".strip()
        if producer:
            found["producer_tag"] = producer
        text = (
            model.doc_string or model.graph.doc_string or f"Made from an ONNX model of {producer or 'unknown origin'}."
        )
        return found | {"doc_string": f"```\n{text}\n```" if markup_in(text) else text}

    def _typed(self, graph: Any) -> Sequence[Any]:
        """The outputs, with types that shape inference finds where the model says none."""
        if all(one.type.WhichOneof("value") for one in graph.output):
            return list(graph.output)
        from onnx import shape_inference

        inferred = {one.name: one for one in shape_inference.infer_shapes(self.model).graph.output}
        return [inferred.get(one.name, one) for one in graph.output]

    def _port(self, proto: Any, names: Identifiers) -> dict[str, Any]:
        kind = proto.type.WhichOneof("value")
        if kind != "tensor_type":
            raise Unsupported(f"{self.file}: '{proto.name}' is {kind or 'of no type'}; tensors are converted")
        declared = proto.type.tensor_type
        return {"name": names.value(proto.name), "type": self._tensor(declared, names)}

    def _tensor(self, declared: Any, names: Identifiers) -> dict[str, Any]:
        found: dict[str, Any] = {"tensor": self._element(declared.elem_type)}
        if not declared.HasField("shape"):
            return {**found, "shape": ["*"]}
        shape: list[int | str] = []
        for dim in declared.shape.dim:
            if dim.WhichOneof("value") == "dim_value" and dim.dim_value >= 0:
                shape.append(dim.dim_value)
            else:
                shape.append(names.dimension(dim.dim_param))
        return {**found, "shape": shape}

    def _element(self, code: int) -> str:
        if code not in NAME_OF:
            raise DataError(f"{self.file}: the element type {code} isn't known here")
        return NAME_OF[code]

    def _initializer(self, proto: Any, names: Identifiers) -> dict[str, Any]:
        array = self.reader.array(proto, f"initializer '{proto.name}'")
        kind = {"tensor": self._element(proto.data_type), "shape": list(array.shape)}
        return {"name": names.value(proto.name), "type": kind, "data": data_of(array)}

    def _node(self, node: Any, names: Identifiers, sets: dict[str, int]) -> dict[str, Any]:
        domain, place = node.domain or OWN, f"{self.file}: {node.op_type} {node.name or node.output[0]}"
        declared = self._declared(domain, node.op_type, sets, place)
        inputs = list(node.input)
        counts, given = counts_of(declared["inputs"], inputs, place)
        found: dict[str, Any] = {
            "name": names.fresh(node.name, f"node_{node.op_type}"), "operator": node.op_type, "domain": domain,
            "inputs": [names.value(one) for one in given],
            "outputs": [names.value(one) if one else names.fresh("", "unread") for one in node.output],
            "arg_count": counts,
        }  # fmt: skip
        if node.attribute:
            found["attributes"] = [self._attribute(one, place) for one in node.attribute]
        return found

    def _attribute(self, proto: Any, place: str) -> dict[str, Any]:
        from onnx import AttributeProto, helper

        word = AttributeProto.AttributeType.Name(proto.type)
        if word == "TENSOR":
            array = self.reader.array(proto.t, f"attribute '{proto.name}'")
            kind = {"tensor": self._element(proto.t.data_type), "shape": list(array.shape)}
            return {"name": proto.name, "type": kind, "value": data_of(array)}
        kind = attribute_kind(word, f"{place}: attribute '{proto.name}'")
        value = helper.get_attribute_value(proto)
        items = [_text(one, place) for one in (value if isinstance(kind, dict) else [value])]
        return {"name": proto.name, "type": kind, "value": items if isinstance(kind, dict) else items[0]}

    def _declared(self, domain: str, operator: str, sets: dict[str, int], place: str) -> dict[str, Any]:
        """The declaration of an operator, which its library gets."""
        if (domain, operator) in self.declared:
            return self.declared[domain, operator]
        if domain not in sets:
            raise DataError(f"{place}: the model imports no operator set of the domain '{domain}'")
        found = self.declared[domain, operator] = signature_of(domain, operator, sets[domain], place)
        self._library(domain, sets[domain])["operators"].append(found)
        return found

    def _library(self, domain: str, version: int) -> dict[str, Any]:
        """The library of a domain: its name is what documents import it by."""
        place = f"{domain}.{version}.cir.json"
        if place not in self.libraries:
            if not is_domain(domain):
                raise Unsupported(f"{self.file}: the domain '{domain}' is no DNS name")
            others = [one for one in self.libraries.values() if one["domain"] == domain]
            if others:
                raise Unsupported(f"{self.file}: uses two versions of the operators of {domain}")
            name = re.sub(r"\W", "_", domain, flags=re.ASCII)
            self.libraries[place] = {
                "common_ir": FORM_VERSION, "kind": "library", "name": name if is_identifier(name) else f"_{name}",
                "domain": domain, "ir_version": self.model.ir_version, "model_version": version,
                "doc_string": f"Operators of {domain}, version {version}.", "operators": [],
            }  # fmt: skip
        return self.libraries[place]


def counts_of(ports: Sequence[dict[str, Any]], inputs: list[str], place: str) -> tuple[list[int], list[str]]:
    """How many inputs each parameter has, and the inputs without those that are left out."""
    counts: list[int] = []
    for index, port in enumerate(ports):
        if port.get("count") == "repeated":
            counts.append(sum(bool(one) for one in inputs[index:]))
            if counts[-1] != len(inputs[index:]):
                raise Unsupported(f"{place}: leaves out one of several inputs of '{port['name']}'")
        else:
            counts.append(int(index < len(inputs) and bool(inputs[index])))
    given = [one for one in inputs if one]
    if sum(counts) != len(given):
        raise DataError(f"{place}: has {len(inputs)} inputs, its schema has {len(ports)} parameters")
    return counts, given


def attribute_kind(word: str, place: str) -> Any:
    if word in ATTRIBUTES:
        return ATTRIBUTES[word]
    if word.removesuffix("S") in ATTRIBUTES:
        return {"list": ATTRIBUTES[word.removesuffix("S")]}
    raise Unsupported(f"{place}: Common IR has no attributes of the kind {word}")


def _text(value: Any, place: str) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Unsupported(f"{place}: an attribute is bytes, Common IR has text") from None
    return scalar_text(value)
