"""Shapes of a document's tensors while it is being evaluated, for the deprecated `shape_of` (section 3.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...lower.views import shape_of

if TYPE_CHECKING:
    from ...types import Shape
    from .language.flat import Document


class Shapes:
    """Asked for a shape, it maps the operations so far, with ones in place of the values of variables."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._mapped = 0
        self._builder: Any = None

    def __call__(self, name: str) -> Shape:
        """The shape of a tensor. Raises what mapping raises."""
        from .build import NnefWriter
        from .mapping import map_operations

        if self._builder is None:
            self._builder = NnefWriter(self._document, {}, with_data=False)
        fresh = self._document.operations[self._mapped :]
        self._mapped += len(fresh)
        map_operations(self._builder, fresh)
        return shape_of(self._builder.values[name])
