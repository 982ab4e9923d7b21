"""Documents that a document imports: from the root's folder, bundled with the root, built in, or fetched if asked.

A place is a path relative to the root's folder, or an address. Every document is read once.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from ...errors import UsageError
from . import document
from .reading import MOST_BYTES, Fields, parsed
from .rules import FORM, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .document import Document

COLLECTIONS: Final = "commonir:collections"
BUILT_IN: Final = {COLLECTIONS: Path(__file__).with_name("collections.cir.json")}
DEEPEST: Final = 32
MOST: Final = 1000
SECONDS: Final = 20


@dataclass(eq=False)
class Loaded:
    """A document with those that it imports, in the order of its list."""

    document: Document
    place: str
    content: Any  # its JSON
    imports: list[Loaded] = field(default_factory=list)

    def closure(self) -> Iterator[Loaded]:
        """The document and all that it imports, each once."""
        seen: set[int] = set()
        stack = [self]
        while stack:
            one = stack.pop()
            if id(one) not in seen:
                seen.add(id(one))
                yield one
                stack += reversed(one.imports)


def load(path: Path, *, fetch: bool = False) -> Loaded:
    """A root document with all that it imports. Raises RuleError, UsageError for an address without `fetch`."""
    return _Loader(path, fetch=fetch).root()


class _Loader:
    def __init__(self, path: Path, *, fetch: bool) -> None:
        self.path, self.folder, self.fetch = path, path.parent, fetch
        self.loaded: dict[str, Loaded] = {}
        self.bundled: dict[str, Any] = {}

    def root(self) -> Loaded:
        if self.path.stat().st_size > MOST_BYTES:
            raise RuleError(FORM, self.path.name, f"has {self.path.stat().st_size} bytes, more than {MOST_BYTES}")
        fields = parsed(self.path.read_bytes(), self.path.name)
        found = document.of_fields(fields)
        if not found.is_graph:
            raise RuleError(FORM, self.path.name, "is a library; a graph is what can be run")
        self.bundled = {_inside(name, self.path.name) if not _is_address(name) else name: one
                        for name, one in found.bundled.items()}  # fmt: skip
        return self._with_imports(found, fields.found, self.path.name, (self.path.name,))

    def _with_imports(self, found: Document, content: Any, place: str, way: tuple[str, ...]) -> Loaded:
        loaded = self.loaded[place] = Loaded(found, place, content)
        if len(way) > DEEPEST or len(self.loaded) > MOST:
            raise RuleError(FORM, place, f"imports go deeper than {DEEPEST}, or are more than {MOST}")
        for reference in found.imports:
            target = self._target(reference, place)
            if target in way:
                circle = " -> ".join((*way[way.index(target) :], target))
                raise RuleError(FORM, place, f"imports go in a circle: {circle}")
            if target not in self.loaded:
                self._with_imports(*self._library(target, place), target, (*way, target))
            loaded.imports.append(self.loaded[target])
        return loaded

    def _target(self, reference: str, place: str) -> str:
        if _is_address(reference):
            return reference
        if _is_address(place):
            return urljoin(place, reference)
        return _inside(posixpath.join(posixpath.dirname(place), reference), place, reference)

    def _library(self, target: str, place: str) -> tuple[Document, Any]:
        """The library at a place, and its JSON."""
        if target in self.bundled:
            fields = Fields(self.bundled[target], f"{self.path.name}: {target}")
        elif target in BUILT_IN:
            fields = parsed(BUILT_IN[target].read_bytes(), target)
        elif _is_address(target):
            fields = parsed(self._fetched(target, place), target)
        else:
            fields = parsed(self._of_folder(target, place), target)
        found = document.of_fields(fields)
        if found.is_graph:
            raise RuleError(FORM, place, f"imports '{target}', which is a graph; libraries are imported")
        if found.bundled:
            raise RuleError(FORM, fields.place, "bundles other documents; only the root does")
        return found, fields.found

    def _of_folder(self, target: str, place: str) -> bytes:
        file = self.folder / target
        if not file.resolve().is_relative_to(self.folder.resolve()):
            raise RuleError(FORM, place, f"imports '{target}', which leads out of its folder")
        if not file.is_file():
            raise RuleError("CIR.M13", place, f"imports '{target}', which isn't there")
        if file.stat().st_size > MOST_BYTES:
            raise RuleError(FORM, target, f"has {file.stat().st_size} bytes, more than {MOST_BYTES}")
        return file.read_bytes()

    def _fetched(self, target: str, place: str) -> bytes:
        if urlsplit(target).scheme not in ("http", "https"):
            raise RuleError(FORM, place, f"imports '{target}', which is neither a path nor an http or https address")
        if not self.fetch:
            raise UsageError(f"{place} imports '{target}': --fetch allows it to be fetched", label="CIR.M13")
        return _download(target, place)


def _download(address: str, place: str) -> bytes:
    from http.client import HTTPException
    from urllib import request

    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler, request.HTTPHandler, request.HTTPSHandler, request.HTTPRedirectHandler,
        request.HTTPErrorProcessor, request.HTTPDefaultErrorHandler, request.UnknownHandler,
    ):  # fmt: skip
        opener.add_handler(handler())
    try:
        with opener.open(address, timeout=SECONDS) as answer:
            content: bytes = answer.read(MOST_BYTES + 1)
    except (OSError, HTTPException, ValueError) as problem:
        raise RuleError("CIR.M13", place, f"'{address}' can't be fetched: {problem}") from None
    return content


def _is_address(reference: str) -> bool:
    scheme, colon, _ = reference.partition(":")
    return bool(colon) and scheme.isalnum() and len(scheme) > 1


def _inside(target: str, place: str, reference: str = "") -> str:
    """A relative path without detours. Raises RuleError where it leaves the folder."""
    found = posixpath.normpath(target)
    said = reference or target
    if not target.isprintable():
        raise RuleError(FORM, place, f"imports '{said}', which is no name of a file")
    outside = found.startswith(("../", "/")) or found in ("..", ".") or said.startswith("/")
    if outside or "\\" in target or "\0" in target or PureWindowsPath(target).drive:
        raise RuleError(FORM, place, f"imports '{said}', which is outside of its folder")
    return found
