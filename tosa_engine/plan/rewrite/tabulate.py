"""Functions of one int8 tensor, however many operators compute them, as one TABLE.

An int8 has 256 values, so that the oracle can try them all (`passes.folding`): the results are the entries, and where
no REQUIRE fails for any of them, none fails in a run. x * sigmoid(x), or a product with a constant between RESCALEs,
then is one lookup, as a rule in the step that computes x (`in_place`). A RESHAPE in front of a function goes behind
it.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ... import types
from ...graph import Block, Graph, Operator, Region, Tensor
from ...passes import folding
from ...spec import bind_operator
from ..single import is_known

if TYPE_CHECKING:
    from collections.abc import Collection

    from ...spec.table import Call
    from ...types import Array

VALUES = np.arange(types.i8.minimum, types.i8.maximum + 1, dtype=np.int8)
MOST = 64  # operators of a function
FAILURES = 16  # of functions with a REQUIRE that fails, after which no others are tried
FREE = ("RESHAPE", "CLAMP")  # what costs nothing behind another operator


class Functions:
    """Looks for functions in one block's operators; adds the entries to `block` and to `constants`."""

    def __init__(self, calls: list[Call], block: Block, constants: dict[str, Array], keep: Collection[str]) -> None:
        self.calls, self.block, self.constants = calls, block, constants
        self.fixed = {*keep, *block.outputs}
        self.position = {name: i for i, call in enumerate(calls) for name in call.operator.outputs}
        self.readers: dict[str, set[int]] = {}
        for i, call in enumerate(calls):
            for name in call.operator.inputs:
                self.readers.setdefault(name, set()).add(i)

    def run(self) -> list[Call]:
        """The operators, with a TABLE instead of those that compute a function, each of the farthest tensor that only
        they stand behind. The last ones come first, so that no part of a function is taken for the whole.
        """
        roots, failed = self.roots(), 0
        replaced: dict[int, list[Call]] = {}
        for i in reversed(range(len(self.calls))):
            call = self.calls[i]
            found = roots.get(call.operator.outputs[0]) if call.operator.outputs else None
            if i in replaced or found is None or call.spec.name == "RESHAPE" or _written(call).dtype is not types.i8:
                continue
            functions: list[tuple[str, set[int]]] = []  # from the nearest tensor on
            while found is not None:
                inside = self.between(found, i)
                if len(inside) > MOST or replaced.keys() & inside or not self.closed(inside, i):
                    break  # and so it is of tensors that are farther away
                functions.append((found, inside))
                found = roots.get(found)
            for root, inside in reversed(functions):
                if failed == FAILURES or not self.worth(root, inside):
                    continue
                listed = [self.calls[k] for k in sorted(inside)]
                entries = entries_of(listed, root)
                if entries is not None:
                    replaced |= {k: [] for k in inside} | {i: self.table(listed, root, entries)}
                    break
                failed += 1
        return [call for i, old in enumerate(self.calls) for call in replaced.get(i, [old])]

    def roots(self) -> dict[str, str | None]:
        """The nearest int8 tensor that a tensor is a function of, element by element in their order; that tensor's
        nearest one is another one, and so on. Computed tensors that are no such function aren't listed, or have None.
        """
        found: dict[str, str | None] = {}
        depth: dict[str | None, int] = {None: 0}

        def common(one: str | None, other: str | None) -> str | None:
            """The nearest tensor that both are, or are functions of."""
            while one != other:
                if depth[one] >= depth[other]:
                    one = found.get(one or "")
                else:
                    other = found.get(other or "")
            return one

        for call in self.calls:
            if not is_elementwise(call):
                continue
            read = [t for t in _read(call) if t.data is None]
            each = [t.name if t.dtype is types.i8 else found.get(t.name) for t in read]
            for name in each:
                depth.setdefault(name, 1)
            nearest = reduce(common, each) if each else None
            output = _written(call)
            found[output.name] = nearest
            if output.dtype is types.i8:
                depth[output.name] = depth[nearest] + 1
        return found

    def between(self, root: str, last: int) -> set[int]:
        """The operators that compute the last one's output from the root, by their positions."""
        found, pending = set[int](), [last]
        while pending and len(found) <= MOST:
            i = pending.pop()
            found.add(i)
            names = [t.name for t in _read(self.calls[i]) if t.data is None and t.name != root]
            pending += [self.position[name] for name in names if self.position[name] not in found]
        return found

    def closed(self, inside: set[int], last: int) -> bool:
        """Whether nobody else wants what is computed on the way."""
        names = [self.calls[i].operator.outputs[0] for i in inside if i != last]
        return not any(name in self.fixed or self.readers[name] - inside for name in names)

    def worth(self, root: str, inside: set[int]) -> bool:
        """Whether a TABLE is faster: of several operators, of one that isn't vector code, of one behind a RESCALE."""
        heavy = [self.calls[i] for i in inside if self.calls[i].spec.name not in FREE]
        if len(heavy) != 1:
            return bool(heavy)
        if heavy[0].spec.name == "TABLE":
            return False
        if heavy[0].spec.name == "RESCALE" and (heavy[0].input_unsigned or heavy[0].output_unsigned):
            return True
        ends = root in self.position and self.calls[self.position[root]].spec.name in ("RESCALE", "CLAMP")
        alone = root not in self.fixed and self.readers[root] <= inside
        return ends and alone

    def table(self, listed: list[Call], root: str, entries: Array) -> list[Call]:
        """TABLE of the root, and a RESHAPE where the result has another shape."""
        last = listed[-1]
        result, x = _written(last), self.block.tensors[root]
        name, behind = result.name, x.shape != result.shape
        if behind:
            name = self.block.add(Tensor(self.block.fresh(f"{name}_as_table"), types.i8, x.shape)).name
        table = self.constant(f"{name}_entries", entries, types.i8)
        found = [Operator("TABLE", [root, table], [name], location=last.operator.location)]
        if behind:
            shape = self.constant(f"{result.name}_shape", np.array(result.shape, np.int64), types.shape)
            found.append(Operator("RESHAPE", [name, shape], [result.name], location=last.operator.location))
        calls = [bind_operator(operator, self.block, last.graph) for operator in found]
        calls[0].stands_for = tuple(call for call in listed if call.spec.name != "RESHAPE")
        return calls

    def constant(self, stem: str, values: Array, dtype: types.DType) -> str:
        tensor = self.block.add(Tensor(self.block.fresh(stem), dtype, values.shape, values))
        self.constants[tensor.name] = values
        return tensor.name


