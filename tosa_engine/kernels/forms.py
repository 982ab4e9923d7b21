"""Several operators as one step: what a kernel says of the operators around its own that it can do, too.

A `Form` is a pattern and a function. The pattern names operators; whoever plans finds them in the graph, and proves
that none of their REQUIREs can fail. The function looks at their types and numbers, and prepares the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..spec.table import Call
    from .work import Work

    Chain = tuple[Call, ...]
    Names = tuple[str, ...]


@dataclass(frozen=True)
class Match:
    """Operators in the pattern of a form: the form's own one, `before` it a chain for each of its inputs, and `behind`
    it one for each reader of its result; both in the order of the operators. A chain may be empty.
    """

    call: Call
    before: tuple[Chain, ...]
    behind: tuple[Chain, ...]


@dataclass(frozen=True)
class Form:
    """One step of several operators, as a kernel offers it for the operators of its row.

    `prepare` returns None where it can't do what matches the pattern. `before` are the chains of operators that may
    compute an input, `behind` those that may read the result, the preferred ones first; an empty chain is the input, or
    the result, as it is. Without `before`, the step reads the inputs of its operator; otherwise the chains' inputs, and
    none of those whose values `prepare` has got (`Kernel.constants`). Each of `readers` readers is a chain and an
    output. `last`: only for what no other form has taken.
    """

    prepare: Callable[[Match], Work | None]
    before: tuple[Names, ...] = ()
    behind: tuple[Names, ...] = ((),)
    readers: int = 1
    last: bool = False
