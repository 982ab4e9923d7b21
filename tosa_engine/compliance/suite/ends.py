"""Accumulators at both ends of their formats: exactly there, and one step beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import oracle
from ...errors import RequireViolation

if TYPE_CHECKING:
    from ...graph import Graph, Tensor
    from ...types import Array


def to_the_ends(graph: Graph, feeds: dict[str, Array]) -> None:
    """Change the bias so that every channel reaches an end of the accumulator's format: the odd ones the least number,
    the even ones the greatest. Nothing is changed where a product sum is beyond already, or the bias is of floats.
    """
    operator = graph.main.operators[-1]
    bias = graph.main.tensors[operator.inputs[2]]
    if bias.dtype.is_float:
        return
    _set(graph, feeds, bias, np.zeros_like(_value(feeds, bias)))
    try:
        sums = oracle.run(graph, feeds)[operator.outputs[0]].astype(np.int64)
    except RequireViolation:
        return
    channels = sums.reshape(-1, sums.shape[-1])
    low, high = bias.dtype.minimum - channels.min(0), bias.dtype.maximum - channels.max(0)
    chosen = np.where(np.arange(len(low)) % 2 == 1, low, high)
    if bias.size == 1:
        chosen = np.array([bias.dtype.maximum - channels.max()])
    fits = (bias.dtype.minimum <= chosen) & (chosen <= bias.dtype.maximum)
    _set(graph, feeds, bias, np.where(fits, chosen, 0).astype(bias.dtype.storage))


def _value(feeds: dict[str, Array], tensor: Tensor) -> Array:
    return feeds[tensor.name] if tensor.data is None else tensor.data


def _set(graph: Graph, feeds: dict[str, Array], tensor: Tensor, value: Array) -> None:
    if tensor.data is None:
        feeds[tensor.name] = value
    else:
        graph.main.tensors[tensor.name].data = value
