"""Which numeric corners the runs of a graph met, operator by operator."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from ...infer import infer
from ...probe import Probe
from ...ranges import analyse
from ...spec import TABLE, bind_operator, is_constant
from ...text import joined
from .corners import Seen
from .layers import COUNTED, HIGH, LOW, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ...graph import Graph
    from ...spec.table import Call
    from ...types import Array

MOST_WIDTH: Final = 40
SHOWN: Final = 6  # corners that weren't met, in a line for people


class RunCorners:
    """What any number of runs met, at which `probe` looks. `graph` is the one that a session runs, without composites;
    of its main block every operator of the op table is looked at.
    """

    def __init__(self, graph: Graph) -> None:
        graph = graph.copy()
        infer(graph)
        block, intervals = graph.main, analyse(graph).intervals
        operators = [op for op in block.operators if not is_constant(op)]
        calls = [bind_operator(op, block, graph) for op in operators if op.op in TABLE]
        self._layers = [(call, parts_of(call, intervals)) for call in calls if call.row is not None]
        self._known: dict[str, Array] = {n: t.data for n, t in block.tensors.items() if t.data is not None}
        written = {name for op in operators for name in op.outputs}
        self.tensors = frozenset((written | set(block.inputs)) - self._known.keys())
        self.probe = Probe(self.see, self.tensors, keeps=True)
        self.regions = sum(not is_constant(op) for _, b in graph.blocks() for op in b.operators) - len(operators)
        self.runs = 0
        self._values: dict[str, Array] = {}

    def see(self, node: str, tensor: str, array: Array) -> None:
        del node
        self._values[tensor] = array

    def end_run(self) -> None:
        """Looks at what the run wrote, and forgets it."""
        values, self._values = self._known | self._values, {}
        self.runs += 1
        for call, parts in self._layers:
            seen = Seen(call, _inputs(call, values), [values[name] for name in call.operator.outputs])
            for part in parts:
                part.add(seen)

    def data(self) -> dict[str, Any]:
        """For JSON: by kind the operators, with what they met."""
        found: dict[str, Any] = {"runs": self.runs, "operators_in_regions_not_looked_at": self.regions}
        for kind in ("rescale", "accumulator", "table", "corners"):
            found[kind] = [
                {"node": call.operator.name, "op": call.spec.name, "tensor": _result(call), **part.data()}
                for call, parts in self._layers
                for part in parts
                if part.kind == kind
            ]
        return found


def _result(call: Call) -> str:
    """The first output; nothing of an operator that has none (VARIABLE_WRITE)."""
    return next(iter(call.operator.outputs), "")


def _inputs(call: Call, values: dict[str, Array]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for argument in call.spec.inputs:
        tensors = call.tensors[argument.name]
        is_list = isinstance(tensors, list)
        found[argument.name] = [values[t.name] for t in tensors] if is_list else values[tensors.name]
    return found


def as_text(found: dict[str, Any]) -> list[str]:
    """Tables for people of what `RunCorners.data` gives."""
    lines = [f"corners of {found['runs']} run{'s' if found['runs'] != 1 else ''}"]
    if found["operators_in_regions_not_looked_at"]:
        lines.append(
            f"operators in regions of control flow, not looked at: {found['operators_in_regions_not_looked_at']}"
        )
    scales, sums, tables = found["rescale"], found["accumulator"], found["table"]
    if scales:
        rows = [(one["node"], str(one["elements"]), *(_count(one[name]) for name in COUNTED)) for one in scales]
        lines += ["", *_table(("RESCALE", "elements", *COUNTED), rows)]
        lines.append(
            f"saturated: {sum(_met(one, LOW, HIGH) for one in scales)} of {len(scales)} RESCALEs; met a tie: "
            f"{sum(_met(one, *COUNTED[2:]) for one in scales)}; -: proved not to happen"
        )
    if sums:
        rows = [
            (s["node"], _span(s["least"], s["greatest"]), _span(s["proved_least"], s["proved_greatest"]),
             str(s["bits"]), str(s["proved_bits"]), str(s["type_bits"]))
            for s in sums
        ]  # fmt: skip
        lines += ["", *_table(("accumulator", "met", "proved", "bits met", "bits proved", "of type"), rows)]
    if tables:
        rows = [(t["node"], f"{t['met']} of {t['possible']} {t['of']}", str(t["there"])) for t in tables]
        lines += ["", *_table(("TABLE", "met, of those possible", "there"), rows)]
    return [*lines, *_others(found["corners"])]


def _others(found: Sequence[dict[str, Any]]) -> Iterable[str]:
    """By operator how many of its other corners all its uses met together."""
    there: dict[str, dict[str, None]] = {}
    met: Counter[tuple[str, str]] = Counter()
    for one in found:
        there.setdefault(one["op"], {}).update(dict.fromkeys([*one["met"], *one["not_met"]]))
        met.update((one["op"], name) for name in one["met"])
    rows = []
    for op, names in there.items():
        missed = [name for name in names if not met[op, name]]
        shown = ", ".join(missed[:SHOWN]) + (f", {len(missed) - SHOWN} more" if len(missed) > SHOWN else "")
        rows.append((op, f"{len(names) - len(missed)} of {len(names)}", shown))
    return ["", *_table(("all others", "corners met", "not met"), rows, left=(0, 2))] if rows else []


def _met(one: dict[str, Any], *names: str) -> bool:
    return any(one[name]["elements"] for name in names)


def _count(one: dict[str, Any]) -> str:
    return str(one["elements"]) if one["possible"] or one["elements"] else "-"


def _span(low: int | None, high: int | None) -> str:
    return "-" if low is None else f"{low} .. {high}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]], left: tuple[int, ...] = (0,)) -> list[str]:
    every = [head, *rows]
    widths = [min(MOST_WIDTH, max(len(joined([row[i]])) for row in every)) for i in range(len(head))]
    lines = ("  ".join(_cell(row[i], w, left=i in left) for i, w in enumerate(widths)).rstrip() for row in every)
    return list(lines)


def _cell(text: str, width: int, *, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)
