"""Channels that can be scaled: where dividing a writer's channel and multiplying its readers' weights changes nothing.

A set of `Channels` is one axis that several tensors share: operators that treat every channel alike and are positively
homogeneous, f(s x) = s f(x) for s > 0, hand it on (CLAMP at 0, pools, means, moves, sums of two of its tensors).
It begins at operators whose constants give each channel a scale (writers) and ends at those whose constants can take it
up again (readers). A set with an operator that is neither, or with a graph output, is pinned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tosa_engine.graph import Operator
from tosa_engine.spec import TABLE, traits_of

from ..legalize.weights import channel_axis, row_axes
from .steps import HANDS_ON

if TYPE_CHECKING:
    from tosa_engine.graph import Block, Graph
    from tosa_engine.types import Array

    Key = tuple[str, int]  # a tensor and its axis

# operators that hand on what both of these inputs have
JOINS: Final = {"ADD": (0, 1), "SUB": (0, 1), "MAXIMUM": (0, 1), "MINIMUM": (0, 1), "SELECT": (1, 2)}
COMPARISONS: Final = ("GREATER", "GREATER_EQUAL", "EQUAL")
LARGEST: Final = 2.0**16  # a scale and its inverse; beyond, a channel is as good as empty


@dataclass(frozen=True)
class Use:
    """An operator that writes, reads or adds to channels: its constant input `slot`, whose `axis` runs along them."""

    op: Operator
    slot: int
    axis: int | tuple[int, ...]


@dataclass
class Channels:
    """`size` channels of `tensors` (name -> axis). `pinned` says why they can't be scaled; empty where they can."""

    size: int
    tensors: dict[str, int] = field(default_factory=dict)
    writers: list[Use] = field(default_factory=list)
    readers: list[Use] = field(default_factory=list)
    addends: list[Use] = field(default_factory=list)
    pinned: str = ""

    @property
    def name(self) -> str:
        return self.writers[0].op.name


def channels_of(block: Block) -> list[Channels]:
    """All sets of channels of a block that have a writer, in the order of their first writers."""
    return _Search(block).run()