def _read(call: Call) -> list[Tensor]:
    """The tensors whose elements an operator reads."""
    return [call.tensor(a.name) for a in call.spec.inputs if not a.is_shape]


def _written(call: Call) -> Tensor:
    return call.tensor(call.spec.outputs[0].name)


def is_elementwise(call: Call) -> bool:
    """Whether an operator computes each element from those at the same place, and from constants of one element."""
    each, moves = call.spec.traits.elementwise, call.spec.traits.moves
    if call.spec.name != "RESHAPE" and (each is None or (moves is not None and moves.view is not None)):
        return False
    output = _written(call)
    if not is_known(call) or output.dtype.is_float:
        return False
    if each is not None and each.by_channel and call[each.by_channel]:
        return False
    return all(
        t.size == (output.size if t.data is None else 1) for t in _read(call) if t is not call.tensors.get("table")
    )


def entries_of(calls: list[Call], root: str) -> Array | None:
    """What the operators make of every int8, in the order of the values; None where a REQUIRE fails."""
    block = Block("values")
    names = {root: block.add(Tensor(root, types.i8, VALUES.shape, VALUES)).name}
    for call in calls:
        operator, output = call.operator, _written(call)
        if call.spec.name == "RESHAPE":
            names[output.name] = names[operator.inputs[0]]
            continue
        for tensor in _read(call):
            if tensor.name not in names:
                assert tensor.data is not None
                values = tensor.data.reshape(-1)
                names[tensor.name] = block.add(Tensor(tensor.name, tensor.dtype, values.shape, values)).name
        names[output.name] = block.add(Tensor(output.name, output.dtype, VALUES.shape)).name
        inputs = [names[name] for name in operator.inputs]
        block.operators.append(Operator(operator.op, inputs, [output.name], operator.attributes))
    folding.change(Graph([Region("values", [block])]))
    return block.tensors[names[_written(calls[-1]).name]].data
