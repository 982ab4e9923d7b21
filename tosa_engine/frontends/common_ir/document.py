"""Documents of Common IR: a graph or a library, read from JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from .kinds import ScalarKind, called, is_variable, kind_of
from .rules import FORM, RuleError, identifier, is_domain, markup_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .kinds import Kind
    from .reading import Fields

FORM_VERSION: Final = 1
Count = Literal["one", "optional", "repeated"]
UNSAID: Final = object()


@dataclass(frozen=True)
class Port:
    """An input or an output of a graph, or a parameter of an operator or a function."""

    name: str
    kind: Kind
    count: Count = "one"


@dataclass(frozen=True)
class Attribute:
    """`value` is UNSAID in declarations without a default; `taken` names an attribute of the function around."""

    name: str
    kind: Kind
    value: Any = UNSAID
    taken: str = ""
    required: bool = False


@dataclass(frozen=True)
class Signature:
    """An operator that is declared."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    attributes: tuple[Attribute, ...]
    variables: Mapping[str, tuple[str, ...]]  # element types by type variable
    place: str


@dataclass(frozen=True)
class Node:
    name: str
    operator: str
    domain: str  # "" where any will do
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[Attribute, ...]
    arg_count: tuple[int, ...]
    control: tuple[str, ...]
    place: str


