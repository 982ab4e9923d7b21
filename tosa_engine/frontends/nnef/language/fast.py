"""The body of a flat graph by hand: the same nodes as lark's, many times faster, for documents of thousands of lines.

The grammar stays the authority: whatever isn't plainly flat and right is left to it, and so is every error message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from .syntax import Argument, Assignment, Literal, Name, Place
from .tree import MAX_DEPTH, Wrong, invocation, number_of, sequence, string_of

if TYPE_CHECKING:
    from .syntax import Expression, Sequence

KEYWORDS: Final = frozenset(
    """
    version extension graph fragment tensor integer scalar logical string shape_of length_of range_of for in yield if
    else true false
    """.split()  # noqa: SIM905 - easier to read
)
_TOKEN: Final = re.compile(
    r"""[ \t\r\f\x0b]*(?:
    (?P<word>[A-Za-z_][A-Za-z0-9_]*(?![A-Za-z0-9_]))
    | (?P<number>-?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)
    | (?P<string>'[^'\\\r\n]*(?:\\.[^'\\\r\n]*)*'|"[^"\\\r\n]*(?:\\.[^"\\\r\n]*)*")
    | (?P<type><(?:integer|scalar|logical|string|\?)>)
    | (?P<sign>[()\[\],=;{}]|->)
    | (?P<end>\#.*|$)
    | (?P<other>.)
    )""",
    re.VERBOSE,
)
# text, kind, line, column
Token = tuple[str, str, int, int]
_LITERALS: Final = {"true": True, "false": False}


class NotFlatError(Exception):
    """The grammar must say what this is."""


def flat_body(text: str) -> tuple[int, tuple[Assignment, ...]] | None:
    """Where the body of the graph starts in a text, and its statements; None unless all of them are flat."""
    start = re.search(r"^[ \t]*graph\b[^{}#'\"]*\{", text, re.MULTILINE)
    if start is None or not text.isascii() or "\f" in text:
        return None
    opening = start.end() - 1
    before = text.rfind("\n", 0, opening) + 1
    try:
        tokens = _tokens(text[before:], text.count("\n", 0, opening) + 1, opening - before)
        return opening, _Statements(tokens).all()
    except (NotFlatError, Wrong, IndexError):
        return None


def _tokens(text: str, number: int, skip: int) -> list[Token]:
    found: list[Token] = []
    for line in text.split("\n"):
        for match in _TOKEN.finditer(line, skip):
            kind = match.lastgroup
            if kind == "end":
                break
            if kind == "other" or kind is None:
                raise NotFlatError
            token = match[kind]
            found.append((token, kind, number, match.end() - len(token) + 1))
        number, skip = number + 1, 0
    return found


class _Statements:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.at = tokens, 0

    def all(self) -> tuple[Assignment, ...]:
        self._sign("{")
        statements = [self._statement()]
        while self.tokens[self.at][0] != "}":
            statements.append(self._statement())
        if self.at + 1 != len(self.tokens):
            raise NotFlatError
        return tuple(statements)

    def _sign(self, sign: str) -> Token:
        token = self.tokens[self.at]
        if token[0] != sign:
            raise NotFlatError
        self.at += 1
        return token

    def _word(self) -> Token:
        token = self.tokens[self.at]
        if token[1] != "word" or token[0] in KEYWORDS:
            raise NotFlatError
        self.at += 1
        return token

    def _statement(self) -> Assignment:
        target = self._target()
        if self.tokens[self.at][0] == ",":
            targets = [target]
            while self.tokens[self.at][0] == ",":
                self.at += 1
                targets.append(self._target())
            target = sequence(tuple(targets), True, target.place)
        self._sign("=")
        operation, _, line, column = self._word()
        token = self.tokens[self.at]
        type_name = ""
        if token[1] == "type":
            type_name = token[0][1:-1]
            self.at += 1
        self._sign("(")
        arguments = [self._argument()]
        while self.tokens[self.at][0] == ",":
            self.at += 1
            arguments.append(self._argument())
        self._sign(")")
        self._sign(";")
        return Assignment(target, invocation(operation, type_name, tuple(arguments), Place(line, column)))

    def _target(self) -> Name | Sequence:
        value = self._value(1)
        if not _is_target(value):
            raise NotFlatError
        return value  # type: ignore[return-value]

    def _argument(self) -> Argument:
        token, following = self.tokens[self.at], self.tokens[self.at + 1]
        if following[0] == "=":
            name = self._word()
            self.at += 1
            return Argument(name[0], self._value(1), Place(name[2], name[3]))
        value = self._value(1)
        return Argument("", value, Place(token[2], token[3]))

    def _value(self, depth: int) -> Expression:
        text, kind, line, column = self.tokens[self.at]
        place = Place(line, column)
        if kind == "number":
            self.at += 1
            return Literal(number_of(text, place), place)
        if kind == "word":
            if text in KEYWORDS:
                if text not in _LITERALS:
                    raise NotFlatError
                self.at += 1
                return Literal(_LITERALS[text], place)
            self.at += 1
            return Name(text, place)
        if kind == "string":
            self.at += 1
            return Literal(string_of(text, place), place)
        if text in ("[", "("):
            return self._sequence(text, place, depth)
        raise NotFlatError

    def _sequence(self, bracket: str, place: Place, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            raise NotFlatError
        closing = "]" if bracket == "[" else ")"
        self.at += 1
        items: list[Any] = []
        if self.tokens[self.at][0] != closing:
            items.append(self._value(depth + 1))
            while self.tokens[self.at][0] == ",":
                self.at += 1
                items.append(self._value(depth + 1))
        self._sign(closing)
        if bracket == "(" and len(items) < 2:
            raise NotFlatError
        return sequence(tuple(items), bracket == "(", place)


def _is_target(value: Expression) -> bool:
    if isinstance(value, Name):
        return True
    return not isinstance(value, Literal) and all(map(_is_target, value.items))  # type: ignore[union-attr]
