"""Writing graphs in Python, operator by operator, with the shapes and types that the op table infers.

b = Builder()
x = b.input(types.i8, (1, 8, 8, 3))
y = b.op("MAX_POOL2D", x, kernel=(2, 2), stride=(2, 2), pad=(0, 0, 0, 0))
b.output(y)
graph = b.graph()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import types
from .check import validate
from .errors import UsageError, raise_all
from .graph import Block, Graph, Operator, Region, Tensor, new_graph
from .infer import violations
from .lower.writer import Writer
from .spec import TABLE
from .spec.bind import bind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .spec import Argument, OpSpec, Row
    from .target import Target
    from .types import Array, DType, Shape

    Value = Tensor | Array | int | float | Sequence[Any]


class Builder:
    """A graph in the making, or a region of one. Errors are raised at the operator that has them."""

    def __init__(self, source: str = "", *, into: tuple[Graph, Block] | None = None) -> None:
        graph = new_graph(source)
        self._graph, self._block = into if into is not None else (graph, graph.main)
        self._writer = Writer(self._block)

    def input(self, dtype: DType, shape: Shape, name: str = "") -> Tensor:
        """A new input of the graph (or region)."""
        tensor = self._writer.tensor(name or "input", dtype, tuple(shape))
        self._block.inputs.append(tensor.name)
        return tensor

    def const(self, values: Any, dtype: DType | None = None, name: str = "") -> Tensor:
        """A constant; its shape is that of `values`. Without `dtype` the values must be an array whose dtype names one.

        Raises:
            UsageError: the format isn't given and not clear, or the values aren't values of it.
        """
        if dtype is None:
            dtype = types.from_numpy(values.dtype) if isinstance(values, np.ndarray) else None
        if dtype is None:
            known = "bool, int8, int16, int32, a float of numpy's or of ml_dtypes'"
            raise UsageError(f"a constant needs a dtype, unless it is an array of {known}")
        given = np.asarray(values)
        data = np.asarray(given, dtype.storage)
        if not np.array_equal(data, given, equal_nan=dtype.is_float) and not dtype.is_float:
            raise UsageError(f"the values of the constant aren't all values of {dtype}: {given.tolist()}")
        return self._writer.constant(name or "const", dtype, data)

    def op(self, op: str, *inputs: Value | list[Tensor], dtype: Any = None, output: str = "", **attributes: Any) -> Any:
        """Add an operator; its output (a list of them where the entry has a list, None where it has none).

        Args:
            op: the specification's name, in upper case.
            inputs: the arguments in the specification's order; a list of tensors for an argument that is a list.
                Numbers and arrays become constants, of the type that the argument needs.
            dtype: the output's format where the inputs leave a choice (RESCALE, CAST); a list for a list of outputs.
            output: the name of the output.
            attributes: by the specification's names. `acc_type` may be left out where there is only one.

        Raises:
            UsageError: no such operator, or the types leave a choice. ErrorIf: the operator isn't legal.
        """
        if op not in TABLE:
            raise UsageError(f"no operator {op}")
        spec = TABLE[op]
        names = self._inputs(spec, list(inputs))
        operator = Operator(op, names, [], attributes)
        formats = self._formats(spec, operator, dtype)
        outputs = [self._writer.tensor(output or op.lower(), wanted, None) for wanted in formats]
        operator.outputs = [t.name for t in outputs]
        legal = False
        try:
            self._infer(spec, operator, outputs)
            legal = True
        finally:
            if not legal:
                for tensor in outputs:
                    del self._block.tensors[tensor.name]
        self._writer.append(operator)
        if spec.outputs and spec.outputs[-1].is_list:
            return outputs[0] if isinstance(dtype, types.DType) else outputs
        return outputs[0] if outputs else None

    def output(self, *tensors: Tensor) -> None:
        """Make tensors outputs of the graph (or region), in this order."""
        self._block.outputs += [t.name for t in tensors]

    def region(self, name: str) -> Builder:
        """A builder of a new region, for COND_IF and WHILE_LOOP; finish it before the operator that runs it."""
        if self._graph.region(name) is not None:
            raise UsageError(f"there is a region '{name}' already")
        block = Block(name)
        self._graph.regions.append(Region(name, [block]))
        return Builder(into=(self._graph, block))

    def graph(self, target: Target | None = None) -> Graph:
        """The graph, checked for a target (None: all profiles and extensions, level 8K).

        Raises:
            TosaEngineError: what `check.validate` finds.
        """
        validate(self._graph, target)
        return self._graph.copy()

    def fully_connected(
        self, input: Tensor, weight: Tensor | Array, bias: Tensor | Array, input_zp: int = 0, weight_zp: int = 0
    ) -> Tensor:
        """input [N, IC] times weight [OC, IC] plus bias [OC], as [N, OC]: FULLY_CONNECTED of TOSA before 1.0.

        It becomes RESHAPE, CONV2D with a kernel of 1 x 1, RESHAPE.
        """
        weight = weight if isinstance(weight, Tensor) else self.const(weight)
        (n, ic), (oc, _) = input.shape or (), weight.shape or ()
        x = self.op("RESHAPE", input, [n, 1, 1, ic])
        w = self.op("RESHAPE", weight, [oc, 1, 1, ic])
        one: dict[str, Any] = {"stride": (1, 1), "dilation": (1, 1), "pad": (0, 0, 0, 0)}
        y = self.op("CONV2D", x, w, bias, input_zp, weight_zp, local_bound=False, **one)
        found: Tensor = self.op("RESHAPE", y, [n, oc])
        return found

    def _inputs(self, spec: OpSpec, given: list[Any]) -> list[str]:
        """The names of the inputs; constants are made for what isn't a tensor."""
        if len(given) != len(spec.inputs):
            wanted = ", ".join(a.name for a in spec.inputs) or "none"
            raise UsageError(f"{spec.name} needs {len(spec.inputs)} inputs ({wanted}), got {len(given)}")
        known = {a.type: v.dtype for a, v in zip(spec.inputs, given, strict=True) if isinstance(v, Tensor)}
        names: list[str] = []
        for argument, value in zip(spec.inputs, given, strict=True):
            if argument.is_list:
                names += [t.name for t in value]
            else:
                names.append(
                    (value if isinstance(value, Tensor) else self._constant(spec, argument, value, known)).name
                )
        return names

    def _constant(self, spec: OpSpec, argument: Argument, value: Any, known: dict[str, DType]) -> Tensor:
        if argument.shape == "[1]" and np.ndim(value) == 0:
            value = [value]
        fixed = types.BY_NAME.get(argument.type.removesuffix("_t"))
        rows = [r for r in spec.rows if all(r.types.get(name, wanted) is wanted for name, wanted in known.items())]
        choice = {r.types[argument.type] for r in rows if argument.type in r.types}
        dtype = fixed or known.get(argument.type) or (choice.pop() if len(choice) == 1 else None)
        return self.const(value, dtype, argument.name)

    def _formats(self, spec: OpSpec, operator: Operator, dtype: Any) -> list[DType]:
        """The formats of the outputs; sets `acc_type` where the rows leave no choice."""
        if dtype is not None:
            wanted = [dtype] if isinstance(dtype, types.DType) else list(dtype)
        elif spec.outputs and spec.outputs[-1].is_list:
            if spec.formats is None:
                raise UsageError(f"{spec.name} needs dtype: the formats of its outputs")
            return list(spec.formats(bind(spec, operator, self._block.tensors, self._graph).call))
        else:
            wanted = []
        if not spec.outputs or spec.outputs[-1].is_list:
            return wanted
        argument = spec.outputs[0]
        fixed = types.BY_NAME.get(argument.type.removesuffix("_t"))
        rows = [r for r in spec.rows if self._fits(spec, r, operator, wanted)]
        choice = list(dict.fromkeys(fixed or r.types[argument.type] for r in rows))
        if len(choice) != 1:
            shown = ", ".join(map(str, choice)) or "none"
            raise UsageError(f"{spec.name}: the inputs leave a choice of outputs: {shown}; give dtype")
        accumulators = list(dict.fromkeys(r.types["acc_t"] for r in rows if "acc_t" in r.types))
        if len(accumulators) == 1 and any(a.name == "acc_type" for a in spec.attributes):
            operator.attributes.setdefault("acc_type", accumulators[0])
        return choice

    def _fits(self, spec: OpSpec, row: Row, operator: Operator, wanted: list[DType]) -> bool:
        single = [a for a in spec.inputs if not a.is_list]
        found = {a.type: self._block.tensors[n].dtype for a, n in zip(single, operator.inputs, strict=False)}
        if spec.inputs and spec.inputs[-1].is_list and len(operator.inputs) > len(single):
            found[spec.inputs[-1].type] = self._block.tensors[operator.inputs[-1]].dtype
        found |= {a.type: dtype for a, dtype in zip(spec.outputs, wanted, strict=False)}
        if operator.attributes.get("acc_type") is not None:
            found["acc_t"] = operator.attributes["acc_type"]
        return all(row.types.get(name, dtype) is dtype for name, dtype in found.items())

    def _infer(self, spec: OpSpec, operator: Operator, outputs: list[Tensor]) -> None:
        """Fill in the shapes of the outputs, and refuse what isn't legal."""
        first = bind(spec, operator, self._block.tensors, self._graph)
        raise_all(first.problems or violations(first.call))
        for tensor, shape in zip(outputs, spec.shapes(first.call), strict=False):
            tensor.shape = tuple(int(d) for d in shape)
        again = bind(spec, operator, self._block.tensors, self._graph)
        raise_all(again.problems or violations(again.call))
