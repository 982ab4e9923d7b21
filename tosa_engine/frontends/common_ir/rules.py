"""The rules of the Common IR text, each with a label, and the errors that name them.

M: the text says MUST or MUST NOT; S: SHOULD; A: MAY. `FORM`, `TYPE` and `SHAPE` are what this text form asks besides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ...errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES: Final[Mapping[str, str]] = {
    "CIR.M1": "a graph has no cycles",
    "CIR.M2": "a graph or library has a name and a domain",
    "CIR.M3": "a graph names its inputs and outputs, with types",
    "CIR.M4": "documentation strings have neither HTML nor another markup language than markdown",
    "CIR.M5": "names of nodes, inputs, outputs, initializers, attributes and parameters are unique in a graph",
    "CIR.M6": "functions and operators share one name space",
    "CIR.M7": "names are C identifiers",
    "CIR.M8": "names of nodes, of their inputs and of their outputs are unique in the graph",
    "CIR.M9": "names are unique in a function's graph",
    "CIR.M10": "a node has its arg_count",
    "CIR.M11": "arg_count has an entry for each parameter",
    "CIR.M12": "nodes are in topological order, control inputs included",
    "CIR.M13": "all imported documents are fetched",
    "CIR.M14": "every operator is declared by the document or by what it imports",
    "CIR.M15": "all operands of a declaration have types",
    "CIR.M16": "all attributes of operators have types",
    "CIR.M17": "keys and values of maps are no collections",
    "CIR.S1": "a node has an output",
    "CIR.S2": "domains are reverse domain names",
    "CIR.S3": "graphs and libraries have documentation strings",
    "CIR.S4": "operands of declarations have shapes",
    "CIR.A1": "documentation strings are markdown",
    "CIR.A2": "control edges are an order only: a runtime may ignore them",
    "CIR.A3": "a library is fetched once",
    "CIR.A4": "libraries are bundled with the graph",
    "CIR.A5": "a shape has integers and variables",
    "CIR.A6": "a shape has a wildcard, which may have a name",
}
FORM: Final = "CIR.FORM"
TYPE: Final = "CIR.TYPE"
SHAPE: Final = "CIR.SHAPE"

_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DNS: Final = re.compile(r"(?=.{1,253}\Z)[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
                         r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*")  # fmt: skip
_CODE: Final = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_MARKUP: Final = re.compile(r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>|<!--|&(?:[a-z]+|#\d+);|\\(?:begin|section|textbf)\{")
_FORWARD: Final = frozenset(("com", "org", "net", "edu", "gov", "info"))  # ends of domain names, not of reversed ones


class RuleError(DataError):
    """A document breaks a rule. The text says where."""

    def __init__(self, label: str, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}", label=label)


def identifier(name: str, place: str) -> str:
    """Raises RuleError for a name that C wouldn't take."""
    if not _IDENTIFIER.fullmatch(name):
        raise RuleError("CIR.M7", place, f"'{name}' is no C identifier")
    return name


def is_identifier(name: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(name))


def is_domain(name: str) -> bool:
    return bool(_DNS.fullmatch(name))


def is_reversed(domain: str) -> bool:
    """Whether a domain may be a reverse domain name: an end of a domain name comes first."""
    labels = domain.lower().split(".")
    return len(labels) > 1 and labels[0].isalpha() and (labels[-1] not in _FORWARD or labels[0] in _FORWARD)


def markup_in(text: str) -> str | None:
    """What no markdown is, outside of code; None where there is none."""
    found = _MARKUP.search(_CODE.sub("", text))
    return found.group() if found else None
