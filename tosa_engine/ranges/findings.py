"""What the analysis says about the REQUIREs of an operator: proved, violated, or a matter of the input."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..types import i64

if TYPE_CHECKING:
    from ..spec.table import Call
    from ..types import Array, DType
    from .interval import Interval

PROVED: Final = "proved"  # for all inputs
DEPENDS: Final = "depends"  # on the input, as far as intervals can tell
VIOLATED: Final = "violated"  # for all inputs
ORDER: Final = (PROVED, DEPENDS, VIOLATED)
NOTHING: Final = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Finding:
    """One REQUIRE of one operator.

    `value` bounds what is tested, `limits` are what the REQUIRE allows: int64 arrays of shape [C] or [], or integers;
    empty where the REQUIRE isn't about a range. `low`, `high`, `least` and `most` are the same with an entry for each
    channel (or one for all).
    """

    node: str
    tensor: str
    label: str
    text: str
    verdict: str
    value: tuple[Array, Array]
    limits: tuple[Array | int, Array | int]

    @cached_property
    def _ends(self) -> tuple[Array, ...]:
        return tuple(np.broadcast_arrays(*(np.atleast_1d(end) for end in (*self.value, *self.limits))))

    @property
    def low(self) -> Array:
        return self._ends[0]

    @property
    def high(self) -> Array:
        return self._ends[1]

    @property
    def least(self) -> Array:
        return self._ends[2]

    @property
    def most(self) -> Array:
        return self._ends[3]

    @property
    def margins(self) -> Array:
        """Bits of headroom per channel, log2(limit / bound), of the end that is nearer to its limit; inf: no bound."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.minimum(_bits(self.most, self.high), _bits(-self.least.astype(float), -self.low.astype(float)))

    @property
    def worst(self) -> tuple[int, float]:
        """The channel with the smallest margin, and that margin; (0, inf) where there is no range."""
        margins = self.margins
        if margins.size == 0:
            return 0, float("inf")
        channel = int(np.argmin(margins))
        return channel, float(margins[channel])


def _bits(limit: Any, bound: Any) -> Array:
    """log2(limit / bound) where both are positive; no limit for what stays on the other side of 0."""
    limit, bound = np.broadcast_arrays(np.asarray(limit, np.float64), np.asarray(bound, np.float64))
    beyond = np.where(bound > limit, -np.inf, np.inf)
    return np.where((limit > 0) & (bound > 0), np.log2(limit / np.where(bound > 0, bound, 1.0)), beyond)


class Facts:
    """Collects the findings of one operator while its transfer function runs.

    Each test returns the interval of the values that pass it: what follows happens only to them.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self._found: dict[str, Finding] = {}

    @property
    def findings(self) -> list[Finding]:
        """One for each REQUIRE that was looked at, in the order of the op table."""
        return [self._found[r.label] for r in self.call.spec.requires if r.label in self._found]

    def within(
        self, rule: str, value: Interval, least: Array | int, most: Array | int, surely: Interval | None = None
    ) -> Interval:
        """A value must be in least .. most. `surely` bounds a value that every element has, where `value` is a hull
        over several (partial sums): only it can show that all inputs violate the REQUIRE.
        """
        ends, limits = (value.low, value.high), (least, most)
        if bool(((value.low >= least) & (value.high <= most)).all()):
            self._add(rule, PROVED, ends, limits)
            return value
        sure = value if surely is None else surely
        violated = bool(((sure.low > most) | (sure.high < least)).any())
        self._add(rule, VIOLATED if violated else DEPENDS, ends, limits)
        return value.clip(least, most)

    def fits(self, rule: str, value: Interval, dtype: DType, surely: Interval | None = None) -> Interval:
        """A value must be one of a format."""
        return self.within(rule, value, dtype.minimum, dtype.maximum, surely)

    def at_most(self, rule: str, value: Interval, most: int) -> Interval:
        return self.within(rule, value, i64.minimum, most)

    def decide(self, rule: str, verdict: str) -> None:
        """A REQUIRE that isn't about a range."""
        self._add(rule, verdict, (NOTHING, NOTHING), (NOTHING, NOTHING))

    def depends(self, *rules: str) -> None:
        for rule in rules:
            self.decide(rule, DEPENDS)

    def _add(
        self, rule: str, verdict: str, value: tuple[Array, Array], limits: tuple[Array | int, Array | int]
    ) -> None:
        label = f"{self.call.spec.name}.{rule}"
        require = next(r for r in self.call.spec.requires if r.label == label)
        tensor = self.call.tensor_name(self.call.spec.outputs[0].name)
        found = Finding(self.call.operator.name, tensor, label, require.text, verdict, value, limits)
        before = self._found.get(require.label)
        if before is None or _rank(found) < _rank(before):
            self._found[require.label] = found


def _rank(finding: Finding) -> tuple[int, float]:
    """Several tests may share a label (NEGATE.R1): the worst verdict and then the least margin speaks for all."""
    return -ORDER.index(finding.verdict), finding.worst[1]
