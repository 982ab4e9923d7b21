"""Operators of your own: what a graph calls CUSTOM with your domain and name (specification 2.15).

An operator is declared as those of the engine's own table are (`tosa_engine.spec`): arguments, type rows, shapes,
checks. Its function in numpy is both its oracle and its kernel. See docs/custom.md for an example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import ErrorIf, UsageError
from .spec.case import Case
from .spec.custom import ATTRIBUTES, CUSTOM, REGISTRY, CustomOperator
from .spec.table import Argument, Call, Check, Limit, OpSpec, Require, Row, row, tensor, tensor_list
from .spec.traits import OPAQUE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .spec.custom import Compute
    from .types import Shape

__all__ = [
    "Argument", "Call", "Case", "Check", "Limit", "Require", "Row", "operator", "register", "row", "tensor",
    "tensor_list", "unregister",
]  # fmt: skip


def register(
    domain: str,
    name: str,
    compute: Compute,
    *,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    rows: Sequence[Row],
    shapes: Callable[[Call], Sequence[Shape]],
    decode: Callable[[bytes], Mapping[str, Any]] | None = None,
    checks: Sequence[Check] = (),
    limits: Sequence[Limit] = (),
    requires: Sequence[Require] = (),
) -> None:
    """Add an operator; graphs find it as CUSTOM with this `domain_name` and `operator_name`.

    Args:
        domain: yours alone, such as the name of an internet domain.
        name: the operator's name in the domain. Labels of its errors begin with `domain:name`.
        compute: called with the `Call` and one array per input by its argument's name (a list of arrays for a list);
            gives the output, or all of them in a list, in the dtype and shape of the graph's tensors.
        inputs, outputs: arguments, see `tensor` and `tensor_list`; a list stands last.
        rows: the supported combinations of types, see `row`.
        shapes: the shapes of the outputs; a `Call` has the shape letters, types and decoded attributes as attributes.
        decode: turns `implementation_attrs` into named values of the call; a ValueError is told as an ERROR_IF.
        checks: ERROR_IFs. limits: level checks. requires: what `compute` may raise RequireViolation for.

    Raises:
        UsageError: there is such an operator already.
    """
    if (domain, name) in REGISTRY:
        raise UsageError(f"a custom operator '{name}' of domain '{domain}' is registered already")
    label = f"{domain}:{name}"

    def sizes(call: Call) -> Mapping[str, Any]:
        try:
            return {} if decode is None else decode(call.implementation_attrs)
        except ValueError as problem:
            message = f"implementation_attrs: {problem}"
            raise ErrorIf(message, label=f"{label}.attributes", node=call.operator.name) from problem

    def example(_: Row) -> Case:
        raise UsageError(f"{label} has no example")

    spec = OpSpec(
        name=label,
        code=CUSTOM.code,
        schema=CUSTOM.schema,
        section=CUSTOM.section,
        inputs=tuple(inputs),
        attributes=ATTRIBUTES,
        outputs=tuple(outputs),
        rows=tuple(rows),
        traits=OPAQUE,
        shapes=shapes,
        example=example,
        sizes=sizes,
        limits=tuple(limits),
        checks=tuple(checks),
        requires=tuple(requires),
        pure=False,
    )
    REGISTRY[domain, name] = CustomOperator(spec, compute)


def operator(domain: str, name: str, **declaration: Any) -> Callable[[Compute], Compute]:
    """A decorator that registers the function below it; the arguments are those of `register`."""

    def decorate(compute: Compute) -> Compute:
        register(domain, name, compute, **declaration)
        return compute

    return decorate


def unregister(domain: str, name: str) -> None:
    """Remove an operator.

    Raises:
        UsageError: there is none.
    """
    if REGISTRY.pop((domain, name), None) is None:
        raise UsageError(f"no custom operator '{name}' of domain '{domain}' is registered")
