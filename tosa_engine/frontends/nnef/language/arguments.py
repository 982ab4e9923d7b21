"""Arguments of an invocation against the declaration of its operation: which goes where (section 3.3.2).

Three things that exporters write bend the standard (`bend` decides): an attribute without its name, a literal behind
the last parameter of one of the document's own fragments, which can't have a use for it, and axes of an elementwise
function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .bent import idle
from .library import REQUIRED
from .syntax import Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from .library import Declaration, Parameter
    from .syntax import Argument, Invocation, Place

    Report = Callable[[str, str, Place], object]


def bind(declaration: Declaration, invocation: Invocation, report: Report, bend: Report) -> dict[str, Argument]:
    """Parameter name -> argument, in the order of the arguments; what is wrong is reported and left out."""
    bound: dict[str, Argument] = {}
    positional: set[str] = set()
    for number, argument in enumerate(invocation.arguments):
        parameter = _parameter(declaration, argument, number, len(bound) > len(positional), report, bend)
        if parameter is None:
            continue
        if parameter.name in bound:
            label = "NNEF.A7" if parameter.name in positional else "NNEF.A6"
            report(label, f"argument '{parameter.name}' of '{declaration.name}' is given twice", argument.place)
            continue
        bound[parameter.name] = argument
        if not argument.name:
            positional.add(parameter.name)
    missing = [p.name for p in declaration.parameters if p.name not in bound and p.default is REQUIRED]
    given = invocation.arguments[: len(declaration.parameters)]
    if missing and len(given) <= len(bound):  # else it may be the one that is wrong
        shown = ", ".join(f"'{name}'" for name in missing)
        report("NNEF.A3", f"'{declaration.name}' needs {shown}", invocation.place)
    return bound


def _parameter(
    declaration: Declaration, argument: Argument, number: int, named_seen: bool, report: Report, bend: Report
) -> Parameter | None:
    name, parameters = declaration.name, declaration.parameters
    if argument.name:
        parameter = declaration.parameter(argument.name)
        if parameter is None:
            known = ", ".join(p.name for p in parameters)
            (bend if idle(declaration, argument) else report)(
                "NNEF.A5", f"'{name}' has no argument '{argument.name}'; it has: {known}", argument.place
            )
        return parameter
    if named_seen:
        report("NNEF.A4", "a positional argument stands after a named one", argument.place)
        return None
    if number >= len(parameters):
        message = f"'{name}' takes {len(parameters)} arguments, this is number {number + 1}"
        unused = not declaration.standard and isinstance(argument.value, Literal)
        (bend if unused else report)("NNEF.A2", message, argument.place)
        return None
    if not parameters[number].is_tensor:
        bend("NNEF.A8", f"attribute '{parameters[number].name}' of '{name}' must be named", argument.place)
    return parameters[number]
