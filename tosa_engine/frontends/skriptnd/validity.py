"""Checks of definitions, before anything is composed: names, blocks, imports, what operators give and take.

All problems of all modules of the model are found together. The standard library isn't checked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import TosaEngineError, raise_all
from .language.affine import names_in
from .language.lexer import ABSTRACT, FUNCTIONS, TYPES
from .language.syntax import BlockOf, Branch, Component, Expression, Invocation, Loop, Member, Name, Step, Subscript

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .language.syntax import Declaration, Extent, Operator, Place, Target
    from .library import Library


def check(library: Library) -> None:
    """Raises ParseError, or Problems with all of them."""
    problems: list[TosaEngineError] = []
    for module in library.modules.values():
        for name, place in module.imports:
            if name in library.modules and library.modules[name].graphs and name != "main":
                problems.append(module.text.error(f"module '{name}' has graphs; only main may", place, "SKND.M2"))
        for operator in (*module.operators.values(), *module.graphs.values()):
            problems += Checker(library, operator).problems()
    file = library.main.text.file
    raise_all(problems, f"{file}: {len(problems)} problems")


class Checker:
    """Checks one operator or graph."""

    def __init__(self, library: Library, operator: Operator) -> None:
        self.library, self.operator = library, operator
        self._found: list[TosaEngineError] = []
        self.types = {t.name for t in operator.types}
        self.symbols: set[str] = set()

    def problems(self) -> list[TosaEngineError]:
        o = self.operator
        self._declared()
        self._types()
        self._symbols()
        if not o.inputs and not o.outputs:
            self._wrong("it has neither inputs nor outputs", o.place, "SKND.O5")
        self._formulas()
        names = {d.name for d in (*o.inputs, *o.variables, *o.constants)} | self.symbols
        self._composition(o.components, set(names), [d.name for d in o.outputs])
        self._update()
        return self._found

    def _wrong(self, message: str, place: Place, label: str) -> None:
        self._found.append(self.operator.text.error(f"'{self.operator.name}': {message}", place, label))

    # declarations

    def _declared(self) -> None:
        o, seen = self.operator, dict[str, str]()
        families: list[tuple[str, Sequence[Declaration]]] = [
            ("attribute", o.attributes), ("input", o.inputs), ("output", o.outputs), ("constant", o.constants),
            ("variable", o.variables),
        ]  # fmt: skip
        for kind, family in families:
            for d in family:
                if d.name in seen:
                    self._wrong(f"{kind} '{d.name}' is already {seen[d.name]}", d.place, "SKND.N1")
                seen[d.name] = f"declared as {kind}"
                self._declaration(kind, d)
        for t in o.types:
            if t.base not in ABSTRACT and t.base not in TYPES:
                self._wrong(f"'{t.base}' isn't a type", t.place, "SKND.Y1")
            if t.default is not None and t.default not in TYPES:
                self._wrong(f"'{t.default}' isn't a type that a default may be", t.place, "SKND.Y1")

    def _declaration(self, kind: str, d: Declaration) -> None:
        if kind == "attribute" and d.type.tensor:
            self._wrong(f"attribute '{d.name}' can't be a tensor", d.place, "SKND.A7")
        if kind == "attribute" and d.type.optional and d.default is not None:
            self._wrong(f"attribute '{d.name}' is optional and has a default", d.place, "SKND.A8")
        if kind == "variable" and d.default is not None:
            self._wrong(f"variable '{d.name}' has a value; its file gives it", d.place, "SKND.W1")
        if kind == "constant" and d.default is None:
            self._wrong(f"constant '{d.name}' has no value", d.place, "SKND.W3")
        if kind == "output" and d.type.optional:
            self._wrong(f"output '{d.name}' is optional", d.place, "SKND.O6")
        if kind in ("variable", "constant") and d.type.optional:
            self._wrong(f"{kind} '{d.name}' is optional", d.place, "SKND.W6")
        if kind in ("constant", "variable") and d.type.packed and d.type.length is None:
            self._wrong(f"the length of the pack '{d.name}' isn't given", d.place, "SKND.W7")

    def _types(self) -> None:
        o = self.operator
        for d in (*o.attributes, *o.inputs, *o.outputs, *o.constants, *o.variables):
            if d.type.name not in TYPES and d.type.name not in self.types:
                self._wrong(f"'{d.type.name}' isn't a type", d.type.place, "SKND.Y1")

    # symbols

    def _symbols(self) -> None:
        """What is known, in the order of the blocks; each use is held against it."""
        o, known = self.operator, self.symbols
        known.update(d.name for d in o.attributes)
        for d in o.attributes:
            known.update(_new_names(d.type.length))
        known.update(d.name for d in o.inputs)
        helped = {t.name for u in o.using for t in _flat(u.target)}
        for d in o.inputs:
            for e in (d.type.rank, d.type.length, *(x for i in d.type.shape or () for x in (i.value, i.length))):
                known.update(_new_names(e) - helped)
        for d in o.attributes:
            self._used(known | helped, d.default)
        for u in o.using:
            self._used(known, u.value)
            for t in _flat(u.target):
                if t.name in known:
                    self._wrong(f"'{t.name}' is defined twice", t.place, "SKND.N1")
                known.add(t.name)
        known.update(d.name for d in (*o.constants, *o.variables))
        for d in (*o.constants, *o.variables):
            self._shape(known | {name for name, _ in d.bounds}, d)
            self._used(known | {name for name, _ in d.bounds}, d.default)
        for d in o.outputs:
            for extent in d.type.shape or ():
                if extent.bound is not None:
                    known.update(_new_names(extent.value))
        for d in o.outputs:
            self._shape(known, d)
        for a in o.asserts:
            self._used(known, a.condition, a.message, *(e for _, e in a.shown))

    def _shape(self, known: set[str], d: Declaration) -> None:
        self._used(known, d.type.length)
        for extent in d.type.shape or ():
            self._extent(known, extent)

    def _extent(self, known: set[str], extent: Extent) -> None:
        self._used(known, extent.value, extent.length, extent.bound)
        if extent.value is None and extent.bound is None and not self.operator.graph:
            self._wrong("an extent '~' without a bound", extent.place, "SKND.S8")

    def _used(self, known: set[str], *expressions: Expression | None) -> None:
        for e in expressions:
            if e is None:
                continue
            for node in _nodes(e):
                name = node.name if isinstance(node, Member) else node.text
                if name not in known:
                    self._wrong(f"'{name}' isn't known here", node.place, "SKND.N3")

    # formulas

    def _formulas(self) -> None:
        o = self.operator
        if o.lowerings and o.components:
            self._wrong("it has @lower and @compose", o.lowerings[0].place, "SKND.B1")
        if o.graph and o.lowerings:
            self._wrong("a graph is composed, it has no @lower", o.lowerings[0].place, "SKND.B2")
        elif o.graph and not o.components:
            self._wrong("a graph needs @compose", o.place, "SKND.B3")
        outputs, ops = {d.name for d in o.outputs}, dict[str, list[str]]()
        for statement in o.lowerings:
            base: Expression = statement.target
            while isinstance(base, Subscript):
                base = base.value
            if not isinstance(base, Name):
                self._wrong("the left side isn't the access to a tensor", statement.place, "SKND.L1")
                continue
            if base.text not in outputs:
                self._wrong(f"'{base.text}' isn't an output", statement.place, "SKND.L7")
            ops.setdefault(base.text, []).append(statement.op)
            known = self.symbols | outputs
            for name, e in statement.bounds:
                self._used(known, e)
                known = known | {name}
            if statement.unroll is not None:
                known = known | {statement.unroll[0]}
            for name, e in statement.locals:
                self._used(known, e)
                known = known | {name}
            self._used(known, statement.target, statement.value, statement.condition)
        for name, found in ops.items():
            if len(found) > 2 or (len(found) == 2 and found[0] != "="):
                self._wrong(f"'{name}' has formulas with {', '.join(found)}", o.lowerings[0].place, "SKND.L8")
        if o.lowerings:
            for d in o.outputs:
                if d.name not in ops:
                    self._wrong(f"no formula gives '{d.name}'", d.place, "SKND.O1")

    # compositions

    def _composition(self, components: Sequence[Component], known: set[str], outputs: Sequence[str]) -> None:
        o, assigned = self.operator, set[str]()
        for component in components:
            self._step(component.value, known)
            for t in component.targets:
                for one in _flat(t):
                    if one.name in assigned:
                        self._wrong(f"'{one.name}' is assigned twice", one.place, "SKND.C3")
                    if one.name in {d.name for d in (*o.inputs, *o.constants, *o.variables)}:
                        self._wrong(f"'{one.name}' isn't an output", one.place, "SKND.C12")
                    if one.name:
                        assigned.add(one.name)
                        known.add(one.name)
        for name in outputs:
            if components and name not in assigned:
                place = next(d.place for d in o.outputs if d.name == name)
                self._wrong(f"output '{name}' isn't assigned", place, "SKND.O1")

    def _update(self) -> None:
        o = self.operator
        variables = {d.name for d in o.variables}
        known = {t.name for c in o.components for target in c.targets for t in _flat(target)}
        known |= self.symbols | variables
        for component in o.updates:
            self._step(component.value, known)
            known.update(t.name for target in component.targets for t in _flat(target))
        updated = [t.name for c in o.updates for target in c.targets for t in _flat(target)]
        if o.updates and variables.isdisjoint(updated):
            self._wrong("@update assigns no variable", o.updates[0].place, "SKND.U2")

    def _step(self, step: Step, known: set[str]) -> None:
        if isinstance(step, Invocation):
            self._invocation(step, known)
        elif isinstance(step, BlockOf):
            inner = set(known)
            for component in step.components:
                self._step(component.value, inner)
                inner.update(t.name for target in component.targets for t in _flat(target))
            self._used(inner, *step.results)
        elif isinstance(step, Branch):
            for one in (*step.conditions, *step.branches):
                self._step(one, known)
        elif isinstance(step, Loop):
            inner = known | {name for name, *_ in step.carried} | {name for name, _ in step.scanned} | {step.index}
            self._used(known, step.count, *(e for *_, e in step.carried), *(e for _, e in step.scanned))
            for part in (step.condition, step.body):
                if part is not None:
                    self._step(part, inner)
        else:
            self._used(known, step)

    def _invocation(self, step: Invocation, known: set[str]) -> None:
        self._used(known, *step.attributes.values(), *step.arguments)
        home = self.operator.module
        operator = self.library.find(step.operator, home)
        if operator is None:
            if step.operator not in FUNCTIONS and step.operator not in self.types:
                prefix = step.operator.rpartition(".")[0]
                hint = (
                    f"; is 'import {prefix};' missing?" if prefix and prefix not in self.library.imports(home) else ""
                )
                self._wrong(f"there is no operator '{step.operator}'{hint}", step.place, "SKND.N4")
            return
        declared = {d.name: d for d in operator.attributes}
        for name in step.attributes:
            if name not in declared:
                known_names = ", ".join(declared) or "none"
                message = f"'{step.operator}' has no attribute '{name}'; attributes are {known_names}"
                self._wrong(message, step.place, "SKND.A2")
        for d in operator.attributes:
            if d.default is None and not d.type.optional and d.name not in step.attributes:
                self._wrong(f"attribute '{d.name}' of '{step.operator}' is missing", step.place, "SKND.A5")
        if len(step.arguments) > len(operator.inputs):
            counts = f"{len(step.arguments)} inputs, {len(operator.inputs)} are declared"
            self._wrong(f"'{step.operator}' gets {counts}", step.place, "SKND.I1")
        for i, d in enumerate(operator.inputs):
            given = i < len(step.arguments) and step.arguments[i] is not None
            if not given and not d.type.optional and d.default is None:
                self._wrong(f"input '{d.name}' of '{step.operator}' is missing", step.place, "SKND.I2")
        if len(step.types) > len(operator.types):
            self._wrong(f"'{step.operator}' has {len(operator.types)} types", step.place, "SKND.G1")


def _flat(target: Target) -> Iterator[Target]:
    if target.items is None:
        yield target
    for item in target.items or ():
        yield from _flat(item)


def _new_names(e: Expression | None) -> set[str]:
    return set() if e is None else set(names_in(e))


def _nodes(e: object) -> Iterator[Name | Member]:
    """The identifiers of an expression, with their places."""
    from dataclasses import fields, is_dataclass

    if isinstance(e, (Name, Member)):
        yield e
    elif isinstance(e, (tuple, list)):
        for item in e:
            yield from _nodes(item)
    elif is_dataclass(e) and isinstance(e, Expression):
        for f in fields(e):
            if f.name != "place":
                yield from _nodes(getattr(e, f.name))
