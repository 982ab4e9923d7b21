"""Seeing an operator of a graph through its entry: argument lists, type rows, ranks, shape letters, attributes.

These are the rules that every operator shares ("operator input tensors do not meet requirement of operator Arguments"
and "data types do not meet requirement of operator Supported Data Types", section 2.2). Labels: `OP.inputs`,
`OP.outputs`, `OP.types`, `OP.rank.ARG`, `OP.shape.ARG`, `OP.attribute.NAME`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ErrorIf, TosaEngineError, Unsupported
from ..types import DType
from .table import ENUMERATIONS, Argument, Attribute, Call, OpSpec, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ..graph import Graph, Operator, Tensor
    from ..types import Shape


class Binding:
    """The work of one `bind`: collects problems instead of stopping at the first."""

    def __init__(
        self, spec: OpSpec, operator: Operator, tensors: Mapping[str, Tensor], graph: Graph | None = None
    ) -> None:
        self.spec, self.operator, self.block_tensors = spec, operator, tensors
        self.problems: list[TosaEngineError] = []
        self.call = Call(spec, operator, {}, None, graph)

    def problem(self, rule: str, message: str, tensor: str = "") -> None:
        self.problems.append(ErrorIf(message, label=f"{self.spec.name}.{rule}", node=self.operator.name, tensor=tensor))

    def run(self) -> Call:
        if self._lists():
            self._attributes()
            self._row()
            ranked = [a for a in self.spec.arguments if self._rank(a)]
            self._letters(ranked)
            self._constants()
            if not self.problems and self.spec.sizes is not None:
                self._sizes(self.spec.sizes)
            if not self.problems and self.spec.within is not None:
                self._within(self.spec.within)
        return self.call

    def _sizes(self, sizes: Callable[[Call], Mapping[str, Any]]) -> None:
        try:
            self.call.names.update(sizes(self.call))
        except ErrorIf as problem:  # of a custom operator's attributes
            self.problems.append(problem)

    def _within(self, find: Callable[[Operator], OpSpec]) -> None:
        try:
            binding = bind(find(self.operator), self.operator, self.block_tensors, self.call.graph)
        except Unsupported as problem:
            self.problems.append(problem)
            return
        self.problems += binding.problems
        self.call.inner = binding.call

    def _lists(self) -> bool:
        """The operator's lists of names fit the entry's arguments."""
        sides = (
            ("inputs", self.spec.inputs, self.operator.inputs),
            ("outputs", self.spec.outputs, self.operator.outputs),
        )
        for side, arguments, names in sides:
            unknown = [n for n in names if n not in self.block_tensors]
            if unknown:
                self.problem(side, f"refers to tensors that the block doesn't have: {', '.join(unknown)}")
                continue
            found = [self.block_tensors[n] for n in names]
            last = arguments[-1] if arguments and arguments[-1].is_list else None
            single = len(arguments) - 1 if last is not None else len(arguments)
            if last is not None and len(found) >= single:
                if len(found) - single < last.least:
                    self.problem(side, f"needs at least one tensor in the list '{last.name}'")
                self.call.tensors[last.name] = found[single:]
                self.call.tensors.update({a.name: t for a, t in zip(arguments, found[:single], strict=False)})
            elif len(found) != len(arguments):
                wanted = ", ".join(a.name for a in arguments)
                self.problem(side, f"needs {len(arguments)} {side} ({wanted or 'none'}), got {len(found)}")
            else:
                self.call.tensors.update({a.name: t for a, t in zip(arguments, found, strict=True)})
        return not self.problems

    def _attributes(self) -> None:
        for attribute in self.spec.attributes:
            value = self.operator.attributes.get(attribute.name, attribute.default)
            self.call.names[attribute.name] = value
            wrong = _attribute_problem(attribute, value)
            if not wrong and attribute.kind == "graph" and self.call.graph and self.call.region(attribute.name) is None:
                wrong = f"'{attribute.name}': the graph has no region '{value}' with a block"
            if wrong:
                self.problem(f"attribute.{attribute.name}", wrong)

    def _tensors(self, argument: Argument) -> list[Tensor]:
        found = self.call.tensors[argument.name]
        return found if isinstance(found, list) else [found]

    def _row(self) -> None:
        """Choose the row whose formats are those of the tensors (and of `acc_type`)."""
        key = self._formats()
        row = self.spec.found_rows.get(key) if key is not None else None
        if row is None:
            formats = self.spec.formats_by_row
            row = next((r for r, wanted in zip(self.spec.rows, formats, strict=True) if self._fits(r, wanted)), None)
            if row is not None and key is not None:
                self.spec.found_rows[key] = row
        if row is not None:
            self.call.row = row
            self.call.names.update(row.types)
            self.call.names.update(row.letters)
            return
        got = {a.name: t.dtype for a in self.spec.arguments for t in self._tensors(a) if not a.is_shape}
        shown = ", ".join(f"{name}: {dtype}" for name, dtype in got.items())
        named = [a.name for a in self.spec.attributes if a.kind in ("acc_type", "dtype")]
        shown = ", ".join(filter(None, [shown, *(f"{name}: {self.call.names[name]}" for name in named)]))
        known = "; ".join(r.key for r in self.spec.rows)
        self.problem("types", f"no row of supported data types has {shown}; rows: {known}")

    def _formats(self) -> tuple[str, ...] | None:
        """The names of the formats that tell a row; None where there is a list of tensors, or a wrong attribute."""
        found = [self.call.names[name] for name in self.spec.formats_named]
        for tensor in self.call.tensors.values():
            if isinstance(tensor, list):
                return None
            found.append(tensor.dtype)
        return tuple([one.name for one in found]) if all(isinstance(one, DType) for one in found) else None

    def _fits(self, row: Row, formats: Sequence[tuple[str, DType]]) -> bool:
        for name, wanted in formats:
            found = self.call.tensors[name]
            if found.dtype is not wanted if not isinstance(found, list) else any(t.dtype is not wanted for t in found):
                return False
        if "acc_t" in row.types and self.call.names.get("acc_type", row.types["acc_t"]) is not row.types["acc_t"]:
            return False
        return all(a.kind != "dtype" or self.call.names[a.name] is row.types[a.type] for a in self.spec.attributes)

    def _rank(self, argument: Argument) -> bool:
        low, high = argument.rank
        good = True
        for tensor in self._tensors(argument):
            if tensor.shape is None:
                good = False
                if argument in self.spec.inputs:
                    self.problem(f"rank.{argument.name}", "the tensor's shape is unknown", tensor.name)
            elif len(tensor.shape) < low or (high is not None and len(tensor.shape) > high):
                bounds = f"{low}" if low == high else f"{low} to {'MAX_RANK' if high is None else high}"
                message = f"needs rank {bounds}, got rank {len(tensor.shape)} {list(tensor.shape)}"
                self.problem(f"rank.{argument.name}", message, tensor.name)
                good = False
        return good

    def _letters(self, arguments: list[Argument]) -> None:
        waiting = [(a, t) for a in arguments if not a.is_list for t in self._tensors(a)]
        for _ in range(2):  # a second pass resolves letters that a later argument binds
            waiting = [(a, t) for a, t in waiting if not self._bind_shape(a, t)]
        for argument in arguments:
            if argument.is_list:
                self.call.names[argument.shape] = [t.shape for t in self._tensors(argument)]

    def _bind_shape(self, argument: Argument, tensor: Tensor) -> bool:
        """Bind or compare one shape. False: a letter isn't bound yet."""
        assert tensor.shape is not None
        text, names = argument.shape, self.call.names
        if not text.startswith("["):
            if names.setdefault(text, tensor.shape) != tensor.shape:
                message = f"needs shape {list(names[text])}, got {list(tensor.shape)}"
                self.problem(f"shape.{argument.name}", message, tensor.name)
            return True
        letters = _parts(text)
        if len(letters) != len(tensor.shape):
            return True  # the rank rule has said it
        for (letter, alone), size in zip(letters, tensor.shape, strict=True):
            if alone:
                wanted = names.setdefault(letter, size)
            else:
                value = _size(letter, names)
                if value is None:
                    return False
                wanted = value
            if wanted != size:
                message = f"needs shape {text} with {letter} = {wanted}, got {list(tensor.shape)}"
                self.problem(f"shape.{argument.name}", message, tensor.name)
                break
        return True

    def _constants(self) -> None:
        for argument in self.spec.inputs:
            if not argument.ctc or argument.name not in self.call.tensors:
                continue
            data = self.call.tensors[argument.name].data
            if data is not None and argument.shape == "[1]":
                self.call.names[argument.name] = data.reshape(-1)[0].item() if data.size else None
            else:
                self.call.names.setdefault(argument.name, data)


