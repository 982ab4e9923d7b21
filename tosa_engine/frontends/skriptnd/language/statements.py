"""Parsing types, targets, steps of a composition, and formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .expressions import ExpressionParser
from .lexer import BRANCH, DRAFT, TYPES
from .syntax import (
    BlockOf,
    Branch,
    Component,
    Expression,
    Extent,
    Invocation,
    Loop,
    Lowering,
    Step,
    Subscript,
    Target,
    TypeSpec,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDS = frozenset((";", ",", "then", "else", "elif", "do", "unroll", "while", "for", "}", ""))
_LOOPS = frozenset(("with", "for", "while", "do", "unroll"))
_ACCUMULATIONS = {
    "=": "=", ":=": ":=", "+=": "+", "*=": "*", "&=": "&&", "|=": "||", "<?=": "<?", ">?=": ">?", "<=": "<?",
    ">=": ">?",
}  # fmt: skip


class StatementParser(ExpressionParser):
    """What stands inside of blocks."""

    def qualified(self) -> str:
        parts = [self.need("name").text]
        while self.token.kind == "." and self.ahead() == "name":
            self.at += 1
            parts.append(self.need("name").text)
        return ".".join(parts)

    def _soft(self, *words: str) -> str:
        """`dynamic` and `static` are words only where something follows."""
        if self.token.text in words and self.ahead() in ("name", "optional", "int", "("):
            token = self.token
            self.saw(BRANCH, token)
            self.at += 1
            return token.text
        return ""

    # types

    def type_spec(self) -> TypeSpec:
        place, word, optional = self.token.place, "", False
        while True:
            if soft := self._soft("dynamic", "static"):
                word = soft
            elif self.take("optional"):
                optional = True
            else:
                break
        found = TypeSpec(place, self.need("name", "a type").text, optional=optional, word=word)
        if self.take("^"):
            self.need("(")
            found.rank = self.expression()
            self.need(")")
        if self.take("["):
            found.tensor = True
            extents = []
            while not self.take("]"):
                extents.append(self._extent())
                if not self.take(","):
                    self.need("]")
                    break
            found.shape = tuple(extents)
        if self.take(".."):
            found.packed = True
            found.length, found.bound, found.length_word = self._length()
        return found

    def _length(self) -> tuple[Expression | None, Expression | None, str]:
        """`(n)`, or `(n|5)` of a pack whose length changes; and the word before it."""
        if not self.take("("):
            return None, None, ""
        word = self._soft("dynamic", "static")
        found, most = self.expression(), None
        if self.take("|"):
            most = self.expression()
        self.need(")")
        return found, most, word

    def _extent(self) -> Extent:
        place = self.token.place
        own = self.take("..") is not None
        static = self._soft("static") != ""
        value = None if self.take("~") else self.expression()
        found = Extent(place, value, own, static=static)
        if self.take("|"):
            found.bound = self.expression()
        if self.take(".."):
            found.packed = True
            found.length, found.most, found.length_word = self._length()
        return found

    def type_list(self) -> tuple[str, ...]:
        found = []
        if self.take("<"):
            while True:
                found.append(self.need("name", "a type").text)
                if not self.take(","):
                    break
            self.need(">")
        return tuple(found)

    def attribute_list(self) -> Mapping[str, Expression]:
        found: dict[str, Expression] = {}
        if self.take("{"):
            while not self.take("}"):
                name = self.need("name")
                if name.text in found:
                    raise self.error(f"attribute '{name.text}' is given twice", name.place, "SKND.A1")
                if not self.take(":"):  # an example of the draft has it
                    self.need("=")
                found[name.text] = self.expression()
                if not self.take(","):
                    self.need("}")
                    break
        return found

    # compositions

    def target(self) -> Target:
        place = self.token.place
        if self.take("~"):
            return Target(place)
        if self.take("["):
            items = []
            while not self.take("]"):
                items.append(self.target())
                if not self.take(","):
                    self.need("]")
                    break
            return Target(place, items=tuple(items))
        if self.take("("):
            names = [self.target()]
            while self.take(","):
                names.append(self.target())
            self.need(")")
            self.need("..")
            return Target(place, items=tuple(names), zipped=True)
        found = Target(place, self.need("name", "a name, '~' or '['").text)
        if self.take(":"):
            found.type = self.type_spec()
            found.packed, found.length = found.type.packed, found.type.length
        if self.take(".."):
            found.packed = True
            found.length, found.most, found.length_word = self._length()
        return found

    def component(self) -> Component:
        place, targets = self.token.place, [self.target()]
        while self.take(","):
            targets.append(self.target())
        self.need("=")
        found = Component(place, tuple(targets), self.step())
        self.need(";")
        return found

    def step(self) -> Step:
        self._depth += 1
        if self._depth > 32:
            raise self.error("blocks nest deeper than 32", label="SKND.P3")
        try:
            if self.token.kind == "if":
                return self._branch()
            if self.token.kind in _LOOPS:
                return self._loop()
            label = ""
            if self.token.kind == "name" and self.ahead() == ":":
                label = self.need("name").text
                self.at += 1
            if self.token.kind == "{":
                return self._block_of(label)
            if label or self._is_invocation():
                return self._invocation(label)
            return self.expression()
        finally:
            self._depth -= 1

    def _is_invocation(self) -> bool:
        """Whether an invocation, and nothing else, stands here."""
        if self.token.kind != "name" or self.token.text in TYPES:
            return False
        begin = self.at
        try:
            self.qualified()
            if self.token.kind == "<":
                closing = next((i for i in range(self.at, len(self.tokens)) if self.tokens[i].kind == ">"), 0)
                inner = {t.kind for t in self.tokens[self.at + 1 : closing]}
                if not closing or not inner <= {"name", ","}:
                    return False
                self.at = closing + 1
            for opening, closing_sign in (("{", "}"), ("(", ")")):
                if self.token.kind == opening:
                    self._skip_group(opening, closing_sign)
                elif opening == "(":
                    return False
            return self.token.kind in _ENDS
        finally:
            self.at = begin

    def _skip_group(self, opening: str, closing: str) -> None:
        depth = 0
        while self.token.kind:
            depth += (self.token.kind == opening) - (self.token.kind == closing)
            self.at += 1
            if not depth:
                return

    def _invocation(self, label: str) -> Invocation:
        place = self.token.place
        found = Invocation(place, self.qualified(), self.type_list(), self.attribute_list(), label=label)
        self.need("(")
        arguments: list[Expression | None] = []
        while not self.take(")"):
            arguments.append(None if self.take("~") else self.expression())
            if not self.take(","):
                self.need(")")
                break
        found.arguments = tuple(arguments)
        return found

    def _block_of(self, label: str) -> BlockOf:
        place, components = self.need("{").place, []
        while self.token.kind != "yield":
            components.append(self.component())
        self.at += 1
        results = [self.expression()]
        while self.take(","):
            results.append(self.expression())
        self.take(";")
        self.need("}")
        return BlockOf(place, tuple(components), tuple(results), label)

    def _branch(self) -> Branch:
        place, conditions, branches = self.need("if").place, [self.step()], []
        self.need("then")
        branches.append(self.step())
        while self.take("elif"):
            conditions.append(self.step())
            self.need("then")
            branches.append(self.step())
        self.need("else")
        branches.append(self.step())
        return Branch(place, tuple(conditions), tuple(branches))

    def _loop(self) -> Loop:
        place, carried, scanned = self.token.place, [], []
        if self.take("with"):
            while True:
                name = self.need("name").text
                spec = self.type_spec() if self.take(":") else None
                self.need("=")
                carried.append((name, spec, self.expression()))
                if not self.take(","):
                    break
        if self.take("for"):
            while True:
                name = self.need("name").text
                self.need(":")
                scanned.append((name, self.expression()))
                if not self.take(","):
                    break
        condition = self.step() if self.take("while") else None
        unroll = self.take("unroll") is not None
        if not unroll:
            self.need("do", "'do' or 'unroll'")
        index, count = self._count()
        body, after = self.step(), False
        if self.take("while"):
            if condition is not None:
                raise self.error("a loop with two conditions", place, "SKND.C6")
            condition, after = self.step(), True
        return Loop(place, tuple(carried), tuple(scanned), condition, after, index, count, unroll, body)

    def _count(self) -> tuple[str, Expression | None]:
        """`..(i -> n)`"""
        index, count = "", None
        if self.take(".."):
            self.need("(")
            if self.token.kind == "name" and self.ahead() == "->":
                index = self.need("name").text
                self.at += 1
            if self.token.kind != ")":
                count = self.expression()
            self.need(")")
        return index, count

    # formulas

    def lowering(self) -> Lowering:
        place, unroll, values = self.token.place, None, []
        if self.take("unroll"):
            index, count = self._count()
            if count is None:
                self.wrong("a count, as in 'unroll..(i -> n)'")
            unroll = (index, count)
        if with_ := self.take("with"):
            self.saw(BRANCH, with_)
            while True:
                name = self.need("name").text
                self.need("=")
                values.append((name, self.expression()))
                if not self.take(","):
                    break
            self.need(":")
        while self.token.kind == "name" and self.ahead() == "=":
            self.saw(DRAFT, self.token)
            name = self.need("name").text
            self.at += 1
            values.append((name, self.expression()))
            self.need(",")
        return self._formula(place, tuple(values), unroll)

    def _formula(
        self, place: object, values: tuple[tuple[str, Expression], ...], unroll: tuple[str, Expression] | None
    ) -> Lowering:
        begin = self.token.place
        target = self._postfix()
        if not isinstance(target, Subscript):
            raise self.error("the left side isn't the access to a tensor", begin, "SKND.L1")
        sign = self.token
        if sign.kind not in _ACCUMULATIONS:
            self.wrong("an assignment: " + ", ".join(f"'{s}'" for s in _ACCUMULATIONS))
        if sign.kind in ("<=", ">="):
            self.saw(DRAFT, sign)
        elif sign.kind in ("<?=", ">?="):
            self.saw(BRANCH, sign)
        self.at += 1
        value, bounds = self.expression(), []
        while self.take(","):
            index = self.need("name", "a loop index").text
            self.need("<")
            bounds.append((index, self.expression()))
        condition = self.expression() if self.take("|") else None
        self.need(";")
        return Lowering(begin, values, target, _ACCUMULATIONS[sign.kind], value, tuple(bounds), condition, unroll)
