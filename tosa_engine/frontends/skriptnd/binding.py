"""An operator with concrete attributes and inputs: all of its symbols, checks and output shapes (sections 2.5 - 2.9).

The order is that of section 2.6.1: attributes that are given, shapes of inputs as soon as they can be told apart,
defaults that depend on them, lengths of packs; then helper symbols and assertions, each as early as it can be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import ParseError
from .language import affine
from .language.evaluation import Evaluator, is_tensor
from .language.scalars import Wrong, kind_of, shown
from .language.syntax import Expand, Expression, List, Name
from .shapes import Binder
from .tensors import Instance, TensorRef, constant_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .language.syntax import Declaration, Operator, Place, Target, Text, TypeSpec

NUMERIC: Final = ("int", "real")
FAMILIES: Final[Mapping[str, Sequence[str]]] = {
    "type": ("int", "real", "bool", "str"), "arith": ("int", "real", "bool"), "num": NUMERIC,
    "int": ("int",), "real": ("real",), "bool": ("bool",), "str": ("str",),
}  # fmt: skip


class Instantiation:
    """Binds one invocation. `given` are its attributes, `arguments` its inputs: tensors, packs, values or None."""

    def __init__(self, operator: Operator, place: Place, text: Text, scope: str = "") -> None:
        self.operator, self.place, self.text, self.scope = operator, place, text, scope
        self.symbols: dict[str, Any] = {}
        self.types: dict[str, str] = {}
        self.evaluator = Evaluator(self.symbols, operator.text, self.types)
        self.binder = Binder(self.evaluator, self.fail)
        self._checked: set[int] = set()
        self._helped: set[int] = set()
        self._pending: dict[str, Any] = {}

    def fail(self, message: str, label: str) -> ParseError:
        """An error at the invocation."""
        return self.text.error(f"'{self.operator.name}': {message}", self.place, label)

    def run(
        self, given: Mapping[str, Any], arguments: Sequence[Any], types: Sequence[str] = (), *, early: bool = True
    ) -> Instance:
        """Raises ParseError."""
        operator = self.operator
        try:
            self._given_types(types)
            self._given_attributes(given)
            inputs = self._bind_inputs(arguments)
            self._finish_attributes(given)
            self._default_types()
            self._helpers()
            instance = Instance(operator, self.place, self.text, self.symbols, self.types, inputs, scope=self.scope)
            if early:
                instance.outputs = [self._output(d) for d in operator.outputs]
        except Wrong as wrong:
            raise self.fail(wrong.message, wrong.label) from None
        except ParseError as problem:
            if problem.file == self.text.file:
                raise
            inside = f"{problem.message} (at {problem.file}:{problem.line}:{problem.column})"
            raise self.fail(inside, problem.label) from None
        return instance

    # types

    def _given_types(self, types: Sequence[str]) -> None:
        if len(types) > len(self.operator.types):
            raise Wrong(f"{len(types)} types for {len(self.operator.types)} generic ones", "SKND.G1")
        for declared, found in zip(self.operator.types, types, strict=False):
            self._bind_type(declared.name, found)

    def _bind_type(self, name: str, found: str) -> None:
        declared = next((t for t in self.operator.types if t.name == name), None)
        if declared is None:
            return
        if found not in FAMILIES[declared.base]:
            raise Wrong(f"'{name}' is {declared.base}, not {found}", "SKND.G2")
        if self.types.setdefault(name, found) != found:
            raise Wrong(f"'{name}' is {self.types[name]} and {found}", "SKND.G3")

    def _default_types(self) -> None:
        for declared in self.operator.types:
            if declared.name not in self.types:
                if declared.default is None:
                    raise Wrong(f"the type '{declared.name}' isn't known; give it as <...>", "SKND.G4")
                self._bind_type(declared.name, declared.default)

    def typed(self, value: Any, name: str, what: str) -> Any:
        """A value of the type `name`; integers where real numbers are wanted become such."""
        if value is None:
            return None
        if isinstance(value, list):
            return [self.typed(v, name, what) for v in value]
        kind = kind_of(value)
        if any(t.name == name for t in self.operator.types):
            wanted = self.types.get(name)
            if wanted == "real" and kind == "int":
                return float(value)
            self._bind_type(name, kind)
            return value
        if name == "real" and kind == "int":
            return float(value)
        if kind not in FAMILIES.get(name, ()):
            raise Wrong(f"{what} must be {name}, not {kind}", "SKND.A3")
        return value

    # attributes

    def _given_attributes(self, given: Mapping[str, Any]) -> None:
        declared = {d.name: d for d in self.operator.attributes}
        for name in given:
            if name not in declared:
                known = ", ".join(declared) or "none"
                raise Wrong(f"there is no attribute '{name}'; attributes are {known}", "SKND.A2")
        for d in self.operator.attributes:
            if d.name in given:
                if given[d.name] is None and d.default is not None:
                    continue
                self._take_attribute(d, given[d.name])
            elif d.type.optional:
                self.symbols[d.name] = None
            elif d.default is not None and not set(affine.names_in(d.default)):
                value = self.evaluator.value(d.default)
                if not d.type.packed:
                    self._take_attribute(d, value)

    def _take_attribute(self, d: Declaration, value: Any) -> None:
        if value is None and not d.type.optional:
            raise Wrong(f"attribute '{d.name}' is null", "SKND.A4")
        value = self.typed(value, d.type.name, f"attribute '{d.name}'")
        if isinstance(value, list) and not d.type.packed:
            raise Wrong(f"attribute '{d.name}' isn't a pack", "SKND.A3")
        if d.type.packed and value is not None and not isinstance(value, list):
            self._pending[d.name] = value
            return
        self.symbols[d.name] = value

    def _finish_attributes(self, given: Mapping[str, Any]) -> None:
        pending = self._pending
        waiting = list(self.operator.attributes)
        for d in waiting:  # lengths of packs that are given
            value = self.symbols.get(d.name)
            if d.type.packed and isinstance(value, list):
                self._length(d, len(value), required=False)
        while waiting:
            later = [d for d in waiting if not self._finish_attribute(d, given, pending)]
            if len(later) == len(waiting):
                self._stuck(later[0], given)
            waiting = later

    def _stuck(self, d: Declaration, given: Mapping[str, Any]) -> None:
        if d.name not in given and d.default is None:
            raise Wrong(f"attribute '{d.name}' is missing", "SKND.A5")
        names = affine.unknown(d.default, self.evaluator) + affine.unknown(d.type.length, self.evaluator)
        shown_names = ", ".join(f"'{n}'" for n in dict.fromkeys(names))
        raise Wrong(f"attribute '{d.name}' depends on {shown_names}, which nothing tells", "SKND.A6")

    def _finish_attribute(self, d: Declaration, given: Mapping[str, Any], pending: Mapping[str, Any]) -> bool:
        """Whether the attribute has its value now."""
        if d.name in self.symbols:
            value = self.symbols[d.name]
            if d.type.packed and isinstance(value, list):
                self._length(d, len(value), required=True)
            return True
        if d.name in pending:
            value = pending[d.name]
        elif given.get(d.name) is not None or d.default is None or affine.unknown(d.default, self.evaluator):
            return False
        else:
            value = self.typed(self.evaluator.value(d.default), d.type.name, f"attribute '{d.name}'")
        if value is None:
            raise Wrong(f"attribute '{d.name}' is missing, and its default is null", "SKND.A5")
        if d.type.packed and not isinstance(value, list):
            if d.type.length is None or affine.unknown(d.type.length, self.evaluator):
                return False
            length = self.evaluator.value(d.type.length)
            value = [value] * int(length or 0)
        elif d.type.packed:
            self._length(d, len(value), required=False)
        self.symbols[d.name] = value
        return True

    def _length(self, d: Declaration, found: int, *, required: bool) -> None:
        try:
            self.binder.length(d.type.length, found, f"attribute '{d.name}'")
        except Wrong:
            if required:
                raise

    # inputs

    def _bind_inputs(self, arguments: Sequence[Any]) -> list[Any]:
        operator = self.operator
        if len(arguments) > len(operator.inputs):
            raise Wrong(f"{len(arguments)} inputs, {len(operator.inputs)} are declared", "SKND.I1")
        values: dict[str, Any] = {}
        for i, d in enumerate(operator.inputs):
            value = arguments[i] if i < len(arguments) else None
            if value is None and d.default is not None:
                value = self.evaluator.value(d.default)
            if value is None and not d.type.optional:
                raise Wrong(f"input '{d.name}' is missing", "SKND.I2")
            values[d.name] = value
        order = [d for d in operator.inputs if not d.type.optional] + [d for d in operator.inputs if d.type.optional]
        order.sort(key=lambda d: not _has_shape(values[d.name]))  # single values have the shape that is left
        while order:
            self._helpers(early=True)
            later = [d for d in order if not self._bind_input(d, values)]
            if len(later) == len(order):
                raise Wrong(f"the shape of input '{later[0].name}' can be told apart in several ways", "SKND.S1")
            order = later
        for d in operator.inputs:
            for name in _shape_names(d.type):
                self.symbols.setdefault(name, None)
        return [values[d.name] for d in operator.inputs]

    def _bind_input(self, d: Declaration, values: dict[str, Any]) -> bool:
        value = values[d.name]
        if value is None:
            self.symbols[d.name] = None
            return True
        value = self._as_tensors(d, value)
        items = value if isinstance(value, list) else [value]
        for item in items:
            self._match_type(d, item)
        if d.type.shape is not None:
            bound = self._bind_shape(d, value)
            if bound is None:
                return False
            value = bound
        if d.type.packed:
            self.binder.length(d.type.length, len(value), f"input '{d.name}'")
        values[d.name] = self.symbols[d.name] = value
        return True

    def _bind_shape(self, d: Declaration, value: Any) -> Any:
        assert d.type.shape is not None
        items = value if isinstance(value, list) else [value]
        loose = [t for t in items if t.kind == "constant" and not t.shape]
        if loose and len(loose) == len(items) and not self.binder.can_be_single(d.type):
            if any(affine.unknown(e.value, self.evaluator) for e in d.type.shape if e.value is not None):
                return None
            shape = tuple(self.binder.evaluated(d.type.shape, 0))
            filled = [constant_of(t.data, t.dtype, t.name, shape) for t in items]
            return filled if isinstance(value, list) else filled[0]
        if not self.binder.bind(d.type, [t.shape for t in items], f"input '{d.name}'"):
            return None
        return value

    def _as_tensors(self, d: Declaration, value: Any) -> Any:
        if d.type.packed != isinstance(value, list):
            raise Wrong(f"input '{d.name}' {'is' if d.type.packed else 'isn' + chr(39) + 't'} a pack", "SKND.I3")
        if isinstance(value, list):
            return [self._as_tensor(d, v) for v in value]
        return self._as_tensor(d, value)

    def _as_tensor(self, d: Declaration, value: Any) -> TensorRef:
        if isinstance(value, TensorRef):
            return value
        kind = kind_of(value)
        wanted = self.types.get(d.type.name, d.type.name)
        if kind == "int" and wanted == "real":
            kind = "real"
        if kind in {"str", "?"}:
            raise Wrong(f"input '{d.name}' of type {kind}", "SKND.I3")
        return constant_of(value, kind)

    def _match_type(self, d: Declaration, tensor: TensorRef) -> None:
        if any(t.name == d.type.name for t in self.operator.types):
            self._bind_type(d.type.name, tensor.dtype)
        elif tensor.dtype not in FAMILIES.get(d.type.name, ()):
            raise Wrong(f"input '{d.name}' must be {d.type.name}, '{tensor.name}' is {tensor.dtype}", "SKND.I4")

    # helper symbols and assertions

    def _helpers(self, *, early: bool = False) -> None:
        """Evaluate helper symbols, with the assertions that can be checked before each; `early`: those that can be."""
        for i, using in enumerate(self.operator.using):
            if i in self._helped or (early and affine.unknown(using.value, self.evaluator)):
                continue
            self._check(all_=False)
            value = self.evaluator.value(using.value)
            self.assign(using.target, value, using.value)
            self._helped.add(i)
        if not early:
            self._check(all_=True)

    def assign(self, target: Target, value: Any, e: Expression) -> None:
        try:
            if target.items is None:
                self._assign_name(target, value)
            elif value is None:
                for item in target.items:
                    for inner in item.items or (item,):
                        self.symbols[inner.name] = None
            else:
                self._assign_list(target, value)
        except Wrong as wrong:
            raise self.operator.text.error(wrong.message, e.place, wrong.label) from None

    def _assign_name(self, target: Target, value: Any) -> None:
        if target.length is not None and isinstance(value, list):
            self.binder.length(target.length, len(value), f"'{target.name}'")
        self.symbols[target.name] = value

    def _assign_list(self, target: Target, value: Any) -> None:
        items = target.items or ()
        if not isinstance(value, list):
            raise Wrong("what is taken apart isn't a pack", "SKND.Y4")
        if len(items) == 1 and items[0].zipped:
            parts = items[0].items or ()
            if len(value) % max(len(parts), 1):
                raise Wrong(f"{len(value)} items can't be unzipped into {len(parts)} packs", "SKND.E4")
            for i, part in enumerate(parts):
                self.symbols[part.name] = value[i :: len(parts)]
            return
        rest = len(value) - sum(1 for item in items if not item.packed)
        for item in items:
            if not item.packed:
                if not value:
                    raise Wrong("a pack has fewer items than names", "SKND.E4")
                self.symbols[item.name], value = value[0], value[1:]
                continue
            size = rest if item.length is None else int(self.evaluator.value(item.length))
            self.symbols[item.name], value, rest = value[:size], value[size:], rest - size
        if value:
            raise Wrong(f"{len(value)} items of a pack are left over", "SKND.E4")

    def _check(self, *, all_: bool) -> None:
        for i, a in enumerate(self.operator.asserts):
            if i in self._checked or (not all_ and affine.unknown(a.condition, self.evaluator)):
                continue
            self._checked.add(i)
            value = self.evaluator.value(a.condition)
            fails = not all(v for v in value if v is not None) if isinstance(value, list) else value is False
            if fails:
                raise self.fail(self._assertion(a), "SKND.V1")

    def _assertion(self, a: Any) -> str:
        message = f"'{a.text}' doesn't hold" if a.message is None else shown(self.evaluator.value(a.message))
        values = []
        for label, e in a.shown:
            try:
                values.append(f"{label or _written(e)} = {shown(self.evaluator.value(e))}")
            except ParseError:
                values.append(f"{label or _written(e)} = ?")
        return " ".join(message.split()) + (f" ({', '.join(values)})" if values else "")

    # outputs

    def _output(self, d: Declaration) -> Any:
        dtype = self.types.get(d.type.name, d.type.name)
        if not d.type.packed:
            return TensorRef(d.name, dtype, tuple(self.binder.evaluated(d.type.shape or (), 0)))
        if d.type.length is not None:
            count = int(self.evaluator.value(d.type.length))
        else:
            count = self.binder.own_length(d.type)
        self.binder.check_pack(count)
        return [TensorRef(d.name, dtype, tuple(self.binder.evaluated(d.type.shape or (), i))) for i in range(count)]


def _has_shape(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(is_tensor(v) and (v.kind != "constant" or v.shape) for v in items)


def _shape_names(spec: TypeSpec) -> list[str]:
    found: list[str] = list(affine.names_in(spec.rank)) if spec.rank is not None else []
    for extent in spec.shape or ():
        for e in (extent.value, extent.length):
            found += affine.names_in(e) if e is not None else []
    return found


def _written(e: Expression) -> str:
    if isinstance(e, Name):
        return e.text
    if isinstance(e, List):
        return "[...]"
    return getattr(e, "name", "value") if not isinstance(e, Expand) else _written(e.value)
