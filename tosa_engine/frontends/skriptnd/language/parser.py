"""Parsing modules, operators and their blocks. All syntax errors of a text are found together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ....errors import ParseError, TosaEngineError, UsageError, raise_all
from .lexer import ABSTRACT, BRANCH, DRAFT, TYPES, tokens
from .statements import StatementParser
from .syntax import (
    Assertion,
    Declaration,
    Invocation,
    Module,
    Operator,
    Quantization,
    Text,
    TypeDeclaration,
    Using,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .expressions import ExpressionParser
    from .syntax import Place

MOST_ERRORS: Final = 20
_DECLARATIONS: Final = {
    "@attrib": "attributes", "@input": "inputs", "@output": "outputs", "@constant": "constants",
    "@variable": "variables",
}  # fmt: skip


class ModuleParser(StatementParser):
    """The parser of one text."""

    def __init__(self, source: str, text: Text, name: str, first_line: int = 1) -> None:
        super().__init__(tokens(source, text, first_line), text)
        self.source = source
        self.module = Module(name, text)
        self.problems: list[TosaEngineError] = []

    def parse(self) -> Module:
        try:
            while self.token.kind:
                self._top()
        except ParseError as problem:  # nothing can be told from here on
            self.problems.append(problem)
        raise_all(self.problems, f"{self.text.file}: {len(self.problems)} problems")
        return self.module

    def _top(self) -> None:
        place = self.token.place
        try:
            if self.take("import"):
                self._import(place)
                return
            public = self.take("public") is not None
            graph = self.take("graph") is not None
            if not graph and not self.take("operator"):
                self.wrong("'import', 'graph' or 'operator'")
            self._operator(place, graph, public)
        except ParseError as problem:
            self._note(problem)
            self.at += self.token.kind != ""
            while self.token.kind not in ("", "operator", "graph", "public", "import"):
                self.at += 1

    def _note(self, problem: ParseError) -> None:
        self.problems.append(problem)
        if len(self.problems) >= MOST_ERRORS:
            raise_all(self.problems, f"{self.text.file}: {len(self.problems)} problems and more")

    def _import(self, place: Place) -> None:
        while True:
            self.module.imports.append((self.qualified(), place))
            if not self.take(","):
                break
        if self.token.kind == ";":
            self.at += 1
        elif self.token.kind not in ("import", "graph", "operator", "public"):  # the draft's examples have none
            self.need(";")

    def _operator(self, place: Place, graph: bool, public: bool) -> None:
        name = self.need("name", "a name")
        operator = Operator(place, name.text, self.text, self.module.name, graph, public)
        family = self.module.graphs if graph else self.module.operators
        if name.text in self.module.graphs or name.text in self.module.operators:
            self._note(self.error(f"'{name.text}' is defined twice", name.place, "SKND.N1"))
        self.need("{")
        while not self.take("}"):
            self._block(operator)
        family[name.text] = operator

    def _block(self, operator: Operator) -> None:
        token = self.token
        statements: dict[str, Callable[[Operator], None]] = {
            "@dtype": self._dtype, "@using": self._using, "@assert": self._assert, "@lower": self._lower,
            "@compose": lambda o: o.components.append(self.component()),
            "@update": lambda o: o.updates.append(self.component()), "@quantize": self._quantize,
        }  # fmt: skip
        if token.kind in _DECLARATIONS:
            declared = getattr(operator, _DECLARATIONS[token.kind])
            statements[token.kind] = lambda _: declared.append(self._declaration())
        if token.kind not in statements:
            self.wrong("a block such as @input, or '}'")
        if token.kind in operator.blocks:
            self._note(self.error(f"'{operator.name}' has {token.kind} twice", label="SKND.N2"))
        operator.blocks[token.kind] = token.place
        self.at += 1
        self.need("{")
        while not self.take("}"):
            if not self.token.kind:
                self.wrong("'}'")
            begin = self.at
            try:
                statements[token.kind](operator)
            except ParseError as problem:
                self._note(problem)
                self._skip_statement(begin)

    def _skip_statement(self, begin: int) -> None:
        """Go on behind the statement, which was read up to an error: brackets count from where it begins."""
        read, self.at, depth = self.at, begin, 0
        while self.token.kind:
            kind = self.token.kind
            if depth == 0 and kind == "}" and self.at >= read:
                return
            depth += (kind == "{") - (kind == "}")
            self.at += 1
            if depth <= 0 and kind == ";" and self.at > read:
                return

    # statements of blocks

    def _dtype(self, operator: Operator) -> None:
        name = self.need("name")
        self.need(":")
        base = self.need("name", "a type").text
        if base not in ABSTRACT and base not in TYPES:
            raise self.error(f"'{base}' isn't a type", label="SKND.Y1")
        default = self.need("name", "a type").text if self.take("=") else None
        self.need(";")
        operator.types.append(TypeDeclaration(name.place, name.text, base, default))

    def _declaration(self) -> Declaration:
        name = self.need("name")
        self.need(":")
        spec = self.type_spec()
        default = self.expression() if self.take("=") else None
        bounds = []
        while self.take(","):
            index = self.need("name").text
            self.need("<")
            bounds.append((index, self.expression()))
        self.need(";")
        return Declaration(name.place, name.text, spec, default, tuple(bounds))

    def _using(self, operator: Operator) -> None:
        target = self.target()
        self.need("=")
        operator.using.append(Using(target.place, target, self.expression()))
        self.need(";")

    def _assert(self, operator: Operator) -> None:
        begin = self.token
        condition = self.expression()
        text = self.source[begin.offset : self.tokens[self.at - 1].end]
        message, shown = None, []
        if self.take(":"):
            message = self.string()
            while self.take(","):
                label = None
                if self.token.kind == "string" and self.ahead() == ":":
                    label = self.token.text[1:-1]
                    self.at += 2
                elif self.token.kind == "name" and self.ahead() == ":":
                    label = self.token.text
                    self.at += 2
                shown.append((label, self.expression()))
        self.need(";")
        operator.asserts.append(Assertion(begin.place, condition, message, tuple(shown), text))

    def _lower(self, operator: Operator) -> None:
        operator.lowerings.append(self.lowering())

    def _quantize(self, operator: Operator) -> None:
        place = self.token.place
        tensor = self.qualified()
        self.need(":")
        name = self.qualified()
        found = Invocation(place, name, self.type_list(), self.attribute_list())
        if self.take("("):
            self.need(")")
        self.need(";")
        operator.quantizations.append(Quantization(place, tensor, found))


def parse(source: str, file: str, name: str, dialect: str | None = None, first_line: int = 1) -> tuple[Module, str]:
    """A module, and its dialect. Raises ParseError or Problems."""
    text = Text(file, source.split("\n"))
    parser = ModuleParser(source, text, name, first_line)
    module = parser.parse()
    module.dialect = dialect_of(parser, dialect)
    return module, module.dialect


def dialect_of(parser: ExpressionParser, wanted: str | None) -> str:
    """What the text is written in. Raises ParseError where it has what only the other dialect has."""
    if wanted not in (None, BRANCH, DRAFT):
        raise UsageError(f"unknown dialect '{wanted}'; choose from: {BRANCH}, {DRAFT}")
    known = wanted or next((d for d in (BRANCH, DRAFT) if d in parser.evidence), BRANCH)
    other = DRAFT if known == BRANCH else BRANCH
    if other in parser.evidence:
        place, token = parser.evidence[other]
        why = f"'{token}' is of the dialect '{other}'"
        mine = parser.evidence.get(known)
        because = f"'{mine[1]}' on line {mine[0].line} is of '{known}'" if mine else f"--dialect says '{known}'"
        raise parser.error(f"{why}, {because}", place, "SKND.D1")
    return known
