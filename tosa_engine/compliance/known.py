"""Differences of implementations that are known and written down (docs/errata.md), by the name that `--known` takes."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

from .. import oracle
from ..errors import TosaEngineError
from .judge import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..graph import Graph, Operator
    from ..types import Array
    from .judge import Judgement


@dataclass(frozen=True)
class Known:
    """What an implementation is known for: rules of graphs that it misses or dies of, REQUIREs that take it down
    (`fatal`, with operators), and operators whose sums and products it computes in other types, so that they overflow,
    or lose bits below the normal numbers.
    """

    missed: frozenset[str]
    deadly: frozenset[str]
    fatal: frozenset[str]
    limits: str
    overflows: frozenset[str]
    underflows: frozenset[str]
    angles: frozenset[str]
    crowded: int  # inputs of a COND_IF, its condition among them, that are too many

    def explains(self, graph: Graph, feeds: Mapping[str, Array], found: Judgement) -> str:
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
        if found.status is Status.VERDICT and any(
            op.op == "COND_IF" and len(op.inputs) == self.crowded for op in graph.main.operators
        ):
            return "COND_IF.L1"
        return self._floats(graph, feeds, found)

    def _floats(self, graph: Graph, feeds: Mapping[str, Array], found: Judgement) -> str:
        producers = graph.main.producers()
        operator = producers[found.tensor].op if found.tensor in producers else ""
        if found.status is not Status.WRONG:
            return ""
        if operator in self.angles:
            return f"angles of {operator}"
        if operator in self.overflows and ("inf" in found.text or "nan" in found.text):
            return f"overflow in {operator}"
        if operator in self.underflows and _underflows(graph, feeds, producers[found.tensor]):
            return f"underflow in {operator}"
        return ""


def _underflows(graph: Graph, feeds: Mapping[str, Array], operator: Operator) -> bool:
    """Whether a partial product of REDUCE_PRODUCT is below the normal numbers of the format."""
    values = dict(feeds) | {t.name: t.data for t in graph.main.tensors.values() if t.data is not None}
    with contextlib.suppress(TosaEngineError):
        oracle.run(graph, feeds, lambda _, name, array: values.__setitem__(name, array))
    factors = values.get(operator.inputs[0])
    if factors is None:
        return False
    with np.errstate(all="ignore"):
        partial = abs(np.cumprod(factors.astype(np.float64), operator.attributes["axis"]))
    least: Any = ml_dtypes.finfo(factors.dtype)  # type: ignore[no-untyped-call]
    return bool(((partial > 0) & (partial < float(least.smallest_normal))).any())


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
    deadly=frozenset(
        {
            "CONST.E1",
            "CONST_SHAPE.E1",
            "RESCALE.E15",
            "COND_IF.E1",
            "VARIABLE_READ.R4",
            "VARIABLE_WRITE.R4",
            "SCATTER.shape.values_out",
        }
    ),
    fatal=frozenset({"INTDIV.R1", "GATHER.R1", "SCATTER.R1"}),
    limits=r"\w+\.(L\d+|rank\.\w+)",
    overflows=SUMS,
    underflows=frozenset({"REDUCE_PRODUCT"}),
    angles=frozenset({"FFT2D", "RFFT2D"}),
    crowded=65,
)
KNOWN: Final[Mapping[str, Known]] = {"tosa_reference_model": REFERENCE_MODEL}
