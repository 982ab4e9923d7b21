"""The cheapest choice whose noise adds up to no more than a budget: what the search tries next.

Costs don't add up (an int16 layer widens what its neighbours write), so that cost is a function of the whole choice.
Lagrange's way first: for a price of noise, each unit in turn takes the option for which cost and priced noise are
together least, until nothing changes; the price is bisected until the budget is just kept. Then single options and
pairs of them are exchanged as long as that is cheaper and within the budget.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Choice = dict[str, str]

BISECTIONS: Final = 40
LOW_PRICE, HIGH_PRICE = 1e-12, 1e12


def cheapest(
    options: Mapping[str, Sequence[str]],
    noise: Mapping[tuple[str, str], float],
    cost: Callable[[Choice], float],
    budget: float,
) -> Choice | None:
    """`options` of each unit, the last with least noise. None when even these are above the budget."""

    def total(choice: Choice) -> float:
        return sum(noise[item] for item in choice.items())

    def priced(price: float, choice: Choice) -> float:
        return cost(choice) + price * total(choice)

    best = {name: own[-1] for name, own in options.items()}
    if total(best) > budget:
        return None
    low, high = LOW_PRICE, HIGH_PRICE
    for _ in range(BISECTIONS):
        price = (low * high) ** 0.5
        for start in (best, {name: own[0] for name, own in options.items()}):
            found = _settled(options, partial(priced, price), start)
            within = total(found) <= budget
            if within and cost(found) < cost(best):
                best = found
        low, high = (low, price) if within else (price, high)
    return _exchanged(options, cost, lambda choice: total(choice) <= budget, best)


def _settled(options: Mapping[str, Sequence[str]], value: Callable[[Choice], float], start: Choice) -> Choice:
    """Each unit in turn has the option of the least value, until none changes."""
    choice, least = dict(start), value(start)
    while True:
        before = dict(choice)
        for name, own in options.items():
            for option in own:
                now = value({**choice, name: option})
                if now < least:
                    choice, least = {**choice, name: option}, now
        if choice == before:
            return choice


def _exchanged(
    options: Mapping[str, Sequence[str]],
    cost: Callable[[Choice], float],
    within: Callable[[Choice], bool],
    start: Choice,
) -> Choice:
    """One or two units at a time have other options, the first exchange found that is cheaper, until there is none."""
    choice, least = start, cost(start)
    while True:
        for attempt in _neighbours(options, choice):
            if within(attempt) and cost(attempt) < least:
                choice, least = attempt, cost(attempt)
                break
        else:
            return choice


def _neighbours(options: Mapping[str, Sequence[str]], choice: Choice) -> Iterator[Choice]:
    single = [(name, option) for name, own in options.items() for option in own if option != choice[name]]
    for name, option in single:
        yield {**choice, name: option}
    for i, (name, option) in enumerate(single):
        for other, second in single[i + 1 :]:
            if other != name:
                yield {**choice, name: option, other: second}
