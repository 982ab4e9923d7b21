"""The cheapest precisions under a target, for networks whose every layer is integers.

The noise of single units (`only`, as in `sensitivity`) nearly adds up, so that it tells what to try (`knapsack`). Each
choice is then measured as a whole network in the integer engine, and the budget of noise moves to where the target is
just met: down by as much as a measurement misses it, up while there is room, at last halfway between. In the end each
unit, the one with most to save first, is tried one step cheaper. There is nothing random in this.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tosa_engine.errors import Unsupported

from ..legalize.layers import FLOAT, INT4, INT8, INT16
from ..legalize.refusals import PRECISION
from ..metrics import Score
from .knapsack import cheapest
from .units import assigned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .cost import Costs
    from .cycles import Cycles
    from .evaluate import Evaluator
    from .journal import Scores
    from .units import Unit

Target = Callable[[Score], bool]
ORDER = (INT4, INT8, INT16)
ROUNDS: Final = 24  # of moving the budget
SHRINK, STEP, CLOSE = 0.7, 4.0, 1.05  # of the budget: the least step, the largest one up, where moving it ends


@dataclass
class Found:
    """`chosen`: unit name -> precision, `score` and `cost` its own; `reached` whether the target is met."""

    chosen: dict[str, str]
    score: Score
    cost: float
    reached: bool
    tried: int = 0


@dataclass
class Search:
    """`allowed`: the precisions that may be used; `what`: what costs are made of (`cost.WHAT`), or `cycles` on a
    processor.
    """

    evaluator: Evaluator
    journal: Scores
    units: Sequence[Unit]
    costs: Costs
    allowed: Sequence[str]
    what: str = "both"
    cycles: Cycles | None = None
    done: Callable[[], None] = lambda: None
    noise: dict[tuple[str, str], float] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    tried: int = 0

    def run(self, target: Target, noise: float) -> Found:
        """`noise`: what of it the target allows, as a first guess at the budget; infinite where nobody knows.

        Raises Unsupported when a unit can't have any of the precisions that are allowed.
        """
        self._alone()
        best = self._by_budget(target, noise)
        if best is None:
            strongest = {name: options[-1] for name, options in self.options.items()}
            score = self._measured(strongest)
            if score is None or not target(score):
                return self._found(strongest, score, False)
            best = self._found(strongest, score, True)
        return self._cheaper(best, target)

    def _by_budget(self, target: Target, noise: float) -> Found | None:
        """The cheapest choice that met the target while the budget moved."""
        low, high, best = 0.0, math.inf, None  # budgets that were met, or that nothing keeps; that were missed
        budget = noise * self._pessimism()
        for _ in range(ROUNDS):
            chosen = cheapest(self.options, self.noise, self.cost, budget)
            score, ratio = None, 1.0
            if chosen is None:
                low = max(low, budget)
                if high == math.inf:
                    break
            else:
                score = self._measured(chosen)
                ratio = noise / score.noise if score is not None and score.noise else STEP
                if score is None or not target(score):
                    high = min(high, budget, self._expected(chosen))
                else:
                    low = max(low, budget)
                    if best is None or self.cost(chosen) < best.cost:
                        best = self._found(chosen, score, True)
            if low == math.inf or (low and high / low < CLOSE):
                break
            budget = _between(low, high, ratio)
        return best

    def measurements(self) -> int:
        """How many there are of single units."""
        return sum(1 for unit in self.units for precision in unit.precisions if precision in self.allowed)

    def cost(self, chosen: dict[str, str]) -> float:
        """Beside the whole network in int8."""
        if self.cycles is not None:
            return self.cycles.relative(chosen)
        return self.costs.of(assigned(self.units, chosen, FLOAT)).relative(self.costs.usual, self.what)

    def _alone(self) -> None:
        """The noise of each unit in each precision; precisions that it can't have, or that don't pay, are no option."""
        for unit in self.units:
            options: list[str] = []
            for precision in unit.precisions:
                may = precision in self.allowed and (self.cycles is None or self.cycles.possible(unit.name, precision))
                score = self._scored({unit.name: precision}) if may else None
                if score is not None:
                    self.noise[unit.name, precision] = score.noise
                    if not options or score.noise < self.noise[unit.name, options[-1]]:
                        options.append(precision)
            if not options:
                message = f"'{unit.name}' can't have any of {', '.join(self.allowed)}"
                raise Unsupported(message, label=PRECISION, node=unit.name)
            self.options[unit.name] = options

    def _pessimism(self) -> float:
        """How much more noise the sum expects of the network in int8 than is measured."""
        usual = {name: min(options, key=lambda p: abs(ORDER.index(p) - 1)) for name, options in self.options.items()}
        score = self._measured(usual)
        return self._expected(usual) / score.noise if score is not None and score.noise else 1.0

    def _expected(self, chosen: dict[str, str]) -> float:
        return sum(self.noise[item] for item in chosen.items())

    def _cheaper(self, best: Found, target: Target) -> Found:
        """Units one step cheaper where the target still holds."""
        chosen, score = best.chosen, best.score
        now = self.cost(chosen)

        def saved(name: str) -> float:
            options = self.options[name]
            at = options.index(chosen[name])
            return now - self.cost({**chosen, name: options[at - 1]}) if at else 0.0

        for name in sorted(self.options, key=lambda name: -saved(name)):
            options = self.options[name]
            at = options.index(chosen[name])
            if at == 0 or saved(name) <= 0:
                continue
            attempt = {**chosen, name: options[at - 1]}
            found = self._measured(attempt)
            if found is not None and target(found):
                chosen, score = attempt, found
        return self._found(chosen, score, True)

    def _measured(self, chosen: dict[str, str]) -> Score | None:
        self.tried += 1
        return self._scored(chosen)

    def _scored(self, chosen: dict[str, str]) -> Score | None:
        """Units that aren't in `chosen` are floats."""
        found = self.journal.score(assigned(self.units, chosen, FLOAT), self.evaluator.score)
        self.done()
        return found if isinstance(found, Score) else None

    def _found(self, chosen: dict[str, str], score: Score | None, reached: bool) -> Found:
        return Found(chosen, score or Score(float("inf")), self.cost(chosen), reached, self.tried)


def _between(low: float, high: float, ratio: float) -> float:
    """The next budget; `ratio`: by how much the noise may grow, as far as is known."""
    if low and high < math.inf:
        return math.sqrt(low * high)
    return low * min(max(ratio, 1 / SHRINK), STEP) if low else high * min(ratio, SHRINK)
