"""Modules: those of the model, and the standard library, whose operators are parsed when they are first used."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .language.parser import parse
from .language.syntax import Module, Operator, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

STANDARD: Final = ("algo", "image", "layer", "layout", "linalg", "math", "misc", "nn", "quant", "rand")
_FOLDER: Final = Path(__file__).parent / "library"
_OPERATOR: Final = re.compile(r"^operator (\w+) \{", re.MULTILINE)
_IMPORT: Final = re.compile(r"^import (\w+);", re.MULTILINE)


class StandardModule:
    """A module of the standard library."""

    def __init__(self, name: str) -> None:
        self.name, self.file = name, f"standard library, {name}.sknd"
        self.source = (_FOLDER / f"{name}.sknd").read_text(encoding="utf-8")
        starts = [(m.group(1), m.start()) for m in _OPERATOR.finditer(self.source)]
        ends = [start for _, start in starts[1:]] + [len(self.source)]
        self._spans = {name: (start, end) for (name, start), end in zip(starts, ends, strict=True)}
        self.imports = _IMPORT.findall(self.source)
        self._parsed: dict[str, Operator] = {}

    @property
    def names(self) -> list[str]:
        return list(self._spans)

    def operator(self, name: str) -> Operator | None:
        if name not in self._spans:
            return None
        if name not in self._parsed:
            start, end = self._spans[name]
            first = self.source.count("\n", 0, start) + 1
            module, _ = parse(self.source[start:end], self.file, self.name, first_line=first)
            found = module.operators[name]
            found.standard = True
            found.text = Text(self.file, self.source.split("\n"))
            self._parsed[name] = found
        return self._parsed[name]


@functools.cache
def standard(name: str) -> StandardModule:
    return StandardModule(name)


class Library:
    """The operators that the modules of a model see. `read` gives the text of a module's file, or None."""

    def __init__(self, main: Module, read: Callable[[str], tuple[str, str] | None], dialect: str) -> None:
        self.main, self.dialect, self._read = main, dialect, read
        self.modules: dict[str, Module] = {"main": main}

    def load(self) -> None:
        """Read the modules that the model brings. Raises ParseError or Problems."""
        waiting = [self.main]
        while waiting:
            module = waiting.pop()
            for name, place in module.imports:
                if name in self.modules:
                    continue
                found = self._read(name)
                if found is not None:
                    source, file = found
                    self.modules[name], _ = parse(source, file, name, None)
                    waiting.append(self.modules[name])
                elif name not in STANDARD:
                    raise module.text.error(f"there is no module '{name}'", place, "SKND.M1")

    def imports(self, module: str) -> list[str]:
        if module in self.modules:
            return [name for name, _ in self.modules[module].imports]
        return standard(module).imports

    def find(self, name: str, module: str, *, standard_module: bool = False) -> Operator | None:
        """The operator of a qualified name, as a module sees it."""
        prefix, _, last = name.rpartition(".")
        if not prefix:
            if standard_module:
                return standard(module).operator(last)
            own = self.modules[module]
            return own.operators.get(last) or own.graphs.get(last)
        if prefix == module:
            return self.find(last, module, standard_module=standard_module)
        if prefix not in (standard(module).imports if standard_module else self.imports(module)):
            return None
        if prefix in self.modules and not standard_module:
            return self.modules[prefix].operators.get(last)
        return standard(prefix).operator(last) if prefix in STANDARD else None

    def names(self) -> Mapping[str, list[str]]:
        return {name: standard(name).names for name in STANDARD}
