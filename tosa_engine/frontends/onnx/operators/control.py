"""If, whose branch is chosen here where its condition is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ....errors import GraphError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..call import Call
    from ..values import Value


def choose(call: Call) -> list[Value]:
    """A branch that isn't taken is never looked at, and may be wrong."""
    condition = call.known(0, "the condition")
    if condition.size != 1:
        raise GraphError(f"a condition of shape {list(condition.shape)}")
    name = "then_branch" if bool(condition.reshape(-1)[0]) else "else_branch"
    return call.scope.branch(call.attributes[name], [], f"{call.outputs[0]}/{name}")


OPERATORS: Final[Mapping[str, Callable[[Call], Any]]] = {"If": choose}
