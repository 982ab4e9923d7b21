"""What a case is drawn from: choices that Hypothesis can make, which then shrinks them, or a generator of random
numbers, which is faster and needs no other package.

The functions have the names and meanings of Hypothesis' strategies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Choice:
    """One choice: `name` is that of Hypothesis' strategy with these `arguments`."""

    name: str
    arguments: tuple[Any, ...]


def integers(low: int, high: int) -> Choice:
    return Choice("integers", (low, high))


def sampled_from(options: Sequence[Any]) -> Choice:
    return Choice("sampled_from", (options,))


def booleans() -> Choice:
    return Choice("booleans", ())


def just(value: Any) -> Choice:
    return Choice("just", (value,))


def one_of(*options: Choice) -> Choice:
    return Choice("one_of", options)


def permutations(items: Sequence[Any]) -> Choice:
    return Choice("permutations", (items,))


def by_random(rng: random.Random) -> Callable[[Choice], Any]:
    """Draws by a generator of random numbers; the same seed gives the same case."""

    def draw(choice: Choice) -> Any:
        if choice.name == "integers":
            return rng.randint(*choice.arguments)
        if choice.name == "booleans":
            return rng.random() < 0.5
        if choice.name == "one_of":
            return draw(rng.choice(choice.arguments))
        if choice.name == "permutations":
            return rng.sample(list(choice.arguments[0]), len(choice.arguments[0]))
        return rng.choice(choice.arguments[0]) if choice.name == "sampled_from" else choice.arguments[0]

    return draw


def by_hypothesis(drawn: Callable[[Any], Any]) -> Callable[[Choice], Any]:
    """Draws by the `draw` of a composite strategy."""
    from hypothesis import strategies

    def strategy(choice: Choice) -> Any:
        arguments = [strategy(one) if isinstance(one, Choice) else one for one in choice.arguments]
        return getattr(strategies, choice.name)(*arguments)

    return lambda choice: drawn(strategy(choice))
