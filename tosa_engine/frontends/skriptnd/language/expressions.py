"""Parsing expressions: recursive descent, with the operators' precedence in one table.

A fold is an operator with `..` behind it; `c ? a : b` binds tighter than `??`, and `<-` less than both.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final, NoReturn

from .lexer import BRANCH, DRAFT, Token, tokens
from .syntax import (
    Binary,
    Bounded,
    Call,
    Coalesce,
    Default,
    Expand,
    Expression,
    Fold,
    Formatted,
    List,
    Literal,
    Member,
    Name,
    Range,
    Select,
    Subscript,
    Substitute,
    Unary,
    Zip,
)

if TYPE_CHECKING:
    from ....errors import ParseError
    from .syntax import Place, Text

PRECEDENCE: Final = {
    "=>": 1,
    "&&": 2, "||": 2, "^": 2,
    "<": 3, "<=": 3, ">": 3, ">=": 3, "==": 3, "!=": 3, ":=": 3, "is": 3, "in": 3,
    "<?": 4, ">?": 4, "<<": 4, ">>": 4,
    "+": 5, "-": 5,
    "*": 6, "/": 6, "%": 6, "\\": 6,
    "**": 7,
}  # fmt: skip
SPELLING: Final = {"<<": "<?", ">>": ">?"}
DIALECT: Final = {"<<": DRAFT, ">>": DRAFT, "<?": BRANCH, ">?": BRANCH, "<?=": BRANCH, ">?=": BRANCH}
FOLDS: Final = frozenset(("+", "*", "&&", "||", "<", "<=", ">", ">=", "==", "!=", ":=", "<?", ">?", "**"))
CUMULATIVE: Final = frozenset(("+", "*", "&&", "||", "<?", ">?"))
MEMBERS: Final = ("shape", "rank", "size")
MOST_NESTED: Final = 64
MOST_DIGITS: Final = 18
_PIECES: Final = re.compile(r"\\(.)|\{([^{}]*)\}|([^\\{]+)|(.)", re.DOTALL)


class ExpressionParser:
    """A cursor over tokens. `evidence` has the first place of what only one dialect has."""

    def __init__(self, found: list[Token], text: Text) -> None:
        self.tokens, self.text, self.at = found, text, 0
        self.evidence: dict[str, tuple[Place, str]] = {}
        self._depth = 0

    # tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def ahead(self, count: int = 1) -> str:
        return self.tokens[min(self.at + count, len(self.tokens) - 1)].kind

    def take(self, kind: str) -> Token | None:
        """The next token, if it is of this kind."""
        token = self.tokens[self.at]
        if token.kind != kind or not kind:
            return None
        self.at += 1
        return token

    def need(self, kind: str, what: str = "") -> Token:
        token = self.take(kind)
        if token is None:
            self.wrong(what or ("an identifier" if kind == "name" else f"'{kind}'"))
        return token

    def wrong(self, expected: str) -> NoReturn:
        raise self.error(f"expected {expected}, found '{self.token.text[:40]}'")

    def error(self, message: str, place: Place | None = None, label: str = "SKND.P1") -> ParseError:
        return self.text.error(message, place or self.token.place, label)

    def saw(self, dialect: str, token: Token) -> None:
        self.evidence.setdefault(dialect, (token.place, token.text))

    # expressions

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self.error(f"an expression nests deeper than {MOST_NESTED}", label="SKND.P3")
        try:
            found = self._ternary()
            if self.take("??"):
                found = Coalesce(found.place, found, self.expression())
            if self.token.kind == "<-" and isinstance(found, Subscript):
                self.at += 1
                found = Substitute(found.place, found, self.expression())
            return found
        finally:
            self._depth -= 1

    def _ternary(self) -> Expression:
        condition = self._binary(1)
        if not self.take("?"):
            return condition
        yes = self.expression()
        no = self.expression() if self.take(":") else None
        return Select(condition.place, condition, yes, no)

    def _binary(self, level: int) -> Expression:
        left = self._unary()
        while True:
            token = self.token
            power = PRECEDENCE.get(token.kind, 0)
            if power < level or not power:
                return left
            if token.kind in DIALECT:
                self.saw(DIALECT[token.kind], token)
            op = SPELLING.get(token.kind, token.kind)
            self.at += 1
            dots = self.token.kind
            if dots in ("..", "..."):
                self.at += 1
                left = self._fold(left, op, token, dots == "...")
            elif op == ":=":
                raise self.error("':=' only folds a pack: ':= ..'", token.place)
            else:
                right = self._binary(power if op == "**" else power + 1)
                left = Binary(token.place, op, left, right)

    def _fold(self, value: Expression, op: str, token: Token, cumulative: bool) -> Expression:
        if op not in (CUMULATIVE if cumulative else FOLDS):
            raise self.error(f"'{token.text}' doesn't fold a pack{' step by step' if cumulative else ''}", token.place)
        return Fold(token.place, value, op, cumulative)

    def _unary(self) -> Expression:
        token = self.token
        if token.kind in ("+", "-", "!", "?"):
            self._depth += 1
            if self._depth > MOST_NESTED:
                raise self.error(f"an expression nests deeper than {MOST_NESTED}", label="SKND.P3")
            self.at += 1
            value = self._unary()
            self._depth -= 1
            return Unary(token.place, token.kind, value)
        return self._postfix()

    def _postfix(self) -> Expression:
        found = self._primary()
        while self.token.kind == "[":
            found = self.subscript(found)
        return found

    def subscript(self, value: Expression) -> Subscript:
        place = self.need("[").place
        items: list[Expression] = []
        is_open = False
        while not self.take("]"):
            items.append(self._item(index=True))
            is_open = self.take(",") is not None
            if not is_open:
                self.need("]")
                break
        return Subscript(place, value, tuple(items), is_open)

    def _item(self, *, index: bool) -> Expression:
        """An item of a list, or of the brackets behind a pack or a tensor."""
        place = self.token.place
        first = None if index and self.token.kind == ":" else self.expression()
        if self.take(":"):
            ends = (",", "]", ":", "..")
            last = None if self.token.kind in ends else self.expression()
            step = self.expression() if self.take(":") and self.token.kind not in ends else None
            if not index and last is None:
                self.wrong("the end of a range")
            return Range(place, first, last, step)
        assert first is not None
        if self.take(".."):
            count = None
            if self.take("("):
                count = self.expression()
                self.need(")")
            return Expand(place, first, count)
        if isinstance(first, Zip):
            raise self.error("a zip must be expanded: '(a, b)..'", place)
        return first

    def _primary(self) -> Expression:
        token = self.token
        kind, place = token.kind, token.place
        self.at += 1
        if kind == "int":
            if len(token.text) > MOST_DIGITS:
                raise self.error(f"an integer of {len(token.text)} digits; {MOST_DIGITS} at most", place, "SKND.P4")
            return Literal(place, int(token.text))
        if kind == "real":
            return Literal(place, float(token.text))
        if kind in ("true", "false"):
            return Literal(place, kind == "true")
        if kind in ("inf", "pi"):
            return Literal(place, math.inf if kind == "inf" else math.pi)
        if kind == "string":
            self.at -= 1
            return self.string()
        if kind == "(":
            return self._parenthesized(place)
        if kind == "[":
            return self._list(place)
        if kind == "|":
            return self._bounded(place)
        if kind == "`":
            self.saw(DRAFT, token)
            function = self.need("name").text
            self.need("`")
            self.need("(")
            return self._call(place, function)
        if kind == "name":
            return self._named(token)
        self.at -= 1
        raise self.error(f"expected an expression, found '{token.text[:40]}'", place)

    def _named(self, token: Token) -> Expression:
        if self.take("("):
            return self._call(token.place, token.text)
        if self.token.kind == "." and self.ahead() == "name":
            what = self.tokens[self.at + 1].text
            if what not in MEMBERS:
                raise self.error(f"'.{what}' is none of {', '.join(f'.{m}' for m in MEMBERS)}", label="SKND.P2")
            self.at += 2
            return Member(token.place, token.text, what)
        return Name(token.place, token.text)

    def _call(self, place: Place, function: str) -> Expression:
        if self.take(")"):
            return Default(place, function)
        argument = self.expression()
        self.need(")")
        return Call(place, function, argument)

    def _parenthesized(self, place: Place) -> Expression:
        first = self.expression()
        items = [first]
        while self.take(","):
            items.append(self.expression())
        self.need(")")
        return Zip(place, tuple(items)) if len(items) > 1 else first

    def _list(self, place: Place) -> Expression:
        items: list[Expression] = []
        while not self.take("]"):
            items.append(self._item(index=False))
            if not self.take(","):
                self.need("]")
                break
        return List(place, tuple(items))

    def _bounded(self, place: Place) -> Expression:
        index = self.expression()
        low = high = None
        if self.take("<>"):
            low = self.expression()
            self.need(":")
            high = self.expression()
        self.need("|")
        return Bounded(place, index, low, high)

    # strings

    def string(self) -> Expression:
        """Neighbouring strings are one."""
        place, parts = self.need("string", "a string").place, list[str | Expression]()
        self.at -= 1
        while (token := self.take("string")) is not None:
            self._pieces(token, parts)
        if all(isinstance(part, str) for part in parts):
            return Literal(place, "".join(str(part) for part in parts))
        return Formatted(place, tuple(parts))

    def _pieces(self, token: Token, parts: list[str | Expression]) -> None:
        for escaped, inner, plain, other in _PIECES.findall(token.text[1:-1]):
            if inner:
                parser = ExpressionParser(tokens(inner, self.text, token.place.line), self.text)
                parser._depth = self._depth + 1
                parts.append(parser.expression())
                if parser.token.kind:
                    raise self.error(f"'{{{inner}}}' isn't one expression", token.place)
            elif parts and isinstance(parts[-1], str):
                parts[-1] += escaped or plain or other
            else:
                parts.append(escaped or plain or other)
