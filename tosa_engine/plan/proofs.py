"""What is proved of operators before their kernels are asked for work: `Call.proved`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ranges import PROVED, Analysis, analyse_calls, transfer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..ranges import Finding
    from ..spec.table import Call
    from ..types import Array


def prove(calls: Iterable[Call]) -> Analysis:
    """Note in each operator of a block, in their order, what holds for all inputs of the block."""
    listed = list(calls)
    analysis = analyse_calls(listed)
    for call in listed:
        call.proved = _proved(analysis.findings[id(call.operator)])
    return analysis


def prove_alone(call: Call) -> Call:
    """Note in an operator what holds for all values of its inputs' types; the operator."""
    call.proved = _proved(transfer(call, {})[1])
    return call


def _proved(findings: Iterable[Finding]) -> dict[str, tuple[Array, Array]]:
    return {found.label: found.value for found in findings if found.verdict == PROVED}
