"""What a choice of precisions costs on a processor: cycles of whole networks in integers, by Vela or our estimate.

A network in int8 is compiled, and one for each layer in another precision, the others int8: what that changes is the
layer's part. Parts are added up to say what to try; the choice that is found is compiled as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tosa_engine.errors import Unsupported
from tosa_engine.npu import npu
from tosa_engine.npu.costs import costs

from ..legalize.layers import INT8
from .units import assigned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .evaluate import Evaluator
    from .units import Unit


@dataclass(frozen=True)
class Time:
    """Cycles, and milliseconds at the processor's clock (None: it isn't known)."""

    cycles: int
    milliseconds: float | None

    def __str__(self) -> str:
        shown = "" if self.milliseconds is None else f" ({self.milliseconds:.3f} ms)"
        return f"{self.cycles:,} cycles{shown}"


class Cycles:
    """The cycles of one network on a processor.

    Raises Unsupported where the network in int8 can't be compiled for it.
    """

    def __init__(
        self, evaluator: Evaluator, units: Sequence[Unit], allowed: Sequence[str], name: str, done: Callable[[], None]
    ) -> None:
        self.evaluator, self.units, self.npu, self.by = evaluator, units, npu(name), ""
        self.name = self.npu.name
        usual = self.of({})
        if isinstance(usual, str):
            raise Unsupported(f"{name}: every layer in int8 can't be compiled: {usual}", label="TARGET.vela")
        self.usual = usual
        done()
        self.part: dict[tuple[str, str], int] = {}
        self.refused: dict[tuple[str, str], str] = {}
        for unit in units:
            for precision in unit.precisions:
                if precision in allowed and precision != INT8:
                    found = self.of({unit.name: precision})
                    if isinstance(found, str):
                        self.refused[unit.name, precision] = found
                    else:
                        self.part[unit.name, precision] = found.cycles - usual.cycles
                    done()

    def of(self, chosen: Mapping[str, str]) -> Time | str:
        """Of a choice, the other units in int8; why there is none where the network can't run there."""
        graph = self.evaluator.integers(assigned(self.units, chosen, INT8))
        try:
            found = costs(graph, self.npu)
        except Unsupported as problem:
            return problem.message
        self.by = found.by
        return Time(found.cycles, 1e3 * found.cycles / found.clock if found.clock else None)

    def relative(self, chosen: Mapping[str, str]) -> float:
        """The sum of the parts, to the cycles of int8."""
        parts = sum(self.part.get(item, 0) for item in chosen.items())
        return 1 + parts / self.usual.cycles

    def possible(self, unit: str, precision: str) -> bool:
        return (unit, precision) not in self.refused
