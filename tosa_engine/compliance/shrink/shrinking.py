"""The order in which a failing test is made small."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ...errors import TosaEngineError
from ...spec import bind_operator
from ..cases.choices import by_random
from ..cases.operators import draw_case
from .cuts import plainer, simpler, smaller
from .isolating import fewer
from .use import Use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...graph import Graph
    from ...types import Array
    from .probing import Probe

SMALL = 16  # elements
DRAWN = 300  # uses of an operator among which small ones are looked for
AT_ONCE = 60  # of them that are tried


def shrink(graph: Graph, feeds: dict[str, Array], probe: Probe) -> tuple[Graph, dict[str, Array]]:
    """The smallest test that was found to fail in the same way."""
    if sum(1 for op in graph.main.operators if op.inputs) > 1:
        graph, feeds = fewer(graph, feeds, probe)
    use = Use.of(graph, feeds)
    if use is None or not probe.use_fails(use):
        return graph, feeds
    use = _while_it_fails(use, smaller, probe)
    if use.elements > SMALL:
        use = _while_it_fails(_drawn_again(use, probe), smaller, probe)
    use = _while_it_fails(use, simpler, probe)
    use = _while_it_fails(use, smaller, probe)
    use = _with_plain_data(use, probe)
    probe.use_fails(use)  # its judgement is the last one
    return use.graph(inferred=not probe.rules)


def _while_it_fails(use: Use, candidates: Callable[[Use], Iterator[Use]], probe: Probe) -> Use:
    """Take the first candidate that fails, and look for the next one from there."""
    while not probe.tired:
        found = next((one for one in candidates(use) if probe.use_fails(one)), None)
        if found is None:
            return use
        use = found
    return use


def _with_plain_data(use: Use, probe: Probe) -> Use:
    while not probe.tired:
        found = None
        for name, which, array in plainer(use):
            arrays = [array if i == which else one.array for i, one in enumerate(use.values[name])]
            candidate = use.with_arrays({name: arrays})
            if probe.use_fails(candidate):
                found = candidate
                break
        if found is None:
            return use
        use = found
    return use


def _drawn_again(use: Use, probe: Probe) -> Use:
    """Another use of the same row, drawn small: where shapes hang together in ways that cuts don't keep."""
    if probe.rules or not use.spec.pure:
        return use
    graph, _ = use.graph()
    try:
        row = bind_operator(graph.main.operators[-1], graph.main, graph).row
    except TosaEngineError:
        return use
    assert row is not None
    drawn = (Use.of(*draw_case(by_random(random.Random(i)), use.operator, row.key)) for i in range(DRAWN))
    small = sorted(
        (one for one in drawn if one is not None and one.elements < use.elements), key=lambda one: one.elements
    )
    return next((one for one in small[:AT_ONCE] if probe.use_fails(one)), use)
