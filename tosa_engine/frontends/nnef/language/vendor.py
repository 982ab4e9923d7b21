"""Operations that aren't the standard's, while a document is evaluated: the vendor's way to write external and cast,
and the loop `tract_core_scan`, which is unrolled. `vendor.nnef` declares them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from .kinds import TensorOf
from .library import Library
from .syntax import Invocation, Literal, Name, Sequence
from .tree import Wrong

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ....types import Shape
    from .emission import Frame
    from .kinds import Kind
    from .library import Declaration
    from .syntax import Place

    Special = Callable[["Expander", Mapping[str, Any], Place, Any], Any]

UNDECLARED: Final = frozenset({"erf", "recip"})  # known without any extension, with a warning
PREFIXES: Final = ("tract_core_", "tract_transformers_")
EXAMPLE: Final = "tract_core_erf"
PROPERTIES: Final = "tract_core_properties"  # a fragment of notes about the exporter
DATUM_TYPES: Final = {
    "f16": "scalar", "f32": "scalar", "f64": "scalar", "i8": "integer", "i16": "integer", "i32": "integer",
    "i64": "integer", "bool": "logical",
}  # fmt: skip
_LIBRARY: list[Library] = []


class Expander(Protocol):
    """What makes operations of invocations, as far as these operations need it."""

    library: Mapping[str, Declaration]
    types: dict[str, str]
    frames: list[Frame]

    def shape_of(self, tensor: Any) -> Shape: ...

    def invoke(
        self, declaration: Declaration, given: dict[str, Any], generic: str, place: Place, wanted: Any
    ) -> Any: ...

    def expand(
        self, declaration: Declaration, arguments: dict[str, Any], generic: str, place: Place, wanted: Any
    ) -> Any: ...


def vendor_library() -> Library:
    """The operations of `vendor.nnef`."""
    from pathlib import Path

    if not _LIBRARY:
        path = Path(__file__).parent / "vendor.nnef"
        _LIBRARY.append(Library(path.read_text(encoding="utf-8"), path.name, vendor=True))
    return _LIBRARY[0]


def generic_type(node: Invocation, actual: Mapping[str, Kind]) -> str:
    """The data type of an invocation of `tract_core_external` or `tract_core_cast`: the one that it names, or that of
    what it casts.
    """
    wanted = {"tract_core_external": "datum_type", "tract_core_cast": "to"}.get(node.operation)
    for number, argument in enumerate(node.arguments):
        if isinstance(argument.value, Literal) and (argument.name == wanted or (not argument.name and number == 1)):
            return DATUM_TYPES.get(str(argument.value.value).lower(), "scalar")
    cast = actual.get("input")
    return cast.item if wanted == "to" and isinstance(cast, TensorOf) else ""


def outputs_of(node: Invocation) -> int:
    """How many results an invocation of `tract_core_scan` has; 0 where that isn't written out."""
    for argument in node.arguments:
        if argument.name == "output" and isinstance(argument.value, Sequence):
            return len(argument.value.items)
    return 0


def _type_of(name: str, operation: str, place: Place) -> str:
    if name.lower() not in DATUM_TYPES:
        known = ", ".join(DATUM_TYPES)
        raise Wrong("NNEF.T4", f"'{operation}' knows the types {known}, not '{name}'", place)
    return DATUM_TYPES[name.lower()]


def _external(e: Expander, arguments: Mapping[str, Any], place: Place, wanted: Any) -> Any:
    kind = _type_of(arguments["datum_type"], "tract_core_external", place)
    return e.invoke(e.library["external"], {"shape": arguments["shape"]}, kind, place, wanted)


def _cast(e: Expander, arguments: Mapping[str, Any], place: Place, wanted: Any) -> Any:
    """A copy where the type doesn't change, or isn't named: then graph.quant says how the tensor is stored."""
    value, kind = arguments["input"], arguments["to"] and _type_of(arguments["to"], "tract_core_cast", place)
    if isinstance(value, Name) and kind in ("", e.types[value.text]):
        return e.invoke(e.library["copy"], {"x": value}, e.types[value.text], place, wanted)
    return e.invoke(e.library["cast"], {"input": value}, kind or "scalar", place, wanted)


