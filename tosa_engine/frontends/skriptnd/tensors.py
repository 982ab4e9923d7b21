"""Tensors of a composed graph, and the instances of operators between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...types import Array
    from .language.syntax import Operator, Place, Text

STORAGE: Final = {"int": np.int64, "real": np.float64, "bool": np.bool_, "str": np.object_}


@dataclass(slots=True, eq=False)
class TensorRef:
    """A tensor: `data` where it is known, of this shape or one value for all of it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: Array | None = None
    kind: str = "inner"  # input, variable, constant, inner
    named: bool = False
    accessible: bool = True

    @property
    def array(self) -> Array | None:
        return None if self.data is None else np.broadcast_to(self.data, self.shape)


@dataclass(slots=True, eq=False)
class Instance:
    """An operator with values for all of its symbols. `inputs` and `outputs` are tensors, packs of them, or None."""

    operator: Operator
    place: Place
    text: Text  # of the invocation
    symbols: dict[str, Any]
    types: Mapping[str, str]
    inputs: list[Any]
    outputs: list[Any] = field(default_factory=list)
    scope: str = ""

    @property
    def name(self) -> str:
        return self.operator.qualified


@dataclass(slots=True, eq=False)
class Body:
    """Nodes with the tensors that they give."""

    nodes: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class BranchNode:
    """COND_IF: a tensor decides between two bodies."""

    place: Place
    text: Text
    condition: TensorRef
    yes: Body
    no: Body
    outputs: list[TensorRef]


@dataclass(slots=True, eq=False)
class LoopNode:
    """WHILE_LOOP: `condition` and `body` read `carried`; `body` gives their next values."""

    place: Place
    text: Text
    initial: list[TensorRef]
    carried: list[TensorRef]
    condition: Body
    body: Body
    outputs: list[TensorRef]


@dataclass(slots=True, eq=False)
class ChooseNode:
    """The items of `yes` where a condition of one element holds, else those of `no`."""

    condition: TensorRef
    yes: TensorRef
    no: TensorRef
    output: TensorRef


@dataclass(slots=True, eq=False)
class Composed:
    """A graph down to the operators that are kept."""

    operator: Operator
    inputs: list[TensorRef]
    outputs: list[TensorRef]
    variables: list[TensorRef]
    nodes: list[Any]
    updates: list[tuple[TensorRef, TensorRef]]
    quantizations: list[tuple[str, Instance]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def tensors_of(value: Any) -> list[TensorRef]:
    """The tensors of an input or output, without null."""
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def constant_of(value: Any, dtype: str, name: str = "constant", shape: tuple[int, ...] = ()) -> TensorRef:
    """A tensor whose items all have this value."""
    return TensorRef(name, dtype, shape, np.asarray(value, STORAGE[dtype]), "constant")
