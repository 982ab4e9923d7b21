"""From text to syntax tree (section 3.2) and to quantization lines (section 5.3). The grammar is `grammar.lark`.

Literals are exact: integers of any size, scalars as double-precision numbers.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ....errors import TosaEngineError, raise_all
from .constant import constant_value
from .extensions import check_extensions, check_use
from .fast import flat_body
from .fast_quant import plain_lines
from .lalr import parse
from .syntax import FragmentDefinition, Name, Place, QuantLine, SyntaxTree, Text, Value
from .tree import Wrong, place_of, string_of

if TYPE_CHECKING:
    from lark import Token


def parse_document(text: str, file: str) -> SyntaxTree:
    """The syntax tree of a `graph.nnef`.

    Raises ParseError for a syntax error, Unsupported, naming each, for extensions that this reader lacks, or Problems
    with all of them.
    """
    source = Text.of(file, text)
    fast = flat_body(text)
    # lark reads what is before the body, and a body of one statement in place of a flat one
    rest = text if fast is None else text[: fast[0]] + "{ x = x(x); }"
    try:
        version, *middle, graph = parse(rest, "document", source)
    except TosaEngineError:
        check_extensions(source, _extension_lines(text))  # which say why
        raise
    if fast is not None:
        graph = replace(graph, body=fast[1])
    extensions = tuple(tuple(item) for item in middle if isinstance(item, list))
    fragments = tuple(item for item in middle if isinstance(item, FragmentDefinition))
    tree = SyntaxTree(source, version.text, version.place, extensions, fragments, graph)
    check_extensions(source, extensions)
    raise_all(check_use(tree, flat=fast is not None))
    return tree


def parse_fragment(text: str, file: str) -> FragmentDefinition:
    """One fragment definition. Raises ParseError or Problems."""
    fragment: FragmentDefinition = parse(text, "fragment", Text.of(file, text))
    return fragment


def parse_quant(text: str, file: str) -> list[QuantLine]:
    """The lines of a quantization file in their order. Raises ParseError, or Problems with several."""
    source = Text.of(file, text)
    if (lines := plain_lines(source)) is not None:
        return lines
    try:
        return [replace(_quantization_line(*line), text=source) for line in parse(text, "quantization", source)]
    except Wrong as wrong:
        raise source.error(wrong.message, wrong.place, wrong.label) from None


def _quantization_line(tensor: Token, operation: Token, *arguments: Any) -> QuantLine:
    args: dict[str, Value] = {}
    for argument in arguments:
        if not argument.name:
            raise Wrong("NNEF.Q1", "arguments of a quantization must be named", argument.place)
        if argument.name in args:
            raise Wrong("NNEF.A6", f"argument '{argument.name}' is given twice", argument.place)
        args[argument.name] = constant_value(argument.value)
    return QuantLine(string_of(tensor, place_of(tensor)), str(operation), args, place_of(tensor).line)


def format_literal(value: Value) -> str:
    """A value as NNEF writes it: integers and finite scalars exactly, strings quoted, tuples as arrays."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise ValueError(f"NNEF has no literal for {value}")
        return repr(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return "[" + ", ".join(format_literal(v) for v in value) + "]"


def _extension_lines(text: str) -> list[tuple[Name, ...]]:
    """The extension lines of a text that doesn't parse."""
    found = []
    for match in re.finditer(r"^[ \t]*extension\s+([\w\s]*);", text, re.MULTILINE):
        line = text.count("\n", 0, match.start(1)) + 1
        place = Place(line, match.start(1) - text.rfind("\n", 0, match.start(1)))
        found.append(tuple(Name(word, place) for word in match[1].split()))
    return found