class _Search:
    """Follows the channels of every writer forwards; sets that meet in one operator become one."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.consumers = block.consumers()
        self.sets: dict[Key, Channels] = {}
        self.roots: set[Key] = set()
        self.todo: list[Key] = []

    def run(self) -> list[Channels]:
        for op in self.block.operators:
            for use in writers(self.block, op):
                key = (op.outputs[0], self._rank(op.outputs[0]) - 1)
                self._reach(key, None).writers.append(use)
                self.roots.add(key)
        while self.todo:
            self._follow(self.todo.pop())
        found = list({id(s): s for s in self.sets.values()}.values())
        for key, channels in self.sets.items():
            if key not in self.roots:
                channels.pinned = channels.pinned or f"'{key[0]}' comes from elsewhere"
        return [s for s in found if s.writers]

    def _rank(self, name: str) -> int:
        return len(self.block.tensors[name].shape or ())

    def _reach(self, key: Key, channels: Channels | None) -> Channels:
        """The set of a key; one that is in another set already joins the two."""
        known = self.sets.get(key)
        if known is None:
            shape = self.block.tensors[key[0]].shape or ()
            known = channels if channels is not None else Channels(shape[key[1]])
            self.sets[key] = known
            known.tensors[key[0]] = key[1]
            self.todo.append(key)
            if key[0] in self.block.outputs:
                known.pinned = f"'{key[0]}' is a graph output"
        if channels is not None and known is not channels:
            self._join(channels, known)
        return self.sets[key]

    def _join(self, into: Channels, other: Channels) -> None:
        conflict = any(into.tensors.get(name, axis) != axis for name, axis in other.tensors.items())
        into.tensors |= other.tensors
        into.writers += other.writers
        into.readers += other.readers
        into.addends += other.addends
        into.pinned = into.pinned or other.pinned or ("one tensor has it along two axes" if conflict else "")
        for key, channels in self.sets.items():
            if channels is other:
                self.sets[key] = into

    def _follow(self, key: Key) -> None:
        for op in self.consumers.get(key[0], []):
            channels = self.sets[key]
            found = reader(self.block, op, key)
            if found is not None:
                channels.readers.append(found)
            elif op.op in JOINS:
                self._join_operands(op, key)
            elif self._is_sign(op):
                continue
            else:
                step = HANDS_ON.get(op.op)
                axis = step(self.block, op, *key) if step is not None else None
                if axis is None:
                    channels.pinned = channels.pinned or f"{op.op} '{op.name}' isn't the same for every scale"
                    continue
                self.roots.add((op.outputs[0], axis))
                self._reach((op.outputs[0], axis), channels)

    def _is_sign(self, op: Operator) -> bool:
        """A comparison with 0: what it gives is the same for every scale."""
        constants = [self.block.tensors[name].data for name in op.inputs]
        return op.op in COMPARISONS and any(data is not None and not data.any() for data in constants)

    def _join_operands(self, op: Operator, key: Key) -> None:
        """Both operands have the same channels, or the other one is a constant that is scaled with them."""
        name, axis = key
        channels = self.sets[key]
        out = (op.outputs[0], axis)
        for slot in JOINS[op.op]:
            other = op.inputs[slot]
            if other == name:
                continue
            tensor = self.block.tensors[other]
            if tensor.data is not None:
                channels.addends.append(Use(op, slot, axis))
            elif (tensor.shape or ())[axis] != channels.size:
                channels.pinned = channels.pinned or f"{op.op} '{op.name}' adds the same to every channel"
            else:
                channels = self._reach((other, axis), channels)
        self.roots.add(out)
        self._reach(out, channels)


def writers(block: Block, op: Operator) -> list[Use]:
    """The use of an operator whose constants scale the channels (the last axis) of its result, if it is one."""
    weight = traits_of(op).weight
    if weight is not None:
        slots = [TABLE[op.op].position(name) for name in (weight.argument, weight.bias) if name]
        rows = row_axes(op.op)
        constant = all(block.tensors[op.inputs[slot]].data is not None for slot in slots)
        return [Use(op, slots[0], rows if len(rows) > 1 else rows[0])] if constant else []
    if op.op == "MUL":
        return [
            Use(op, slot, -1) for slot, name in enumerate(op.inputs[:2])
            if _per_channel(block, name, op.outputs[0]) and block.tensors[op.inputs[1 - slot]].data is None
        ]  # fmt: skip
    return []


def reader(block: Block, op: Operator, key: tuple[str, int]) -> Use | None:
    """The use of an operator whose constants can take up a scale of the channels that it reads, if it is one."""
    name, axis = key
    last = len(block.tensors[name].shape or ()) - 1
    weight = traits_of(op).weight
    if weight is not None and op.inputs[0] == name and axis == last:
        slot = TABLE[op.op].position(weight.argument)
        return Use(op, slot, channel_axis(op.op)) if block.tensors[op.inputs[slot]].data is not None else None
    if op.op == "MUL" and axis == last:
        slot = 1 - op.inputs[:2].index(name)
        if _per_channel(block, op.inputs[slot], op.outputs[0]):
            return Use(op, slot, -1)
    return None


def _per_channel(block: Block, name: str, out: str) -> bool:
    """A constant with one number for each index of the last axis of `out`, and more than one."""
    tensor, result = block.tensors[name], block.tensors[out].shape or ()
    shape = tensor.shape or ()
    return tensor.data is not None and tensor.size > 1 and shape[-1:] == result[-1:] == (tensor.size,)


def largest(block: Block, use: Use) -> Array:
    """The largest |weight| of each channel."""
    data = block.tensors[use.op.inputs[use.slot]].data
    assert data is not None
    axes = use.axis if isinstance(use.axis, tuple) else (use.axis % data.ndim,)
    rest = tuple(axis for axis in range(data.ndim) if axis not in axes)
    found: Array = np.abs(data.astype(np.float64)).max(axis=rest, initial=0.0).reshape(-1)
    return found


def power_of_two(scales: Array) -> Array:
    """The nearest powers of two: multiplying by them rounds nothing, so that the float function stays what it was."""
    usable = np.isfinite(scales) & (scales > 1 / LARGEST) & (scales < LARGEST)
    found: Array = np.exp2(np.rint(np.log2(np.where(usable, scales, 1.0))))
    return found


def scale(graph: Graph, channels: Channels, scales: Array) -> None:
    """Divide the channels by `scales` where they are written and multiply where they are read, in place."""
    block = graph.main
    for use in channels.writers:
        _multiply(block, use, 1 / scales)
        weight = traits_of(use.op).weight
        if weight is not None and weight.bias:
            _multiply(block, Use(use.op, TABLE[use.op.op].position(weight.bias), 0), 1 / scales)
    for use in channels.addends:
        _multiply(block, use, 1 / scales)
    for use in channels.readers:
        _multiply(block, use, scales)
    for name in channels.tensors:
        block.tensors[name].quant = None


def _multiply(block: Block, use: Use, factors: Array) -> None:
    """Give an operator a constant of its own, multiplied along the channels; a constant of one number becomes many."""
    old = block.tensors[use.op.inputs[use.slot]]
    assert old.data is not None
    shape = [1] * old.data.ndim
    if isinstance(use.axis, tuple):
        for axis in use.axis:
            shape[axis] = old.data.shape[axis]
    else:
        shape[use.axis] = factors.size
    data = (old.data.astype(np.float64) * factors.reshape(shape)).astype(np.float32)
    new = block.add(replace(old, name=block.fresh(f"{old.name}/scaled"), data=data, shape=data.shape, quant=None))
    at = next(i for i, op in enumerate(block.operators) if op is use.op)
    block.operators.insert(at, Operator("CONST", [], [new.name], location=use.op.location))
    use.op.inputs[use.slot] = new.name
