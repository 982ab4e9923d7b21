"""The parser that lark makes of `grammar.lark`, its error messages, and how it goes on after a syntax error.

It goes on behind the statement, so that all errors are reported together.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import PatternStr

from ....errors import TosaEngineError, raise_all
from .fast import KEYWORDS
from .syntax import Place
from .tree import TreeBuilder, Wrong, place_of, short

if TYPE_CHECKING:
    from ....errors import ParseError
    from .syntax import Text

MAX_ERRORS: Final = 20  # of syntax in one text
_WORDS: Final = {
    "IDENTIFIER": "an identifier", "NUMBER": "a number", "STRING": "a string", "GENERIC": "'<'", "$END": "the end",
}  # fmt: skip
_BUILT_IN: Final = ("integer", "scalar", "logical", "string", "shape_of", "length_of", "range_of")
_GROUPS: Final = {  # of tokens that are expected together
    "an operator": frozenset(
        f"'{sign}'" for sign in ("in", "&&", "||", "<", "<=", ">", ">=", "==", "!=", *"+-*/^[", "if")
    ),
    "an expression": frozenset(
        ("an identifier", "a number", "a string", *(f"'{word}'" for word in (*"!(+-[", "true", "false", *_BUILT_IN)))
    ),
    "a type": frozenset(f"'{word}'" for word in ("tensor", "integer", "scalar", "logical", "string", "?", "(")),
}


@functools.cache
def _parser() -> Lark:
    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar, start=["document", "fragment", "quantization"], parser="lalr", lexer="basic",
        maybe_placeholders=False, transformer=TreeBuilder(),
    )  # fmt: skip


def parse(text: str, start: str, source: Text) -> Any:
    """What the grammar's rule `start` makes of a text. Raises ParseError, or Problems with all syntax errors."""
    state: Any = _parser().parse_interactive(text, start=start)
    problems: list[TosaEngineError] = []
    while True:
        try:
            for token in state.lexer_thread.lex(state.parser_state):
                state.feed_token(token)
            result = state.feed_eof()
            break
        except UnexpectedInput as problem:
            problems.append(_syntax_error(source, problem, state))
            bad = problem.token if isinstance(problem, UnexpectedToken) else None
        except Wrong as wrong:
            problems.append(source.error(wrong.message, wrong.place, wrong.label))
            bad = None
        if len(problems) == MAX_ERRORS or not _recover(state, bad):
            break
    raise_all(problems, f"{source.file}: {len(problems)} problems")
    return result


def _recover(state: Any, bad: Token | None) -> bool:
    """Go on behind the statement or declaration that has the error. False at the end of the text."""
    parser_state = state.parser_state
    table = parser_state.parse_conf.parse_table.states
    stack, values = parser_state.state_stack, parser_state.value_stack
    closed = values and values[-1] == "}"  # behind a body
    places = {"fragment"} if closed else {"assignment", "fragment"}
    while stack and not places & table[stack[-1]].keys():
        stack.pop()
        del values[max(len(stack) - 1, 0) :]
    if not stack or (bad is not None and bad.type == "$END"):
        return False
    if not closed and "assignment" in table[stack[-1]]:
        stack.append(table[stack[-1]]["assignment"][1])
        values.append(None)
        return _skip(state, bad, stop=(";",), before=("}",))
    return _skip(state, bad, stop=(), before=("fragment", "graph"))


def _skip(state: Any, bad: Token | None, stop: tuple[str, ...], before: tuple[str, ...]) -> bool:
    """Pass over tokens up to one of `stop`, or to one of `before`, which the parser gets."""
    tokens = state.lexer_thread.lex(state.parser_state)
    token = bad
    while True:
        if token is not None and token in stop:
            return True
        if token is not None and token in before and (token is not bad or token == "}"):
            try:
                state.feed_token(token)
            except UnexpectedInput:
                return False
            return True
        try:
            token = next(tokens, None)
        except UnexpectedCharacters as problem:
            state.lexer_thread.state.line_ctr.feed(Token("BAD", problem.char))
            tokens, token = state.lexer_thread.lex(state.parser_state), Token("BAD", "")
        if token is None:
            return False


def _syntax_error(source: Text, problem: UnexpectedInput, state: Any) -> ParseError:
    if isinstance(problem, UnexpectedToken):
        return _unexpected_token(source, problem.token, state.accepts())
    assert isinstance(problem, UnexpectedCharacters)
    place = Place(problem.line, problem.column)
    character = source.line(place.line)[place.column - 1 : place.column]
    if character in ("'", '"'):
        return source.error("the string has no end on its line", place, "NNEF.L3")
    return source.error(f"unexpected character {character!a}", place, "NNEF.L1")


def _unexpected_token(source: Text, token: Token, names: set[str]) -> ParseError:
    if token in KEYWORDS and "IDENTIFIER" in names:
        return source.error(f"'{token}' is a keyword; it can't be a name", place_of(token), "NNEF.L6")
    shown = {_shown(name) for name in names}
    for group, words in _GROUPS.items():
        if words <= shown:
            shown = (shown - words) | {group}
    expected = ", ".join(sorted(shown))
    if token.type == "$END":
        place = Place(len(source.lines), len(source.lines[-1]) + 1)
        return source.error(f"unexpected end of the text, expected {expected}", place, "NNEF.S1")
    return source.error(f"unexpected '{short(token)}', expected {expected}", place_of(token), "NNEF.S1")


@functools.cache
def _shown(name: str) -> str:
    pattern = _parser().get_terminal(name).pattern if name not in _WORDS else None
    return f"'{pattern.value}'" if isinstance(pattern, PatternStr) else _WORDS.get(name, name)
