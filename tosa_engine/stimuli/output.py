"""What stimuli reach, before and after the search: as text and as data."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .layers import Layer

WIDTH: Final = 40


def report(layers: Sequence[Layer]) -> list[str]:
    """A line for each layer, by the tensor that it writes, then one for each kind of goal."""
    width = min(WIDTH, max(len(layer.output) for layer in layers))
    lines = [f"{'layer':{width}}  operator  {'goals':>7}  {'before':>7}  {'after':>7}  range before  after"]
    for layer in layers:
        counts = f"{len(layer.goals):7}  {int(layer.met_before.sum()):7}  {int(layer.met.sum()):7}"
        ranges = f"{layer.reached_before:12.0%}  {layer.reached:5.0%}"
        lines.append(f"{layer.output:{width}}  {layer.operator:8}  {counts}  {ranges}")
    lines += ["", f"{'kind':{width}}  {'':8}  {'goals':>7}  {'before':>7}  {'after':>7}"]
    total = [_by_kind(layer) for layer in layers]
    for kind in dict.fromkeys(kind for one in total for kind in one):
        counts = "  ".join(f"{sum(one.get(kind, (0, 0, 0))[i] for one in total):7}" for i in range(3))
        lines.append(f"{kind:{width}}  {'':8}  {counts}")
    return lines


def _by_kind(layer: Layer) -> dict[str, tuple[int, int, int]]:
    """Of each kind: how many goals there are, how many were met before, and now."""
    kinds = [goal.kind for goal in layer.goals]
    there, first, now = (
        Counter(kind for kind, met in zip(kinds, which, strict=True) if met)
        for which in ([True] * len(kinds), layer.met_before, layer.met)
    )
    return {kind: (there[kind], first[kind], now[kind]) for kind in there}


def to_json(layers: Sequence[Layer]) -> list[dict[str, Any]]:
    return [
        {
            "node": layer.node, "operator": layer.operator, "input": layer.tensor, "output": layer.output,
            "range": {"before": layer.reached_before, "after": layer.reached},
            "kinds": {
                kind: dict(zip(("goals", "before", "after"), counts, strict=True))
                for kind, counts in _by_kind(layer).items()
            },
            "missing": [
                {"kind": goal.kind, "channel": goal.channel, "values": [list(span) for span in goal.spans]}
                for goal, found in zip(layer.goals, layer.met, strict=True) if not found
            ],
        }
        for layer in layers
    ]  # fmt: skip