@dataclass(frozen=True)
class Function(Signature):
    nodes: tuple[Node, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Initializer:
    name: str
    kind: Kind
    data: Any
    place: str


@dataclass(frozen=True)
class Document:
    """`sources`: what names were called in the file that the document was made from."""

    file: str
    is_graph: bool
    name: str
    domain: str
    ir_version: int
    version: int
    more: Mapping[str, str | int]  # optional metadata
    imports: tuple[str, ...]
    bundled: Mapping[str, Any]
    operators: tuple[Signature, ...]
    functions: tuple[Function, ...]
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    initializers: tuple[Initializer, ...] = ()
    nodes: tuple[Node, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


def of_fields(f: Fields) -> Document:
    """Raises RuleError."""
    if f.integer("common_ir") != FORM_VERSION:
        raise RuleError(FORM, f.at("common_ir"), f"{f.found['common_ir']} isn't {FORM_VERSION}, the version read here")
    what = f.text("kind")
    if what not in ("graph", "library"):
        raise RuleError(FORM, f.at("kind"), f"'{what}' is neither graph nor library")
    name = identifier(f.text("name", label="CIR.M2"), f.at("name"))
    domain = f.text("domain", label="CIR.M2")
    if not is_domain(domain):
        raise RuleError("CIR.M2", f.at("domain"), f"'{domain}' is no DNS name")
    more: dict[str, str | int] = {
        key: f.text(key) for key in ("model_author", "model_license", "producer_tag") if f.has(key)
    }
    if f.has("producer_version"):
        more["producer_version"] = f.integer("producer_version")
    if f.has("doc_string"):
        more["doc_string"] = _doc(f)
    head = (f.place, what == "graph", name, domain, f.integer("ir_version"), f.integer("model_version"), more)
    parts = (
        tuple(f.texts("imports")), f.table("bundled"), tuple(_signature(one) for one in f.objects("operators")),
        tuple(_function(one) for one in f.objects("functions")),
    )  # fmt: skip
    if what == "library":
        f.done()
        return Document(*head, *parts)
    inputs, outputs = (
        tuple(_port(one, (), "CIR.M3") for one in f.objects(side, "CIR.M3")) for side in ("inputs", "outputs")
    )
    held = tuple(_initializer(one) for one in f.objects("initializers"))
    nodes, sources = tuple(_node(one) for one in f.objects("nodes")), _sources(f)
    f.done()
    return Document(*head, *parts, inputs, outputs, held, nodes, sources)


def _doc(f: Fields) -> str:
    text = f.text("doc_string", "")
    if found := markup_in(text):
        raise RuleError("CIR.M4", f.at("doc_string"), f"'{found}' is no markdown")
    return text


def _sources(f: Fields) -> Mapping[str, str]:
    found = f.table("source_names")
    if not all(isinstance(one, str) for one in found.values()):
        raise RuleError(FORM, f.at("source_names"), "isn't a table of strings")
    return found


def _name(f: Fields) -> str:
    return identifier(f.text("name"), f.place)


def _port(f: Fields, variables: tuple[str, ...], label: str) -> Port:
    name, kind = _name(f), kind_of(f.raw("type", label), f.at("type"), variables)
    if isinstance(kind, ScalarKind):
        raise RuleError(FORM, f.at("type"), f"a {called(kind)} is no operand: a scalar is a tensor of shape []")
    if not variables and label == "CIR.M3":
        f.done()
        return Port(name, kind)
    count = f.text("count", "one")
    if count not in ("one", "optional", "repeated"):
        raise RuleError(FORM, f.at("count"), f"'{count}' is none of one, optional and repeated")
    f.done()
    return Port(name, kind, count)  # type: ignore[arg-type]


def _heading(f: Fields) -> Signature:
    """What operators and functions have in common."""
    variables: dict[str, tuple[str, ...]] = {}
    for name, elements in f.table("type_variables").items():
        if not is_variable(name) or not isinstance(elements, list) or not all(isinstance(e, str) for e in elements):
            raise RuleError(FORM, f.at("type_variables"), f"'{name}' is no list of element types, or a type's name")
        variables[name] = tuple(elements)
    known = tuple(variables)
    name = _name(f)
    _doc(f)
    inputs, outputs = (tuple(_port(p, known, "CIR.M15") for p in f.objects(side)) for side in ("inputs", "outputs"))
    attributes = tuple(_declared(one, known) for one in f.objects("attributes"))
    return Signature(name, inputs, outputs, attributes, variables, f.place)


def _signature(f: Fields) -> Signature:
    found = _heading(f)
    f.done()
    return found


def _function(f: Fields) -> Function:
    one, nodes, sources = _heading(f), tuple(_node(n) for n in f.objects("nodes")), _sources(f)
    f.done()
    return Function(
        one.name, one.inputs, one.outputs, one.attributes, one.variables, one.place, nodes=nodes, sources=sources
    )


def _declared(f: Fields, variables: tuple[str, ...]) -> Attribute:
    name, kind = _name(f), kind_of(f.raw("type", "CIR.M16"), f.at("type"), variables)
    _doc(f)
    value = f.raw("default") if f.has("default") else UNSAID
    found = Attribute(name, kind, value, required=f.flag("required"))
    f.done()
    return found


def _given(f: Fields) -> Attribute:
    name, kind = _name(f), kind_of(f.raw("type", "CIR.M16"), f.at("type"))
    if f.has("from") == f.has("value"):
        raise RuleError(FORM, f.place, "has one of 'value' and 'from'")
    taken = identifier(f.text("from"), f.at("from")) if f.has("from") else ""
    found = Attribute(name, kind, UNSAID if taken else f.raw("value"), taken)
    f.done()
    return found


def _node(f: Fields) -> Node:
    name = _name(f)
    domain = f.text("domain", "")
    node = Node(
        name, identifier(f.text("operator"), f.at("operator")), domain, tuple(f.texts("inputs")),
        tuple(f.texts("outputs")), tuple(_given(one) for one in f.objects("attributes")),
        tuple(f.integers("arg_count", "CIR.M10")), tuple(f.texts("control_inputs")), f.place,
    )  # fmt: skip
    _doc(f)
    for one in (*node.inputs, *node.outputs):
        identifier(one, f.place)
    f.done()
    return node


def _initializer(f: Fields) -> Initializer:
    found = Initializer(_name(f), kind_of(f.raw("type"), f.at("type")), f.raw("data"), f.place)
    _doc(f)
    f.done()
    return found