@cache
def _parts(shape: str) -> tuple[tuple[str, bool], ...]:
    """The dimensions of a shape in letters, and whether each is a letter of its own."""
    return tuple((part.strip(), part.strip().isidentifier()) for part in shape[1:-1].split(","))


def _size(text: str, names: Mapping[str, Any]) -> int | None:
    """The value of a dimension like `C*M` or `W/2 + 1`; None while one of its names isn't bound."""
    quotient, _, added = text.partition("+")
    product, _, divisor = quotient.partition("/")
    value = _product(product, names)
    return None if value is None else value // int(divisor or 1) + int(added or 0)


def _product(text: str, names: Mapping[str, Any]) -> int | None:
    """The value of a product like `C*M` or `2*rank(shape1)`; None while one of its names isn't bound."""
    value = 1
    for factor in text.split("*"):
        word = factor.strip()
        if word.isdigit():
            value *= int(word)
        elif word.startswith("rank("):
            shape: Shape | None = names.get(word[5:-1])
            if shape is None:
                return None
            value *= len(shape)
        elif word in names:
            value *= names[word]
        else:
            return None
    return value


def _attribute_problem(attribute: Attribute, value: Any) -> str:
    """What is wrong with an attribute's value, or nothing."""
    kind = attribute.kind
    if value is None:
        return "" if attribute.optional else f"attribute '{attribute.name}' is missing"
    if kind == "bool":
        good = isinstance(value, (bool, np.bool_))
    elif kind == "i32":
        good = _is_int32(value)
    elif kind.startswith("i32["):
        length = kind[4:-1]
        good = isinstance(value, tuple) and all(_is_int32(v) for v in value)
        good = good and (not length.isdigit() or len(value) == int(length))
    elif kind in _CLASSES:
        good = isinstance(value, _CLASSES[kind])
    elif kind in ENUMERATIONS:
        good = value in ENUMERATIONS[kind]
    else:
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "" if good else f"attribute '{attribute.name}' needs {_WORDS.get(kind, kind)}, got {value!r}"


_CLASSES: Mapping[str, type] = {
    "acc_type": DType, "dtype": DType, "string": str, "graph": str, "bytes": bytes, "array": np.ndarray,
}  # fmt: skip
_WORDS = {
    "i32": "a 32-bit integer", "bool": "true or false", "acc_type": "an accumulator type", "value": "a number",
    "string": "text", "graph": "the name of a region", "dtype": "a number format", "array": "a numpy array",
    "i32[2]": "2 integers", "i32[3]": "3 integers", "i32[4]": "4 integers", "i32[6]": "6 integers",
    "i32[rank]": "integers", **{kind: " or ".join(words) for kind, words in ENUMERATIONS.items()},
}  # fmt: skip


def _is_int32(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 31) <= value < 1 << 31


def bind(spec: OpSpec, operator: Operator, tensors: Mapping[str, Tensor], graph: Graph | None = None) -> Binding:
    """Bind an operator; outputs may have unknown shapes (shape inference). Problems are in the result."""
    binding = Binding(spec, operator, tensors, graph)
    binding.run()
    return binding
