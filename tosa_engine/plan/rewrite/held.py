"""Variables that lie in the memory of a run: reading one takes no work, and the last thing that a run does is to copy
what was written.

That needs to be known of a variable when the plan is made: it is declared once, in the main block, with an initial
value, in front of all operators that read or write it; and these stand in the main block, and agree with the
declaration. Then no REQUIRE of theirs can fail. All other variables are `state.Variables`, their operators Python's.

The variable becomes an input and an output of the block. Reading it before it is written gives the input, reading it
later gives what was written. The output is copied upon the input when the run has ended well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...graph import Operator, Tensor
from ...spec import bind_operator
from ..steps import Held, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ...graph import Block, Graph
    from ...spec.table import Call

DECLARE, READ, WRITE = "VARIABLE", "VARIABLE_READ", "VARIABLE_WRITE"


@dataclass(frozen=True)
class Holding:
    """A block without the operators of variables that lie in its memory. `first` and `last` are steps that stand for
    them in the plan, and take no work.
    """

    block: Block
    calls: list[Call]
    held: Mapping[str, Held]
    first: tuple[Step, ...] = ()
    last: tuple[Step, ...] = ()


def hold(graph: Graph, block: Block, calls: list[Call]) -> Holding:
    """The variables of the main block that can lie in its memory, taken out of its operators."""
    uses: dict[str, list[Call]] = {}
    for call in calls if block is graph.main else ():
        if call.spec.name in (DECLARE, READ, WRITE):
            uses.setdefault(call["name"], []).append(call)
    own = {id(operator) for operator in block.operators}
    elsewhere = {op.attributes.get("name") for _, b in graph.blocks() for op in b.operators if id(op) not in own}
    found = {name: used for name, used in uses.items() if name not in elsewhere and _is_plain(used)}
    if not found:
        return Holding(block, calls, {})
    return _Holder(graph, block, found).run(calls)


def _is_plain(uses: list[Call]) -> bool:
    """Whether no REQUIRE of a variable's operators can fail, whatever is held when the run begins."""
    first, *others = uses
    if first.spec.name != DECLARE or any(call.spec.name == DECLARE for call in others):
        return False
    initial, dtype, shape = first.initial_value, first.var_t, first.var_shape
    if initial is None or initial.dtype != dtype.storage or initial.shape != shape:
        return False
    types = [call.out_t if call.spec.name == READ else call.in_t for call in others]
    return all(one is dtype for one in types) and all(call.shape == shape for call in others)


class _Holder:
    def __init__(self, graph: Graph, block: Block, found: Mapping[str, list[Call]]) -> None:
        self.graph, self.block, self.found = graph, block, found
        self.held: dict[str, Held] = {}
        self.first: list[Step] = []
        self.last: list[Step] = []

    def run(self, calls: list[Call]) -> Holding:
        for name, (declared, *_) in self.found.items():
            self.held[name] = Held(declared.var_t, self._at(name), None, declared.initial_value)
        taken = {id(call) for uses in self.found.values() for call in uses}
        rest = [one for call in calls for one in (self._without(call) if id(call) in taken else (call,))]
        at = [held.at for held in self.held.values()]
        then = [held.then for held in self.held.values() if held.then is not None]
        gone = {id(call.operator) for uses in self.found.values() for call in uses}
        block = replace(
            self.block,
            inputs=[*self.block.inputs, *at],
            outputs=_once([*self.block.outputs, *at, *then]),
            operators=[operator for operator in self.block.operators if id(operator) not in gone],
        )
        return Holding(block, rest, self.held, tuple(self.first), tuple(self.last))

    def _at(self, name: str) -> str:
        """What is read first, before anything is written; where nothing is, a tensor of the plan's own."""
        declared, *others = self.found[name]
        if others and others[0].spec.name == READ:
            return others[0].operator.outputs[0]
        tensor = Tensor(self.block.fresh(f"variable_{name}"), declared.var_t, declared.var_shape)
        return self.block.add(tensor).name

    def _without(self, call: Call) -> list[Call]:
        """What an operator of a variable becomes."""
        held = self.held[call["name"]]
        if call.spec.name == DECLARE:
            self.first.append(Step((call,), (), (), None))
        elif call.spec.name == WRITE:
            (source,) = call.operator.inputs
            self.held[call["name"]] = replace(held, then=source)
            self.last.append(Step((call,), (source,), (), None))
        elif call.operator.outputs[0] == held.at:
            self.first.append(Step((call,), (), (held.at,), None))
        else:
            source = held.at if held.then is None else held.then
            again = Operator("IDENTITY", [source], call.operator.outputs, {}, call.operator.location)
            found = bind_operator(again, self.block, self.graph)
            found.stands_for = (call,)
            return [found]
        return []


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
