"""What operators and functions compute of values that differ from point to point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....lower import elementary, integers
from ....lower.axes import repeated
from ....lower.layout import gather
from ....lower.problems import check_made
from ....lower.views import shape_of
from ..language import scalars
from ..language.scalars import INT_MAX, INT_MIN, Wrong, kind_of, single
from ..tensors import TensorRef
from ..writer import FORMATS
from .space import Choice, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ....graph import Tensor
    from ....types import Array
    from ..writer import SkndWriter

MOST_EXACT: Final = 64
_COMPARED: Final = {
    "<": ("GREATER", True, False), ">": ("GREATER", False, False), "<=": ("GREATER_EQUAL", True, False),
    ">=": ("GREATER_EQUAL", False, False), "==": ("EQUAL", False, False), "!=": ("EQUAL", False, True),
    "is": ("EQUAL", False, False),
}  # fmt: skip
_LOGICAL: Final = {"&&": "LOGICAL_AND", "||": "LOGICAL_OR", "^": "LOGICAL_XOR"}
_PLAIN: Final = {"+": "ADD", "-": "SUB", "*": "MUL", "<?": "MINIMUM", ">?": "MAXIMUM"}
_UNARY: Final = {
    "exp": "EXP", "log": "LOG", "sin": "SIN", "cos": "COS", "floor": "FLOOR", "ceil": "CEIL", "erf": "ERF",
    "tanh": "TANH", "abs": "ABS",
}  # fmt: skip
_COMPOSED: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    name: getattr(elementary, name)
    for name in ("tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh")
}


class Arithmetic:
    """`Lanes` of the evaluator. `active` says where the value that is being computed counts."""

    def __init__(self, b: SkndWriter, rank: int) -> None:
        self.b, self.rank = b, rank
        self.active: list[Lane] = []

    # values

    def holds(self, value: Any) -> bool:
        return isinstance(value, Lane)

    def lane(self, value: Any) -> Lane:
        if isinstance(value, Lane):
            return value
        kind = single(value)
        if kind not in FORMATS:
            raise Wrong(f"a value of type {kind} in a formula", "SKND.L3")
        storage = {"int": np.int64, "real": np.float64, "bool": np.bool_}[kind]
        return Lane(kind, np.full((1,) * self.rank, value, storage))

    def tensor(self, lane: Lane) -> Tensor:
        """The tensor of a value; a known one becomes a constant."""
        if lane.tensor is None:
            assert lane.data is not None
            data = lane.data
            if lane.dtype == "int":
                data = np.clip(data, INT_MIN, INT_MAX)
            if data.size == 1 and lane.dtype != "bool":
                lane.tensor = self.b.scalar(data.reshape(-1)[0].item(), FORMATS[lane.dtype], self.rank)
            else:
                check_made(data.size, "a constant")
                lane.tensor = self.b.const(data, FORMATS[lane.dtype])
        return lane.tensor

    def whole(self, lane: Lane, shape: Sequence[int]) -> Tensor:
        """The tensor with all points of `shape`."""
        if lane.data is not None and lane.extents != tuple(shape):
            return self.tensor(Lane(lane.dtype, np.ascontiguousarray(np.broadcast_to(lane.data, shape))))
        x = self.tensor(lane)
        for axis, (n, m) in enumerate(zip(shape_of(x), shape, strict=True)):
            if n != m:
                x = repeated(self.b, x, axis, m)
        return x

    # operators

    def binary(self, op: str, a: Any, b: Any) -> Lane:
        left, right = self.lane(a), self.lane(b)
        if left.dtype != right.dtype:
            if op not in _COMPARED:
                raise Wrong(f"'{op}' of {left.dtype} and {right.dtype}", "SKND.Y2")
            wider = "real" if "real" in (left.dtype, right.dtype) else "int"
            left, right = self.cast(wider, left), self.cast(wider, right)
        if op == "=>":
            return self.binary("||", self.unary("!", left), right)
        if left.data is not None and right.data is not None:
            return known(op, left, right)
        if op in {"&&", "||"}:
            for one, other in ((left, right), (right, left)):
                if one.data is not None and one.data.size == 1:
                    return other if bool(one.data.reshape(-1)[0]) == (op == "&&") else one
        return self._binary(op, left, right)

    def _binary(self, op: str, left: Lane, right: Lane) -> Lane:
        x, y, g = self.tensor(left), self.tensor(right), self.b
        if op in _LOGICAL:
            self._check(op, left, "bool")
            return Lane("bool", tensor=elementary.compared(g, _LOGICAL[op], x, y))
        if op in _COMPARED:
            name, swapped, negated = _COMPARED[op]
            if left.dtype == "bool":
                found = elementary.compared(g, "LOGICAL_XOR", x, y)
                return Lane("bool", tensor=found if op == "!=" else g.unary("LOGICAL_NOT", found))
            found = elementary.compared(g, name, y, x) if swapped else elementary.compared(g, name, x, y)
            return Lane("bool", tensor=g.unary("LOGICAL_NOT", found) if negated else found)
        self._check(op, left, "int", "real")
        if op in _PLAIN:
            return Lane(left.dtype, tensor=g.binary(_PLAIN[op], x, y))
        return self._divided(op, left, right)

    @staticmethod
    def _check(op: str, lane: Lane, *kinds: str) -> None:
        if lane.dtype not in kinds:
            raise Wrong(f"'{op}' of {lane.dtype}", "SKND.Y2")

    def _divided(self, op: str, left: Lane, right: Lane) -> Lane:
        g, x, y = self.b, self.tensor(left), self.tensor(right)
        if left.dtype == "real":
            if op == "**":
                whole = right.data.reshape(-1)[0] if right.data is not None and right.data.size == 1 else -1.0
                if whole in range(MOST_EXACT):  # exact for negative numbers, too
                    return Lane("real", tensor=integers.constant_power(g, x, int(whole)))
                return Lane("real", tensor=elementary.powers(g, x, y))
            quotient = elementary.division(g, x, y)
            if op == "/":
                return Lane("real", tensor=quotient)
            if op == "\\":
                return Lane("real", tensor=g.unary("CEIL", quotient))
            return Lane("real", tensor=g.binary("SUB", x, g.binary("MUL", g.unary("FLOOR", quotient), y)))
        if op == "**":
            if right.data is not None and right.data.size == 1:
                return Lane("int", tensor=integers.constant_power(g, x, int(right.data.reshape(-1)[0])))
            return Lane("int", tensor=integers.power(g, x, y, 5))
        if op == "\\":
            return self.unary("-", self._divided("/", self.unary("-", left), right))
        quotient = self._floor_division(x, y)
        if op == "/":
            return Lane("int", tensor=quotient)
        return Lane("int", tensor=g.binary("SUB", x, g.binary("MUL", quotient, y)))

    def _floor_division(self, x: Tensor, y: Tensor) -> Tensor:
        """INTDIV cuts off; where a remainder has another sign than the divisor, one less."""
        g = self.b
        shape = tuple(m if n == 1 else n for n, m in zip(shape_of(x), shape_of(y), strict=True))
        quotient = g.operator("INTDIV", [x, y], shape)
        rest = g.binary("SUB", x, g.binary("MUL", quotient, y))
        zero = elementary.number(g, 0, rest)
        some = g.unary("LOGICAL_NOT", elementary.compared(g, "EQUAL", rest, zero))
        signs = [elementary.compared(g, "GREATER", zero, t) for t in (rest, y)]
        odd = elementary.compared(g, "LOGICAL_AND", some, elementary.compared(g, "LOGICAL_XOR", *signs))
        return elementary.chosen(g, odd, g.binary("SUB", quotient, elementary.number(g, 1, rest)), quotient)

    def unary(self, op: str, a: Any) -> Lane:
        lane = self.lane(a)
        self._check(op, lane, *(("bool",) if op == "!" else ("int", "real")))
        if lane.data is not None:
            data: Array = ~lane.data if op == "!" else -lane.data if op == "-" else lane.data
            return Lane(lane.dtype, data)
        x = self.tensor(lane)
        if op == "+":
            return lane
        return Lane(lane.dtype, tensor=self.b.unary("LOGICAL_NOT", x) if op == "!" else self.b.negate(x))

    def cast(self, wanted: str, a: Any) -> Lane:
        lane = self.lane(a)
        if wanted not in FORMATS:
            raise Wrong(f"{lane.dtype} can't become {wanted}", "SKND.Y3")
        if lane.dtype == wanted:
            return lane
        if lane.data is not None:
            data = np.floor(lane.data).clip(INT_MIN, INT_MAX) if (lane.dtype, wanted) == ("real", "int") else lane.data
            return Lane(wanted, data.astype({"int": np.int64, "real": np.float64, "bool": np.bool_}[wanted]))
        return Lane(wanted, tensor=elementary.converted(self.b, self.tensor(lane), FORMATS[wanted]))

    def function(self, name: str, a: Any) -> Lane:
        lane = self.lane(a)
        if lane.data is not None:
            found = np.array([scalars.function(name, v.item()) for v in lane.data.reshape(-1)])
            return Lane(lane.dtype, found.reshape(lane.data.shape).astype(lane.data.dtype))
        x, g = self.tensor(lane), self.b
        self._check(name, lane, *(("int", "real") if name in ("abs", "sign") else ("real",)))
        if name in _UNARY:
            return Lane(lane.dtype, tensor=g.unary(_UNARY[name], x))
        if name == "sign":
            if lane.dtype == "real":
                return Lane("real", tensor=elementary.sign(g, x))
            return self.cast("int", self.function("sign", self.cast("real", lane)))
        if name == "sqrt":
            return Lane("real", tensor=elementary.root(g, x))
        if name == "round":
            return Lane("real", tensor=elementary.round_(g, x))
        if name == "frac":
            return Lane("real", tensor=g.binary("SUB", x, g.unary("FLOOR", x)))
        return Lane("real", tensor=_COMPOSED[name](g, x))

    def select(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        lane = self.lane(condition)
        self._check("?", lane, "bool")
        if lane.data is not None and (lane.data.all() or not lane.data.any()):
            return yes() if lane.data.all() else no()
        self.active.append(lane)
        first = yes()
        self.active[-1] = self.unary("!", lane)
        second = no()
        self.active.pop()
        if isinstance(first, list) or isinstance(second, list):
            size = len(first if isinstance(first, list) else second)
            firsts, seconds = (v if isinstance(v, list) else [v] * size for v in (first, second))
            return [self.chosen(lane, a, b) for a, b in zip(firsts, seconds, strict=True)]
        return self.chosen(lane, first, second)

    def chosen(self, condition: Lane, yes: Any, no: Any) -> Lane:
        if yes is None or no is None:
            raise Wrong("a value that may be null, and no '??'", "SKND.L4")
        a, b = self.lane(yes), self.lane(no)
        if a.dtype != b.dtype:
            raise Wrong(f"'?:' of {a.dtype} and {b.dtype}", "SKND.Y2")
        if condition.data is not None and a.data is not None and b.data is not None:
            return Lane(a.dtype, np.where(condition.data, a.data, b.data))
        tensors = [self.tensor(lane) for lane in (condition, a, b)]
        return Lane(a.dtype, tensor=elementary.chosen(self.b, *tensors))

    def lookup(self, values: Sequence[Any], index: Any) -> Any:
        """An item of a pack that is known, or of a pack of tensors."""
        if not isinstance(values, str) and values and all(isinstance(v, TensorRef) for v in values):
            return Choice(list(values), index)
        if isinstance(values, str) or any(isinstance(v, Lane) or kind_of(v) not in FORMATS for v in values):
            raise Wrong("a pack whose items aren't known, at an index that isn't", "SKND.L3")
        kinds = {kind_of(v) for v in values}
        if len(kinds) != 1:
            raise Wrong("an item of an empty pack", "SKND.E6")
        (kind,) = kinds
        table = np.array(values)
        if index.data is not None:
            if not ((index.data >= -table.size) & (index.data < table.size)).all():
                raise Wrong(f"an index beyond {table.size} items", "SKND.E6")
            return Lane(kind, table[index.data])
        x = self.b.const(table, FORMATS[kind])
        place = self.tensor(index)
        found = gather(self.b, x, self.b.reshape(place, (int(np.prod(shape_of(place))),)), 0)
        return Lane(kind, tensor=self.b.reshape(found, shape_of(place)))


def known(op: str, a: Lane, b: Lane) -> Lane:
    """Of two arrays that are known."""
    x, y = a.data, b.data
    assert x is not None
    assert y is not None
    if op in ("&&", "||", "^"):
        return Lane("bool", {"&&": np.logical_and, "||": np.logical_or, "^": np.logical_xor}[op](x, y))
    if op in _COMPARED:
        names = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "!=": np.not_equal}
        return Lane("bool", names.get(op, np.equal)(x, y))
    with np.errstate(all="ignore"):
        if op in ("/", "\\", "%", "**") and a.dtype == "int":
            if op == "**" and (y < 0).any():
                raise Wrong("an integer to a negative power", "SKND.E2")
            if op != "**" and not y.all():
                raise Wrong(f"'{op}' by 0", "SKND.E2")
            exact: Mapping[str, Any] = {
                "/": np.floor_divide,
                "\\": lambda p, q: -(-p // q),
                "%": np.mod,
                "**": np.power,
            }
            return Lane("int", exact[op](x, y))
        functions: Mapping[str, Any] = {
            "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "<?": np.minimum, ">?": np.maximum,
            "%": np.mod, "**": np.power, "\\": lambda p, q: np.ceil(p / q),
        }  # fmt: skip
        return Lane(a.dtype, functions[op](x, y))


def neutral(op: str, dtype: str) -> float:
    """What changes nothing."""
    if op in ("&&", "||"):
        return op == "&&"
    if op in ("<?", ">?"):
        low, high = (INT_MIN, INT_MAX) if dtype == "int" else (-math.inf, math.inf)
        return high if op == "<?" else low
    return {"+": 0, "*": 1}.get(op, 0)
