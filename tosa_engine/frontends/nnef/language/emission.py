"""The operations of a flat graph while it is made: their arguments are checked, their results get names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .flat import Operation
from .kinds import OF_PYTHON, ArrayOf, TensorOf, castable, described, has_tensor
from .labels import Labels
from .syntax import Name, Place
from .tree import Wrong, short

if TYPE_CHECKING:
    from .library import Declaration, Parameter

MAX_INTEGER: Final = (1 << 31) - 1  # of an attribute
MAX_OPERATIONS: Final = 1 << 18  # beyond those that a document writes out


class Exact(str):
    """A name that a tensor must have because the user gave it; other names are made unique."""

    __slots__ = ()


@dataclass(slots=True)
class Frame:
    """One invocation of a fragment, or the graph. `names` are what its identifiers will be called in the flat graph;
    `place` is where the user called it, for fragments that aren't the user's.
    """

    generic: str
    stem: str
    place: Place | None
    names: dict[str, str] = field(default_factory=dict)
    fragment: str = ""
    call: Place = field(default_factory=lambda: Place(0, 0))


class Emission:
    """`operations` so far, `types` of their results, and the invocations that are being expanded (`frames`)."""

    def __init__(self, reserved: set[str]) -> None:
        self.used = reserved  # names that are taken
        self.emitted: set[str] = set()
        self.operations: list[Operation] = []
        self.types: dict[str, str] = {}  # of tensors
        self.frames: list[Frame] = []
        self.labels = Labels()
        self.written = MAX_OPERATIONS  # may still be

    def emit(self, declaration: Declaration, arguments: dict[str, Any], generic: str, place: Place, wanted: Any) -> Any:
        place = self.frames[-1].place or place
        self.written -= 1
        if self.written < 0:
            raise Wrong("NNEF.LIMIT", f"more than {MAX_OPERATIONS} operations", place)
        self._check_arguments(declaration, arguments, generic, place)
        if declaration.standard:
            self.labels.check(declaration.name, arguments, place)
        structure = self._results(declaration, wanted)
        results: list[Name] = []
        types: list[str] = []
        for declared, names in zip(declaration.results, structure, strict=True):
            item = declared.kind.item if isinstance(declared.kind, ArrayOf) else declared.kind
            if not isinstance(item, TensorOf) or isinstance(names, tuple) is not isinstance(declared.kind, ArrayOf):
                message = f"assign the results of '{declaration.name}' to names or an array of names like [a, b]"
                raise Wrong("NNEF.I2", message, place)
            for name in names if isinstance(names, tuple) else (names,):
                results.append(Name(name, place))
                types.append(generic if item.item == "?" else item.item)
                self.types[name] = types[-1]
        self.operations.append(Operation(declaration, arguments, tuple(results), tuple(types), generic, place))
        if declaration.name == "variable" and declaration.standard:
            self.labels.define(results[0].text, arguments)
        values = tuple(
            tuple(Name(n, place) for n in names) if isinstance(names, tuple) else Name(names, place)
            for names in structure
        )
        return values[0] if len(values) == 1 else values

    def _results(self, declaration: Declaration, wanted: Any) -> tuple[Any, ...]:
        """Names for the results: a tuple of them where a result is an array."""
        given = (wanted,) if len(declaration.results) == 1 else wanted
        if not isinstance(given, tuple) or len(given) != len(declaration.results):
            given = (None,) * len(declaration.results)
        return tuple(
            tuple(self.fresh(n, declaration) for n in names)
            if isinstance(names, tuple)
            else self.fresh(names, declaration)
            for names in given
        )

    def fresh(self, wanted: Any, declaration: Declaration) -> str:
        """A name that no tensor has yet: the wanted one if it can be."""
        name = wanted if isinstance(wanted, str) else self.stem(None, declaration)
        if isinstance(name, Exact) and name not in self.emitted:
            self.emitted.add(name)
            return str(name)
        unique, number = name, 1
        while unique in self.used:
            number += 1
            unique = f"{name}_{number}"
        self.used.add(unique)
        return unique

    def _check_arguments(self, declaration: Declaration, arguments: dict[str, Any], generic: str, place: Place) -> None:
        if generic == "string":
            raise Wrong("NNEF.T14", "tensors of type 'string' don't exist in a graph", place)
        for parameter in declaration.parameters:
            value = arguments[parameter.name]
            if has_tensor(parameter.kind):
                self._check_tensors(parameter, value, generic, place)
            elif (large := _large(value)) is not None:
                message = f"argument '{parameter.name}' of '{declaration.name}': {large} is beyond 32 bits"
                raise Wrong("NNEF.LIMIT", short(message, 200), place)

    def _check_tensors(self, parameter: Parameter, value: Any, generic: str, place: Place) -> None:
        """In the body of a generic fragment, what `?` was given for isn't known before."""
        kind = parameter.kind.item if isinstance(parameter.kind, ArrayOf) else parameter.kind
        wanted = TensorOf(generic) if kind == TensorOf("?") else kind
        for item in value if isinstance(value, tuple) else (value,):
            got = TensorOf(self.types[item.text]) if isinstance(item, Name) else OF_PYTHON[type(item)]
            if wanted is not None and not castable(got, wanted):
                message = f"argument '{parameter.name}' must be {described(wanted)}, got {described(got)}"
                raise Wrong("NNEF.T4", message, place)

    def stem(self, wanted: Any, declaration: Declaration) -> str:
        return first_name(wanted) or f"{self.frames[-1].stem}_{declaration.name}".lstrip("_")


def first_name(wanted: Any) -> str:
    """The first of the names for results, or nothing."""
    while isinstance(wanted, tuple) and wanted:
        wanted = wanted[0]
    return str(wanted) if isinstance(wanted, str) else ""


def _large(value: Any) -> int | None:
    """An integer that is beyond what an attribute may be."""
    if isinstance(value, tuple):
        return next((large for item in value if (large := _large(item)) is not None), None)
    return value if isinstance(value, int) and abs(value) > MAX_INTEGER else None
