"""From text to syntax tree (section 3.2, flat syntax) and to quantization lines (section 5.3).

The grammar is `grammar.lark`. Literals are exact: integers of any size, scalars as double-precision numbers.
"""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from ...errors import raise_all
from .syntax import (
    Argument,
    Assignment,
    Expression,
    GraphDefinition,
    Invocation,
    Literal,
    Name,
    Place,
    QuantLine,
    Sequence,
    SyntaxTree,
    Text,
    Value,
    literal_value,
    names_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...errors import ParseError

RESERVED: Final = frozenset(
    ("fragment", "tensor", "shape_of", "length_of", "range_of", "for", "in", "yield", "if", "else")
)
MAX_DIGITS: Final = 4000  # of one number
MAX_DEPTH: Final = 32  # of arrays and tuples in each other
EXTENSIONS: Final[frozenset[str]] = frozenset()  # that this reader understands
_WORDS: Final = {"IDENTIFIER": "an identifier", "NUMBER": "a number", "STRING": "a string", "$END": "the end"}


def parse_document(text: str, file: str) -> SyntaxTree:
    """The syntax tree of a `graph.nnef`.

    Raises ParseError at the first syntax error, and Unsupported, naming each, for extensions that this reader lacks.
    """
    tree = _parse("document", text, file)
    assert isinstance(tree, SyntaxTree)
    _refuse_extensions(tree.text, tree.extensions)
    return tree


def parse_quant(text: str, file: str) -> list[QuantLine]:
    """The lines of a quantization file in their order. Raises ParseError at the first error."""
    lines: list[QuantLine] = _parse("quantization", text, file)
    return lines


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


@functools.lru_cache(maxsize=1)
def _grammar() -> str:
    return (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")


def _parse(start: str, text: str, file: str) -> Any:
    builder = _Builder(Text.of(file, text))
    parser = Lark(_grammar(), start=start, parser="lalr", lexer="basic", maybe_placeholders=False, transformer=builder)
    try:
        return parser.parse(text)
    except UnexpectedInput as found:
        problem = found
    _refuse_extensions(builder.text, _extensions(text))
    shown = {t.name: f"'{t.pattern.value}'" for t in parser.terminals if isinstance(t.pattern, PatternStr)}
    raise builder.syntax_error(problem, shown | _WORDS)


def _extensions(text: str) -> list[tuple[Name, ...]]:
    """The extension lines of a text that doesn't parse: they say why."""
    found = []
    for match in re.finditer(r"^[ \t]*extension\s+([\w\s]*);", text, re.MULTILINE):
        line = text.count("\n", 0, match.start(1)) + 1
        place = Place(line, match.start(1) - text.rfind("\n", 0, match.start(1)))
        found.append(tuple(Name(word, place) for word in match[1].split()))
    return found


def _refuse_extensions(text: Text, extensions: Iterable[tuple[Name, ...]]) -> None:
    """Raise for each extension that this reader lacks."""
    problems = []
    for words in extensions:
        name = " ".join(word.text for word in words)
        if words and name not in EXTENSIONS:
            problems.append(text.unsupported(f"extension '{name}' isn't supported", words[0].place))
    raise_all(problems)


class _Builder(Transformer[Token, Any]):
    """Makes the syntax tree while the parser reduces, so that no depth of nesting can exhaust the stack."""

    def __init__(self, text: Text) -> None:
        super().__init__()
        self.text = text

    def syntax_error(self, problem: UnexpectedInput, shown: Mapping[str, str]) -> ParseError:
        if isinstance(problem, UnexpectedToken):
            token = problem.token
            if token in RESERVED:
                return self._reserved(token)
            got = "the end of the text" if token.type == "$END" else f"'{_short(token)}'"
            expected = ", ".join(sorted(shown.get(name, name) for name in problem.accepts or problem.expected))
            place = self._end() if token.type == "$END" else _place(token)
            return self.text.error(f"unexpected {got}, expected {expected}", place)
        assert isinstance(problem, UnexpectedCharacters)
        place = Place(problem.line, problem.column)
        character = self.text.line(place.line)[place.column - 1 : place.column]
        if character in ("'", '"'):
            return self.text.error("the string has no end on its line", place)
        return self.text.error(f"unexpected character {character!a}", place)

    def _end(self) -> Place:
        return Place(len(self.text.lines), len(self.text.lines[-1]) + 1)

    def _reserved(self, token: Token) -> ParseError:
        return self.text.error(f"'{token}' is a keyword of the compositional syntax", _place(token))

    def IDENTIFIER(self, token: Token) -> Token:  # noqa: N802 - lark calls it by the terminal's name
        if token in RESERVED:
            raise self._reserved(token)
        return token

    # values

    def identifier(self, children: list[Token]) -> Name:
        return Name(str(children[0]), _place(children[0]))

    def number(self, children: list[Token]) -> Literal:
        token = children[0]
        if len(token) > MAX_DIGITS:
            raise self.text.error(f"a number of {len(token)} characters; at most {MAX_DIGITS} are read", _place(token))
        if token.lstrip("-").isdigit():
            return Literal(int(token), _place(token))
        value = float(token)
        if not math.isfinite(value):
            raise self.text.error(f"the scalar {_short(token)} is beyond double precision", _place(token))
        return Literal(value, _place(token))

    def string(self, children: list[Token]) -> Literal:
        token = children[0]
        value = re.sub(r"\\(.)", r"\1", token[1:-1])
        if not (value.isascii() and value.isprintable()):
            raise self.text.error("a string may hold printable ASCII characters only", _place(token))
        return Literal(value, _place(token))

    def logical(self, children: list[Token]) -> Literal:
        return Literal(children[0] == "true", _place(children[0]))

    def array(self, children: list[Any]) -> Sequence:
        return self._sequence(children, is_tuple=False)

    def tuple_(self, children: list[Any]) -> Sequence:
        return self._sequence(children, is_tuple=True)

    def _sequence(self, children: list[Any], *, is_tuple: bool) -> Sequence:
        place, items = _place(children[0]), tuple(children[1:])
        depth = 1 + max((item.depth for item in items if isinstance(item, Sequence)), default=0)
        if depth > MAX_DEPTH:
            raise self.text.error(f"arrays and tuples nest deeper than {MAX_DEPTH}", place)
        return Sequence(items, is_tuple, place, depth)

    # statements

    def type_name(self, children: list[Token]) -> str:
        return str(children[0])

    def argument(self, children: list[Expression]) -> Argument:
        return Argument("", children[0], children[0].place)

    def named_argument(self, children: list[Any]) -> Argument:
        return Argument(str(children[0]), children[1], _place(children[0]))

    def invocation(self, children: list[Any]) -> Invocation:
        typed = len(children) > 1 and isinstance(children[1], str)
        arguments = tuple(children[2 if typed else 1 :])
        return Invocation(str(children[0]), children[1] if typed else "", arguments, _place(children[0]))

    def lvalues(self, children: list[Any]) -> Name | Sequence:
        if len(children) == 1:
            single: Name | Sequence = children[0]
            return single
        return Sequence(tuple(children), True, children[0].place)

    def assignment(self, children: list[Any]) -> Assignment:
        return Assignment(children[0], children[1])

    def identifiers(self, children: list[Token]) -> list[Name]:
        return [Name(str(token), _place(token)) for token in children]

    def graph(self, children: list[Any]) -> GraphDefinition:
        name, parameters, results, *body = children
        return GraphDefinition(str(name), tuple(parameters), tuple(results), tuple(body), _place(name))

    def version(self, children: list[Token]) -> Name:
        return Name(str(children[0]), _place(children[0]))

    def extension(self, children: list[Token]) -> tuple[Name, ...]:
        return tuple(self.identifiers(children))

    def document(self, children: list[Any]) -> SyntaxTree:
        return SyntaxTree(self.text, children[0].text, children[0].place, tuple(children[1:-1]), children[-1])

    # quantization file

    def quantization_line(self, children: list[Any]) -> QuantLine:
        tensor, operation, *arguments = children
        args: dict[str, Value] = {}
        for argument in arguments:
            if not argument.name:
                raise self.text.error("arguments of a quantization must be named", argument.place)
            if argument.name in args:
                raise self.text.error(f"argument '{argument.name}' is given twice", argument.place)
            if named := next(names_in(argument.value), None):
                raise self.text.error(f"'{named.text}' isn't a literal", named.place)
            args[argument.name] = literal_value(argument.value)
        return QuantLine(str(self.string([tensor]).value), str(operation), args, _place(tensor).line)

    def quantization(self, children: list[QuantLine]) -> list[QuantLine]:
        return list(children)


def _place(token: Token) -> Place:
    return Place(token.line or 0, token.column or 0)


def _short(text: str, limit: int = 40) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."
