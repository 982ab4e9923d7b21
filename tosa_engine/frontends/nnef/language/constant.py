"""The values of expressions that are known before the graph runs (section 3.3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import arithmetic
from .syntax import (
    Binary,
    BuiltIn,
    Comprehension,
    Conditional,
    Expression,
    Invocation,
    Literal,
    Name,
    Sequence,
    Subscript,
    Unary,
)
from .tree import Wrong

if TYPE_CHECKING:
    from collections.abc import Mapping


class Constants:
    """Values without tensors. What a subclass adds: names of tensors, invocations, `shape_of`.

    `wanted` says how the result will be called, for whoever makes tensors of it.
    """

    def value(self, node: Expression, scope: Mapping[str, Any], wanted: Any = None) -> Any:
        """The value of an expression, where `scope` has those of the identifiers. Raises Wrong."""
        if isinstance(node, Literal):
            return node.value
        if isinstance(node, Name):
            return self.name(node, scope)
        if isinstance(node, Sequence):
            if not isinstance(wanted, tuple) or len(wanted) != len(node.items):
                wanted = (None,) * len(node.items)
            items = tuple(self.value(item, scope, w) for item, w in zip(node.items, wanted))
            return arithmetic.array(items, node.place)
        if isinstance(node, Invocation):
            return self.invocation(node, scope, wanted)
        if isinstance(node, Binary):
            return self.binary(node, scope, wanted)
        if isinstance(node, Unary):
            return self.unary(node, scope, wanted)
        if isinstance(node, Conditional):
            return self._conditional(node, scope, wanted)
        if isinstance(node, Subscript):
            return self._subscript(node, scope)
        if isinstance(node, Comprehension):
            return self._comprehension(node, scope)
        return self.builtin(node, scope)

    def name(self, node: Name, scope: Mapping[str, Any]) -> Any:
        if node.text not in scope:
            raise Wrong("NNEF.Q1", f"'{node.text}' isn't a literal", node.place)
        return scope[node.text]

    def invocation(self, node: Invocation, scope: Mapping[str, Any], wanted: Any) -> Any:
        del scope, wanted
        raise Wrong("NNEF.Q1", f"the operation '{node.operation}' isn't a compile-time expression", node.place)

    def binary(self, node: Binary, scope: Mapping[str, Any], wanted: Any) -> Any:
        del wanted
        left = self.value(node.left, scope)
        return arithmetic.binary(node.operator, left, self.value(node.right, scope), node.place)

    def unary(self, node: Unary, scope: Mapping[str, Any], wanted: Any) -> Any:
        return arithmetic.unary(node.operator, self.value(node.operand, scope, wanted), node.place)

    def builtin(self, node: BuiltIn, scope: Mapping[str, Any]) -> Any:
        return arithmetic.builtin(node.function, self.value(node.argument, scope), node.place)

    def _conditional(self, node: Conditional, scope: Mapping[str, Any], wanted: Any) -> Any:
        """Only the branch that is taken has a value."""
        condition = self.value(node.condition, scope)
        if not isinstance(condition, bool):
            raise Wrong("NNEF.T8", "the condition must be true or false", node.condition.place)
        return self.value(node.yes if condition else node.no, scope, wanted)

    def _subscript(self, node: Subscript, scope: Mapping[str, Any]) -> Any:
        subject = self.value(node.subject, scope)
        ends = [None if end is None else self.value(end, scope) for end in (node.start, node.stop)]
        if not isinstance(subject, (tuple, str)) or any(type(end) not in (int, type(None)) for end in ends):
            raise Wrong("NNEF.T10", "a subscript needs an array or a string, and integers", node.place)
        if node.is_range:
            return arithmetic.section(subject, ends[0], ends[1], node.place)
        assert ends[0] is not None
        return arithmetic.item(subject, ends[0], node.place)

    def _comprehension(self, node: Comprehension, scope: Mapping[str, Any]) -> Any:
        sources = [self.value(source, scope) for _, source in node.iterators]
        if not all(isinstance(source, tuple) for source in sources):
            raise Wrong("NNEF.T9", "only arrays can be iterated", node.place)
        lengths = {len(source) for source in sources}
        if len(lengths) > 1:
            shown = " and ".join(str(len(source)) for source in sources)
            raise Wrong("NNEF.E3", f"the iterated arrays have {shown} items", node.place)
        items, inner = [], dict(scope)
        for values in zip(*sources):
            inner.update({name.text: value for (name, _), value in zip(node.iterators, values)})
            if node.condition is None or self._holds(node.condition, inner):
                items.append(self.value(node.result, inner))
        return arithmetic.array(tuple(items), node.place)

    def _holds(self, condition: Expression, scope: Mapping[str, Any]) -> bool:
        holds = self.value(condition, scope)
        if not isinstance(holds, bool):
            raise Wrong("NNEF.T9", "the condition must be true or false", condition.place)
        return holds


def constant_value(expression: Expression) -> Any:
    """The value of an expression without tensors; arrays and tuples become tuples. Raises Wrong."""
    return Constants().value(expression, {})
