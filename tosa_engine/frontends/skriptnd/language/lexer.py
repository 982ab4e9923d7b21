"""Tokens of SkriptND."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .syntax import Place, Text

BRANCH: Final = "branch"
DRAFT: Final = "draft"

_TOKENS: Final = re.compile(
    r"""
    (?P<space>[ \t\r\n\f]+|\#[^\n]*)
  | (?P<real>\d+(?:\.(?!\.)\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+))
  | (?P<int>\d+)
  | (?P<word>@?[A-Za-z_][A-Za-z0-9_]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<sign>\.\.\.|<\?=|>\?=|\*\*|<\?|>\?|<<|>>|<=|>=|==|!=|=>|&&|\|\||\?\?|<-|->|<>|\.\.|:=|\+=|\*=|&=|\|=
     |[-+*/\\%!^<>=?:;,.~|(){}\[\]`])
    """,
    re.VERBOSE,
)


class Token(NamedTuple):
    """`kind` is the text itself for signs and words."""

    kind: str
    text: str
    offset: int
    place: Place
    end: int


def tokens(source: str, text: Text, first_line: int = 1) -> list[Token]:
    """The tokens of a text, and one of kind "" behind the last. Raises ParseError at a character that begins none."""
    found: list[Token] = []
    position, line, start = 0, first_line, 0
    match_at = _TOKENS.match
    while position < len(source):
        match = match_at(source, position)
        if match is None:
            place = Place(line, position - start + 1)
            wrong = source[position]
            what = "a string that doesn't end" if wrong in "\"'" else f"the character {wrong!r}"
            raise text.error(f"{what} isn't SkriptND", place, "SKND.T1")
        kind, piece = match.lastgroup, match.group()
        if kind == "space":
            breaks = piece.count("\n")
            if breaks:
                line += breaks
                start = position + piece.rfind("\n") + 1
        else:
            name = piece if kind in ("sign", "word") else str(kind)
            if kind == "word":
                name = piece if piece in WORDS or piece[0] == "@" else "name"
            found.append(Token(name, piece, position, Place(line, position - start + 1), match.end()))
        position = match.end()
    found.append(Token("", "the end", position, Place(line, position - start + 1), position))
    return found


WORDS: Final = frozenset(
    (
        "import", "graph", "operator", "public", "optional", "true", "false", "inf", "pi", "is", "in", "if", "then",
        "elif", "else", "for", "while", "do", "with", "unroll", "yield",
    )
)  # fmt: skip
TYPES: Final = ("int", "real", "bool", "str")
ABSTRACT: Final = ("type", "arith", "num")
FUNCTIONS: Final = (
    "abs", "sign", "sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
    "acosh", "atanh", "ceil", "floor", "round", "frac", "erf",
)  # fmt: skip
