"""Variables by their labels (sections 4.1.3 and 4.8): what may share one, and what may be updated."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from .syntax import Name
from .tree import Wrong, short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .syntax import Place

_LABEL: Final = re.compile(r"[A-Za-z0-9_\-./\\]+")


class Labels:
    """The variables of a graph as they come."""

    def __init__(self) -> None:
        self._shapes: dict[str, tuple[Any, str]] = {}  # label -> shape, tensor
        self._of: dict[str, str] = {}  # tensor -> label
        self._updated: set[str] = set()

    def check(self, operation: str, arguments: Mapping[str, Any], place: Place) -> None:
        """Raise Wrong for a `variable` or `update` that can't be."""
        if operation == "variable":
            label, shape = arguments["label"], arguments["shape"]
            if not _LABEL.fullmatch(label):
                raise Wrong("NNEF.V4", f"label {short(repr(label))} has characters that a label may not have", place)
            other, tensor = self._shapes.get(label.casefold(), (shape, ""))
            if other != shape:
                message = f"label '{label}' is shared with '{tensor}' of shape {list(other)}, not {list(shape)}"
                raise Wrong("NNEF.V3", message, place)
        elif operation == "update":
            variable = arguments["variable"]
            name = variable.text if isinstance(variable, Name) else str(variable)
            if name not in self._of:
                raise Wrong("NNEF.V1", f"'{name}' isn't a variable", place)
            if self._of[name] in self._updated:
                raise Wrong("NNEF.V2", f"variable '{name}' is updated twice", place)
            self._updated.add(self._of[name])

    def define(self, tensor: str, arguments: Mapping[str, Any]) -> None:
        """`tensor` is the result of a `variable` that was checked."""
        label = arguments["label"].casefold()
        self._shapes.setdefault(label, (arguments["shape"], tensor))
        self._of[tensor] = label
