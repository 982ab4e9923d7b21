"""Where operators of a block are in the pattern of a kernel's form (`kernels.forms`)."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from ...kernels import Match
from ...ranges import PROVED
from ..single import is_known, kernel_of
from ..steps import Step

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ...kernels import Form
    from ...ranges import Analysis
    from ...spec.table import Call

    Chain = tuple[Call, ...]
    Chains = tuple[Chain, ...]


class Neighbours:
    """Who computes and who reads the tensors of a block; those in `fixed` have to be stored."""

    def __init__(self, calls: list[Call], fixed: Collection[str], analysis: Analysis) -> None:
        self.fixed, self.analysis = fixed, analysis
        self.writers = {name: call for call in calls for name in call.operator.outputs}
        self.readers: dict[str, list[Call]] = {}
        for call in calls:
            for name in call.operator.inputs:
                self.readers.setdefault(name, []).append(call)

    def matches(self, form: Form, call: Call) -> Iterator[tuple[Match, Step]]:
        """All ways in which an operator and those around it are in the pattern of a form, the preferred ones first,
        each with the step that it would be, without its work.

        What lies between them is read by nobody else and needn't be stored, their constants are known, and none of
        their REQUIREs can fail.
        """
        if self.can_be_part(call):
            reads = read_by(call) if form.before else []
            for before, behind in product(self.before(form, reads), self.behind(form, call)):
                every = [one for chain in (*before, (call,), *behind) for one in chain]
                calls = tuple({id(one): one for one in every}.values())
                both = zip(before, reads, strict=True)
                inputs = [chain[0].operator.inputs[0] if chain else name for chain, name in both]
                outputs = [(chain or (call,))[-1].operator.outputs[0] for chain in behind]
                step = Step(calls, tuple(inputs if form.before else call.operator.inputs), tuple(outputs), None)
                yield Match(call, before, behind), step

    def can_be_part(self, call: Call) -> bool:
        """Whether the operator's constants are known, and none of its REQUIREs can fail."""
        return is_known(call) and all(f.verdict == PROVED for f in self.analysis.findings[id(call.operator)])

    def before(self, form: Form, names: list[str]) -> Iterable[Chains]:
        """A chain for each of these inputs."""
        return product(*(_found(self.chain_before(name, chain) for chain in form.before) for name in names))

    def behind(self, form: Form, call: Call) -> Iterable[Chains]:
        """A chain for each reader."""
        found = self.only_readers(call.operator.outputs[0], form.readers)
        readers: list[Call | None] = [*found] if found else [None] * form.readers
        return product(*(_found(self.chain_behind(reader, chain) for chain in form.behind) for reader in readers))

    def chain_before(self, name: str, operators: tuple[str, ...]) -> Chain | None:
        """The operators of these names that compute a tensor, one after the other; None where others do."""
        chain: Chain = ()
        for operator in reversed(operators):
            call = self.writers.get(name)
            if call is None or not self.is_private(name) or call.spec.name != operator or not self.can_be_part(call):
                return None
            chain, name = (call, *chain), call.operator.inputs[0]
        return chain

    def is_private(self, name: str) -> bool:
        """Whether only one operator reads a tensor, once or more often, and it needn't be stored."""
        return name not in self.fixed and len({id(call) for call in self.readers[name]}) == 1

    def chain_behind(self, reader: Call | None, operators: tuple[str, ...]) -> Chain | None:
        """The operators of these names from a reader on, one after the other; None where others follow."""
        chain: Chain = ()
        for operator in operators:
            if reader is None or reader.spec.name != operator or not self.can_be_part(reader):
                return None
            chain = (*chain, reader)
            reader = next(iter(self.only_readers(reader.operator.outputs[0], 1)), None)
        return chain

    def only_readers(self, name: str, count: int) -> list[Call]:
        """Who reads a tensor that needn't be stored, where there are `count`, each as its first input; else nobody."""
        found = self.readers.get(name, [])
        firsts = len(found) == count and all(call.operator.inputs[0] == name for call in found)
        return found if firsts and name not in self.fixed else []


def read_by(call: Call) -> list[str]:
    """The inputs of an operator whose values its kernel needn't know to be prepared."""
    constants = kernel_of(call).constants
    return [name for a, name in zip(call.spec.inputs, call.operator.inputs, strict=True) if a.name not in constants]


def _found(chains: Iterable[Chain | None]) -> list[Chain]:
    return [chain for chain in chains if chain is not None]