def _scan(e: Expander, arguments: Mapping[str, Any], place: Place, wanted: Any) -> Any:
    """The loop's body once per step: slices of the scanned tensors and the state go in, the new state comes out."""
    body = e.library.get(arguments["body"])
    if body is None or body.body is None or body.standard:
        raise Wrong("NNEF.A1", f"'tract_core_scan' needs a fragment '{arguments['body']}' as its body", place)
    for name in ("skip", "reset_every_turn", "external_state"):
        if arguments[name]:
            raise Wrong("", f"'tract_core_scan' with {name} = {arguments[name]} isn't supported", place)
    steps = _steps(e, arguments["scan"], place)
    fixed = dict(arguments["full"])
    state = {name: tensor for name, tensor, _ in arguments["state"]}
    _check_names(body, [*fixed, *state, *(name for name, *_ in arguments["scan"])], arguments, place)
    kept: list[dict[str, Any]] = []
    for step in range(steps):
        given = {**fixed, **state, **dict(_slices(e, arguments["scan"], step, steps, place))}
        names = tuple(f"{e.frames[-1].stem}_{result.name}" for result in body.results)
        wished = names if len(names) > 1 else names[0]
        values = e.expand(body, {p.name: given[p.name] for p in body.parameters}, "", place, wished)
        values = values if isinstance(values, tuple) else (values,)
        results = {result.name: value for result, value in zip(body.results, values, strict=True)}
        state = {name: results[result] for name, _, result in arguments["state"]}
        kept.append(results)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    found = tuple(
        _collected(e, kept, output, name, place)
        for output, name in zip(arguments["output"], (*wanted, *[None] * len(arguments["output"])), strict=False)
    )
    return found if len(found) > 1 else found[0]


def _steps(e: Expander, scans: tuple[Any, ...], place: Place) -> int:
    counts: set[int] = set()
    for name, tensor, axis, pace in scans:
        shape = e.shape_of(tensor)
        if pace == 0 or not 0 <= axis < len(shape) or shape[axis] % abs(pace):
            message = f"'tract_core_scan' can't go through '{name}' of shape {list(shape)}: axis {axis}, pace {pace}"
            raise Wrong("", message, place)
        counts.add(shape[axis] // abs(pace))
    if len(counts) != 1:
        shown = " and ".join(map(str, sorted(counts))) or "no"
        raise Wrong("", f"'tract_core_scan' scans tensors of {shown} steps", place)
    return counts.pop()


def _check_names(body: Declaration, given: list[str], arguments: Mapping[str, Any], place: Place) -> None:
    """The parameters and results that the loop names are the body's, and no parameter is left out."""
    results = {result.name for result in body.results}
    asked = [*(result for _, _, result in arguments["state"]), *(output[0] for output in arguments["output"])]
    wrong = [name for name in asked if name not in results]
    wrong += sorted({p.name for p in body.parameters} ^ set(given))
    kinds = [output[1] for output in arguments["output"] if output[1] not in ("full", "last")]
    if wrong or kinds or not arguments["output"]:
        shown = ", ".join(f"'{name}'" for name in (*wrong, *kinds)) or "without outputs"
        raise Wrong("", f"'tract_core_scan' doesn't fit its body '{body.name}': {shown}", place)


def _slices(e: Expander, scans: tuple[Any, ...], step: int, steps: int, place: Place) -> Iterator[tuple[str, Any]]:
    """What a step sees of the scanned tensors; a negative pace comes from the end."""
    for name, tensor, axis, pace in scans:
        begin = (step if pace > 0 else steps - 1 - step) * abs(pace)
        given = {"input": tensor, "axes": (axis,), "begin": (begin,), "end": (begin + abs(pace),)}
        yield name, e.invoke(e.library["slice"], given, "", place, f"{e.frames[-1].stem}_{name}")


def _collected(e: Expander, kept: list[dict[str, Any]], output: tuple[Any, ...], name: Any, place: Place) -> Any:
    result, kind, axis, pace = output
    if kind == "last" or len(kept) == 1:
        return e.invoke(e.library["copy"], {"x": kept[-1][result]}, "", place, name)
    values = tuple(results[result] for results in (kept if pace > 0 else reversed(kept)))
    return e.invoke(e.library["concat"], {"values": values, "axis": axis}, "", place, name)


SPECIAL: Final[Mapping[str, Special]] = {
    "tract_core_external": _external,
    "tract_core_cast": _cast,
    "tract_core_scan": _scan,
}
