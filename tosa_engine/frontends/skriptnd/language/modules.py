"""Modules as text, in one canonical form: parsed again, they are the same. Comments aren't kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .lexer import DRAFT
from .printing import LOOSE, OPERAND, ExpressionPrinter
from .syntax import BlockOf, Branch, Expression, Invocation, Loop, Select

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .syntax import (
        Assertion,
        Component,
        Declaration,
        Lowering,
        Module,
        Operator,
        Quantization,
        Step,
        Target,
        TypeDeclaration,
        Using,
    )

BLOCKS: Final = (
    "@dtype", "@attrib", "@input", "@using", "@output", "@constant", "@variable", "@assert", "@lower", "@compose",
    "@update", "@quantize",
)  # fmt: skip
_INDENT: Final = "    "
_ACCUMULATED: Final = {"&&": "&=", "||": "|=", "+": "+=", "*": "*=", "=": "=", ":=": ":="}
_EXTREMES: Final = {"branch": {"<?": "<?=", ">?": ">?="}, DRAFT: {"<?": "<=", ">?": ">="}}


def format_module(module: Module) -> str:
    """The text of a module in its dialect: imports, then operators and graphs in their order."""
    printer = ModulePrinter(module.dialect)
    imports = "".join(f"import {name};\n" for name in dict.fromkeys(name for name, _ in module.imports))
    defined = sorted((*module.operators.values(), *module.graphs.values()), key=lambda o: o.place)
    parts = [*([imports] if imports else []), *map(printer.operator, defined)]
    return "\n".join(parts)


class ModulePrinter(ExpressionPrinter):
    """Prints what stands inside of modules, in one dialect."""

    def __init__(self, dialect: str) -> None:
        super().__init__(dialect)
        self._signs = {**_ACCUMULATED, **_EXTREMES[DRAFT if self.draft else "branch"]}

    def operator(self, o: Operator) -> str:
        head = f"{'public ' if o.public else ''}{'graph' if o.graph else 'operator'} {o.name} {{\n"
        statements = {
            "@dtype": map(self._type, o.types), "@attrib": map(self._declaration, o.attributes),
            "@input": map(self._declaration, o.inputs), "@using": map(self._using, o.using),
            "@output": map(self._declaration, o.outputs), "@constant": map(self._declaration, o.constants),
            "@variable": map(self._declaration, o.variables), "@assert": map(self._assertion, o.asserts),
            "@lower": map(self._lowering, o.lowerings), "@compose": map(self._component, o.components),
            "@update": map(self._component, o.updates), "@quantize": map(self._quantization, o.quantizations),
        }  # fmt: skip
        return head + "".join(self._block(name, statements[name]) for name in BLOCKS if name in o.blocks) + "}\n"

    @staticmethod
    def _block(name: str, statements: Iterable[str]) -> str:
        lines = "".join(f"{_indented(statement, 2)}\n" for statement in statements)
        return f"{_INDENT}{name} {{\n{lines}{_INDENT}}}\n"

    # declarations

    @staticmethod
    def _type(t: TypeDeclaration) -> str:
        return f"{t.name}: {t.base}{f' = {t.default}' if t.default else ''};"

    def _declaration(self, d: Declaration) -> str:
        default = "" if d.default is None else f" = {self.expression(d.default)}"
        return f"{d.name}: {self.type_spec(d.type)}{default}{self._bounds(d.bounds)};"

    def _bounds(self, bounds: Iterable[tuple[str, Expression]]) -> str:
        return "".join(f", {index} < {self.expression(e)}" for index, e in bounds)

    def _using(self, u: Using) -> str:
        return f"{self._target(u.target)} = {self.expression(u.value)};"

    def _assertion(self, a: Assertion) -> str:
        """A string or `:` behind a `?:` would be its third part."""
        text = self.expression(a.condition, OPERAND if isinstance(a.condition, Select) else LOOSE)
        if a.message is None:
            return f"{text};"
        shown = "".join(
            f", {f'{self._label(label)}: ' if label is not None else ''}{self.expression(e)}" for label, e in a.shown
        )
        return f"{text}: {self.expression(a.message)}{shown};"

    @staticmethod
    def _label(label: str) -> str:
        """As it was written between its quotes."""
        return f"'{label}'" if '"' in label.replace('\\"', "") else f'"{label}"'

    def _target(self, t: Target) -> str:
        if t.items is not None:
            items = ", ".join(map(self._target, t.items))
            return f"({items}).." if t.zipped else f"[{items}]"
        if not t.name:
            return "~"
        if t.type is not None:
            return f"{t.name}: {self.type_spec(t.type)}"
        return f"{t.name}..{self.length(t.length, t.most, t.length_word)}" if t.packed else t.name

    # formulas

    def _lowering(self, w: Lowering) -> str:
        unrolled = "" if w.unroll is None else f"unroll{self._count(*w.unroll)} "
        values = [f"{name} = {self.expression(e)}" for name, e in w.locals]
        condition = "" if w.condition is None else f" | {self.expression(w.condition)}"
        left = f"{self.expression(w.target)} {self._signs[w.op]}"
        formula = f"{left} {self.expression(w.value)}{self._bounds(w.bounds)}{condition};"
        if not values:
            return f"{unrolled}{formula}"
        if self.draft:
            return f"{unrolled}{f',{chr(10)}'.join((*values, formula))}"
        lines = f",\n{_INDENT}".join(values)
        return f"{unrolled}with\n{_INDENT}{lines}:\n{_INDENT}{formula}"

    def _count(self, index: str, count: Expression | None) -> str:
        if count is None and not index:
            return ""
        return f"..({f'{index} -> ' if index else ''}{'' if count is None else self.expression(count)})"

    # compositions

    def _component(self, c: Component) -> str:
        return f"{', '.join(map(self._target, c.targets))} = {self._step(c.value)};"

    def _step(self, s: Step) -> str:
        if isinstance(s, Invocation):
            return self._invocation(s)
        if isinstance(s, BlockOf):
            return self._block_of(s)
        if isinstance(s, Branch):
            return self._branch(s)
        return self._loop(s) if isinstance(s, Loop) else self.expression(s)

    def _invocation(self, i: Invocation) -> str:
        label = f"{i.label}: " if i.label else ""
        arguments = ", ".join("~" if e is None else self.expression(e) for e in i.arguments)
        return f"{label}{self._called(i)}({arguments})"

    def _called(self, i: Invocation) -> str:
        types = f"<{', '.join(i.types)}>" if i.types else ""
        given = ", ".join(f"{name}={self.expression(e)}" for name, e in i.attributes.items())
        return f"{i.operator}{types}{f'{{{given}}}' if given else ''}"

    def _block_of(self, b: BlockOf) -> str:
        label = f"{b.label}: " if b.label else ""
        lines = "".join(f"{_indented(self._component(c), 1)}\n" for c in b.components)
        return f"{label}{{\n{lines}{_INDENT}yield {self.items(b.results)};\n}}"

    def _branch(self, b: Branch) -> str:
        pairs = [f"{self._step(c)} then {self._step(s)}" for c, s in zip(b.conditions, b.branches, strict=False)]
        return f"if {' elif '.join(pairs)} else {self._step(b.branches[-1])}"

    def _loop(self, w: Loop) -> str:
        carried = [
            f"{name}{'' if spec is None else f': {self.type_spec(spec)}'} = {self.expression(e)}"
            for name, spec, e in w.carried
        ]
        scanned = [f"{name} : {self.expression(e)}" for name, e in w.scanned]
        asked = f"while {self._step(w.condition)}" if w.condition is not None else ""
        parts = [
            f"with {', '.join(carried)}" if carried else "",
            f"for {', '.join(scanned)}" if scanned else "",
            "" if w.after else asked,
            f"{'unroll' if w.unroll else 'do'}{self._count(w.index, w.count)}",
            self._step(w.body),
            asked if w.after else "",
        ]
        return " ".join(part for part in parts if part)

    def _quantization(self, q: Quantization) -> str:
        return f"{q.tensor}: {self._called(q.invocation)};"


def _indented(text: str, depth: int) -> str:
    return "\n".join(f"{_INDENT * depth}{line}" for line in text.split("\n"))
