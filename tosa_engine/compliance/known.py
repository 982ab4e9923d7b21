"""Differences of implementations that are known and written down (docs/errata.md), by the name that `--known` takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .judge import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph
    from .judge import Judgement


@dataclass(frozen=True)
class Known:
    """What an implementation is known for: rules of graphs that it misses or dies of, REQUIREs that take it down
    (`fatal`, with operators), and operators whose sums it computes in other types, so that they overflow.
    """

    missed: frozenset[str]
    deadly: frozenset[str]
    fatal: frozenset[str]
    limits: str
    overflows: frozenset[str]
    angles: frozenset[str]

    def explains(self, graph: Graph, found: Judgement) -> str:
        """Why a difference is none of the implementation's that were to be found; or nothing."""
        if found.status is Status.VERDICT and found.label in self.missed:
            return found.label
        if found.status is Status.CRASHED:
            if found.label in self.deadly or found.label in self.missed or found.label.endswith(".types"):
                return found.label
            operators = {op.op for op in graph.main.operators}
            fatal = [label for label in self.fatal if label.split(".")[0] in operators]
            if fatal and found.label.split(".")[-1].startswith("R"):
                return fatal[0]
        if found.status is Status.VERDICT and re.fullmatch(self.limits, found.label):
            return found.label
        return self._floats(graph, found)

    def _floats(self, graph: Graph, found: Judgement) -> str:
        producers = graph.main.producers()
        operator = producers[found.tensor].op if found.tensor in producers else ""
        if found.status is Status.WRONG and operator in self.angles:
            return f"angles of {operator}"
        beyond = "inf" in found.text or "nan" in found.text
        return (
            f"overflow in {operator}" if found.status is Status.WRONG and operator in self.overflows and beyond else ""
        )


SUMS: Final = frozenset(
    {"AVG_POOL2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "MATMUL", "REDUCE_PRODUCT", "REDUCE_SUM", "TRANSPOSE_CONV2D"}
)
REFERENCE_MODEL: Final = Known(
    missed=frozenset(
        {
            "TABLE.shape.output",
            "WHILE_LOOP.E1",
            *(f"REDUCE_{n}.E2" for n in ("ALL", "ANY", "MAX", "MIN", "PRODUCT", "SUM")),
        }
    ),
    deadly=frozenset({"CONST.E1", "CONST_SHAPE.E1", "RESCALE.E15", "COND_IF.E1"}),
    fatal=frozenset({"INTDIV.R1", "GATHER.R1", "SCATTER.R1"}),
    limits=r"\w+\.(L\d+|rank\.\w+)",
    overflows=SUMS,
    angles=frozenset({"FFT2D", "RFFT2D"}),
)
KNOWN: Final[Mapping[str, Known]] = {"tosa_reference_model": REFERENCE_MODEL}
